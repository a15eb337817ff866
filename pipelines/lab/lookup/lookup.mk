# Speed of the search for the nearest record, by the number of records. Times differ from run to run.
LABORATORY += $(R)/speed-lookup.h5
LAB_FIGURES += lookup
LOOKUP := $(if $(filter 1,$(QUICK)),--records 10000)
$(R)/speed-lookup.h5: $(BIN)/geodec-lookup FORCE
	@$(call tool,lookup) --seed $(SEED) $(LOOKUP) -o $(out)
# Rows of sizes: searches near an anchor, anywhere, with own metrics; exhaustive search and screen (both for queries anywhere).
$(F)/lookup.tsv: $(R)/speed-lookup.h5 FORCE
	@$(table) $< records 'near=only(single_us, kind == 0)' 'fresh=only(single_us, kind == 1)' 'own=only(single_us, kind == 2)' \
	  'exhaustive=only(exhaustive_us, kind == 1)' 'screen=only(screen_us, kind == 1)' > $(out)
$(eval $(call figure,lookup,$(F)/lookup.tsv,tsv='$(F)/lookup.tsv'))
