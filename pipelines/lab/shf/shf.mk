# make shf: the effect of training with a penalty on departures from geodesics. For each of three seeds one model is trained plainly. Its
# training then continues in three ways: plainly, with the penalty of the fitted metric, and with that of the flat metric (the control).
# Everything else is equal, and the pipeline measures each. The penalty cannot start from random weights: the fitted metric lags behind
# growing states, and the training diverges. The target takes about a quarter of an hour on two cores and is not part of run_all.sh.
SHF := results/shf
SHF_SEEDS ?= 1 2 3
SHF_WEIGHT ?= 0.03
SHF_BASE_STEPS ?= 400
SHF_STEPS ?= 200
SHF_SHAPE := --d-model 64 --layers 6 --heads 4 --kv-heads 2 --ff 176 --ctx 256
SHF_BATCH := --length 256 --batch 8 --eval-every 50 --eval-tokens 8192
SHF_BASE = --steps $(SHF_BASE_STEPS) --lr 4e-3 --warmup 50
SHF_TRAIN = --steps $(SHF_STEPS) --lr 1e-3 --warmup 10
SHF_plain :=
SHF_fitted = --shf $(SHF_WEIGHT) --shf-refresh 5 --shf-metric fitted
SHF_flat = --shf $(SHF_WEIGHT) --shf-refresh 5 --shf-metric flat
SHF_KINDS := plain fitted flat
SHF_RUNS := $(foreach s,$(SHF_SEEDS),$(SHF_KINDS:%=$(SHF)/%-$s))
SHF_ARTIFACTS := layers.h5 hjb.h5 geodesicity.h5 riemann.h5 validity.h5 benchdecode.h5

$(SHF)/train.txt: $(BIN)/geodec-corpus FORCE
	@$(call tool,corpus) --seed 20260001 --stories 4000 -o $(out) --report $(new)/train.json
$(SHF)/held-out.txt: $(BIN)/geodec-corpus FORCE
	@$(call tool,corpus) --seed 20260001 --first 70000 --stories 300 -o $(out) --report $(new)/held-out.json
$(SHF)/vocab.gguf: $(SHF)/train.txt $(BIN)/geodec-vocab FORCE
	@$(call tool,vocab) --size 512 -o $(out) $<

# These are stages too, except for the makes of the runs.
$(eval $(call staged,$(SHF)/train.txt $(SHF)/held-out.txt $(SHF)/vocab.gguf $(SHF)/shf.tsv $(SHF)/shf.svg $(SHF)/shf.png $(SHF)/summary.tsv \
  $(SHF_SEEDS:%=$(SHF)/base-%.gguf) $(SHF_RUNS:%=%/model.gguf)))
SHF_TEXTS := --text $(SHF)/train.txt --held-out $(SHF)/held-out.txt --floor $(SHF)/held-out.json
$(SHF)/base-%.gguf: $(SHF)/train.txt $(SHF)/held-out.txt $(SHF)/vocab.gguf $(BIN)/geodec-train FORCE
	@$(BIN)/geodec-train --force $(if $(V),,--quiet) --seed $* $(SHF_TEXTS) --vocab $(SHF)/vocab.gguf $(SHF_SHAPE) $(SHF_BATCH) \
	  $(SHF_BASE) -o $(out)

# The folder of a run is a results folder, made by the rules of the pipeline.
define shf_run
$(SHF)/$1-$2/model.gguf: $(SHF)/base-$2.gguf FORCE
	@$(BIN)/geodec-train --force $$(if $$(V),,--quiet) --seed $2 $$(SHF_TEXTS) --init $$< $$(SHF_BATCH) $$(SHF_TRAIN) $$(SHF_$1) \
	  --curve $$(new)/losscurve.h5 -o $$(out)
$(SHF)/$1-$2/done: $(SHF)/$1-$2/model.gguf FORCE
	+@$(MAKE) --no-print-directory R=$$(@D) MODEL=$$< TEXT=$(SHF)/held-out.txt QUICK=1 FULL= LAYERS=all GAMMAS=4 SEEDS=1 \
	  $(SHF_ARTIFACTS:%=$$(@D)/%)
	@touch $$@
endef
$(foreach s,$(SHF_SEEDS),$(foreach k,$(SHF_KINDS),$(eval $(call shf_run,$k,$s))))

$(SHF)/shf.tsv: $(LAB)/shf/table $(SHF_RUNS:%=%/done) FORCE
	@BIN=$(BIN) bash $< $(SHF_RUNS) > $(out)
$(eval $(call drawn,$(SHF)/shf,$(LAB)/shf/plot.gp,$(SHF)/shf.tsv,tsv='$(SHF)/shf.tsv'))
# A row for each measure: means over the seeds for the three ways of training, and the percentage by which each penalty lowers the measure
# compared with the plain run of the same seed: mean and standard error of the pairs. Pairs with a missing number are left out.
SHF_MEASURES := bits_per_byte turn geodesic_over_line curvature radius first_accepted
shf_mean = iif(count(*) FILTER (WHERE known($1)) > 0, mean($1) FILTER (WHERE known($1)), '-') AS $1
shf_pair = FILTER (WHERE known(plain) AND known($1) AND plain <> 0)
shf_lowers = iif(count(*) $(call shf_pair,$2) > $3, $1(100 * (1 - 1.0 * $2 / plain)) $(call shf_pair,$2), '-')
# The table of claims quotes this file if it exists. It is not a prerequisite of that table, because it takes a quarter of an hour to make.
$(SHF)/summary.tsv: $(SHF)/shf.tsv FORCE
	@bare=; for m in $(SHF_MEASURES); do $(table) $$bare $< "SELECT '$$m' AS measure, seed, only($$m) FILTER (WHERE kind = 'plain') AS plain, \
	    only($$m) FILTER (WHERE kind = 'fitted') AS fitted, only($$m) FILTER (WHERE kind = 'flat') AS flat \
	    FROM t GROUP BY seed ORDER BY min(rowid)"; bare=--no-header; done > $(w).seeds; \
	  $(table) --digits 6 $(w).seeds "SELECT measure, $(call shf_mean,plain), $(call shf_mean,fitted), $(call shf_mean,flat), \
	    $(call shf_lowers,mean,fitted,0) AS fitted_lowers_percent, $(call shf_lowers,sem,fitted,1) AS fitted_error, \
	    $(call shf_lowers,mean,flat,0) AS flat_lowers_percent, $(call shf_lowers,sem,flat,1) AS flat_error \
	    FROM t GROUP BY measure ORDER BY min(rowid)" > $(out)
.PHONY: shf
shf: $(SHF)/shf.svg $(SHF)/shf.png $(SHF)/summary.tsv
	@cat $(SHF)/shf.tsv $(SHF)/summary.tsv
