# make exactness: every deterministic drafter, draft length and tree compared with plain decoding, with planted faults as controls
# ($(LAB)/exactness/exactness). Finished blocks are kept, so an interrupted run continues. MODELS: the models, by default MODEL; the embedded model takes up to
# 50 minutes on one core. ARITHMETIC=exact|fast|integer has a folder of its own. make exactness-page writes docs/results/exactness.md, with
# ARITHMETIC=integer docs/results/exactness-integer.md, from the last run.
MODELS ?= $(MODEL_FILE)
ARITHMETIC ?= auto
EXACTNESS_NAME := exactness$(if $(filter-out auto,$(ARITHMETIC)),-$(ARITHMETIC))
EXACTNESS := results/$(EXACTNESS_NAME)
.PHONY: exactness exactness-page
exactness: $(MODEL_FILE) $(addprefix $(BIN)/geodec-,bench-decode sample export bake onedecode rollout recurrent quantize info table)
	ARITHMETIC=$(ARITHMETIC) $(LAB)/exactness/exactness $(BIN) $(EXACTNESS) $(MODELS)
	$(LAB)/exactness/page $(EXACTNESS) > $(EXACTNESS)/exactness.md
exactness-page:
	$(LAB)/exactness/page $(EXACTNESS) > docs/results/$(EXACTNESS_NAME).md.tmp && mv docs/results/$(EXACTNESS_NAME).md.tmp docs/results/$(EXACTNESS_NAME).md
