# Predictability of the next step: last layer, on the texts of geodesicity.
LABORATORY += $(R)/velocity.h5
LAB_FIGURES += velocity
VELOCITY := $(if $(filter 1,$(QUICK)),--points 100 --starts 40,--points 200 --starts 100)
$(R)/velocity.h5: $(BIN)/geodec-velocity $(R)/layers.h5 FORCE
	@$(call tool,velocity) --seed $(SEED) --model $(MODEL_FILE) $(VELOCITY) -o $(out) $(R)/layers.h5
# A row for each surrogate of the first case: cosine in the chart and in the metric, leak, and cosine with the step of another text, each with its
# interval.
# NaN: not measured in the metric.
velocity_metric = '$1=if(counted[0,1] > 0, cosine[0,1,$2], "NaN")'
$(F)/velocity.tsv: $(R)/velocity.h5 FORCE
	@$(table) --over S --where 'counted[0,0] > 0' $< 'surrogate=words(@surrogates[S])' 'counted=counted[0,0]' \
	  'cosine=cosine[0,0,0]' 'low=cosine[0,0,1]' 'high=cosine[0,0,2]' $(call velocity_metric,metric,0) $(call velocity_metric,low,1) \
	  $(call velocity_metric,high,2) 'leak=leak[0,0]' 'low=leak[0,1]' 'high=leak[0,2]' 'chance=chance[0,0]' 'low=chance[0,1]' \
	  'high=chance[0,2]' > $(out)
$(eval $(call figure,velocity,$(F)/velocity.tsv,tsv='$(F)/velocity.tsv'))
