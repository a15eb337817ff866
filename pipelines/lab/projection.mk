# Low-rank weights: perplexity against rank for every basis, with random ones as the control. `make projection`, outside of the main job.
$(R)/projection/sweep.tsv: pipelines/lab/projection-sweep $(TEXT_FILE) | $(BIN)/geodec-project $(BIN)/geodec-perplexity $(BIN)/geodec-table
	$(run) $< $(BIN) $(MODEL) $(TEXT_FILE) $(R)/projection > $@.tmp && mv $@.tmp $@
$(R)/projection/sweep.svg $(R)/projection/sweep.png: $(R)/projection/sweep.%: $(GP)/projection.gp $(GP)/style.gp $(R)/projection/sweep.tsv
	$(run) $(call plot,$*,tsv='$(R)/projection/sweep.tsv')
# The same factors as drafter of the whole model, and in the verifier: acceptance and speed beside the closed form.
$(R)/projection-drafts/sweep.tsv: pipelines/lab/projection-drafts $(TEXT_FILE) | $(BIN)/geodec-project $(BIN)/geodec-bench-decode $(BIN)/geodec-table
	$(run) $< $(BIN) $(MODEL) $(TEXT_FILE) $(R)/projection-drafts > $@.tmp && mv $@.tmp $@
$(R)/projection-drafts/sweep.svg $(R)/projection-drafts/sweep.png: $(R)/projection-drafts/sweep.%: $(GP)/projection-drafts.gp $(GP)/style.gp $(R)/projection-drafts/sweep.tsv
	$(run) $(call plot,$*,tsv='$(R)/projection-drafts/sweep.tsv')
.PHONY: projection
projection: $(foreach s,projection projection-drafts,$(R)/$s/sweep.svg $(R)/$s/sweep.png)
