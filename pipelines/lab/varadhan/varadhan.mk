# Attention and geodesic directions: states of one layer, on the texts of geodesicity.
LABORATORY += $(R)/varadhan.h5
LAB_FIGURES += varadhan
VARADHAN := $(if $(filter 1,$(QUICK)),--points 48 --queries 8 --planted 2,--points 100 --queries 24)
$(R)/varadhan.h5: $(BIN)/geodec-varadhan $(R)/layers.h5 FORCE
	@$(call tool,varadhan) --seed $(SEED) --model $(MODEL_FILE) --layers sink $(VARADHAN) -o $(out) $(R)/layers.h5
# Columns: metric, layer, keys, form, direction, counted, then cosine and the excess of the logarithm map over it (each head separately), with intervals.
$(F)/varadhan.tsv: $(R)/varadhan.h5 FORCE
	@$(table) --over C,F,D --where 'counted > 0' $< 'metric:layer:keys=@cases[C]' 'form=@forms[F]' 'direction=@directions[D]' counted \
	  'cosine=cosine[0,0]' 'low=cosine[0,1]' 'high=cosine[0,2]' 'excess=excess[0,0]' 'low=excess[0,1]' 'high=excess[0,2]' > $(out)
$(eval $(call figure,varadhan,$(F)/varadhan.tsv,tsv='$(F)/varadhan.tsv'))
