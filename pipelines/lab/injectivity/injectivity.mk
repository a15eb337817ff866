# Injectivity radius of the model's field, of its null cloud, and the published estimate on the points of the exports. The numbers
# below are those of the published run: its anchors, the radii that it measured there, and its queries (random numbers of numpy).
INJECTIVITY_SIZE = $(if $(filter 1,$(QUICK)),-a 6 --directions 2)
LABORATORY += $(R)/injectivity.h5 $(R)/null-injectivity.h5
$(R)/injectivity.h5: $(BIN)/geodec-injectivity $(R)/metric.h5 FORCE
	@$(call tool,injectivity) --seed $(SEED) $(INJECTIVITY_SIZE) -o $(out) $(R)/metric.h5
$(R)/null-injectivity.h5: $(BIN)/geodec-injectivity $(R)/null-metric.h5 FORCE
	@$(call tool,injectivity) --seed $(SEED) $(INJECTIVITY_SIZE) -o $(out) $(R)/null-metric.h5
EXPORT_ARTIFACTS += $(foreach f,injectivity injectivity-ref,$(EXPORTS:%=$(X)/%/$f.h5))
$(X)/%/injectivity.h5: $(X)/%/metric.h5 $(BIN)/geodec-injectivity FORCE
	@$(call tool,injectivity) --seed $(SEED) $(INJECTIVITY_SIZE) -o $(out) $<
$(X)/smollm2-135m_n8/injectivity-ref.h5: INJECTIVITY_DRAWS := --points 13,52,53,9,50,45,25,3,44,41 \
  --measured 1.6,1.6,1.6,0.05,0,0,3.2,3.2,6.4,1.6 --queries 21,15,3,58,53,4,25,33,49,6,50,32,38,37,39,23,48,20,57,51
$(X)/%/injectivity-ref.h5: $(BIN)/geodec-published $(SHARED)/golden/ott/%.h5 FORCE
	@$(call tool,published) --seed $(SEED) injectivity --draws $(SHARED)/golden/ott/$*.h5 $(INJECTIVITY_DRAWS) -o $(out)

INJECTIVITY_COLUMNS := raw, validity, validity_censored, radius, censored, bound
$(F)/injectivity.tsv: $(R)/injectivity.h5 $(R)/null-injectivity.h5 FORCE
	@$(table) --also control=$(R)/null-injectivity.h5 $< "SELECT $(INJECTIVITY_COLUMNS), 'model' AS model FROM t \
	  UNION ALL SELECT $(INJECTIVITY_COLUMNS), 'null' FROM control" > $(out)
$(eval $(call figure,injectivity,$(F)/injectivity.tsv,tsv='$(F)/injectivity.tsv'; r=$$(call attr,$(R)/injectivity.h5,validity_r_out); p=$$(call attr,$(R)/injectivity.h5,validity_p); nullr=$$(call attr,$(R)/null-injectivity.h5,validity_r_out)))
LAB_FIGURES += injectivity
