# make shf: what a penalty on departures from geodesics does to a model. Three trainings a seed (without, with the fitted metric,
# with the flat one: the control), three seeds, everything else equal; then the pipeline on each. About 15 minutes on two cores,
# so it is no part of run_all.sh.
SHF := results/shf
SHF_SEEDS ?= 1 2 3
SHF_WEIGHT ?= 0.1
SHF_STEPS ?= 600
SHF_SHAPE := --d-model 64 --layers 6 --heads 4 --kv-heads 2 --ff 176 --ctx 256
SHF_TRAIN = --length 256 --batch 8 --steps $(SHF_STEPS) --lr 4e-3 --warmup 50 --eval-every 50 --eval-tokens 8192
SHF_plain :=
SHF_fitted = --shf $(SHF_WEIGHT) --shf-metric fitted
SHF_flat = --shf $(SHF_WEIGHT) --shf-metric flat
SHF_KINDS := plain fitted flat
SHF_RUNS := $(foreach s,$(SHF_SEEDS),$(SHF_KINDS:%=$(SHF)/%-$s))
SHF_ARTIFACTS := layers.h5 hjb.h5 geodesicity.h5 riemann.h5 validity.h5 benchdecode.h5

$(SHF)/train.txt: | $(BIN)/geodec-corpus
	$(run) $(call tool,corpus) --seed 20260001 --stories 4000 -o $@ --report $(SHF)/train.json
$(SHF)/held-out.txt: | $(BIN)/geodec-corpus
	$(run) $(call tool,corpus) --seed 20260001 --first 70000 --stories 300 -o $@ --report $(SHF)/held-out.json
$(SHF)/vocab.gguf: $(SHF)/train.txt | $(BIN)/geodec-vocab
	$(run) $(call tool,vocab) --size 512 -o $@ $<

# A run's folder is a results folder; the rules of the pipeline make what is in it.
define shf_run
$(SHF)/$1-$2/model.gguf: $(SHF)/train.txt $(SHF)/held-out.txt $(SHF)/vocab.gguf $(BIN)/geodec-train
	$$(run) $(BIN)/geodec-train --force $$(if $$(V),,--quiet) --seed $2 --text $(SHF)/train.txt --held-out $(SHF)/held-out.txt \
	  --floor $(SHF)/held-out.json --vocab $(SHF)/vocab.gguf $(SHF_SHAPE) $$(SHF_TRAIN) $$(SHF_$1) --curve $$(@D)/losscurve.h5 \
	  --checkpoint $$(@D)/checkpoint.h5 --resume -o $$@.new && mv $$@.new $$@
$(SHF)/$1-$2/done: $(SHF)/$1-$2/model.gguf
	+@$(MAKE) --no-print-directory R=$$(@D) MODEL=$$< TEXT=$(SHF)/held-out.txt QUICK=1 GAMMAS=4 SEEDS=1 \
	  $(SHF_ARTIFACTS:%=$$(@D)/%)
	@touch $$@
endef
$(foreach s,$(SHF_SEEDS),$(foreach k,$(SHF_KINDS),$(eval $(call shf_run,$k,$s))))

$(SHF)/shf.tsv: pipelines/lab/shf-table $(SHF_RUNS:%=%/done)
	$(run) BIN=$(BIN) bash $< $(SHF_RUNS) > $@.tmp && mv $@.tmp $@
$(SHF)/shf.svg $(SHF)/shf.png: $(SHF)/shf.%: $(GP)/shf.gp $(GP)/style.gp $(SHF)/shf.tsv
	$(run) $(call plot,$*,tsv='$(SHF)/shf.tsv')
.PHONY: shf
shf: $(SHF)/shf.svg $(SHF)/shf.png
	@cat $(SHF)/shf.tsv
