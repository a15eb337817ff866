# Low-rank weights: perplexity by rank for every basis, with random bases as the control. `make projection`, outside of the main job.
WINDOWS ?= 40
SHARES ?= 0.25 0.35 0.45 0.55 0.65 0.8 1
$(R)/projection/sweep.tsv: $(LAB)/projection/sweep $(MODEL_FILE) $(TEXT_FILE) $(BIN)/geodec-project $(BIN)/geodec-perplexity $(BIN)/geodec-table FORCE
	@WINDOWS=$(WINDOWS) $< $(BIN) $(MODEL_FILE) $(TEXT_FILE) $(w).projection > $(out)
$(eval $(call drawn,$(R)/projection/sweep,$(LAB)/projection/plot.gp,$(R)/projection/sweep.tsv,tsv='$(R)/projection/sweep.tsv'))
# The same factors as drafter of the whole model, and in the verifier: acceptance and speed compared with the closed form.
$(R)/projection-drafts/sweep.tsv: $(LAB)/projection/drafts $(MODEL_FILE) $(TEXT_FILE) $(BIN)/geodec-project $(BIN)/geodec-bench-decode $(BIN)/geodec-table FORCE
	@PROMPTS=20 GAMMA=4 TIMED=8 SHARES='$(SHARES)' $< $(BIN) $(MODEL_FILE) $(TEXT_FILE) $(w).projection > $(out)
$(eval $(call drawn,$(R)/projection-drafts/sweep,$(LAB)/projection/drafts.gp,$(R)/projection-drafts/sweep.tsv,tsv='$(R)/projection-drafts/sweep.tsv'))
.PHONY: projection
projection: $(foreach s,projection projection-drafts,$(R)/$s/sweep.svg $(R)/$s/sweep.png)
$(eval $(call result_page,projection,Low-rank weights: measurements,$(R)/projection/sweep.tsv $(R)/projection-drafts/sweep.tsv))
