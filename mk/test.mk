# Tests. Unit: one Criterion binary a folder, linked with its own and lower layers only.
ALL_TEST_FOLDERS := $(filter-out support,$(patsubst tests/unit/%/,%,$(sort $(dir $(wildcard tests/unit/*/*.c)))))
# The folder of the library with this name, outside the laboratory first. There is none for the tests of all experiments (lab), which may use everything.
folder_of = $(firstword $(filter %/$1,$(LIBRARY_FOLDERS)) $(filter lab/$1,$(FOLDERS)))
# Without the laboratory: the tests of the folders of the library.
TEST_FOLDERS := $(foreach f,$(ALL_TEST_FOLDERS),$(if $(LAB_OBJS)$(filter $(LIBRARY_FOLDERS),$(call folder_of,$f)),$f))
CRITERION_LIBS = $(call once,CRITERION_LIBS,$(shell pkg-config --libs criterion 2>/dev/null))

TEST_SUPPORT_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/unit/support/*.c))
$(TEST_SUPPORT_OBJS): CPPFLAGS_EXTRA := -Itests/unit

# The program of a folder has every .c file of tests/unit/FOLDER. FOLDER_FIXTURES are shared with a lower folder and named relative to tests/unit.
artifact_FIXTURES := cluster/threads.c
neighbours_FIXTURES := cluster/threads.c
chain_FIXTURES := geometry/analytic.c geometry/bumps.c geometry/field.c
drafters_FIXTURES := decode/tiny.c decode/toy.c flowmap/flow_world.c
evaluate_FIXTURES := decode/tiny.c
export_FIXTURES := decode/tiny.c
fisher_FIXTURES := reference/models.c
lab_FIXTURES := decode/tiny.c decode/toy.c geometry/closed_forms.c reference/models.c
measure_FIXTURES := decode/tiny.c decode/toy.c
linked = $(if $(call folder_of,$1),$(call folder_of,$1) $(DEPS_$(call folder_of,$1)),$(call reversed,$(FOLDERS)))
define unit_test
$1_TEST_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/unit/$1/*.c) $(addprefix tests/unit/,$($1_FIXTURES)))
$$($1_TEST_OBJS): CPPFLAGS_EXTRA := -Itests/unit
$(B)/tests/test-$1: $$($1_TEST_OBJS) $(TEST_SUPPORT_OBJS) $(patsubst %,$(B)/lib/layer-%.a,$(call linked,$1))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$(CC) $(LDFLAGS_ALL) -o $$@ $$^ $$(CRITERION_LIBS) $$(PKG_LIBS)
.PHONY: check-unit-$1
check-unit-$1: $(B)/tests/test-$1
	$(B)/tests/test-$1
-include $$($1_TEST_OBJS:.o=.d)
endef
$(foreach f,$(TEST_FOLDERS),$(eval $(call unit_test,$f)))
UNIT_TESTS := $(TEST_FOLDERS:%=$(B)/tests/test-%)

.PHONY: check check-unit check-all check-asan check-ubsan check-tsan
check-unit: $(UNIT_TESTS)
	@for t in $(UNIT_TESTS); do echo "== $$t"; $$t || exit 1; done

# All other tests are bats files: command lines, damaged files, the tiny pipeline.
# The recipes of docs/extending.md take the objects of the release build.
RELEASE_TESTS := $(if $(filter-out release,$(PROFILE)),$(wildcard tests/pipeline/extending-*.bats))
# The longest first, because files run beside each other (scripts/run-tests).
BATS_TESTS := $(filter-out $(RELEASE_TESTS),$(foreach d,pipeline cli bad,$(sort $(wildcard tests/$d/*.bats))))
BAD_TOOLS := $(patsubst tests/bad/%.c,$(B)/tests/bad/%,$(wildcard tests/bad/*.c))
$(BAD_TOOLS:$(B)/tests/bad/%=$(B)/obj/tests/bad/%.o): CPPFLAGS_EXTRA := -Itests/unit
$(BAD_TOOLS): $(B)/tests/bad/%: $(B)/obj/tests/bad/%.o $(LAB_A) $(LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(PKG_LIBS)

# make check is the short form: every unit test, and the tests of bats files without the tag `full` (scripts/run-tests). It touches every tool and
# every folder of the library (tests/cli/house.bats). make check-full is everything, make check-rest what make check leaves out.
# make check TESTS="streaming tests/bad": the test programs and bats files whose names contain one of these words, in full.
# make check-unshared: see shared_readers. Each first installs packages. The second make runs pkg-config again and builds on all processors.
TESTS ?=
TEST_FORM ?= $(if $(TESTS),,short)
named = $(if $(TESTS),$(strip $(foreach t,$1,$(if $(strip $(foreach w,$(TESTS),$(findstring $w,$t))),$t))),$1)
# make check-unshared: the short form of those that read the shared folder, without it. The others cannot tell the difference.
READS_SHARED = grep -lsE 'GEODEC_SHARED|test_shared|load golden'
shared_readers = $(if $(UNSHARED),$(strip $(foreach t,$1,$(if $(shell $(READS_SHARED) $(t:$(B)/tests/test-%=tests/unit/%/*.c)),$t))),$1)
chosen = $(call shared_readers,$(call named,$1))
CHECK_UNIT = $(if $(filter rest,$(TEST_FORM)),,$(call chosen,$(UNIT_TESTS)))
.PHONY: check-run check-full check-rest check-unshared
check-unshared: export GEODEC_SHARED := /nonexistent
check-unshared: export UNSHARED := yes
check check-full check-rest check-unshared:
	@bash scripts/packages install build
	+@$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc)) $(if $(filter check-full check-rest,$@),TEST_FORM=$(@:check-%=%)) check-run
check-run: build $(CHECK_UNIT) $(BAD_TOOLS) $(FUZZ_REPLAYS)
	@$(if $(RELEASE_TESTS),echo "left out because they need the release build: $(RELEASE_TESTS)",:)
	@$(if $(CHECK_UNIT)$(call chosen,$(BATS_TESTS)),,echo "TESTS=$(TESTS): no test program and no file has such a name" >&2; exit 2)
	@B=$(B) TEST_FORM=$(TEST_FORM) sh scripts/run-tests $(B) $(CHECK_UNIT) $(call chosen,$(BATS_TESTS))
# One job under the address sanitizer: with several, Criterion itself sometimes leaks a block, and a leak is an error.
# Criterion does not start under the thread sanitizer, so the whole chain runs there on three threads in place of unit tests.
TINY := QUICK=1 CORPUS_STORIES=20 TOKENS=600 POINTS=150 STORE_TEXTS=6 STORE_LENGTH=64 PROMPTS=2 NEW_TOKENS=12 GAMMAS=4 SEEDS=1
check-asan:
	+@CRITERION_JOBS=1 $(MAKE) --no-print-directory PROFILE=asan check-unit-run
	+@$(MAKE) --no-print-directory PROFILE=asan $(TINY) R=build/asan/chain geometry decoding
check-ubsan:
	+@$(MAKE) --no-print-directory PROFILE=ubsan TEST_FORM=full check-run
check-tsan:
	+@TSAN_OPTIONS=halt_on_error=1:exitcode=66 $(MAKE) --no-print-directory PROFILE=tsan check-tsan-pool check-tsan-disk
	+@TSAN_OPTIONS=halt_on_error=1:exitcode=66 GEODEC_THREADS=3 $(MAKE) --no-print-directory PROFILE=tsan $(TINY) R=build/tsan/chain \
	  geometry decoding
TSAN_TOOLS := $(patsubst tests/tsan/%.c,$(B)/tests/tsan/%,$(wildcard tests/tsan/*.c))
$(TSAN_TOOLS): $(B)/tests/tsan/%: $(B)/obj/tests/tsan/%.o $(B)/lib/layer-streaming.a $(B)/lib/layer-base.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(shell pkg-config --libs liburing 2>/dev/null) -lpthread -lm
.PHONY: check-tsan-pool check-tsan-disk
check-tsan-pool: $(B)/tests/tsan/pool
	$<
check-tsan-disk: $(B)/tests/tsan/disk
	$<
.PHONY: check-unit-run
check-unit-run: $(UNIT_TESTS)
	@sh scripts/run-tests $(B) $(UNIT_TESTS)
check-all: check-full
	@bash scripts/packages install build lint
	+@$(MAKE) --no-print-directory check-asan
	+@$(MAKE) --no-print-directory check-ubsan
	+@$(MAKE) --no-print-directory check-tsan
	+@$(MAKE) --no-print-directory lint

# make submit on a real Slurm on this machine (packages of purpose `cluster`; several minutes).
.PHONY: check-slurm
check-slurm: build
	@B=$(B) tests/cluster/slurm-local

# Only the tests of damaged artifacts.
.PHONY: check-bad-h5
check-bad-h5: build $(B)/tests/bad/make_bad_h5
	@B=$(B) bats tests/bad/h5.bats

# Only the tests of damaged models.
.PHONY: check-bad-gguf
check-bad-gguf: build $(B)/tests/bad/make_bad_gguf
	@B=$(B) bats tests/bad/gguf.bats

# Benchmarks print TSV; they are not part of `make check`.
BENCHES := $(patsubst tests/bench/bench_%.c,$(B)/bench/bench-%,$(wildcard tests/bench/bench_*.c))
$(BENCHES:$(B)/bench/bench-%=$(B)/obj/tests/bench/bench_%.o): CPPFLAGS_EXTRA := -Itests/unit
$(BENCHES): $(B)/bench/bench-%: $(B)/obj/tests/bench/bench_%.o $(LAB_A) $(LIB_A)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(PKG_LIBS)
.PHONY: bench $(BENCHES:$(B)/bench/%=%)
bench: $(BENCHES:$(B)/bench/%=%)
$(filter-out bench-chain bench-field bench-ntt bench-points bench-ternary,$(BENCHES:$(B)/bench/%=%)): %: $(B)/bench/%
	@$<
# Cost of the field by the number of sites: results/bench/field.tsv, .svg and .png with fitted slopes (make bench-field ARGS=--quick).
bench-field: $(B)/bench/bench-field pipelines/plots/field.gp pipelines/plots/style.gp
	@mkdir -p results/bench
	@$< $(ARGS) > results/bench/field.tsv.tmp && mv results/bench/field.tsv.tmp results/bench/field.tsv && cat results/bench/field.tsv
	@if command -v gnuplot > /dev/null; then for f in svg png; do \
	  gnuplot -e "plots='pipelines/plots'; format='$$f'; out='results/bench/field.$$f.tmp'; tsv='results/bench/field.tsv'" \
	    pipelines/plots/field.gp && mv results/bench/field.$$f.tmp results/bench/field.$$f || exit 1; done; \
	  else echo "bench-field: no gnuplot, no figure" >&2; fi
# The geometry chain compared with vectorised numpy, if numpy is installed.
bench-chain: $(B)/bench/bench-chain
	@B=$(B) sh tests/bench/chain.sh
# Transforms compared with Intel HEXL: make bench-ntt PEER=FOLDER, with FOLDER/libhexl.a and the headers in FOLDER/hexl/include
# (ARGS="--quick --only w1"). The peer is loaded at run time and never linked.
PEER_CXX ?= clang++
bench-ntt: $(B)/bench/bench-ntt
	@$(if $(PEER),$(PEER_CXX) -std=c++17 -O3 -march=native -fPIC -shared -I$(PEER)/hexl/include tests/bench/peer_hexl.cpp $(PEER)/libhexl.a -o $(B)/bench/peer_hexl.so)
	@$< $(if $(PEER),--peer $(B)/bench/peer_hexl.so) $(ARGS)
# Ternary products compared with llama.cpp: make bench-ternary PEER=llama.cpp/build/bin/libggml-cpu.so, loaded at run time and never linked.
bench-ternary: $(B)/bench/bench-ternary
	@$< $(if $(PEER),--peer $(PEER)) $(ARGS)
-include $(BENCHES:$(B)/bench/bench-%=$(B)/obj/tests/bench/bench_%.d)
# Comparison with llama.cpp on one file: make bench-peer PEER=llama.cpp/build/bin MODEL=model.gguf [ARGS="--kv f16"]
.PHONY: bench-peer
bench-peer: $(B)/bin/geodec-bench $(B)/bin/geodec-model-info
	@B=$(B) sh tests/bench/peer.sh $(if $(PEER),$(PEER),$(error bench-peer needs PEER=folder)) $(if $(MODEL),$(MODEL),$(error bench-peer needs MODEL=file)) $(ARGS)
# Experts on demand: make bench-streaming MODEL=model.gguf STORE=model.experts (PEER=llama.cpp in the command, the rest in the environment)
.PHONY: bench-streaming
bench-streaming: $(B)/bin/geodec-decode $(B)/bin/geodec-experts
	@B=$(B) sh tests/bench/streaming.sh $(if $(MODEL),$(MODEL),$(error bench-streaming needs MODEL=file)) $(if $(STORE),$(STORE),$(error bench-streaming needs STORE=file)) $(PEER)
# The same for decoding with drafters: make bench-peer-decode PEER=llama.cpp/build/bin MODEL=model.gguf (DRAFT=, ARTIFACTS= in the environment)
.PHONY: bench-peer-decode
bench-peer-decode: $(B)/bin/geodec-decode
	@B=$(B) sh tests/bench/peer-decode.sh $(if $(PEER),$(PEER),$(error bench-peer-decode needs PEER=folder)) $(if $(MODEL),$(MODEL),$(error bench-peer-decode needs MODEL=file))
# Ranks of MPI. Skipped, test by test, where Open MPI is missing.
.PHONY: check-mpi
check-mpi: build
	@B=$(B) bats tests/cluster/mpi.bats
# --plan of the stages against what the runs take, and the page docs/results/plan.md: make bench-plan ARGS=quick for small sizes (no page).
.PHONY: bench-plan
bench-plan: build $(B)/bench/bench-points
	@mkdir -p results/bench
	@B=$(B) bash tests/bench/plan.sh $(ARGS) > results/bench/plan.tsv.tmp && mv results/bench/plan.tsv.tmp results/bench/plan.tsv && cat results/bench/plan.tsv
	@$(if $(ARGS),:,bash tests/bench/plan-page results/bench/plan.tsv $(B)/bin > docs/results/plan.md.tmp && mv docs/results/plan.md.tmp docs/results/plan.md)
# Every architecture of golden/arch in the shared folder: what the unit tests find, as the page docs/results/architectures.md.
.PHONY: architectures
architectures: $(B)/bin/geodec-table $(patsubst %,$(B)/tests/test-%,session reference drafters)
	@mkdir -p results/architectures
	@B=$(B) sh tests/bench/architectures.sh results/architectures/rows.tsv; bad=$$?; \
	  sh tests/bench/architectures-page results/architectures/rows.tsv $(B)/bin > docs/results/architectures.md.tmp && \
	  mv docs/results/architectures.md.tmp docs/results/architectures.md && head -n 17 docs/results/architectures.md | tail -n 4 && exit $$bad
# Scaling on 1, 2 and 4 ranks: make bench-cluster ARGS="--scale 4".
.PHONY: bench-cluster
bench-cluster: build $(B)/bench/bench-points
	@B=$(B) bash tests/bench/cluster.sh $(ARGS)
