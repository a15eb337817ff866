# The public exports as clouds and metrics. $(X)/<model>_n<dim>/: the points the paper computed with (three measured coordinates, the
# rest its made-up noise), from the golden files. $(X)/<model>/: what is really in the export, and noise of its spectrum as a control.
EXPORT_MODELS := $(notdir $(patsubst %/,%,$(dir $(wildcard $(SHARED)/golden/ott/exports/*/phase1_manifold.json))))
EXPORT_ARTIFACTS += $(EXPORT_MODELS:%=$(X)/%/export.h5) $(EXPORT_MODELS:%=$(X)/%/noise.h5)
EXPORT_ARTIFACTS += $(foreach f,cloud metric metric-ref,$(EXPORTS:%=$(X)/%/$f.h5))
$(X)/%/export.h5: $(SHARED)/golden/ott/exports/%/phase1_manifold.json $(BIN)/geodec-import
	$(run) $(call tool,import) -o $@ $(<D)
$(X)/%/noise.h5: $(SHARED)/golden/ott/exports/%/phase1_manifold.json $(BIN)/geodec-import
	$(run) $(call tool,import) --seed $(SEED) --lift noise -o $@ $(<D)
$(X)/%/cloud.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-import
	$(run) $(call tool,import) --seed $(SEED) --coordinates --dataset cloud/points -o $@ $<
$(X)/%/metric.h5: $(X)/%/cloud.h5 $(BIN)/geodec-metric
	$(run) $(call tool,metric) --seed $(SEED) -o $@ $<
$(X)/%/metric-ref.h5: $(X)/%/cloud.h5 $(BIN)/geodec-metric
	$(run) $(call tool,metric) --mode ref -o $@ $<

# The chain of both: rules for whoever needs it.
$(X)/%/geodesics.h5: $(X)/%/metric.h5 $(BIN)/geodec-geodesic
	$(run) $(call tool,geodesic) --seed $(SEED) --v0 random --steps 32 --dl 0.05 -o $@ $<
$(X)/%/propagators.h5: $(X)/%/metric.h5 $(X)/%/geodesics.h5 $(BIN)/geodec-propagate
	$(run) $(call tool,propagate) -o $@ $< $(X)/$*/geodesics.h5
$(X)/%/riemann.h5: $(X)/%/metric.h5 $(BIN)/geodec-riemann
	$(run) $(call tool,riemann) --seed $(SEED) -o $@ $<
$(X)/%/geodesics-ref.h5: $(X)/%/metric-ref.h5 $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-geodesic
	$(run) $(call tool,geodesic) --mode ref --draws $(SHARED)/golden/ott/$*.h5 -o $@ $<
$(X)/%/propagators-ref.h5: $(X)/%/metric-ref.h5 $(X)/%/geodesics-ref.h5 $(BIN)/geodec-propagate
	$(run) $(call tool,propagate) --mode ref -o $@ $< $(X)/$*/geodesics-ref.h5
$(X)/%/riemann-ref.h5: $(X)/%/metric-ref.h5 $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-riemann
	$(run) $(call tool,riemann) --mode ref --draws $(SHARED)/golden/ott/$*.h5 -o $@ $<
