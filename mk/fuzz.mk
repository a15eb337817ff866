# Coverage-guided fuzzing with clang's libFuzzer:  make fuzz FUZZ=gguf SECONDS=1200
# New inputs go to build/fuzz/<target>/, findings to build/fuzz/<target>.crash-*. `make fuzz-keep FUZZ=gguf` merges what adds coverage into the
# kept corpus tests/fuzz/corpus/<target>/, which `make check` replays (tests/cli/fuzz.bats).
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ ?= $(firstword $(FUZZ_TARGETS))
SECONDS ?= 1200
# The folders that read files of others. A target that calls another folder does not link: add it here.
FUZZ_FOLDERS := base linalg io gguf tokenizer corpus model geometry
FUZZ_SRCS := $(foreach f,$(FUZZ_FOLDERS),$(patsubst %,libcommon/$f/%,$($f_SRCS)))
FUZZ_OBJS := $(FUZZ_SRCS:%.c=build/fuzz/obj/%.o)
FUZZ_FLAGS := -std=c11 -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
              -ffp-contract=off -fno-math-errno -pthread -DGEODEC_VERSION_TEXT='"$(VERSION)"'

# As in the asan profile: instrumented and unrolled at once the kernels take minutes to compile.
build/fuzz/obj/libcommon/model/%.o: FUZZ_FLAGS += -DGEODEC_DEBUG -fno-sanitize-address-use-after-scope
build/fuzz/obj/libcommon/model/kernels_scalar.o: FUZZ_FLAGS += -fno-inline
# clang takes longer still for these; they see no bytes of a file, only numbers of a field that was checked.
build/fuzz/obj/libcommon/geometry/rbf_kernel%.o: FUZZ_FLAGS := $(filter-out -fsanitize=%,$(FUZZ_FLAGS))
build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,FUZZCC,$<)
	$(Q)clang $(CPPFLAGS) -Itests $(FUZZ_FLAGS) $(call simd_flags,$<) -MMD -MP -c -o $@ $<
build/fuzz/obj/libgeodec.a: $(FUZZ_OBJS)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^
build/fuzz/fuzz-%: build/fuzz/obj/tests/fuzz/fuzz_%.o build/fuzz/obj/libgeodec.a
	$(call say,LD,$@)
	$(Q)clang -fsanitize=fuzzer,address,undefined -pthread -o $@ $^ $(PKG_LIBS)
-include $(FUZZ_OBJS:.o=.d) $(FUZZ_TARGETS:%=build/fuzz/obj/tests/fuzz/fuzz_%.d)

.PHONY: fuzz fuzz-keep fuzz-build
fuzz-build: $(FUZZ_TARGETS:%=build/fuzz/fuzz-%)
fuzz: build/fuzz/fuzz-$(FUZZ)
	@mkdir -p build/fuzz/$(FUZZ) tests/fuzz/corpus/$(FUZZ)
	build/fuzz/fuzz-$(FUZZ) -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	  -artifact_prefix=build/fuzz/$(FUZZ).crash- $(FUZZ_ARGS) build/fuzz/$(FUZZ) tests/fuzz/corpus/$(FUZZ)
fuzz-keep: build/fuzz/fuzz-$(FUZZ)
	build/fuzz/fuzz-$(FUZZ) -merge=1 -max_len=4096 tests/fuzz/corpus/$(FUZZ) build/fuzz/$(FUZZ)

# The same targets without libFuzzer: they run every file of a folder.
FUZZ_REPLAYS := $(FUZZ_TARGETS:%=$(B)/fuzz/replay-%)
$(B)/obj/tests/fuzz/%.o: CPPFLAGS_EXTRA := -Itests
$(FUZZ_REPLAYS): $(B)/fuzz/replay-%: $(B)/obj/tests/fuzz/fuzz_%.o $(B)/obj/tests/fuzz/replay.o $(LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(PKG_LIBS)
