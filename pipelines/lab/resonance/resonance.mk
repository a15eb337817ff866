# Time of corrections by propagators, one by one and in batches, for the model and the exports (for these the published
# one too). Times differ from run to run, so the files are named speed-*.
LABORATORY += $(R)/speed-resonance.h5
LAB_FIGURES += resonance
EXPORT_ARTIFACTS += $(foreach f,speed-resonance speed-resonance-ref,$(EXPORTS:%=$(X)/%/$f.h5))
$(R)/speed-resonance.h5: $(BIN)/geodec-resonance $(R)/metric.h5 $(R)/geodesics.h5 FORCE
	@$(call tool,resonance) --seed $(SEED) -o $(out) $(R)/metric.h5 $(R)/geodesics.h5
$(X)/%/speed-resonance.h5: $(X)/%/metric.h5 $(X)/%/geodesics.h5 $(BIN)/geodec-resonance FORCE
	@$(call tool,resonance) --seed $(SEED) -o $(out) $< $(X)/$*/geodesics.h5
$(X)/%/speed-resonance-ref.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-published FORCE
	@$(call tool,published) resonance --draws $< -o $(out)
# Rows of batches: loop, one product, kernel of the flow (2n), and the published loop and product.
$(F)/resonance.tsv: $(R)/speed-resonance.h5 FORCE
	@$(table) --over B $< "SELECT batch, \"published/loop_us\", \"published/product_us\", at(loop_us, 1) AS loop_us, at(gemm_us, 1) AS gemm_us, \
	  at(kernel_us, 1) AS kernel_us FROM t" > $(out)
$(F)/resonance-moves.tsv: $(R)/speed-resonance.h5 FORCE
	@$(table) --over E $< "SELECT move, at(error, 0) AS error, at(error, 1) AS error_flow, at(control, 0) AS control, at(control, 1) AS control_flow \
	  FROM t" > $(out)
RESONANCE_FLOOR = $$($(table) --no-header --over none $(R)/speed-resonance.h5 'SELECT at(floor_us, 1) FROM t')
$(eval $(call figure,resonance,$(F)/resonance.tsv $(F)/resonance-moves.tsv,tsv='$(F)/resonance.tsv'; moves='$(F)/resonance-moves.tsv'; floor=$$(RESONANCE_FLOOR)))
