# make moe: trains a mixture of 22.3 million parameters (6 layers of width 192, 32 experts of 221,184 bytes in F16, 2 used, vocabulary 2048,
# context 256) on text of Debian packages, in about an hour on two cores, and measures it on held-out text: bits per byte beside byte
# n-gram models of the same text, and the loads of the experts. make moe-control adds a dense model with the same number of active
# parameters, which takes as long again. An interrupted run continues from its checkpoint. docs/manual/moe.md has the licences of the texts;
# model and texts stay in results/moe and are never committed.
#   MOE_STEPS=N  MOE_BATCH=N  MOE_SEED=N             length of the training, sequences a step, seed
#   MOE_TEXT=FILE MOE_HELD_OUT=FILE                  your texts in place of those of the packages
#   QUICK=1                                          a small mixture in results/moe-quick, in about a minute
MOE_SEED ?= 1
MOE_TEXT ?=
MOE_HELD_OUT ?=
ifeq ($(QUICK),1)
MOE ?= results/moe-quick
MOE_STEPS ?= 150
MOE_BATCH ?= 8
MOE_VOCAB ?= 512
MOE_ACTIVE := --d-model 64 --layers 2 --heads 4 --kv-heads 2 --ctx 256
MOE_SHAPE := $(MOE_ACTIVE) --ff 64 --experts 8 --experts-used 2
MOE_DENSE := $(MOE_ACTIVE) --ff 128
MOE_EVERY := --warmup 10 --eval-every 20 --eval-tokens 4096 --checkpoint-every 20
MOE_ORDER := 3
else
MOE ?= results/moe
MOE_STEPS ?= 1700
MOE_BATCH ?= 32
MOE_VOCAB ?= 2048
MOE_ACTIVE := --d-model 192 --layers 6 --heads 6 --kv-heads 3 --ctx 256
MOE_SHAPE := $(MOE_ACTIVE) --ff 192 --experts 32 --experts-used 2
MOE_DENSE := $(MOE_ACTIVE) --ff 384
MOE_EVERY := --warmup 100 --eval-every 50 --eval-tokens 32768 --checkpoint-every 50
MOE_ORDER := 6
endif
MOE_TRAIN = --length 256 --batch $(MOE_BATCH) --steps $(MOE_STEPS) --lr 3e-3 $(MOE_EVERY) --resume
MOE_TEXTS := $(or $(MOE_TEXT),$(MOE)/train.txt) $(or $(MOE_HELD_OUT),$(MOE)/held-out.txt)
ifneq ($(words $(MOE_TEXT) $(MOE_HELD_OUT)),$(if $(MOE_TEXT)$(MOE_HELD_OUT),2,0))
$(error MOE_TEXT and MOE_HELD_OUT are given together, each one name without blanks)
endif

.PHONY: moe moe-control moe-text
moe: $(MOE)/report.tsv
	@cat $<
moe-control: $(MOE)/dense-losscurve.h5
	+@rm -f $(MOE)/report.tsv; $(MAKE) --no-print-directory moe
moe-text: $(MOE_TEXTS)

# The packages are downloaded once. The texts are made again if the rules that make them change.
$(MOE)/packages.tsv: | packages.txt
	@echo "  RUN   $(@F)"; pipelines/collect-text fetch $(@D)
$(MOE)/train.txt: $(MOE)/packages.tsv pipelines/collect-text pipelines/cut-text.awk
	@echo "  RUN   $(@F)"; COLLECT_SEED=$(MOE_SEED) pipelines/collect-text make $(@D)
$(MOE)/held-out.txt: $(MOE)/train.txt
	@test -s $@
$(MOE)/vocab.gguf: $(firstword $(MOE_TEXTS)) | $(BIN)/geodec-vocab
	$(run) $(call tool,vocab) --size $(MOE_VOCAB) --separator mark -o $@ $<
moe_train = $(BIN)/geodec-train --force --seed $(MOE_SEED) --text $(firstword $(MOE_TEXTS)) --held-out $(lastword $(MOE_TEXTS)) --separator mark \
	  --vocab $(MOE)/vocab.gguf $(MOE_TRAIN) -o $(MOE)/$1-f32.gguf --out-f16 $(MOE)/$1-f16.gguf.new --checkpoint $(MOE)/$1.ckpt.h5
# The loss curve is the last file, so it is the target.
$(MOE)/mixture-losscurve.h5: $(MOE_TEXTS) $(MOE)/vocab.gguf | $(BIN)/geodec-train
	$(run) $(call moe_train,mixture) $(MOE_SHAPE) --name geodec-moe --curve $@.new && mv $(MOE)/mixture-f16.gguf.new $(MOE)/mixture-f16.gguf && mv $@.new $@
$(MOE)/dense-losscurve.h5: $(MOE_TEXTS) $(MOE)/vocab.gguf | $(BIN)/geodec-train
	$(run) $(call moe_train,dense) $(MOE_DENSE) --name geodec-moe-control --curve $@.new && mv $(MOE)/dense-f16.gguf.new $(MOE)/dense-f16.gguf && mv $@.new $@
$(MOE)/ngram.tsv: $(MOE_TEXTS) | $(BIN)/geodec-ngram
	$(run) $(BIN)/geodec-ngram $(if $(V),,--quiet) --separator mark --order $(MOE_ORDER) --text $(MOE_TEXTS) > $@
$(MOE)/routing.tsv: $(MOE)/mixture-losscurve.h5 $(lastword $(MOE_TEXTS)) | $(BIN)/geodec-routing
	$(run) $(BIN)/geodec-routing $(if $(V),,--quiet) --model $(MOE)/mixture-f16.gguf $(lastword $(MOE_TEXTS)) > $@
# Each row: a measure on the held-out text, the mixture's value, its control, and what the control is.
moe_bits = $$($(BIN)/geodec-table --attr final_held_out_bits_per_byte $1)
# Rows of a report: the bits of the model beside n-grams, and the loads of the experts beside a random choice.
moe_best = $(BIN)/geodec-table --no-header $1 "SELECT 'bits_per_byte', $$bits, min(number(bits_per_byte)), 'best byte n-gram' FROM t"
moe_frequencies = $(BIN)/geodec-table --no-header $1 "SELECT 'bits_per_byte', $$bits, bits_per_byte, 'byte frequencies' FROM t WHERE context = 0"
moe_loads = $(BIN)/geodec-table --no-header $1 "SELECT 'gini_layer_' || layer, gini, random_gini, 'random choice' FROM t"
$(MOE)/report.tsv: $(MOE)/mixture-losscurve.h5 $(MOE)/ngram.tsv $(MOE)/routing.tsv | $(BIN)/geodec-table
	@bits=$(call moe_bits,$<); { printf 'measure\tvalue\tcontrol\tcontrol_is\n'; \
	  $(call moe_best,$(MOE)/ngram.tsv); \
	  $(call moe_frequencies,$(MOE)/ngram.tsv); \
	  if [ -e $(MOE)/dense-losscurve.h5 ]; then \
	    printf 'bits_per_byte\t%s\t%s\tdense model of the same active size\n' $$bits $(call moe_bits,$(MOE)/dense-losscurve.h5); fi; \
	  $(call moe_loads,$(MOE)/routing.tsv); } > $@.new && mv $@.new $@
