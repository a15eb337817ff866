# Curvature warp: the corrected experiment on the model, its null cloud and the exports; the published sweeps on the exports.
WARP_FLAGS := $(if $(filter 1,$(QUICK)),--facts 6 --holdouts 2 --bootstrap 200)
LABORATORY += $(R)/warp.h5 $(R)/null-warp.h5
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/warp.h5) $(EXPORTS:%=$(X)/%/warp-ref.h5)
LAB_FIGURES += warp
$(eval $(call swept,$(R)/warp.h5,warp,$(R)/metric.h5,--seed $(SEED) $(WARP_FLAGS) $(R)/metric.h5))
$(eval $(call swept,$(R)/null-warp.h5,warp,$(R)/null-metric.h5,--seed $(SEED) $(WARP_FLAGS) $(R)/null-metric.h5))
$(X)/%/warp.h5: $(X)/%/metric.h5 $(BIN)/geodec-warp FORCE
	@$(call tool,warp) --seed $(SEED) $(WARP_FLAGS) -o $(out) $<
$(X)/%/warp-ref.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-published FORCE
	@$(call tool,published) warp --draws $< -o $(out)
# Long form, a row for each cell in order of place, width and strength: reduction with its interval and p95 of spillover beyond 2 sigma on
# the model, then both on the null cloud, in flat space and on the sphere.
$(F)/warp.tsv: $(R)/warp.h5 $(R)/null-warp.h5 FORCE
	@$(table) --also control=$(R)/null-warp.h5 --over P,W,A $< "SELECT P AS place, t.width, t.alpha, t.\"field/reduction\" AS reduction, \
	  t.\"field/reduction_low\" AS low, t.\"field/reduction_high\" AS high, at(t.\"field/spill_p95\", 2) AS p95, \
	  control.\"field/reduction\" AS null_reduction, at(control.\"field/spill_p95\", 2) AS null_p95, t.\"flat/reduction\" AS flat_reduction, \
	  at(t.\"flat/spill_p95\", 2) AS flat_p95, t.\"sphere/reduction\" AS sphere_reduction, at(t.\"sphere/spill_p95\", 2) AS sphere_p95 \
	  FROM t LEFT JOIN control USING (P, W, A) ORDER BY place, t.width, t.alpha, t.rowid" > $(out)
$(eval $(call figure,warp,$(F)/warp.tsv,tsv='$(F)/warp.tsv'))
