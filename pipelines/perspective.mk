# make perspective: trains a PERSPECTIVE model of 10.1 million parameters (8 layers R R R A of width 128, rank 32, windows of 64 bytes, 16 ternary
# experts of width 256 on a 4 x 2 x 2 torus, bytes as tokens) on the text of `make moe-text`, in less than an hour on two cores, and measures it on
# held-out text: bits per byte beside byte n-gram models, and the loads of the experts. make perspective-controls adds two models of the same text and
# steps: a dense one of the same active size, and one with an ordinary router; make perspective-twin: the last one by itself. An interrupted run
# continues from its checkpoint.
#   PERSPECTIVE_STEPS=N PERSPECTIVE_SEED=N           length of the training (sequences of 128 bytes, 16 a step), seed
#   PERSPECTIVE_ROUTE=angle|mod PERSPECTIVE_AT=pre|post   the router
#   MOE_TEXT=FILE MOE_HELD_OUT=FILE                  your texts in place of those of the packages
#   QUICK=1                                          a small model in results/perspective-quick, in about a minute
PERSPECTIVE_SEED ?= 1
PERSPECTIVE_ROUTE ?= angle
PERSPECTIVE_AT ?= pre
ifeq ($(QUICK),1)
PERSPECTIVE ?= results/perspective-quick
PERSPECTIVE_STEPS ?= 150
PERSPECTIVE_SHAPE := --d-model 64 --layers 4 --heads 4 --kv-heads 1 --ff 64 --rank 16 --ctx 64
PERSPECTIVE_EXPERTS := --lattice 2,2,2
PERSPECTIVE_EVERY := --batch 16 --warmup 10 --eval-every 50 --eval-tokens 4096 --checkpoint-every 50
else
PERSPECTIVE ?= results/perspective
PERSPECTIVE_STEPS ?= 6000
PERSPECTIVE_SHAPE := --d-model 128 --layers 8 --heads 4 --kv-heads 1 --ff 256 --rank 32 --ctx 128
PERSPECTIVE_EXPERTS := --lattice 4,2,2
PERSPECTIVE_EVERY := --batch 16 --warmup 40 --eval-every 250 --eval-tokens 32768 --checkpoint-every 250
endif
perspective_recipe = --arch perspective $(PERSPECTIVE_SHAPE) --lr 3e-3 --beta2 0.95 --decay 0.05 --lr-schedule linear $(PERSPECTIVE_EVERY) \
	  --steps $(PERSPECTIVE_STEPS) --seed $(PERSPECTIVE_SEED) --resume
perspective_places := --route $(PERSPECTIVE_ROUTE) --route-at $(PERSPECTIVE_AT)
PERSPECTIVE_BYTES := 260

.PHONY: perspective perspective-controls perspective-twin
perspective: $(PERSPECTIVE)/report.tsv
	@cat $<
perspective-controls: $(PERSPECTIVE)/dense-losscurve.h5 $(PERSPECTIVE)/softmax-losscurve.h5
	+@rm -f $(PERSPECTIVE)/report.tsv; $(MAKE) --no-print-directory perspective
perspective-twin: $(PERSPECTIVE)/twin.tsv
	@cat $<

# A vocabulary of bytes and the marks; the text only gives its name.
$(PERSPECTIVE)/vocab.gguf: $(firstword $(MOE_TEXTS)) | $(BIN)/geodec-vocab
	$(run) $(call tool,vocab) --size $(PERSPECTIVE_BYTES) --separator mark -o $@ $<
# The loss curve is the last file, so it is the target. perspective_train NAME,OPTIONS
perspective_train = $(run) $(BIN)/geodec-train --force --text $(firstword $(MOE_TEXTS)) --held-out $(lastword $(MOE_TEXTS)) --separator mark \
	  --vocab $(PERSPECTIVE)/vocab.gguf $(perspective_recipe) $2 --name geodec-$1 -o $(PERSPECTIVE)/$1-f32.gguf \
	  --out-f16 $(PERSPECTIVE)/$1-f16.gguf.new --checkpoint $(PERSPECTIVE)/$1.ckpt.h5 --curve $@.new && \
	  mv $(PERSPECTIVE)/$1-f16.gguf.new $(PERSPECTIVE)/$1-f16.gguf && mv $@.new $@
