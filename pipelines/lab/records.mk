# The record store of the exports in both modes; errors by rank.
LAB_FIGURES += records
EXPORT_ARTIFACTS += $(foreach f,records records-ref,$(EXPORTS:%=$(X)/%/$f.h5))
$(X)/%/records.h5: $(X)/%/propagators.h5 $(X)/%/metric.h5 $(BIN)/geodec-records FORCE
	@$(call tool,records) --seed $(SEED) -o $(out) $< $(X)/$*/metric.h5
$(X)/%/records-ref.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-records FORCE
	@$(call tool,records) --mode ref --draws $< -o $(out)
# Medians over records: rank, Phi - I cut, Phi cut.
$(F)/records.tsv: $(R)/records.h5 FORCE
	@{ for f in rank_error rank_naive; do $(table) $< $$f | awk -v f=$$f 'NR == 1 {print f} NR > 1 {for (i = 1; i <= NF; i++) print i "\t" $$i | "sort -k1n -k2g"}' \
	    | awk 'NR == 1 {print; next} $$1 != r {if (n) print v[int((n + 1) / 2)]; r = $$1; n = 0} {v[++n] = $$2} END {print v[int((n + 1) / 2)]}' > $(w).$$f; done; \
	  awk 'NR == 1 {print "rank"; next} {print NR - 1}' $(w).rank_error | paste - $(w).rank_error $(w).rank_naive; } > $(out)
$(eval $(call figure,records,$(F)/records.tsv,tsv='$(F)/records.tsv'; tolerance=$$(call attr,$(R)/records.h5,phi_tolerance)))
