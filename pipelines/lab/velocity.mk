# What can be known of the next step? Last layer, the texts of the geodesics' question.
LABORATORY += $(R)/velocity.h5
LAB_FIGURES += velocity
VELOCITY := $(if $(filter 1,$(QUICK)),--points 100 --starts 40,--points 200 --starts 100)
$(R)/velocity.h5: $(BIN)/geodec-velocity $(R)/layers.h5 FORCE
	@$(call tool,velocity) --seed $(SEED) --model $(MODEL_FILE) $(VELOCITY) -o $(out) $(R)/layers.h5
# A row a surrogate of the first case: cosine in the chart, in the metric, leak and chance, each with its interval.
$(F)/velocity.tsv: $(R)/velocity.h5 pipelines/lab/velocity.awk FORCE
	@{ $(table) --attrs $< | sed -n '/^surrogates\t/p'; $(table) $< counted cosine leak chance; } | \
	  awk -F'\t' -f pipelines/lab/velocity.awk > $(out)
$(eval $(call figure,velocity,$(F)/velocity.tsv,tsv='$(F)/velocity.tsv'))
