# Density of held-out states against a library; and what the published harness makes of 24 states of one text (every second one).
LABORATORY += $(R)/density.h5 $(R)/density-ref.h5
LAB_FIGURES += density
$(R)/density.h5: $(BIN)/geodec-density $(R)/cloud.h5 FORCE
	@$(call tool,density) --seed $(SEED) -o $(out) $(R)/cloud.h5
$(R)/telemetry.tsv: $(R)/activations.h5 $(BIN)/geodec-table FORCE
	@n=$$($(table) $< token | sed 1d | wc -l); [ $$n -ge 112 ] || \
	  { echo "geodec-density: $$n tokens; the published density is of states 64 to 112" >&2; exit 5; }; \
	  $(table) --rows 64:112 $< token state | awk -F'\t' -v OFS='\t' 'NR == 1 {print "# live", "layer=-1", "dim=" NF - 1, "every=2"; next} \
	  NR % 2 == 0 {$$1 = $$1; line = NR - 2 "\tmodel\t" $$1; for (i = 2; i <= NF; i++) line = line "\t" $$i; print line}' > $(out)
$(R)/density-ref.h5: $(BIN)/geodec-density $(R)/telemetry.tsv FORCE
	@$(call tool,density) --mode ref --telemetry $(R)/telemetry.tsv --radius 3 -o $(out)
$(F)/density.tsv: $(R)/density.h5 FORCE
	@$(table) $< window within within_null > $(out)
$(eval $(call figure,density,$(F)/density.tsv,tsv='$(F)/density.tsv'; online=$$(call attr,$(R)/density.h5,online); offline=$$(call attr,$(R)/density.h5,offline)))
