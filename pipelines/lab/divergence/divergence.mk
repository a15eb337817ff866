# The Fisher metric of the next token on the cloud, its blend with the local covariances, and the correlation of each with the divergence of the output.
LABORATORY += $(R)/metric-fisher.h5 $(R)/metric-blend.h5 $(R)/divergence.h5
LAB_FIGURES += divergence
$(R)/metric-fisher.h5 $(R)/metric-blend.h5: $(R)/metric-%.h5: $(BIN)/geodec-metric $(R)/cloud.h5 $(R)/activations.h5 $(MODEL_FILE) $(PLAN) FORCE
	@$(in_float64) $(call tool,metric) --kind $* --model $(MODEL_FILE) --activations $(R)/activations.h5 -o $(out) $(R)/cloud.h5
$(R)/divergence.h5: $(BIN)/geodec-divergence $(R)/metric.h5 $(R)/metric-fisher.h5 $(R)/metric-blend.h5 $(PLAN) FORCE
	@$(in_float64) $(call tool,divergence) --seed $(SEED) --model $(MODEL_FILE) --activations $(R)/activations.h5 -o $(out) $(filter %.h5,$^)
$(F)/divergence.tsv: $(R)/divergence.h5 FORCE
	@$(table) $< 'SELECT word(@kinds, rowid) AS kind, rank FROM t' > $(out)
$(eval $(call figure,divergence,$(F)/divergence.tsv,tsv='$(F)/divergence.tsv'))
