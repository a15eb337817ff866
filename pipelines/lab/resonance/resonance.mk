# Time of corrections by propagators, one by one and in batches, for the model and the exports (for these in the published mode
# too). Times differ from run to run, so the files are named speed-*.
LABORATORY += $(R)/speed-resonance.h5
LAB_FIGURES += resonance
EXPORT_ARTIFACTS += $(foreach f,speed-resonance speed-resonance-ref,$(EXPORTS:%=$(X)/%/$f.h5))
$(R)/speed-resonance.h5: $(BIN)/geodec-resonance $(R)/metric.h5 $(R)/geodesics.h5 FORCE
	@$(call tool,resonance) --seed $(SEED) -o $(out) $(R)/metric.h5 $(R)/geodesics.h5
$(X)/%/speed-resonance.h5: $(X)/%/metric.h5 $(X)/%/geodesics.h5 $(BIN)/geodec-resonance FORCE
	@$(call tool,resonance) --seed $(SEED) -o $(out) $< $(X)/$*/geodesics.h5
$(X)/%/speed-resonance-ref.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-resonance FORCE
	@$(call tool,resonance) --mode ref --draws $< -o $(out)
# Rows of batches: loop, one product, kernel of the flow (2n), and the published loop and product.
$(F)/resonance.tsv: $(R)/speed-resonance.h5 FORCE
	@$(table) --over B $< batch published/loop_us published/product_us 'loop_us=loop_us[1]' 'gemm_us=gemm_us[1]' 'kernel_us=kernel_us[1]' > $(out)
$(F)/resonance-moves.tsv: $(R)/speed-resonance.h5 FORCE
	@$(table) --over E $< move 'error=error[0]' 'error_flow=error[1]' 'control=control[0]' 'control_flow=control[1]' > $(out)
RESONANCE_FLOOR = $$($(table) --no-header --over none $(R)/speed-resonance.h5 'floor_us[1]')
$(eval $(call figure,resonance,$(F)/resonance.tsv $(F)/resonance-moves.tsv,tsv='$(F)/resonance.tsv'; moves='$(F)/resonance-moves.tsv'; floor=$$(RESONANCE_FLOOR)))
