# The exact Fisher field of the model, of a shared one and of untrained models of the same shape: the page docs/results/fisher-field.md.
FISHER_FIELD_LAYERS ?= last
FISHER_FIELD_MODELS = $(MODEL_FILE) $(wildcard $(SHARED)/models/stories260K-f32.gguf)
$(R)/fisher-field.tsv: pipelines/lab/fisher-field/measure $(addprefix $(BIN)/geodec-,fisher-field export quantize train table) $(MODEL_FILE) $(TEXT_FILE) FORCE
	@$< $(BIN) $(SEED) $(TEXT_FILE) $(FISHER_FIELD_LAYERS) $(w).d $(FISHER_FIELD_MODELS) > $(out)
# Columns with four significant digits.
fisher_field_short = $(foreach c,$1,$(comma) printf('%.4g'$(comma) $c) AS $c)
$(R)/fisher-field-curvature.tsv: $(R)/fisher-field.tsv FORCE
	@$(table) $< "SELECT model, chart, starts, texts, singular \
	  $(call fisher_field_short,sectional low high condition second error asymmetry differences inside), found $(call fisher_field_short,geodesic chord bound tangents points) \
	  FROM t WHERE predictor = 'stay'" > $(out)
$(R)/fisher-field-continuation.tsv: $(R)/fisher-field.tsv FORCE
	@$(table) $< "SELECT model, chart, predictor, counted \
	  $(call fisher_field_short,miss miss_low miss_high to_line to_line_low to_line_high), planted $(call fisher_field_short,planted_line planted_geodesic) FROM t" > $(out)
.PHONY: fisher-field
fisher-field: $(R)/fisher-field-curvature.tsv $(R)/fisher-field-continuation.tsv
	@cat $^
$(eval $(call result_page,fisher-field,The Fisher metric of the model itself: curvature and geodesics,$(R)/fisher-field-curvature.tsv $(R)/fisher-field-continuation.tsv))
