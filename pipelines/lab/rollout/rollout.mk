# make rollout: drafts of a geometric rollout, with an ablation of its geometry; and the artifacts of OneDecode, from counts and as published.
.PHONY: rollout
LABORATORY += $(F)/rollout.tsv $(R)/rollout.h5 $(R)/onedecode.h5 $(R)/onedecode-ref.h5
LAB_FIGURES += rollout
ROLLOUT_PLACES := $(if $(filter 1,$(QUICK)),1000,4000)
ONEDECODE_CELLS := $(if $(filter 1,$(QUICK)),512,4096)
$(R)/rollout.h5: private also := rollout.tsv
$(R)/rollout.h5: $(BIN)/geodec-rollout $(R)/store.h5 FORCE
	@$(call tool,rollout) --seed $(SEED) --model $(MODEL_FILE) --places $(ROLLOUT_PLACES) --cells $(ONEDECODE_CELLS) -o $(out) $(R)/store.h5 > $(new)/rollout.tsv
$(R)/onedecode.h5: $(BIN)/geodec-onedecode $(R)/store.h5 FORCE
	@$(call tool,onedecode) --seed $(SEED) --cells $(ONEDECODE_CELLS) -o $(out) $(R)/store.h5
$(R)/onedecode-ref.h5: $(BIN)/geodec-published $(R)/store.h5 FORCE
	@$(call tool,published) onedecode --seed $(SEED) --model $(MODEL_FILE) -o $(out) $(R)/store.h5
$(F)/rollout.tsv: $(R)/rollout.h5 FORCE
	@cp $(R)/rollout.tsv $(out)
rollout: $(R)/onedecode.h5 $(R)/onedecode-ref.h5 $(F)/rollout.tsv $(F)/rollout.svg $(F)/rollout.png
	@cat $(F)/rollout.tsv
$(eval $(call figure,rollout,$(F)/rollout.tsv,tsv='$(F)/rollout.tsv'))
