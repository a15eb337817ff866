# make streaming: a mixture of experts that are read from a disk under a memory budget: hits by policy, recall of what is foretold, speed by budget,
# bytes a token with drafts, the course of a run; and the figures of a published plan. The model is MODEL if it has experts, else MOE_MODEL
# (a name without blanks; default: the first of MIXTURES that exists). Times differ from run to run.
ST := $(R)/streaming
MIXTURES := $(wildcard data/model/geodec-mixture-f16.gguf $(SHARED)/models/moe22m-f16.gguf $(SHARED)/models/stories-moe8x2-f16.gguf)
MOE_MODEL ?= $(firstword $(MIXTURES))
# The text that belongs to it: held-out text, or stories from a seed that was not used in training.
STREAMING_TEXT ?= $(or $(if $(findstring moe22m,$(MOE_MODEL)),$(wildcard $(SHARED)/text/moe22m-a.txt)),$(ST)/stories.txt)
# STREAMING: sizes of the runs; texts of the store; tokens of the text for the recall.
ifeq ($(QUICK),1)
STREAMING ?= PROMPTS=2 NEW_TOKENS=120 ROUNDS=1 SHARES='10 25 50 100' GAMMAS='2 4'
STREAMING_STORE ?= 64
STREAMING_RECALL ?= 4000
else
STREAMING ?= PROMPTS=4 NEW_TOKENS=200 ROUNDS=3 SHARES='10 25 50 75 100' GAMMAS='1 2 4 8'
STREAMING_STORE ?= 320
STREAMING_RECALL ?= 20000
endif
STREAMING_TABLES := $(addprefix $(ST)/,plan.tsv speed.tsv ahead.tsv least.tsv drafts.tsv recall.tsv)
STREAMING_FIGURES := streaming-slots streaming-recall streaming-ahead streaming-speed streaming-drafts streaming-timeline
measure = $(STREAMING) $(LAB)/streaming/measure
streaming_length = $$(sed 1d $(ST)/model.tsv | cut -f 5)

$(ST)/stories.txt: $(BIN)/geodec-corpus FORCE
	@$(call tool,corpus) --seed 20260002 --stories 150 -o $(out) --report $(w).json
$(ST)/model.gguf: private also := text.txt model.tsv
$(ST)/model.gguf: private reads := $(wildcard $(MOE_MODEL))
$(ST)/model.gguf: $(LAB)/streaming/measure $(BIN)/geodec-model-info $(MODEL_FILE) $(TEXT_FILE) $(STREAMING_TEXT) FORCE
	@$< choose $(BIN) $(new) $(MODEL_FILE) $(TEXT_FILE) $(MOE_MODEL) $(if $(MOE_MODEL),$(STREAMING_TEXT))
$(ST)/run.trace: private also := run.json resident.json usage.table
$(ST)/run.trace: $(ST)/model.gguf $(LAB)/streaming/measure $(BIN)/geodec-decode $(BIN)/geodec-perplexity FORCE
	@$(measure) trace $(BIN) $(new) $(ST)/model.gguf $(ST)/text.txt
$(ST)/speed.tsv: private also := timeline.tsv exact.tsv summary.tsv
$(ST)/speed.tsv: $(ST)/run.trace $(LAB)/streaming/measure $(BIN)/geodec-decode $(BIN)/geodec-experts FORCE
	@$(measure) speed $(BIN) $(new) $(ST)/model.gguf $(ST)/text.txt $(ST)

$(ST)/model.tsv: $(ST)/model.gguf
$(ST)/exact.tsv $(ST)/summary.tsv: $(ST)/speed.tsv

# A store of sampled text, for the n-gram and for the flow map, which foretell tokens and experts.
$(ST)/store.tokens: $(BIN)/geodec-sample $(ST)/model.gguf FORCE
	@$(call tool,sample) --model $(ST)/model.gguf --seed $(SEED) --texts $(STREAMING_STORE) --length $(streaming_length) -o $(out)
$(ST)/store.h5: $(BIN)/geodec-export $(ST)/model.gguf $(ST)/store.tokens FORCE
	@$(call tool,export) --arithmetic auto --model $(ST)/model.gguf --tokens $(ST)/store.tokens --layers last --window $(streaming_length) -o $(out)
$(ST)/flowmap.h5: $(BIN)/geodec-bake $(ST)/store.h5 FORCE
	@$(call tool,bake) -o $(out) $(ST)/store.h5
$(ST)/drafts.tsv: $(ST)/run.trace $(ST)/flowmap.h5 $(LAB)/streaming/measure $(BIN)/geodec-decode $(BIN)/geodec-experts FORCE
	@$(measure) drafts $(BIN) $(new) $(ST)/model.gguf $(ST)/text.txt $(ST)

