# Coverage-guided fuzzing with clang's libFuzzer:  make fuzz FUZZ=gguf SECONDS=1200
# make fuzz-weekly: every target for 20 minutes (tests/fuzz/README.md). New inputs go to build/fuzz/<target>/, findings to
# build/fuzz/<target>.crash-*. `make fuzz-keep FUZZ=gguf` merges the inputs that add coverage into the kept
# corpus tests/fuzz/corpus/<target>/, which `make check` replays (tests/cli/fuzz.bats).
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ ?= $(firstword $(FUZZ_TARGETS))
SECONDS ?= 1200
# The folders that read files from outside. A target that calls another folder does not link until the folder is listed here.
FUZZ_FOLDERS := $(call room_folders,core) geometry/neighbours geometry/geometry geometry/chain $(filter-out model/reference model/evaluate model/lowrank model/train model/export,$(call room_folders,model)) \
  decode/attest lab/verdict lab/corpus lab/integer/ntt lab/integer/scores lab/integer/codes lab/perspective/memory
FUZZ_SRCS := $(wildcard $(FUZZ_FOLDERS:%=libcommon/%/*.c))
FUZZ_OBJS := $(FUZZ_SRCS:%.c=build/fuzz/obj/%.o)
FUZZ_FLAGS := -std=c11 -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
              -ffp-contract=off -fno-math-errno -pthread -DGEODEC_VERSION_TEXT='"$(VERSION)"'

# As in the asan profile: instrumented and unrolled, the kernels take minutes to compile.
build/fuzz/obj/libcommon/lab/integer/ntt/%.o: FUZZ_FLAGS += -DGEODEC_DEBUG
build/fuzz/obj/libcommon/model/session/%.o build/fuzz/obj/libcommon/model/kernels/%.o: FUZZ_FLAGS += -DGEODEC_DEBUG -fno-sanitize-address-use-after-scope
build/fuzz/obj/libcommon/model/kernels/kernels_scalar.o: FUZZ_FLAGS += -fno-inline
# Unrolled; its addresses are checked, and its arithmetic in the other variants of the product.
build/fuzz/obj/libcommon/model/integer/engine/product_vnni.o: FUZZ_FLAGS += -fno-sanitize=undefined
# clang takes even longer for these. They read no bytes of a file, only numbers of a field that was checked.
build/fuzz/obj/libcommon/geometry/geometry/rbf_kernel.o build/fuzz/obj/libcommon/geometry/geometry/rbf_kernel%.o build/fuzz/obj/libcommon/core/linalg/small_avx512.o: FUZZ_FLAGS := $(filter-out -fsanitize=%,$(FUZZ_FLAGS))
build/fuzz/obj/%.o: %.c | build/.packages-lint
	@mkdir -p $(@D)
	$(call say,FUZZCC,$<)
	$(Q)clang $(CPPFLAGS) -Itests -Itests/unit $(FUZZ_FLAGS) $(call simd_flags,$<) -MMD -MP -c -o $@ $<
build/fuzz/obj/libgeodec.a: $(FUZZ_OBJS)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^
build/fuzz/fuzz-%: build/fuzz/obj/tests/fuzz/fuzz_%.o build/fuzz/obj/libgeodec.a
	$(call say,LD,$@)
	$(Q)clang -fsanitize=fuzzer,address,undefined -pthread -o $@ $^ $(PKG_LIBS)
-include $(FUZZ_OBJS:.o=.d) $(FUZZ_TARGETS:%=build/fuzz/obj/tests/fuzz/fuzz_%.d)

# Largest kept input in bytes. The smallest HDF5 artifact needs more.
KEEP_BYTES := 4096
KEEP_BYTES_artifact := 32768
KEEP_BYTES_gguf := 9216
KEEP_BYTES_store := 65536
# First inputs for targets whose format mutation does not find.
build/fuzz/make_%_seed: build/fuzz/obj/tests/fuzz/make_%_seed.o build/fuzz/obj/libgeodec.a
	$(call say,LD,$@)
	$(Q)clang -fsanitize=address,undefined -pthread -o $@ $^ $(PKG_LIBS)

# HDF5 itself crashes on damaged files (the guard of the tools turns this into one line of error, tools/cli/report.h). These two
# targets continue after a crash, and scripts/fuzz-summary counts crashes inside HDF5 separately.
FUZZ_ARGS_artifact := -fork=1 -ignore_crashes=1 -ignore_ooms=1 -detect_leaks=0 -malloc_limit_mb=1024
FUZZ_ARGS_import := $(FUZZ_ARGS_artifact)
# Inputs are lists of edits, which are short and of any number.
FUZZ_ARGS_network := -len_control=0 -max_len=240
FUZZ_ARGS_convert := $(FUZZ_ARGS_network)
FUZZ_ARGS_session := $(FUZZ_ARGS_network)
FUZZ_ARGS_hdm := $(FUZZ_ARGS_network)
FUZZ_ARGS_trit := -len_control=0 -max_len=61
FUZZ_ARGS_trd := $(FUZZ_ARGS_trit)
FUZZ_ARGS_trits := -len_control=0 -max_len=600
# leaks are not checked there, because HDF5 leaks when it refuses a file
FUZZ_ENV_artifact := ASAN_OPTIONS=detect_leaks=0
FUZZ_ENV_import := $(FUZZ_ENV_artifact)

run_fuzz = $(FUZZ_ENV_$1) build/fuzz/fuzz-$1 -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
  -artifact_prefix=build/fuzz/$1.crash- $(FUZZ_ARGS_$1) $(FUZZ_ARGS) build/fuzz/$1 tests/fuzz/corpus/$1
keep_fuzz = $(FUZZ_ENV_$1) build/fuzz/fuzz-$1 -merge=1 -artifact_prefix=build/fuzz/$1.keep- -max_len=$(or $(KEEP_BYTES_$1),$(KEEP_BYTES)) tests/fuzz/corpus/$1 build/fuzz/$1

.PHONY: fuzz fuzz-keep fuzz-build fuzz-all fuzz-weekly
fuzz-build: $(FUZZ_TARGETS:%=build/fuzz/fuzz-%)
fuzz: build/fuzz/fuzz-$(FUZZ)
	@mkdir -p build/fuzz/$(FUZZ) tests/fuzz/corpus/$(FUZZ)
	$(call run_fuzz,$(FUZZ))
fuzz-keep: build/fuzz/keep-$(FUZZ)

# Every target for SECONDS each, JOBS at a time; then the inputs that add coverage are kept. A finding ends only its target, and
# the make ends with an error. Logs are in build/fuzz/<target>.log.
JOBS ?= 1
fuzz-weekly fuzz-all: fuzz-build
	@rm -f build/fuzz/*.crash-*
	@$(MAKE) --no-print-directory -j$(JOBS) $(FUZZ_TARGETS:%=build/fuzz/all-%)
	@bad=0; for t in $(FUZZ_TARGETS); do sh scripts/fuzz-summary $$t || bad=1; done; exit $$bad
.PHONY: $(FUZZ_TARGETS:%=build/fuzz/all-%) $(FUZZ_TARGETS:%=build/fuzz/keep-%)
$(FUZZ_TARGETS:%=build/fuzz/all-%): build/fuzz/all-%: build/fuzz/fuzz-%
	@mkdir -p build/fuzz/$* tests/fuzz/corpus/$*
	@echo "  FUZZ $* ($(SECONDS) s)"
	@$(call run_fuzz,$*) > build/fuzz/$*.log 2>&1 || true
	@$(call keep_fuzz,$*) >> build/fuzz/$*.log 2>&1
$(FUZZ_TARGETS:%=build/fuzz/keep-%): build/fuzz/keep-%: build/fuzz/fuzz-%
	$(call keep_fuzz,$*)

# The same targets without libFuzzer: they run every file of a folder.
FUZZ_REPLAYS := $(FUZZ_TARGETS:%=$(B)/fuzz/replay-%)
$(B)/obj/tests/fuzz/%.o: CPPFLAGS_EXTRA := -Itests -Itests/unit
-include $(FUZZ_TARGETS:%=$(B)/obj/tests/fuzz/fuzz_%.d) $(B)/obj/tests/fuzz/replay.d
$(FUZZ_REPLAYS): $(B)/fuzz/replay-%: $(B)/obj/tests/fuzz/fuzz_%.o $(B)/obj/tests/fuzz/replay.o $(LAB_A) $(LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(PKG_LIBS)
