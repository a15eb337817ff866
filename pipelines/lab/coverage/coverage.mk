# Coverage of the exports as published, and the correct one if the cache is large enough to fit a metric (a quarter of 64 points and more).
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/coverage-ref.h5)
$(X)/%/coverage-ref.h5: $(BIN)/geodec-published $(SHARED)/golden/ott/%.h5 FORCE
	@$(call tool,published) coverage --nulls 20 --draws $(SHARED)/golden/ott/$*.h5 -o $(out)
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/coverage.h5)
$(X)/%/coverage.h5: $(BIN)/geodec-coverage $(X)/%/cloud.h5 FORCE
	@$(call tool,coverage) --seed $(SEED) --dim $(lastword $(subst _n, ,$*)) --shares 0.25,0.5,0.75 --repeats 16 -o $(out) $(X)/$*/cloud.h5

# All points of coverage.h5 (the last size), a quarter of them cached (index 1 of the shares): a row for each eps.
COVERAGE_COLUMNS := hit hit_p10 hit_p90 null_mean null_sd leaky second_mean second_sd
$(F)/coverage.tsv: $(R)/coverage.h5 FORCE
	@$(table) --over E $< 'SELECT eps$(foreach f,$(COVERAGE_COLUMNS),, at($f, -1, 1) AS $f) FROM t' > $(out)
CLOSED_FORM = $$($(table) --no-header --over none $(R)/coverage.h5 'SELECT at(closed_form, -1, 1) FROM t')
$(eval $(call figure,coverage,$(F)/coverage.tsv,tsv='$(F)/coverage.tsv'; closed=$$(CLOSED_FORM); second='$$(call attr,$(R)/coverage.h5,second_null)'))
