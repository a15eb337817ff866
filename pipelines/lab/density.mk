# Density of held-out states against a library; and what the published harness makes of 24 states of one text (every second one).
LABORATORY += $(R)/density.h5 $(R)/density-ref.h5
LAB_FIGURES += density
$(R)/density.h5: $(BIN)/geodec-density $(R)/cloud.h5
	$(run) $(call tool,density) --seed $(SEED) -o $@ $(R)/cloud.h5
$(R)/telemetry.tsv: $(R)/activations.h5 | $(BIN)/geodec-table
	$(run) $(table) --rows 64:112 $< token state | awk -F'\t' -v OFS='\t' 'NR == 1 {print "# live", "layer=-1", "dim=" NF - 1, "every=2"; next} \
	  NR % 2 == 0 {$$1 = $$1; line = NR - 2 "\tmodel\t" $$1; for (i = 2; i <= NF; i++) line = line "\t" $$i; print line}' > $@.tmp && mv $@.tmp $@
$(R)/density-ref.h5: $(BIN)/geodec-density $(R)/telemetry.tsv
	$(run) $(call tool,density) --mode ref --telemetry $(R)/telemetry.tsv --radius 3 -o $@
$(F)/density.tsv: $(R)/density.h5
	$(run) $(table) $< window within within_null > $@.tmp && mv $@.tmp $@
$(eval $(call figure,density,$(F)/density.tsv,tsv='$(F)/density.tsv'; online=$$(call attr,$(R)/density.h5,online); offline=$$(call attr,$(R)/density.h5,offline)))
