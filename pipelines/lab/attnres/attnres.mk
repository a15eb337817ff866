# Recombination of the residual stream over depth, and its length by depth: `make attnres`, outside of the main job. The profile has MODEL and
# every model of the shared folder.
A := $(R)/attnres
WINDOWS ?= 40
RESIDUAL_MODELS := $(MODEL_FILE) $(filter-out %/$(STEM).gguf,$(sort $(wildcard $(SHARED)/models/*.gguf)))
$(A)/sweep.tsv: $(LAB)/attnres/sweep $(MODEL_FILE) $(TEXT_FILE) $(BIN)/geodec-project $(BIN)/geodec-perplexity $(BIN)/geodec-decode FORCE
	@WINDOWS=$(WINDOWS) $< $(BIN) $(MODEL_FILE) $(TEXT_FILE) $(w).attnres > $(out)
$(A)/profile.tsv: private also := fit.tsv
$(A)/profile.tsv: $(LAB)/attnres/profiles $(RESIDUAL_MODELS) $(TEXT_FILE) $(BIN)/geodec-residual FORCE
	@WINDOWS=$(WINDOWS) $< $(BIN) $(TEXT_FILE) $(new) $(RESIDUAL_MODELS)
$(A)/fit.tsv: $(A)/profile.tsv
$(eval $(call drawn,$(A)/sweep,$(LAB)/attnres/plot.gp,$(A)/sweep.tsv,tsv='$(A)/sweep.tsv'))
$(eval $(call drawn,$(A)/profile,$(LAB)/attnres/profile.gp,$(A)/profile.tsv,tsv='$(A)/profile.tsv'))
.PHONY: attnres
attnres: $(foreach f,sweep profile,$(A)/$f.svg $(A)/$f.png) $(A)/fit.tsv
	@cat $(A)/fit.tsv
$(eval $(call result_page,attnres,Recombination of the residual stream over depth: measurements,$(A)/sweep.tsv $(A)/fit.tsv))