$(ST)/ahead.tsv: $(ST)/run.trace $(ST)/foresight.h5 $(LAB)/streaming/measure $(BIN)/geodec-perplexity $(BIN)/geodec-experts FORCE
	@$(measure) ahead $(BIN) $(new) $(ST)/model.gguf $(ST)/text.txt $(ST)

# The recorded experts with other policies and numbers of slots, without prefetch, and with that of the run; the oracle foretells the next layer.
$(ST)/slots.tsv: $(LAB)/streaming/slots $(ST)/run.trace $(BIN)/geodec-experts FORCE
	@$< $(BIN) $(ST)/run.trace $(ST)/run.json $(ST)/usage.table > $(out)

$(ST)/least.tsv: $(LAB)/streaming/least $(ST)/run.trace $(BIN)/geodec-experts FORCE
	@$< $(BIN) $(ST)/run.trace $(ST)/run.json $(ST)/resident.json > $(out)

# Recall by predictor and layer.
$(ST)/fit.tokens: $(BIN)/geodec-sample $(ST)/model.gguf FORCE
	@$(call tool,sample) --model $(ST)/model.gguf --seed $(SEED) --first 100000 --texts $$(( $(STREAMING_STORE) / 4 )) --length $(streaming_length) -o $(out)
$(ST)/foresight.h5: $(BIN)/geodec-foresight $(ST)/model.gguf $(ST)/flowmap.h5 $(ST)/store.tokens $(ST)/fit.tokens FORCE
	@$(call tool,foresight) --model $(ST)/model.gguf --store $(ST)/store.tokens --flowmap $(ST)/flowmap.h5 --fit $(ST)/fit.tokens \
	  --window $(streaming_length) --text $(ST)/text.txt --max-tokens $(STREAMING_RECALL) --replicates 200 --seed $(SEED) -o $(out)
$(ST)/recall.tsv: $(ST)/foresight.h5 FORCE
	@$(table) --over P $< "SELECT word(@predictors, P) AS predictor, word(@when, P) AS available, at(\"mean/value\", 0) AS mean, \
	  at(\"mean/low\", 0) AS low, at(\"mean/high\", 0) AS high, at(\"mean/value\", 1) AS mean_2, at(\"mean/value\", 2) AS mean_4 FROM t" > $(out)
$(F)/streaming-recall.tsv: $(ST)/foresight.h5 FORCE
	@$(table) --over P,L --blocks predictor=predictors $< "SELECT word(@predictors, P) AS predictor, L + 1 AS layer, at(\"recall/value\", 0) AS value, \
	  at(\"recall/low\", 0) AS low, at(\"recall/high\", 0) AS high FROM t" > $(out)
$(eval $(call figure,streaming-recall,$(F)/streaming-recall.tsv,tsv='$(F)/streaming-recall.tsv'; names='$$(call attr,$(ST)/foresight.h5,predictors)'))

# The figures of a published plan, by its own formulas and by conservation of bytes.
$(ST)/plan.tsv: $(LAB)/streaming/plan $(LAB)/streaming/plan.tsv $(LAB)/streaming/plan.sql $(BIN)/geodec-experts $(BIN)/geodec-table FORCE
	@$(LAB)/streaming/plan $(BIN) $(w).trace > $(out)

$(eval $(call figure,streaming-slots,$(ST)/slots.tsv,tsv='$(ST)/slots.tsv'))
$(eval $(call figure,streaming-speed,$(ST)/speed.tsv,tsv='$(ST)/speed.tsv'; info='$(ST)/summary.tsv'))
$(eval $(call figure,streaming-ahead,$(ST)/ahead.tsv,tsv='$(ST)/ahead.tsv'))
$(eval $(call figure,streaming-drafts,$(ST)/drafts.tsv,tsv='$(ST)/drafts.tsv'))
$(eval $(call figure,streaming-timeline,$(ST)/speed.tsv,tsv='$(ST)/timeline.tsv'; info='$(ST)/summary.tsv'))
LABORATORY += $(STREAMING_TABLES)
LAB_FIGURES += $(STREAMING_FIGURES)
.PHONY: streaming
streaming: $(STREAMING_TABLES) $(foreach f,$(STREAMING_FIGURES),$(F)/$f.svg $(F)/$f.png)
	@cat $(ST)/speed.tsv $(ST)/drafts.tsv
STREAMING_PAGE := $(addprefix $(ST)/,model.tsv summary.tsv speed.tsv exact.tsv ahead.tsv least.tsv recall.tsv drafts.tsv slots.tsv)
.PHONY: streaming-page
streaming-page: pipelines/report/result-page $(STREAMING_PAGE)
	@pipelines/report/result-page 'Experts on demand: measurements' 'make streaming-page' $(BIN) $$(realpath $(ST)/model.gguf) $(STREAMING_PAGE) \
	  > docs/results/.streaming.tmp && mv docs/results/.streaming.tmp docs/results/streaming.md
