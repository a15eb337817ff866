# make check-everywhere: the hash of a model in integers over compilers, optimisation levels, instruction sets, threads, passes and
# architectures (scripts/everywhere). The script calls make once for each build:
#   make everywhere-hash EVERYWHERE=name EVERYWHERE_CC=compiler EVERYWHERE_OPT=-O2 EVERYWHERE_CROSS=1
# Warnings depend on the level, so here they are no errors. Builds for another architecture are static, and have no package of it but the C library.
EVERYWHERE ?= gcc-O2
EVERYWHERE_CC ?= gcc
EVERYWHERE_OPT ?= -O2
EVERYWHERE_D := build/everywhere/$(EVERYWHERE)
# Of the folders base, io and model/kernels only what the program needs.
EVERYWHERE_SRCS := tests/everywhere/hash.c \
  $(patsubst %,libcommon/base/%.c,err f16 f16_avx2 finite mapped mem pool rng sha256 status topology) \
  $(patsubst %,libcommon/io/%.c,atomic file) libcommon/model/kernels/settings.c \
  $(filter-out libcommon/gguf/quantize%,$(wildcard libcommon/gguf/*.c)) \
  $(wildcard libcommon/integer/fixed/*.c libcommon/integer/engine/*.c)
ifeq ($(EVERYWHERE_CROSS),1)
EVERYWHERE_SRCS := $(filter-out %_avx2.c %_avx512.c %_vnni.c,$(EVERYWHERE_SRCS)) $(filter %/f16_avx2.c,$(EVERYWHERE_SRCS))
EVERYWHERE_CPPFLAGS := -Ilibcommon -Itests/everywhere/include -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
EVERYWHERE_LIBS := -static -lm
else
EVERYWHERE_CPPFLAGS := $(CPPFLAGS)
EVERYWHERE_LIBS = $(shell pkg-config --libs nettle) -lm
endif
EVERYWHERE_OBJS := $(EVERYWHERE_SRCS:%.c=$(EVERYWHERE_D)/obj/%.o)

$(EVERYWHERE_D)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(EVERYWHERE_CC) $(EVERYWHERE_CPPFLAGS) -std=c11 $(filter-out -Werror,$(WARN)) $(EVERYWHERE_OPT) -ffp-contract=off -pthread $(if $(EVERYWHERE_CROSS),,$(call simd_flags,$<)) \
	  -MMD -MP -c -o $@ $<
$(EVERYWHERE_D)/hash: $(EVERYWHERE_OBJS)
	$(call say,LD,$@)
	$(Q)$(EVERYWHERE_CC) -pthread -o $@ $^ $(EVERYWHERE_LIBS)
-include $(EVERYWHERE_OBJS:.o=.d)

.PHONY: everywhere-hash check-everywhere
everywhere-hash: $(EVERYWHERE_D)/hash
check-everywhere: $(B)/bin/geodec-integer-convert
	@B=$(B) bash scripts/everywhere $(EVERYWHERE_ARGS)
