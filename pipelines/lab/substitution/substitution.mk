# Decode substitution: next states from records of earlier steps; for the exports, the published counts.
LABORATORY += $(R)/substitution.h5 $(R)/speed-substitution.h5
LAB_FIGURES += substitution
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/substitution-ref.h5)
SUBSTITUTION := $(if $(filter 1,$(QUICK)),--records 200 --queries 60,--records 1000 --queries 200)
$(R)/substitution.h5: $(BIN)/geodec-substitution $(R)/layers.h5 $(PLAN) FORCE
	@$(in_float64) $(call tool,substitution) --seed $(SEED) --model $(MODEL_FILE) $(SUBSTITUTION) -o $(out) $(R)/layers.h5
# Measured times, in a separate file because they differ from run to run.
$(R)/speed-substitution.h5: $(BIN)/geodec-substitution $(R)/layers.h5 $(PLAN) FORCE
	@$(in_float64) $(call tool,substitution) --seed $(SEED) --model $(MODEL_FILE) --records 200 --queries 60 --time -o $(out) $(R)/layers.h5
$(X)/%/substitution-ref.h5: $(BIN)/geodec-published $(SHARED)/golden/ott/%.h5 FORCE
	@$(call tool,published) substitution --draws $(SHARED)/golden/ott/$*.h5 -o $(out)
# A row for each predictor: name, share of equal tokens for all queries and for the nearest tenth with intervals, error of all.
$(F)/substitution.tsv: $(R)/substitution.h5 FORCE
	@$(table) $< 'SELECT word(@kinds, rowid) AS kind, at(agree, 4) AS agree_4, at(agree, 1) AS agree_1, at(error, 4, 0) AS error_4_0 FROM t' > $(out)
$(eval $(call figure,substitution,$(F)/substitution.tsv,tsv='$(F)/substitution.tsv'))
