# Cost of corrections by propagators, one by one and in batches, of the model and of the exports (there in the published mode
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
	@{ for f in loop_us gemm_us kernel_us; do $(table) $< $$f | sed -n 3p | tr '\t' '\n' | awk -v f=$$f 'BEGIN {print f} {print}' > $(w).$$f; done; \
	  $(table) $< batch published/loop_us published/product_us | paste - $(w).loop_us $(w).gemm_us $(w).kernel_us; } > $(out)
$(F)/resonance-moves.tsv: $(R)/speed-resonance.h5 FORCE
	@{ for f in error control; do $(table) $< $$f | awk -v f=$$f 'NR == 1 {print f "\t" f "_flow"} NR > 1 {for (i = 1; i <= NF; i++) v[NR, i] = $$i; c = NF} \
	    END {for (i = 1; i <= c; i++) print v[2, i] "\t" v[3, i]}' > $(w).$$f; done; $(table) $< move | paste - $(w).error $(w).control; } \
	  > $(out)
RESONANCE_FLOOR = $$($(table) $(R)/speed-resonance.h5 floor_us | sed -n 3p)
$(eval $(call figure,resonance,$(F)/resonance.tsv $(F)/resonance-moves.tsv,tsv='$(F)/resonance.tsv'; moves='$(F)/resonance-moves.tsv'; floor=$$(RESONANCE_FLOOR)))
