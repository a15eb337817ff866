# make exactness: every deterministic drafter, draft length and tree compared with plain decoding, with planted faults as controls
# ($(LAB)/exactness/exactness). Finished blocks are kept, so an interrupted run continues. MODELS: the models, by default MODEL; the embedded model takes up to
# 50 minutes on one core. make exactness-page writes docs/results/exactness.md from the last run.
MODELS ?= $(MODEL_FILE)
EXACTNESS := results/exactness
.PHONY: exactness exactness-page
exactness: $(MODEL_FILE) $(addprefix $(BIN)/geodec-,bench-decode sample export bake onedecode rollout recurrent quantize info table)
	$(LAB)/exactness/exactness $(BIN) $(EXACTNESS) $(MODELS)
	$(LAB)/exactness/page $(EXACTNESS) > $(EXACTNESS)/exactness.md
exactness-page:
	$(LAB)/exactness/page $(EXACTNESS) > docs/results/exactness.md.tmp && mv docs/results/exactness.md.tmp docs/results/exactness.md
