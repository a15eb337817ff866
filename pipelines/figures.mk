# Figures: a TSV behind each (geodec-table, awk), then SVG and PNG by gnuplot; then the report page. Remade alone when only a
# plot script changed.
F := $(R)/fig
table = $(BIN)/geodec-table
attr = $$($(table) --attrs $1 | awk -F'\t' '$$1 == "$2" {print $$2}')
GP := pipelines/plots
plot = gnuplot -e "plots='$(GP)'; format='$1'; out='$@.tmp'; $2" $< && mv $@.tmp $@
FIGURES := $(if $(filter data/model/%,$(MODEL)),training) spectrum twonn geodesics validity coverage acceptance speedup

# ---- tables --------------------------------------------------------------------------------------------------------
$(F)/training.tsv: data/model/losscurve.h5 | $(BIN)/geodec-table
	$(run) $(table) $< step tokens train_loss held_out_loss held_out_bits_per_byte learning_rate grad_norm > $@.tmp && mv $@.tmp $@
$(F)/spectrum.tsv: $(R)/cloud.h5
	$(run) $(table) $< eigenvalues | awk 'NR > 1 {total += $$1; c[NR] = total} \
	  END {print "component\tcumulative"; for (i = 2; i <= NR; i++) printf "%d\t%.8f\n", i - 1, c[i] / total}' > $@.tmp && mv $@.tmp $@
$(F)/ladder.tsv: $(R)/cloud.h5
	$(run) $(table) $< ladder/points ladder/components control/components > $@.tmp && mv $@.tmp $@
$(F)/twonn.tsv: $(R)/cloud.h5
	$(run) $(table) $< ladder/twonn_points ladder/twonn_fit ladder/twonn_fit_interval control/twonn_fit control/twonn_fit_interval \
	  > $@.tmp && mv $@.tmp $@

$(F)/cloud.tsv: $(R)/metric.h5
	$(run) $(table) $< points | cut -f 1-2 > $@.tmp && mv $@.tmp $@
$(F)/curvature.tsv: $(R)/riemann.h5
	$(run) $(table) $< x scalar place | awk -F'\t' 'NR == 1 || $$NF < 2 {print $$1 "\t" $$2 "\t" $$(NF - 1)}' > $@.tmp && mv $@.tmp $@
$(F)/paths.tsv: $(R)/geodesics.h5
	$(run) $(table) $< x | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) {split($$i, p, "_"); if (p[3] == 0) a[p[2]] = i; \
	  if (p[3] == 1) b[p[2]] = i}; next} {for (k = 0; k in a; k++) print $$a[k] "\t" $$b[k]; print ""}' > $@.tmp && mv $@.tmp $@
$(F)/validity.tsv: $(R)/validity.h5
	$(run) $(table) $< eps field/mean field/mean_low field/mean_high sphere/mean > $@.tmp && mv $@.tmp $@

# ---- figures -------------------------------------------------------------------------------------------------------
define figure
$(F)/$1.svg $(F)/$1.png: $(F)/$1.%: $(GP)/$1.gp $(GP)/style.gp $2
	$$(run) $$(call plot,$$*,$3)
endef
TRAINING_ARGS = tsv='$(F)/training.tsv'; floor=$(call attr,data/model/losscurve.h5,floor_bits_per_byte); ngram=$(shell sed -n 's/.*"bits_per_byte": *\([0-9.]*\).*/\1/p' data/model/held-out.json 2>/dev/null | tail -n 1)
$(eval $(call figure,training,$(F)/training.tsv,$$(TRAINING_ARGS)))
$(eval $(call figure,spectrum,$(F)/spectrum.tsv $(F)/ladder.tsv,spectrum='$(F)/spectrum.tsv'; ladder='$(F)/ladder.tsv'))
$(eval $(call figure,twonn,$(F)/twonn.tsv,ladder='$(F)/twonn.tsv'))

# Ninety-five percent of the curvatures lie inside the colour scale.
CURVATURE_LIMIT = $$(awk 'NR > 1 {x = $$3 < 0 ? -$$3 : $$3; print x}' $(F)/curvature.tsv | sort -g | awk '{v[NR] = $$1} END {print v[int(0.95 * NR)]}')
$(eval $(call figure,geodesics,$(F)/cloud.tsv $(F)/curvature.tsv $(F)/paths.tsv,cloud='$(F)/cloud.tsv'; curvature='$(F)/curvature.tsv'; paths='$(F)/paths.tsv'; limit=$$(CURVATURE_LIMIT)))
$(eval $(call figure,validity,$(F)/validity.tsv,tsv='$(F)/validity.tsv'; slope=$$(call attr,$(R)/validity.h5,slope); sphere=$$(call attr,$(R)/validity.h5,sphere_slope)))

.PHONY: figures report
figures: $(foreach f,$(FIGURES),$(F)/$f.svg $(F)/$f.png)
report: figures
