# Residual streams recombined over depth, and their lengths by depth. `make attnres`, outside of the main job. The profile is of MODEL and
# of every model of the shared folder.
A := $(R)/attnres
RESIDUAL_MODELS := $(MODEL) $(filter-out $(MODEL),$(sort $(wildcard $(SHARED)/models/*.gguf)))
$(A)/sweep.tsv: pipelines/lab/attnres-sweep $(TEXT_FILE) | $(BIN)/geodec-project $(BIN)/geodec-perplexity $(BIN)/geodec-decode
	$(run) $< $(BIN) $(MODEL) $(TEXT_FILE) $(A) > $@.tmp && mv $@.tmp $@
$(A)/profile.tsv: pipelines/lab/residual-profiles $(TEXT_FILE) | $(BIN)/geodec-residual
	$(run) rm -f $(A)/*-all.tmp; $< $(BIN) $(TEXT_FILE) $(A) $(RESIDUAL_MODELS)
$(A)/fit.tsv: $(A)/profile.tsv
$(A)/sweep.svg $(A)/sweep.png: $(A)/sweep.%: $(GP)/attnres.gp $(GP)/style.gp $(A)/sweep.tsv
	$(run) $(call plot,$*,tsv='$(A)/sweep.tsv')
$(A)/profile.svg $(A)/profile.png: $(A)/profile.%: $(GP)/residual.gp $(GP)/style.gp $(A)/profile.tsv
	$(run) $(call plot,$*,tsv='$(A)/profile.tsv')
.PHONY: attnres
attnres: $(foreach f,sweep profile,$(A)/$f.svg $(A)/$f.png) $(A)/fit.tsv
	@cat $(A)/fit.tsv
