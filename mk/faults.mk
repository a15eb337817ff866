# Faults of the machine and of its users, for every tool (tests/faults/README.md), and the long checks.
INJECT := $(B)/tests/faults/inject $(B)/tests/faults/flip $(B)/tests/faults/clock.so
$(B)/tests/faults/inject $(B)/tests/faults/flip: $(B)/tests/faults/%: tests/faults/%.c
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -std=c11 -O2 $(WARN) -o $@ $<
$(B)/tests/faults/clock.so $(B)/tests/faults/nojit.so: $(B)/tests/faults/%.so: tests/faults/%.c
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -std=c11 -O2 $(WARN) -fPIC -shared -o $@ $<

# make check-faults FAULTS=quick|full [SEED=1] [ONLY="cloud metric"]: the counts are in results/faults/faults.tsv, where they replace those of the same
# commands and faults. FAULTS="full kill clock": these faults. CONTINUE=1: without what is there already.
FAULTS ?= quick
ONLY ?=
.PHONY: check-faults check-faults-full check-faults-kill check-faults-locales faults-page
check-faults: build $(INJECT)
	@mkdir -p results/faults
	@B=$(B) SEED=$(SEED) TOOLS="$(ONLY)" OUT=$(CURDIR)/results/faults/faults.tsv tests/faults/run $(FAULTS)
# Single-bit flips of every format: 1,000 of each file with FAULTS=full.
.PHONY: check-faults-flips
check-faults-flips: build $(INJECT)
	@mkdir -p results/faults
	@bash -o pipefail -c 'B=$(B) SEED=$(SEED) tests/faults/flips $(FAULTS) | tee results/faults/flips.tsv'
check-faults-full:
	+@$(MAKE) --no-print-directory FAULTS=full check-faults-flips
	+@$(MAKE) --no-print-directory FAULTS=full check-faults
# run_all.sh --quick, killed at 200 random moments (KILLS=). With WORK=FOLDER, what was ended goes on.
KILLS ?= 200
check-faults-kill: build
	@mkdir -p results/faults
	@bash -o pipefail -c 'SEED=$(SEED) tests/faults/pipeline $(KILLS) | tee results/faults/kill.txt'
# run_all.sh --quick in two locales whose numbers have a comma; with the WORK of check-faults-kill, its undisturbed runs are taken.
check-faults-locales: build
	@mkdir -p results/faults
	@bash -o pipefail -c 'tests/faults/pipeline locales | tee results/faults/locales.txt'
# docs/results/faults.md from the last runs.
faults-page:
	@tests/faults/page results/faults docs/results/faults.md > docs/results/faults.md.tmp && mv docs/results/faults.md.tmp docs/results/faults.md

# Unit tests of the readers of outside files under valgrind's memcheck, one process at a time. Valgrind knows no AVX-512; GEODEC_ISA of the tests
# and the kernels of OpenBLAS are chosen by the processor that it shows. Criterion does not look at the status of the process of a test after the
# test, so an error is what is in a log.
VALGRIND_FOLDERS := io gguf tokenizer artifact
.PHONY: check-valgrind
check-valgrind: $(VALGRIND_FOLDERS:%=$(B)/tests/test-%) $(B)/tests/faults/nojit.so
	@rm -rf $(B)/valgrind && mkdir -p $(B)/valgrind
	@for t in $(VALGRIND_FOLDERS); do echo "== $$t"; LD_PRELOAD=$(abspath $(B)/tests/faults/nojit.so) OPENBLAS_NUM_THREADS=1 valgrind -q --trace-children=yes \
	  --log-file=$(B)/valgrind/$$t.%p.log --leak-check=no $(B)/tests/test-$$t -j1 --timeout 3000 || exit 1; done
	@cat $(B)/valgrind/*.log | head -n 200; for f in $(B)/valgrind/*.log; do [ ! -s $$f ] || { echo "errors: $$f"; exit 1; }; done; echo "memcheck: no errors"

# Four hours of decoding in one process, with experts on demand and with a growing library at once: texts, resident size, processor time
# (tests/bench/soak.sh). The rows are in results/soak/. SOAK_SECONDS=600: a short run.
SOAK_SECONDS ?= 14400
SOAK_MODEL ?= data/model/geodec-stories-q8_0.gguf
SOAK_MIXTURE ?= data/model/geodec-mixture-f16.gguf
.PHONY: check-soak
check-soak: build
	@mkdir -p results/soak && cp $(SOAK_MODEL) results/soak/model.gguf
	@$(B)/bin/geodec-prepare --quiet --force --texts 64 --length 128 results/soak/model.gguf
	@B=$(B) tests/bench/soak.sh $(SOAK_MIXTURE) $(SOAK_SECONDS) 4M --threads 1 > results/soak/streaming.tsv & \
	  B=$(B) LIBRARY=4194304 ARTIFACTS=results/soak/model.gguf.geodec \
	  tests/bench/soak.sh results/soak/model.gguf $(SOAK_SECONDS) - --threads 1 > results/soak/library.tsv; \
	  grown=$$?; wait $$!; streamed=$$?; tail -n 2 results/soak/*.tsv; [ $$grown = 0 ] && [ $$streamed = 0 ]

# Every long check; each takes from minutes to hours. `make check` has short samples of them.
LONG_CHECKS += check-faults-full check-faults-kill check-faults-locales check-soak check-valgrind
.PHONY: check-long
check-long:
	+@for t in $(LONG_CHECKS); do echo "=== $$t"; $(MAKE) --no-print-directory $$t || exit 1; done
