# Speed of the search for the nearest record, by the number of records. Times differ from run to run.
LABORATORY += $(R)/speed-lookup.h5
LAB_FIGURES += lookup
LOOKUP := $(if $(filter 1,$(QUICK)),--records 10000)
$(R)/speed-lookup.h5: $(BIN)/geodec-lookup FORCE
	@$(call tool,lookup) --seed $(SEED) $(LOOKUP) -o $(out)
# Rows of sizes: searches near an anchor, anywhere, with own metrics; exhaustive search and screen (both for queries anywhere).
$(F)/lookup.tsv: $(R)/speed-lookup.h5 FORCE
	@$(table) $< "SELECT records, only(single_us) FILTER (WHERE kind = 0) AS near, only(single_us) FILTER (WHERE kind = 1) AS fresh, \
	  only(single_us) FILTER (WHERE kind = 2) AS own, only(exhaustive_us) FILTER (WHERE kind = 1) AS exhaustive, \
	  only(screen_us) FILTER (WHERE kind = 1) AS screen FROM t GROUP BY records ORDER BY min(rowid)" > $(out)
$(eval $(call figure,lookup,$(F)/lookup.tsv,tsv='$(F)/lookup.tsv'))
