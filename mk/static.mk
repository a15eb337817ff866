# Static analysis of the library and the tools, one file at a time: gcc's analyser, and clang-tidy with the checks of .clang-tidy. Findings that
# were read and judged right are in tests/static/accepted.tsv; any other one is an error. gcc's analyser reads a file again
# when it or one of its headers has changed, clang-tidy every time.
STATIC_SRCS := $(foreach f,$(FOLDERS),$(wildcard libcommon/$f/*.c)) $(wildcard tools/cli/*.c tools/cli/lab/*.c) $(TOOL_SRCS)
STATIC_FLAGS = -include mk/analyzer.h -Itools $(CPPFLAGS) -DGEODEC_VERSION_TEXT='"$(VERSION)"' -DGEODEC_DATADIR='"$(datadir)"' -std=c11 -O1 \
  -ffp-contract=off -fno-math-errno -pthread $(call simd_flags,$<)
# In a few files of vector code the analyser follows paths without end; after this time of the processor it is stopped, which is a finding.
STATIC_SECONDS ?= 300
ANALYZER ?= gcc
TIDY ?= clang-tidy
TIDY_FLAGS ?=
# Memory that is moved into arrays or structures counts as lost for the analyser; the sanitizer builds and the failing allocations of the unit tests
# look for leaks.
ANALYZER_FLAGS ?= -fanalyzer -Wno-analyzer-malloc-leak
$(B)/static/analyzer/%.txt: %.c mk/analyzer.h
	@mkdir -p $(@D)
	$(call say,ANALYZE,$<)
	$(Q)(ulimit -t $(STATIC_SECONDS); $(ANALYZER) $(STATIC_FLAGS) $(ANALYZER_FLAGS) -MMD -MP -MF $(@:.txt=.d) -MT $@ -c -o /dev/null $<) 2> $@.tmp \
	  || { grep -q ':[0-9]*: error: ' $@.tmp && cat $@.tmp && exit 1; echo "$<:1:1: warning: not finished [-Wanalyzer-not-finished]" >> $@.tmp; }
	$(Q)mv $@.tmp $@
$(B)/static/tidy/%.txt: %.c FORCE | build/.packages-lint
	@mkdir -p $(@D)
	$(call say,TIDY,$<)
	$(Q)$(TIDY) --quiet $(TIDY_FLAGS) $< -- $(STATIC_FLAGS) > $@.tmp 2> $@.err || { cat $@.tmp $@.err; exit 1; }
	$(Q)rm -f $@.err && mv $@.tmp $@
.PHONY: check-analyzer check-tidy
check-analyzer: $(STATIC_SRCS:%.c=$(B)/static/analyzer/%.txt)
	@scripts/static-findings analyzer tests/static/accepted.tsv "$$($(ANALYZER) -dumpversion)" $^
check-tidy: $(STATIC_SRCS:%.c=$(B)/static/tidy/%.txt)
	@scripts/static-findings tidy tests/static/accepted.tsv "$$($(TIDY) --version | sed -n 's/.*LLVM version \([0-9]*\).*/\1/p')" $^
LONG_CHECKS += check-analyzer check-tidy
-include $(STATIC_SRCS:%.c=$(B)/static/analyzer/%.d)
