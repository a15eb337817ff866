# make check-everywhere: the hash of models in integers over compilers, optimisation levels, instruction sets, threads, passes and architectures
# (scripts/everywhere). The script calls make once for each build:
#   make everywhere-build EVERYWHERE=name EVERYWHERE_CC=compiler EVERYWHERE_OPT=-O2 EVERYWHERE_CROSS=1 EVERYWHERE_PROGRAM=hash
# hash is the model in integers, float_hash in the exact arithmetic; peer_hash, in llama.cpp, is built here up to the objects that do not
# need its header (everywhere-ways). Warnings depend on the level, so here they are no errors. Builds for another architecture are static, and
# have no package of it but the C library.
EVERYWHERE ?= gcc-O2
EVERYWHERE_CC ?= gcc
EVERYWHERE_OPT ?= -O2
EVERYWHERE_PROGRAM ?= hash
EVERYWHERE_D := build/everywhere/$(EVERYWHERE)
# Of the folders base, io and model only what the programs need.
EVERYWHERE_BELOW := $(patsubst %,libcommon/core/base/%.c,arena control_group cpu err f16 f16_avx2 finite mapped mem memory_limit pool rng sha256 status topology) \
  $(patsubst %,libcommon/core/io/%.c,atomic digests file inputs) $(filter-out libcommon/model/gguf/quantize%,$(wildcard libcommon/model/gguf/*.c)) \
  $(wildcard libcommon/model/integer/fixed/*.c libcommon/model/integer/engine/*.c)
EVERYWHERE_SRCS_hash := libcommon/model/kernels/settings.c
EVERYWHERE_SRCS_float_hash := libcommon/core/base/crc32c.c $(wildcard libcommon/model/kernels/*.c) \
  $(filter-out %/store_build.c %/store_golden.c %/shape.c %/shape_blocks.c %/integer_network.c %/factors.c,$(wildcard libcommon/model/session/*.c)) \
  $(patsubst %,libcommon/model/tokenizer/%.c,bpe decode encode gguf_keys order pretoken special spm unigram vocabulary)
# What float_hash does not call is left out: stores and streaming of experts (jansson, liburing), regular expressions (PCRE2), eigenvectors
# (LAPACK). In a static program the address of such a function is 0, so that a call of it would end the program.
EVERYWHERE_LDFLAGS_float_hash := -static -Wl,--gc-sections,--unresolved-symbols=ignore-all
everywhere_srcs = tests/everywhere/$1.c tests/everywhere/ways.c $(EVERYWHERE_BELOW) $(EVERYWHERE_SRCS_$1)
ifeq ($(EVERYWHERE_CROSS),1)
EVERYWHERE_LEFT_OUT := $(filter-out %/f16_avx2.c,$(filter %_avx2.c %_avx512.c %_vnni.c,$(call everywhere_srcs,hash) $(call everywhere_srcs,float_hash)))
EVERYWHERE_CPPFLAGS := $(ROOM_DIRS) -Itests/everywhere/include -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
EVERYWHERE_LIBS := -static -lm
else
EVERYWHERE_LEFT_OUT :=
EVERYWHERE_CPPFLAGS = $(CPPFLAGS)
EVERYWHERE_LIBS = $(shell pkg-config --libs nettle) -lm
endif
everywhere_objs = $(patsubst %.c,$(EVERYWHERE_D)/obj/%.o,$(filter-out $(EVERYWHERE_LEFT_OUT),$1))

$(EVERYWHERE_D)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(EVERYWHERE_CC) $(EVERYWHERE_CPPFLAGS) -std=c11 $(filter-out -Werror,$(WARN)) $(EVERYWHERE_OPT) -ffp-contract=off -ffunction-sections -pthread \
	  $(if $(EVERYWHERE_CROSS),,$(call simd_flags,$<)) -MMD -MP -c -o $@ $<
define everywhere_program
$(EVERYWHERE_D)/$1: $(call everywhere_objs,$(call everywhere_srcs,$1)) mk/everywhere.mk
	$$(call say,LD,$$@)
	$$(Q)$$(EVERYWHERE_CC) -pthread $$(EVERYWHERE_LDFLAGS_$1) -o $$@ $$(filter %.o,$$^) $$(EVERYWHERE_LIBS)
-include $(patsubst %.o,%.d,$(call everywhere_objs,$(call everywhere_srcs,$1)))
endef
$(foreach p,hash float_hash,$(eval $(call everywhere_program,$p)))
# What peer_hash.c is linked with: the ways, the choice of tokens, and what these use.
$(EVERYWHERE_D)/ways.a: $(call everywhere_objs,tests/everywhere/ways.c $(EVERYWHERE_BELOW) $(EVERYWHERE_SRCS_hash)) mk/everywhere.mk
	$(Q)rm -f $@ && ar rcsD $@ $(filter %.o,$^)

.PHONY: everywhere-build check-everywhere everywhere-results
everywhere-build: $(EVERYWHERE_D)/$(EVERYWHERE_PROGRAM)
check-everywhere: $(B)/bin/geodec-integer-convert
	@B=$(B) bash scripts/everywhere $(EVERYWHERE_ARGS)
# The table of docs/results, with the controls: make everywhere-results PEER=folder with the sources of llama.cpp
everywhere-results: $(B)/bin/geodec-integer-convert
	@B=$(B) bash scripts/everywhere --systems "integer exact $(if $(PEER),llama.cpp)" $(if $(PEER),--peer $(PEER)) $(EVERYWHERE_ARGS)
	$(Q)cp build/everywhere/results.tsv docs/results/everywhere.tsv
	$(Q)printf 'date\tmachine\n%s\t%s\n' "$$(date -u +%Y-%m-%d)" "$$(pipelines/report/machine)" > docs/results/everywhere-run.tsv
