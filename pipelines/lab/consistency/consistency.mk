# Consistency of the metric: does the metric of one half of the texts hold for the states of the other half? The readiness report of
# geodec-bench-decode reads the file next to the other artifacts.
LABORATORY += $(R)/consistency.h5
$(R)/consistency.h5: $(BIN)/geodec-consistency $(R)/cloud.h5 $(R)/activations.h5 FORCE
	@$(call tool,consistency) --seed $(SEED) -o $(out) $(R)/cloud.h5 $(R)/activations.h5
