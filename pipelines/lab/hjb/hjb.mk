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
$(X)/%/hjb-ref.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-published FORCE
	@$(call tool,published) hjb --draws $< -o $(out)
$(F)/hjb.tsv: $(R)/hjb.h5 $(R)/null-hjb.h5 FORCE
	@$(table) --also control=$(R)/null-hjb.h5 $< "SELECT word(@classes, t.rowid) AS class, t.paths, t.turn, t.turn_low, t.turn_high, \
	  t.kinetic_turn, t.explained, t.explained_low, t.explained_high, control.paths AS null_paths, control.turn AS null_turn, \
	  control.kinetic_turn AS null_kinetic_turn, control.explained AS null_explained \
	  FROM t LEFT JOIN control ON control.rowid = t.rowid WHERE t.paths > 0" > $(out)
$(F)/hjb-order.tsv: $(R)/hjb.h5 $(R)/null-hjb.h5 FORCE
	@$(table) --also control=$(R)/null-hjb.h5 $< "SELECT t.dl, t.refined, control.refined AS null_refined \
	  FROM t LEFT JOIN control ON control.rowid = t.rowid" > $(out)
$(eval $(call figure,hjb,$(F)/hjb.tsv $(F)/hjb-order.tsv,tsv='$(F)/hjb.tsv'; refined='$(F)/hjb-order.tsv'; order=$$(call attr,$(R)/hjb.h5,order)))
