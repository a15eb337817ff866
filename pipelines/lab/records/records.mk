# The record store of the exports, correct and as published; errors by rank.
LAB_FIGURES += records
EXPORT_ARTIFACTS += $(foreach f,records records-ref,$(EXPORTS:%=$(X)/%/$f.h5))
$(X)/%/records.h5: $(X)/%/propagators.h5 $(X)/%/metric.h5 $(BIN)/geodec-records FORCE
	@$(call tool,records) --seed $(SEED) -o $(out) $< $(X)/$*/metric.h5
$(X)/%/records-ref.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-published FORCE
	@$(call tool,published) records --draws $< -o $(out)
# Medians over records: rank, error of truncated Phi - I, of truncated Phi.
$(F)/records.tsv: $(R)/records.h5 FORCE
	@$(table) --over R,n $< "SELECT n + 1 AS rank, exact32(median(rank_error)) AS rank_error, exact32(median(rank_naive)) AS rank_naive \
	  FROM t GROUP BY n ORDER BY n" > $(out)
$(eval $(call figure,records,$(F)/records.tsv,tsv='$(F)/records.tsv'; tolerance=$$(call attr,$(R)/records.h5,phi_tolerance)))
