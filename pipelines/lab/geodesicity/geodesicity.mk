# Prediction of residual streams by geodesics: states of all layers, the first 64 tokens of each text.
LABORATORY += $(R)/layers.h5 $(R)/geodesicity.h5
LAB_FIGURES += geodesicity
GEODESICITY := $(if $(filter 1,$(QUICK)),--points 100 --starts 10 --ahead 2 --set-points 1000,--points 200 --starts 32 --set-points 2000)
$(R)/layers.h5: $(BIN)/geodec-export $(MODEL_FILE) $(TEXT_FILE) $(PLAN) FORCE
	@$(call tool,export) --model $(MODEL_FILE) --text $(TEXT_FILE) --layers all --positions 0:64 --top-m 0 --max-tokens $(call size,tokens) $(separator) -o $(out)
$(R)/geodesicity.h5: $(BIN)/geodec-geodesicity $(R)/layers.h5 $(PLAN) FORCE
	@$(call tool,geodesicity) --seed $(SEED) $(float64_model) $(GEODESICITY) -o $(out) $(R)/layers.h5
# Columns: along, metric, layer, predictor, m, then error and difference from the line in the chart, each with its interval.
$(F)/geodesicity.tsv: $(R)/geodesicity.h5 FORCE
	@$(table) --over C,P,M $< "SELECT word(word(@cases, C), 0, ':') AS along, word(word(@cases, C), 1, ':') AS metric, \
	  word(word(@cases, C), 2, ':') AS layer, word(@predictors, P) AS predictor, M + 1 AS m, at(error, 0, 0) AS error, at(error, 0, 1) AS low, \
	  at(error, 0, 2) AS high, at(difference, 0, 0) AS difference, at(difference, 0, 1) AS low, at(difference, 0, 2) AS high \
	  FROM t WHERE at(error, 0, 0) IS NOT 0 OR word(@predictors, P) = 'line'" > $(out)
$(eval $(call figure,geodesicity,$(F)/geodesicity.tsv,tsv='$(F)/geodesicity.tsv'))
# The same in the chart of the cloud, with every metric of that cloud.
LABORATORY += $(R)/geodesicity-metrics.h5
$(R)/geodesicity-metrics.h5: $(BIN)/geodec-geodesicity $(R)/activations.h5 $(R)/metric.h5 $(R)/metric-fisher.h5 $(R)/metric-blend.h5 FORCE
	@$(call tool,geodesicity) --seed $(SEED) --along none $(GEODESICITY) -o $(out) $(filter %.h5,$^)
