# What a key and value cache of few bytes costs. `make kv`, outside of the main job; CONTEXTS: by default up to the model's own.
K := $(R)/kv
$(K)/kv.tsv: pipelines/lab/kv-sweep $(TEXT_FILE) | $(BIN)/geodec-project-kv $(BIN)/geodec-perplexity $(BIN)/geodec-decode $(BIN)/geodec-needle
	$(run) $< $(BIN) $(MODEL) $(TEXT_FILE) $(K)
$(K)/needle.tsv $(K)/speed.tsv: $(K)/kv.tsv
$(K)/kv.svg $(K)/kv.png: $(K)/kv.%: $(GP)/kv.gp $(GP)/style.gp $(K)/kv.tsv
	$(run) $(call plot,$*,tsv='$(K)/kv.tsv')
.PHONY: kv
kv: $(K)/kv.svg $(K)/kv.png $(K)/needle.tsv $(K)/speed.tsv
	@cat $(K)/needle.tsv $(K)/speed.tsv
