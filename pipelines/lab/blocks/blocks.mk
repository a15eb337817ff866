# Block summaries of held-out texts; the published prototype on the points of the exports. blocks.draws.tsv: the anchors and velocities of
# the published run (numpy's default generator, seed 20260427: 16 of 64 points, 8 normal numbers each), BLOCKS_QUERIES its queries.
LABORATORY += $(R)/blocks.h5
$(R)/blocks.h5: $(BIN)/geodec-blocks $(R)/activations.h5 FORCE
	@$(call tool,blocks) --seed $(SEED) $(if $(filter 1,$(QUICK)),--stride 2 -a 200 --queries 100) -o $(out) $(R)/activations.h5
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/blocks-ref.h5)
BLOCKS_QUERIES := 14,31,46,33,12,29,20,44,15,2,34,38,28,11,47,49,26,37,1,22,59,8,57,48
$(X)/smollm2-135m_n8/blocks-ref.h5: $(LAB)/blocks/blocks.draws.tsv
$(X)/smollm2-135m_n8/blocks-ref.h5: BLOCKS_DRAWS := --velocities $(LAB)/blocks/blocks.draws.tsv --points $(BLOCKS_QUERIES)
$(X)/%/blocks-ref.h5: $(BIN)/geodec-published $(SHARED)/golden/ott/%.h5 FORCE
	@$(call tool,published) --seed $(SEED) blocks --draws $(SHARED)/golden/ott/$*.h5 $(BLOCKS_DRAWS) -o $(out)

# A row for each block: value and interval of each predictor, in their order.
blocks_columns = at(error, $1) AS value_$2, at(low, $1) AS low_$2, at(high, $1) AS high_$2
$(F)/blocks.tsv: $(R)/blocks.h5 FORCE
	@$(table) --over B $< "SELECT B + 1 AS block, $(call blocks_columns,0,1), $(call blocks_columns,1,2), $(call blocks_columns,2,3), \
	  $(call blocks_columns,3,4), $(call blocks_columns,4,5), $(call blocks_columns,5,6), $(call blocks_columns,6,7), \
	  $(call blocks_columns,7,8), $(call blocks_columns,8,9) FROM t" > $(out)
$(eval $(call figure,blocks,$(F)/blocks.tsv,tsv='$(F)/blocks.tsv'))
LAB_FIGURES += blocks
