# Validity radius of the exports as published; of the sampled sphere with its controls.
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/validity-ref.h5) $(patsubst $(SHARED)/golden/ott/%.h5,$(X)/%/validity-ref.h5,$(wildcard $(SHARED)/golden/ott/sphere_n4.h5))
$(X)/%/validity-ref.h5: $(BIN)/geodec-published $(SHARED)/golden/ott/%.h5 FORCE
	@$(call tool,published) validity --draws $(SHARED)/golden/ott/$*.h5 -o $(out)
# The model's field at the published perturbations, so that claims compare at equal eps.
PUBLISHED_EPS := 0.005,0.01,0.02,0.05,0.1,0.2,0.4,1,2,3,5
LABORATORY += $(R)/validity-published.h5
$(R)/validity-published.h5: $(BIN)/geodec-validity $(R)/metric.h5 FORCE
	@$(call tool,validity) $(VALIDITY) --no-check --eps $(PUBLISHED_EPS) --seed $(SEED) -o $(out) $(R)/metric.h5

$(F)/validity.tsv: $(R)/validity.h5 FORCE
	@$(table) $< eps field/mean field/mean_low field/mean_high sphere/mean field/shift hyperbolic/mean gaussian_fisher/mean \
	  flat/mean > $(out)
$(eval $(call figure,validity,$(F)/validity.tsv,tsv='$(F)/validity.tsv'; slope=$$(call attr,$(R)/validity.h5,slope); sphere=$$(call attr,$(R)/validity.h5,sphere_slope); hyperbolic=$$(call attr,$(R)/validity.h5,hyperbolic_slope); fisher=$$(call attr,$(R)/validity.h5,gaussian_fisher_slope)))
