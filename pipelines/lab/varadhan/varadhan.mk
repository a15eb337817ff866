# Attention and geodesic directions: states of one layer, on the texts of geodesicity.
LABORATORY += $(R)/varadhan.h5
LAB_FIGURES += varadhan
VARADHAN := $(if $(filter 1,$(QUICK)),--points 48 --queries 8 --planted 2,--points 100 --queries 24)
$(R)/varadhan.h5: $(BIN)/geodec-varadhan $(R)/layers.h5 $(PLAN) FORCE
	@$(in_float64) $(call tool,varadhan) --seed $(SEED) --model $(MODEL_FILE) --layers sink $(VARADHAN) -o $(out) $(R)/layers.h5
# Columns: metric, layer, keys, form, direction, counted, then cosine and the excess of the logarithm map over it (each head separately), with intervals.
$(F)/varadhan.tsv: $(R)/varadhan.h5 FORCE
	@$(table) --over C,F,D $< "SELECT word(word(@cases, C), 0, ':') AS metric, word(word(@cases, C), 1, ':') AS layer, \
	  word(word(@cases, C), 2, ':') AS keys, word(@forms, F) AS form, word(@directions, D) AS direction, counted, at(cosine, 0, 0) AS cosine, \
	  at(cosine, 0, 1) AS low, at(cosine, 0, 2) AS high, at(excess, 0, 0) AS excess, at(excess, 0, 1) AS low, at(excess, 0, 2) AS high \
	  FROM t WHERE counted > 0" > $(out)
$(eval $(call figure,varadhan,$(F)/varadhan.tsv,tsv='$(F)/varadhan.tsv'))
