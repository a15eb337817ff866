# Speed of the nearest-record search against the number of records; times differ from run to run.
LABORATORY += $(R)/speed-lookup.h5
LAB_FIGURES += lookup
LOOKUP := $(if $(filter 1,$(QUICK)),--records 10000)
$(R)/speed-lookup.h5: $(BIN)/geodec-lookup FORCE
	@$(call tool,lookup) --seed $(SEED) $(LOOKUP) -o $(out)
# Rows of sizes: searches near an anchor, fresh, own metrics; exhaustive, screen (both of fresh queries).
$(F)/lookup.tsv: $(R)/speed-lookup.h5 FORCE
	@$(table) $< kind records single_us exhaustive_us screen_us | awk -F'\t' 'NR > 1 {t[$$1, $$2] = $$3; if ($$1 == 0) size[++n] = $$2; if ($$1 == 1) {all[$$2] = $$4; screen[$$2] = $$5}} \
	  END {print "records\tnear\tfresh\town\texhaustive\tscreen"; for (i = 1; i <= n; i++) {s = size[i]; print s "\t" t[0, s] "\t" t[1, s] "\t" t[2, s] "\t" all[s] "\t" screen[s]}}' \
	  > $(out)
$(eval $(call figure,lookup,$(F)/lookup.tsv,tsv='$(F)/lookup.tsv'))
