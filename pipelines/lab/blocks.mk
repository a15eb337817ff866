# Block summaries of held-out texts; the published prototype at the exports' points. blocks.draws.tsv: the anchors and velocities of
# the published run (numpy's default generator, seed 20260427: 16 of 64 points, 8 normal numbers each), BLOCKS_QUERIES its queries.
LABORATORY += $(R)/blocks.h5
$(R)/blocks.h5: $(BIN)/geodec-blocks $(R)/activations.h5 FORCE
	@$(call tool,blocks) --seed $(SEED) $(if $(filter 1,$(QUICK)),--stride 2 -a 200 --queries 100) -o $(out) $(R)/activations.h5
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/blocks-ref.h5)
BLOCKS_QUERIES := 14,31,46,33,12,29,20,44,15,2,34,38,28,11,47,49,26,37,1,22,59,8,57,48
$(X)/smollm2-135m_n8/blocks-ref.h5: pipelines/lab/blocks.draws.tsv
$(X)/smollm2-135m_n8/blocks-ref.h5: BLOCKS_DRAWS := --velocities pipelines/lab/blocks.draws.tsv --points $(BLOCKS_QUERIES)
$(X)/%/blocks-ref.h5: $(BIN)/geodec-blocks $(SHARED)/golden/ott/%.h5 FORCE
	@$(call tool,blocks) --seed $(SEED) --mode ref --draws $(SHARED)/golden/ott/$*.h5 $(BLOCKS_DRAWS) -o $(out)

# One row a block: the value and interval of every predictor, in their order.
$(F)/blocks.tsv: $(R)/blocks.h5 FORCE
	@{ $(table) $< error | sed 1d; $(table) $< low | sed 1d; $(table) $< high | sed 1d; } | awk -F'\t' '{for (b = 1; b <= NF; b++) v[NR, b] = $$b; n = NF} \
	  END {p = NR / 3; printf "block"; for (i = 1; i <= p; i++) printf "\tvalue_%d\tlow_%d\thigh_%d", i, i, i; print ""; \
	  for (b = 1; b <= n; b++) {printf "%d", b; for (i = 1; i <= p; i++) printf "\t%s\t%s\t%s", v[i, b], v[p + i, b], v[2 * p + i, b]; print ""}}' > $(out)
$(eval $(call figure,blocks,$(F)/blocks.tsv,tsv='$(F)/blocks.tsv'))
LAB_FIGURES += blocks
