# Distance of held-out states to a library, and the result of the published harness for 24 states of one text (every second one).
LABORATORY += $(R)/density.h5 $(R)/density-ref.h5
LAB_FIGURES += density
$(R)/density.h5: $(BIN)/geodec-density $(R)/cloud.h5 FORCE
	@$(call tool,density) --seed $(SEED) -o $(out) $(R)/cloud.h5
$(R)/telemetry.tsv: $(R)/activations.h5 $(BIN)/geodec-table FORCE
	@printf '# live\tlayer=-1\tdim=%s\tevery=2\n' $(call attr,$<,d_model) > $(out); \
	  $(table) --no-header --rows 64:112 --at-least 24 $< "SELECT rowid - 64, 'model', token, state FROM t WHERE rowid % 2 = 0" >> $(out)
$(R)/density-ref.h5: $(BIN)/geodec-published $(R)/telemetry.tsv FORCE
	@$(call tool,published) density --telemetry $(R)/telemetry.tsv --radius 3 -o $(out)
$(F)/density.tsv: $(R)/density.h5 FORCE
	@$(table) $< window within within_null > $(out)
$(eval $(call figure,density,$(F)/density.tsv,tsv='$(F)/density.tsv'; online=$$(call attr,$(R)/density.h5,online); offline=$$(call attr,$(R)/density.h5,offline)))
