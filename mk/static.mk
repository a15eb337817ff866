# Static analysis of the library and the tools, one file at a time: gcc's analyser and clang-tidy.
STATIC_SRCS := $(foreach f,$(FOLDERS),$(wildcard libcommon/$f/*.c)) $(wildcard tools/cli/*.c) $(TOOL_SRCS)
STATIC_FLAGS = -Itools $(CPPFLAGS) -DGEODEC_VERSION_TEXT='"$(VERSION)"' -DGEODEC_DATADIR='"$(datadir)"' -std=c11 -ffp-contract=off -fno-math-errno -pthread $(call simd_flags,$<)
# The analyser follows paths without limit in some files; one that takes longer than this is reported and counts as a finding.
STATIC_SECONDS ?= 120
STATIC_GCC ?= gcc
STATIC_TIDY ?= clang-tidy
$(B)/static/analyzer/%.txt: %.c
	@mkdir -p $(@D)
	$(call say,ANALYZE,$<)
	$(Q)timeout $(STATIC_SECONDS) $(STATIC_GCC) $(STATIC_FLAGS) -include mk/analyzer.h -O1 -fanalyzer -MMD -MP -MF $(@:.txt=.d) -MT $@ -c -o /dev/null $< 2> $@.tmp \
	  || { cat $@.tmp; echo "$<:1:1: warning: not finished [-Wanalyzer-not-finished]" >> $@.tmp; }
	$(Q)mv $@.tmp $@
.PHONY: static-analyzer
static-analyzer: $(STATIC_SRCS:%.c=$(B)/static/analyzer/%.txt)
-include $(STATIC_SRCS:%.c=$(B)/static/analyzer/%.d)
