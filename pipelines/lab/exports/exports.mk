# The public exports as clouds and metrics. $(X)/<model>_n<dim>/: the points with which the paper computed (three measured
# coordinates; the others are synthetic noise), from the golden files. $(X)/<model>/: the contents of the export, and noise of its spectrum as a control.
EXPORT_MODELS := $(notdir $(patsubst %/,%,$(dir $(wildcard $(SHARED)/golden/ott/exports/*/phase1_manifold.json))))
EXPORT_ARTIFACTS += $(EXPORT_MODELS:%=$(X)/%/export.h5) $(EXPORT_MODELS:%=$(X)/%/noise.h5)
EXPORT_ARTIFACTS += $(foreach f,cloud metric metric-ref,$(EXPORTS:%=$(X)/%/$f.h5))
$(X)/%/export.h5: $(SHARED)/golden/ott/exports/%/phase1_manifold.json $(BIN)/geodec-import FORCE
	@$(call tool,import) -o $(out) $(<D)
$(X)/%/noise.h5: $(SHARED)/golden/ott/exports/%/phase1_manifold.json $(BIN)/geodec-import FORCE
	@$(call tool,import) --seed $(SEED) --lift noise -o $(out) $(<D)
$(X)/%/cloud.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-import FORCE
	@$(call tool,import) --seed $(SEED) --coordinates --dataset cloud/points -o $(out) $<
$(X)/%/metric.h5: $(X)/%/cloud.h5 $(BIN)/geodec-metric FORCE
	@$(call tool,metric) --seed $(SEED) -o $(out) $<
$(X)/%/metric-ref.h5: $(X)/%/cloud.h5 $(BIN)/geodec-published FORCE
	@$(call tool,published) metric -o $(out) $<

# The chain of both, for the rules that need it.
$(X)/%/geodesics.h5: $(X)/%/metric.h5 $(BIN)/geodec-geodesic FORCE
	@$(call tool,geodesic) --seed $(SEED) --v0 random --steps 32 --dl 0.05 -o $(out) $<
$(X)/%/propagators.h5: $(X)/%/metric.h5 $(X)/%/geodesics.h5 $(BIN)/geodec-propagate FORCE
	@$(call tool,propagate) -o $(out) $< $(X)/$*/geodesics.h5
$(X)/%/riemann.h5: $(X)/%/metric.h5 $(BIN)/geodec-riemann FORCE
	@$(call tool,riemann) --seed $(SEED) -o $(out) $<
$(X)/%/geodesics-ref.h5: $(X)/%/metric-ref.h5 $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-published FORCE
	@$(call tool,published) geodesic --draws $(SHARED)/golden/ott/$*.h5 -o $(out) $<
$(X)/%/propagators-ref.h5: $(X)/%/metric-ref.h5 $(X)/%/geodesics-ref.h5 $(BIN)/geodec-published FORCE
	@$(call tool,published) propagate -o $(out) $< $(X)/$*/geodesics-ref.h5
$(X)/%/riemann-ref.h5: $(X)/%/metric-ref.h5 $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-published FORCE
	@$(call tool,published) riemann --draws $(SHARED)/golden/ott/$*.h5 -o $(out) $<
