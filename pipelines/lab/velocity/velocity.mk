# Predictability of the next step: last layer, on the texts of geodesicity.
LABORATORY += $(R)/velocity.h5
LAB_FIGURES += velocity
VELOCITY := $(if $(filter 1,$(QUICK)),--points 100 --starts 40,--points 200 --starts 100)
$(R)/velocity.h5: $(BIN)/geodec-velocity $(R)/layers.h5 $(PLAN) FORCE
	@$(call tool,velocity) --seed $(SEED) $(float64_model) $(VELOCITY) -o $(out) $(R)/layers.h5
# A row for each surrogate of the first case: cosine in the chart and in the metric, leak, and cosine with the step of another text, each with its
# interval.
# NaN: not measured in the metric.
velocity_metric = iif(at(counted, 0, 1) > 0, at(cosine, 0, 1, $2), 'NaN') AS $1
$(F)/velocity.tsv: $(R)/velocity.h5 FORCE
	@$(table) --over S $< "SELECT replace(word(@surrogates, S), '_', ' ') AS surrogate, at(counted, 0, 0) AS counted, \
	  at(cosine, 0, 0, 0) AS cosine, at(cosine, 0, 0, 1) AS low, at(cosine, 0, 0, 2) AS high, $(call velocity_metric,metric,0), \
	  $(call velocity_metric,low,1), $(call velocity_metric,high,2), at(leak, 0, 0) AS leak, at(leak, 0, 1) AS low, at(leak, 0, 2) AS high, \
	  at(chance, 0, 0) AS chance, at(chance, 0, 1) AS low, at(chance, 0, 2) AS high FROM t WHERE at(counted, 0, 0) > 0" > $(out)
$(eval $(call figure,velocity,$(F)/velocity.tsv,tsv='$(F)/velocity.tsv'))
