# Perplexity and retrieval with small key and value caches: `make kv`, outside of the main job. CONTEXTS: by default up to that of the model.
K := $(R)/kv
KV_CONTEXTS ?= $(CONTEXTS)
KV_TOKENS ?= 10240
NEEDLE ?= 256
TRIALS ?= 20
$(K)/kv.tsv: private also := needle.tsv speed.tsv
$(K)/kv.tsv: $(LAB)/kv/sweep $(MODEL_FILE) $(TEXT_FILE) $(BIN)/geodec-project-kv $(BIN)/geodec-perplexity $(BIN)/geodec-decode $(BIN)/geodec-needle $(BIN)/geodec-kv-merge FORCE
	@CONTEXTS='$(KV_CONTEXTS)' TOKENS=$(KV_TOKENS) NEEDLE=$(NEEDLE) TRIALS=$(TRIALS) $< $(BIN) $(MODEL_FILE) $(TEXT_FILE) $(new)
$(K)/needle.tsv $(K)/speed.tsv: $(K)/kv.tsv
$(eval $(call drawn,$(K)/kv,$(LAB)/kv/plot.gp,$(K)/kv.tsv,tsv='$(K)/kv.tsv'))
.PHONY: kv
kv: $(K)/kv.svg $(K)/kv.png $(K)/needle.tsv $(K)/speed.tsv
	@cat $(K)/needle.tsv $(K)/speed.tsv
$(eval $(call result_page,kv,Low-rank key and value caches: measurements,$(K)/kv.tsv $(K)/needle.tsv $(K)/speed.tsv))
