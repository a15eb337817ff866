# make exactness: every deterministic drafter, draft length and tree against plain decoding (pipelines/exactness). Finished cells are
# kept; hours on two cores for all models, so start it again as often as needed. MODELS: the model and, of the shared ones, those with
# matrices in F32, F16 and Q8_0.
MODELS ?= $(sort $(MODEL_FILE) $(foreach t,f32 f16 q8_0,$(wildcard $(SHARED)/models/*-$t.gguf)))
EXACTNESS := results/exactness
.PHONY: exactness
exactness: $(MODEL_FILE) $(addprefix $(BIN)/geodec-,bench-decode sample export bake onedecode rollout recurrent quantize info)
	pipelines/exactness $(BIN) $(EXACTNESS) $(MODELS)
