# Coverage of the exports as published, and done right where a cache can carry a metric (a quarter of 64 points and more).
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/coverage-ref.h5)
$(X)/%/coverage-ref.h5: $(BIN)/geodec-coverage $(SHARED)/golden/ott/%.h5 FORCE
	@$(call tool,coverage) --mode ref --nulls 20 --draws $(SHARED)/golden/ott/$*.h5 -o $(out)
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/coverage.h5)
$(X)/%/coverage.h5: $(BIN)/geodec-coverage $(X)/%/cloud.h5 FORCE
	@$(call tool,coverage) --seed $(SEED) --dim $(lastword $(subst _n, ,$*)) --shares 0.25,0.5,0.75 --repeats 16 -o $(out) $(X)/$*/cloud.h5
