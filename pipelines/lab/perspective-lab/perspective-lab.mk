# The parts of the PERSPECTIVE design that need no model, and the plan's own arithmetic. The trained models of its experiments are made by
# `make perspective-lab`; the claims quote their summary if it exists.
PV := $(R)/perspective
$(PV)/parts.tsv: $(BIN)/geodec-perspective FORCE
	@$(call tool,perspective) --seed $(SEED) $(if $(filter 1,$(QUICK)),--quick) -o $(out)
$(PV)/plan.tsv: $(LAB)/perspective-lab/plan $(LAB)/perspective-lab/plan.tsv $(LAB)/perspective-lab/plan.sql $(BIN)/geodec-table FORCE
	@$< $(BIN) > $(out)
# The embedded model on stories that it was not trained on.
PV_MODEL := data/model/geodec-perspective-f16.gguf
$(PV)/stories.txt: $(BIN)/geodec-corpus FORCE
	@$(call tool,corpus) --seed 20260002 --stories $(if $(filter 1,$(QUICK)),40,150) -o $(out) --report $(w).json
$(PV)/cost.tsv: $(PV)/model.tsv
$(PV)/model.tsv: private also := cost.tsv
$(PV)/model.tsv: $(LAB)/perspective-lab/embedded $(PV_MODEL) $(PV)/stories.txt $(addprefix $(BIN)/geodec-,perplexity routing ternary adapt perspectives decode table) FORCE
	@$< $(BIN) $(PV_MODEL) $(PV)/stories.txt $(w).d $(new)/cost.tsv > $(out)
LABORATORY += $(PV)/parts.tsv $(PV)/plan.tsv $(PV)/model.tsv $(PV)/cost.tsv

# make perspective-lab: trains small models (8 layers of width 48, 16 experts, bytes) on the same text: each of pipelines/lab/perspective-lab/variants.tsv with
# three seeds at equal steps, and measures them on held-out text: bits a byte, loads, look-ahead, differences of neighbours, long windows. It takes
# about an hour on two cores and is not part of run_all.sh.
#   PL_SEEDS='1 2 3' PL_STEPS=N PL_NAMES='angle mod ..'   seeds, steps, variants; PL_FLAGS='--threads 1': with make -j
comma := ,
PL := results/perspective-lab
PL_SEEDS ?= 1 2 3
PL_STEPS ?= 600
PL_BYTES ?= 120000
PL_FLAGS ?=
PL_RECIPE = --arch perspective --d-model 48 --layers 8 --heads 4 --kv-heads 1 --ff 48 --rank 12 --window 64 --ctx 4096 --length 128 --batch 16 \
	  --lr 3e-3 --beta2 0.95 --decay 0.05 --warmup 40 --lr-schedule linear --eval-every $(PL_STEPS) --eval-tokens 8192 --steps $(PL_STEPS) $(PL_FLAGS)
ifndef PL_NAMES
PL_NAMES := $(filter-out name,$(shell cut -f 1 $(LAB)/perspective-lab/variants.tsv))
endif
PL_RUNS = $(foreach s,$(PL_SEEDS),$(PL_NAMES:%=%-$s))
# The parts of decoding (ablations A5 to A7) are measured on the base.
PL_DECODING = $(if $(filter angle,$(PL_NAMES)),$(PL_SEEDS:%=$(PL)/decoding-%.tsv))
# The options of a run NAME-SEED.
pl_options = $$(awk -F '\t' -v n="$(patsubst %-$(lastword $(subst -, ,$1)),%,$1)" '$$1 == n {print $$2}' $(LAB)/perspective-lab/variants.tsv)
$(eval $(call staged,$(PL)/held-out.txt $(PL)/vocab.gguf $(PL)/runs.tsv $(PL)/summary.tsv $(PL)/decoding.tsv $(PL)/parts.tsv $(PL_DECODING) $(PL_RUNS:%=$(PL)/%.gguf) $(PL_RUNS:%=$(PL)/%.tsv)))
# whole documents of the held-out text
$(PL)/held-out.txt: $(lastword $(MOE_TEXTS)) FORCE
	@awk -v most=$(PL_BYTES) '{n += length($$0) + 1; print} n > most && $$0 == "<|endoftext|>" {exit}' $< > $(out)
$(PL)/vocab.gguf: $(firstword $(MOE_TEXTS)) $(BIN)/geodec-vocab FORCE
	@$(call tool,vocab) --size $(PERSPECTIVE_BYTES) --separator mark -o $(out) $<
$(PL_RUNS:%=$(PL)/%.gguf): private also = $(*F).h5
$(PL_RUNS:%=$(PL)/%.gguf): $(PL)/%.gguf: $(firstword $(MOE_TEXTS)) $(PL)/held-out.txt $(PL)/vocab.gguf $(LAB)/perspective-lab/variants.tsv $(BIN)/geodec-train FORCE
	@$(BIN)/geodec-train --force $(if $(V),,--quiet) --seed $(lastword $(subst -, ,$*)) --text $(firstword $(MOE_TEXTS)) --held-out $(PL)/held-out.txt \
	  --separator mark --vocab $(PL)/vocab.gguf $(PL_RECIPE) $(call pl_options,$*) --checkpoint $(w).ckpt --curve $(new)/$*.h5 -o $(out); rm -f $(w).ckpt
