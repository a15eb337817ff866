# Residuals of the geodesic equation for the model's states and text, its null cloud and the exports; and the published residual.
LABORATORY += $(R)/hjb.h5 $(R)/null-hjb.h5
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/hjb.h5) $(EXPORTS:%=$(X)/%/hjb-ref.h5)
LAB_FIGURES += hjb
$(R)/hjb.h5: $(BIN)/geodec-hjb $(R)/metric.h5 $(R)/activations.h5 FORCE
	@$(call tool,hjb) --seed $(SEED) -o $(out) $(R)/metric.h5 $(R)/activations.h5
$(R)/null-hjb.h5: $(BIN)/geodec-hjb $(R)/null-metric.h5 FORCE
	@$(call tool,hjb) --seed $(SEED) -o $(out) $(R)/null-metric.h5
$(X)/%/hjb.h5: $(X)/%/metric.h5 $(BIN)/geodec-hjb FORCE
	@$(call tool,hjb) --seed $(SEED) -o $(out) $<
$(X)/%/hjb-ref.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-hjb FORCE
	@$(call tool,hjb) --mode ref --draws $< -o $(out)
$(F)/hjb.tsv: $(R)/hjb.h5 $(R)/null-hjb.h5 FORCE
	@$(table) --also null=$(R)/null-hjb.h5 --where 'paths > 0' $< 'class=@classes[C]' paths turn turn_low turn_high kinetic_turn explained \
	  explained_low explained_high null:paths null:turn null:kinetic_turn null:explained > $(out)
$(F)/hjb-order.tsv: $(R)/hjb.h5 $(R)/null-hjb.h5 FORCE
	@$(table) --also null=$(R)/null-hjb.h5 $< dl refined null:refined > $(out)
$(eval $(call figure,hjb,$(F)/hjb.tsv $(F)/hjb-order.tsv,tsv='$(F)/hjb.tsv'; refined='$(F)/hjb-order.tsv'; order=$$(call attr,$(R)/hjb.h5,order)))
