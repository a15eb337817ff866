# Validity radius of the exports as published; of the sampled sphere with its controls.
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/validity-ref.h5) $(patsubst $(SHARED)/golden/ott/%.h5,$(X)/%/validity-ref.h5,$(wildcard $(SHARED)/golden/ott/sphere_n4.h5))
$(X)/%/validity-ref.h5: $(BIN)/geodec-validity $(SHARED)/golden/ott/%.h5 FORCE
	@$(call tool,validity) --mode ref --draws $(SHARED)/golden/ott/$*.h5 -o $(out)
