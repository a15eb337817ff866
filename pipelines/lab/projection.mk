# Low-rank weights: perplexity against rank for every basis, with random ones as the control. `make projection`, outside of the main job.
$(R)/projection/sweep.tsv: pipelines/lab/projection-sweep $(TEXT_FILE) | $(BIN)/geodec-project $(BIN)/geodec-perplexity $(BIN)/geodec-table
	$(run) $< $(BIN) $(MODEL) $(TEXT_FILE) $(R)/projection > $@.tmp && mv $@.tmp $@
$(R)/projection/sweep.svg $(R)/projection/sweep.png: $(R)/projection/sweep.%: $(GP)/projection.gp $(GP)/style.gp $(R)/projection/sweep.tsv
	$(run) $(call plot,$*,tsv='$(R)/projection/sweep.tsv')
.PHONY: projection
projection: $(R)/projection/sweep.svg $(R)/projection/sweep.png