$(PL_RUNS:%=$(PL)/%.tsv): $(PL)/%.tsv: $(LAB)/perspective-lab/measure $(PL)/%.gguf $(PL)/held-out.txt FORCE
	@$< $(BIN) $(PL)/$*.gguf $(PL)/held-out.txt $(w).d $* > $(out)
$(PL)/runs.tsv: $(PL_RUNS:%=$(PL)/%.tsv) FORCE
	@{ printf 'variant\tseed\tweights\tbits\tbits_long\tgini\tgini_most\tunused\trepeat\tahead_0\tahead_1\tahead_2\tpopular\tp_edge\tsize\tp_independent\tstate_kB\n'; \
	  cat $(PL_RUNS:%=$(PL)/%.tsv); } > $(out)
$(PL_DECODING): $(PL)/decoding-%.tsv: $(LAB)/perspective-lab/decoding $(PL)/angle-%.gguf $(PL)/held-out.txt $(addprefix $(BIN)/geodec-,perspectives adapt) FORCE
	@$< $(BIN) $(PL)/angle-$*.gguf $(PL)/held-out.txt $(w).d $* > $(out)
$(PL)/decoding.tsv: $(PL_DECODING) FORCE
	@{ printf 'seed\tpart\tkey\tquantity\tvalue\tcontrol\tcompared\n'; cat /dev/null $(PL_DECODING); } > $(out)
pl_mean = iif(count(*) FILTER (WHERE known($1)) > 0, mean($1) FILTER (WHERE known($1)), '-') AS $1
pl_spread = iif(count(*) FILTER (WHERE known($1)) > 1, sem($1) FILTER (WHERE known($1)) * sqrt(count(*) FILTER (WHERE known($1))), '-') AS $1_sd
$(PL)/parts.tsv: $(PL)/decoding.tsv FORCE
	@$(table) --digits 5 $< "SELECT part, key, quantity, count(*) AS seeds, $(foreach c,value control,$(call pl_mean,$c)$(comma) $(call pl_spread,$c)$(comma)) compared \
	  FROM t GROUP BY key ORDER BY min(rowid)" > $(out)
$(PL)/summary.tsv: $(PL)/runs.tsv FORCE
	@$(table) --digits 5 $< "SELECT variant, count(*) AS seeds, first(weights) AS weights, first(state_kB) AS state_kB, $(foreach c,bits bits_long gini gini_most unused repeat ahead_0 ahead_1 \
	  ahead_2 p_edge,$(call pl_mean,$c)$(comma) $(call pl_spread,$c)$(comma)) $(call pl_mean,popular), $(call pl_mean,size), $(call pl_mean,p_independent) \
	  FROM t GROUP BY variant ORDER BY min(rowid)" > $(out)
# One seed has no spread.
pl_bar = iif(known($1_sd), $1_sd, 0) AS $1_sd
PL_FIGURES := $(foreach f,routes alike,$(PL)/$f.svg $(PL)/$f.png)
$(eval $(call staged,$(PL)/routes.tsv $(PL)/alike.tsv $(PL_FIGURES)))
$(PL)/routes.tsv: $(PL)/summary.tsv FORCE
	@$(table) $< "SELECT variant, bits, $(call pl_bar,bits), ahead_0, $(call pl_bar,ahead_0), ahead_1, $(call pl_bar,ahead_1), ahead_2, $(call pl_bar,ahead_2), popular, \
	  (SELECT bits FROM t WHERE variant = 'dense') AS dense FROM t WHERE variant IN ('angle', 'mod', 'angle-post', 'mod-post', 'softmax', 'fixed')" | sed 's/\t-/\tnan/g' > $(out)
$(PL)/alike.tsv: $(PL)/summary.tsv FORCE
	@$(table) $< "SELECT iif(variant = 'angle', 0, replace(variant, 'alike-', '')) AS weight, bits, $(call pl_bar,bits), p_edge, $(call pl_bar,p_edge), size, p_independent \
	  FROM t WHERE variant = 'angle' OR variant LIKE 'alike-%'" | sed 's/\t-/\tnan/g' > $(out)
$(eval $(call drawn,$(PL)/routes,$(LAB)/perspective-lab/routes.gp,$(PL)/routes.tsv,tsv='$(PL)/routes.tsv'))
$(eval $(call drawn,$(PL)/alike,$(LAB)/perspective-lab/alike.gp,$(PL)/alike.tsv,tsv='$(PL)/alike.tsv'))
.PHONY: perspective-lab perspective-page
perspective-lab: $(PL)/summary.tsv $(PL)/parts.tsv $(PL_FIGURES)
	@cat $(PL)/summary.tsv
perspective-page: $(LAB)/perspective-lab/page $(PL)/summary.tsv $(PL)/parts.tsv $(PL_FIGURES) $(PV)/parts.tsv
	@$< $(BIN) $(PL) $(PV)/parts.tsv $(PERSPECTIVE) docs/results/perspective.md > docs/results/.perspective.tmp && mv docs/results/.perspective.tmp docs/results/perspective.md
	@cp $(PL)/routes.png docs/results/perspective-routes.png; cp $(PL)/alike.png docs/results/perspective-alike.png
