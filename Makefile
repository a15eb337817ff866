# Geodec. The only file that includes others. `make help` lists the targets.
include pipelines/names.mk
SHELL := /bin/sh
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

.PHONY: all
all: build

include mk/config-default.mk
include mk/layers.mk
include mk/rules.mk
include mk/fuzz.mk
include mk/everywhere.mk
include mk/test.mk
include mk/faults.mk
include mk/ternary.mk
include mk/lint.mk
include mk/static.mk
include mk/install.mk
include mk/docs.mk
include mk/package.mk
include pipelines/pipelines.mk

.PHONY: help clean distclean
help:
	@echo "make [build]        library and tools into $(B)/"
	@echo "make check          set-up if needed, then a fixed choice of the tests that touches every tool and folder; TESTS=\"words of names\" for a part"
	@echo "make check-full     every test; make check-rest: those that make check leaves out"
	@echo "make check-all      check-full, plus the sanitizer builds"
	@echo "make check-mpi      ranks of MPI: the bytes of one process, a killed rank, resuming (needs the packages 'cluster')"
	@echo "make check-everywhere  one hash of a model in integers over compilers, levels, instruction sets and (qemu-user) architectures"
	@echo "make check-slurm    make submit on a real Slurm on this machine, disturbed (packages of purpose cluster)"
	@echo "make everywhere-results  the same with its controls, exact and llama.cpp (PEER=its sources): the table of docs/results"
	@echo "make fuzz           FUZZ=gguf|... SECONDS=1200: coverage-guided fuzzing (needs clang)"
	@echo "make fuzz-weekly    every fuzz target for SECONDS each, JOBS=1 at a time; keeps the inputs that add coverage"
	@echo "make check-analyzer check-tidy  gcc's analyser and clang-tidy on every file; accepted findings are in tests/static"
	@echo "make lint           layers, symbols, headers, format, shell, floats in the object code of the integer engine"
	@echo "make results        the whole pipeline for MODEL= and TEXT= (default: the embedded model and its corpus)"
	@echo "make submit         the same as jobs of Slurm: SHARDS=64 PARTITION= TIME= MEM= ACCOUNT= GOALS=results; DRY=1 prints the scripts; RUNNER=xargs JOBS=N without Slurm"
	@echo "make cluster-status how far the jobs are: done, running, waiting, failed, how long, what is left"
	@echo "make plan           the sizes that MODEL= and TEXT= support, each with its reason"
	@echo "make figures        figures and the report page"
	@echo "make claims         the paper's claims: published, reproduced, correct, control, verdict"
	@echo "make power          positive controls of the findings in full: which effect would have been found; make power-page: docs/results/power.md"
	@echo "make exactness      every drafter, draft length and tree compared with plain decoding, token by token, with controls (resumable)"
	@echo "make lead           trees of n-gram, flow map and both for every model; make ablation: what the map's geometry contributes"
	@echo "make drafting       the parts of drafting: acceptance by length, rejections, gates, three-way speeds, readiness"
	@echo "make acceptance     acceptance by draft length on texts from other sources: WikiText and the Spec-Bench questions of the shared folder, ACCEPTANCE_TEXTS="
	@echo "make projection     sweeps of low-rank weights; make kv: of low-rank caches; make attnres: recombination of the residual stream over depth"
	@echo "make streaming      a mixture with a part of its experts in memory: hits, recall, speed by budget, drafts, course of a run (MOE_MODEL=)"
	@echo "make integer        the third paper's figures: Config B and E, perplexity by bits, cost of a score, codes of keys, results over builds"
	@echo "make kv-page        projection-page, attnres-page, streaming-page, integer-page, acceptance-page, exactness-page, readme-figure: pages of docs/results from the last run"
	@echo "make rollout        drafts of a geometric rollout, with an ablation of its geometry; tables of OneDecode"
	@echo "make shf            training with and without the penalty on departures from geodesics (a quarter of an hour)"
	@echo "make bench-chain    bench-forward, -knn, -warp, ..: speed compared with a named peer or limit (tests/bench/README.md)"
	@echo "make architectures  every architecture of the shared folder against the peer and the reference, bit for bit in every order; docs/results/architectures.md"
	@echo "make bench-plan     --plan of the stages against the memory and time of their runs; docs/results/plan.md"
	@echo "make bench-cluster  strong and weak scaling on 1, 2 and 4 ranks, as TSV"
	@echo "make notebooks      execute the notebooks on the results of MODEL="
	@echo "make model          train the embedded default model"
	@echo "make moe            train a mixture of 22 million parameters on text of Debian packages (about an hour); make model-mixture: the embedded one"
	@echo "make perspective    train a PERSPECTIVE model of 10 million parameters on the same text (under an hour); make perspective-controls: its controls"
	@echo "make docs           pages and tables made from the library's tables: artifact kinds, drafters, tensor types, architectures, integrators"
	@echo "make install        PREFIX= DESTDIR="
	@echo "make dist           the sources as build/dist/geodec-VERSION.tar.xz, with the same bytes for the same contents; make deb: the Debian packages, in build/deb"
	@echo "make release-check  versions, symbols file, ABI, tarball, packages, lintian; make check-package: the packages in a bare Debian root; make check-reproducible"
	@echo "QUICK=1 is the short version of each, FULL=1 the long one; sizes by name: PROMPTS=10 NEW_TOKENS=48 STORE_TEXTS=64 .. (pipelines/config.mk)"
	@echo "PROFILE=release|debug|asan|ubsan|tsan  CC=gcc|clang  V=1"
clean:
	rm -rf build
distclean: clean
	rm -rf results mk/config.mk