$(PERSPECTIVE)/perspective-losscurve.h5: $(MOE_TEXTS) $(PERSPECTIVE)/vocab.gguf | $(BIN)/geodec-train
	$(call perspective_train,perspective,$(PERSPECTIVE_EXPERTS) $(perspective_places))
$(PERSPECTIVE)/dense-losscurve.h5: $(MOE_TEXTS) $(PERSPECTIVE)/vocab.gguf | $(BIN)/geodec-train
	$(call perspective_train,dense,)
$(PERSPECTIVE)/softmax-losscurve.h5: $(MOE_TEXTS) $(PERSPECTIVE)/vocab.gguf | $(BIN)/geodec-train
	$(call perspective_train,softmax,$(PERSPECTIVE_EXPERTS) --route softmax --experts-used 1 --route-at $(PERSPECTIVE_AT))
$(PERSPECTIVE)/ngram.tsv: $(MOE_TEXTS) | $(BIN)/geodec-ngram
	$(run) $(BIN)/geodec-ngram $(if $(V),,--quiet) --separator mark --order $(MOE_ORDER) --text $(MOE_TEXTS) > $@
$(PERSPECTIVE)/routing.tsv: $(PERSPECTIVE)/perspective-losscurve.h5
$(PERSPECTIVE)/twin-routing.tsv: $(PERSPECTIVE)/softmax-losscurve.h5
$(PERSPECTIVE)/routing.tsv $(PERSPECTIVE)/twin-routing.tsv: $(lastword $(MOE_TEXTS)) | $(BIN)/geodec-routing
	$(run) $(BIN)/geodec-routing $(if $(V),,--quiet) --model $(patsubst %losscurve.h5,%f16.gguf,$(filter %losscurve.h5,$^)) $(lastword $(MOE_TEXTS)) > $@
# Each row: a measure on the held-out text, the model's value, its control, and what the control is.
perspective_control = if [ -e $(PERSPECTIVE)/$1-losscurve.h5 ]; then \
	    printf 'bits_per_byte\t%s\t%s\t$2\n' $$bits $(call moe_bits,$(PERSPECTIVE)/$1-losscurve.h5); fi
$(PERSPECTIVE)/report.tsv: $(PERSPECTIVE)/perspective-losscurve.h5 $(PERSPECTIVE)/ngram.tsv $(PERSPECTIVE)/routing.tsv | $(BIN)/geodec-table
	@bits=$(call moe_bits,$<); { printf 'measure\tvalue\tcontrol\tcontrol_is\n'; \
	  $(call moe_best,$(PERSPECTIVE)/ngram.tsv); \
	  $(call moe_frequencies,$(PERSPECTIVE)/ngram.tsv); \
	  $(call perspective_control,dense,dense model of the same active size); \
	  $(call perspective_control,softmax,experts chosen by an ordinary router); \
	  $(call moe_loads,$(PERSPECTIVE)/routing.tsv); } > $@.new && mv $@.new $@
# The same for the model with an ordinary router.
$(PERSPECTIVE)/twin.tsv: $(PERSPECTIVE)/softmax-losscurve.h5 $(PERSPECTIVE)/ngram.tsv $(PERSPECTIVE)/twin-routing.tsv | $(BIN)/geodec-table
	@bits=$(call moe_bits,$<); { printf 'measure\tvalue\tcontrol\tcontrol_is\n'; \
	  $(call moe_best,$(PERSPECTIVE)/ngram.tsv); \
	  $(call moe_loads,$(PERSPECTIVE)/twin-routing.tsv); } > $@.new && mv $@.new $@
