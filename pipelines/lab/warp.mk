# Curvature warp: the corrected experiment on the model, its null cloud and the exports; the published sweeps on the exports.
WARP_FLAGS := $(if $(filter 1,$(QUICK)),--facts 6 --holdouts 2 --bootstrap 200)
LABORATORY += $(R)/warp.h5 $(R)/null-warp.h5
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/warp.h5) $(EXPORTS:%=$(X)/%/warp-ref.h5)
LAB_FIGURES += warp
$(eval $(call swept,$(R)/warp.h5,warp,$(R)/metric.h5,--seed $(SEED) $(WARP_FLAGS) $(R)/metric.h5))
$(eval $(call swept,$(R)/null-warp.h5,warp,$(R)/null-metric.h5,--seed $(SEED) $(WARP_FLAGS) $(R)/null-metric.h5))
$(X)/%/warp.h5: $(X)/%/metric.h5 $(BIN)/geodec-warp FORCE
	@$(call tool,warp) --seed $(SEED) $(WARP_FLAGS) -o $(out) $<
$(X)/%/warp-ref.h5: $(SHARED)/golden/ott/%.h5 $(BIN)/geodec-warp FORCE
	@$(call tool,warp) --mode ref --draws $< -o $(out)
# Long form, a row a cell in order of place, width and strength: reduction with its interval and p95 of spillover beyond 2 sigma on
# the model, then both on the null cloud, in flat space and on the sphere.
warp_cells = $(table) $1 $2 | awk -v skip=$3 -v each=$4 'NR > 1 {for (i = skip; i <= NF; i += each) print $$i}'
$(F)/warp.tsv: $(R)/warp.h5 $(R)/null-warp.h5 FORCE
	@{ printf 'place\twidth\talpha\treduction\tlow\thigh\tp95\tnull_reduction\tnull_p95\tflat_reduction\tflat_p95\tsphere_reduction\tsphere_p95\n'; \
	  { $(table) $< alpha | sed 1d | tr '\n' ' '; echo; $(table) $< width | sed 1d | tr '\n' ' '; echo; } | awk 'NR == 1 {na = split($$0, a)} \
	    NR == 2 {nw = split($$0, w); for (i = 1; i <= na; i++) for (j = 1; j <= nw; j++) for (p = 0; p < 2; p++) print p "\t" w[j] "\t" a[i]}' > $(w).cells; \
	  $(call warp_cells,$<,field/reduction,1,1) > $(w).1; $(call warp_cells,$<,field/reduction_low,1,1) > $(w).2; \
	  $(call warp_cells,$<,field/reduction_high,1,1) > $(w).3; $(call warp_cells,$<,field/spill_p95,3,4) > $(w).4; \
	  $(call warp_cells,$(R)/null-warp.h5,field/reduction,1,1) > $(w).5; $(call warp_cells,$(R)/null-warp.h5,field/spill_p95,3,4) > $(w).6; \
	  $(call warp_cells,$<,flat/reduction,1,1) > $(w).7; $(call warp_cells,$<,flat/spill_p95,3,4) > $(w).8; \
	  $(call warp_cells,$<,sphere/reduction,1,1) > $(w).9; $(call warp_cells,$<,sphere/spill_p95,3,4) > $(w).10; \
	  paste $(w).cells $(w).1 $(w).2 $(w).3 $(w).4 $(w).5 $(w).6 $(w).7 $(w).8 $(w).9 $(w).10 | sort -t '	' -k1,1g -k2,2g -k3,3g; } > $(out)
$(eval $(call figure,warp,$(F)/warp.tsv,tsv='$(F)/warp.tsv'))
