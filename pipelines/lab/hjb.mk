# Residuals of the geodesic equation: of the model's states and text, its null cloud, the exports; the published residual.
LABORATORY += $(R)/hjb.h5 $(R)/null-hjb.h5
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/hjb.h5) $(EXPORTS:%=$(X)/%/hjb-ref.h5)
LAB_FIGURES += hjb
$(R)/hjb.h5: $(BIN)/geodec-hjb $(R)/metric.h5 $(R)/activations.h5
	$(run) $(call tool,hjb) --seed $(SEED) -o $@ $(R)/metric.h5 $(R)/activations.h5
$(R)/null-hjb.h5: $(BIN)/geodec-hjb $(R)/null-metric.h5
	$(run) $(call tool,hjb) --seed $(SEED) -o $@ $(R)/null-metric.h5
$(X)/%/hjb.h5: $(X)/%/metric.h5 $(BIN)/geodec-hjb
	$(run) $(call tool,hjb) --seed $(SEED) -o $@ $<
$(X)/%/hjb-ref.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-hjb
	$(run) $(call tool,hjb) --mode ref --draws $< -o $@
$(F)/hjb.tsv: $(R)/hjb.h5 $(R)/null-hjb.h5
	$(run) { printf 'class\n'; echo "$(call attr,$<,classes)" | tr -d ' ' | tr ',' '\n'; } > $@.class; \
	  $(table) $< paths turn turn_low turn_high kinetic_turn explained explained_low explained_high > $@.model; \
	  $(table) $(R)/null-hjb.h5 paths turn kinetic_turn explained | sed '1s/^/null_/; 1s/\t/\tnull_/g' > $@.null; \
	  paste $@.class $@.model $@.null | awk -F'\t' 'NR == 1 || $$2 > 0' > $@.tmp; rm -f $@.class $@.model $@.null; mv $@.tmp $@
$(F)/hjb-order.tsv: $(R)/hjb.h5 $(R)/null-hjb.h5
	$(run) $(table) $< dl refined > $@.model; $(table) $(R)/null-hjb.h5 refined | sed '1s/^/null_/' | paste $@.model - > $@.tmp; \
	  rm -f $@.model; mv $@.tmp $@
$(eval $(call figure,hjb,$(F)/hjb.tsv $(F)/hjb-order.tsv,tsv='$(F)/hjb.tsv'; refined='$(F)/hjb-order.tsv'; order=$$(call attr,$(R)/hjb.h5,order)))
