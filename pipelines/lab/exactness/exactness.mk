# make exactness: every deterministic drafter, draft length and tree against plain decoding, with planted faults as controls
# ($(LAB)/exactness/exactness). Finished blocks are kept, so start it again as often as needed. MODELS: the model; up to 50 minutes of one core for
# the embedded one. make exactness-page writes docs/results/exactness.md from the last run.
MODELS ?= $(MODEL_FILE)
EXACTNESS := results/exactness
.PHONY: exactness exactness-page
exactness: $(MODEL_FILE) $(addprefix $(BIN)/geodec-,bench-decode sample export bake onedecode rollout recurrent quantize info table)
	$(LAB)/exactness/exactness $(BIN) $(EXACTNESS) $(MODELS)
	$(LAB)/exactness/page $(EXACTNESS) > $(EXACTNESS)/exactness.md
exactness-page:
	$(LAB)/exactness/page $(EXACTNESS) > docs/results/exactness.md.tmp && mv docs/results/exactness.md.tmp docs/results/exactness.md
