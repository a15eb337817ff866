# Figures: a TSV behind each (geodec-table, awk), then SVG and PNG by gnuplot; then the report page. Remade alone when only a
# plot script changed.
F := $(R)/fig
table = $(BIN)/geodec-table
attr = $$($(table) --attrs $1 | awk -F'\t' '$$1 == "$2" {print $$2}')
GP := pipelines/plots
plot = gnuplot -e "nan=NaN; plots='$(GP)'; format='$1'; out='$@.tmp'; $2" $< && mv $@.tmp $@
FIGURES := $(if $(filter data/model/%,$(MODEL)),training) spectrum twonn geodesics validity coverage acceptance speedup

# ---- tables --------------------------------------------------------------------------------------------------------
$(F)/training.tsv: data/model/losscurve.h5 | $(BIN)/geodec-table
	$(run) $(table) $< tokens held_out_bits_per_byte train_loss learning_rate grad_norm > $@.tmp && mv $@.tmp $@
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
	$(run) $(table) $< eps field/mean field/mean_low field/mean_high sphere/mean field/shift hyperbolic/mean gaussian_fisher/mean \
	  flat/mean > $@.tmp && mv $@.tmp $@

# All points of coverage.h5 (the last size), a quarter of them cached (share index 1): rows of eps.
COVERAGE_COLUMNS := hit hit_p10 hit_p90 null_mean null_sd leaky second_mean second_sd
$(F)/coverage.tsv: $(R)/coverage.h5
	$(run) for f in $(COVERAGE_COLUMNS); do \
	  $(table) $< $$f | tail -n 1 | tr '\t' '\n' | awk -v name=$$f 'BEGIN {print name} NR > 8 && NR <= 16' > $@.$$f; done; \
	  $(table) $< eps | paste - $(COVERAGE_COLUMNS:%=$@.%) > $@.tmp; rm -f $(COVERAGE_COLUMNS:%=$@.%); mv $@.tmp $@

# One small table a drafter; bench.tsv marks that they are there.
$(F)/bench.tsv: $(R)/benchdecode.h5 pipelines/report/split-bench.awk
	$(run) $(table) $< drafter gamma sampled every_position acceptance acceptance_low acceptance_high > $@.positions; \
	  awk -f pipelines/report/split-bench.awk -v dir=$(F) -v drafters=$(call attr,$<,drafters) $@.positions $(R)/benchdecode.tsv; \
	  rm -f $@.positions; cp $(R)/benchdecode.tsv $@.tmp && mv $@.tmp $@

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
$(eval $(call figure,validity,$(F)/validity.tsv,tsv='$(F)/validity.tsv'; slope=$$(call attr,$(R)/validity.h5,slope); sphere=$$(call attr,$(R)/validity.h5,sphere_slope); hyperbolic=$$(call attr,$(R)/validity.h5,hyperbolic_slope); fisher=$$(call attr,$(R)/validity.h5,gaussian_fisher_slope)))

CLOSED_FORM = $$($(table) $(R)/coverage.h5 closed_form | tail -n 1 | cut -f 2)
$(eval $(call figure,coverage,$(F)/coverage.tsv,tsv='$(F)/coverage.tsv'; closed=$$(CLOSED_FORM); second='$$(call attr,$(R)/coverage.h5,second_null)'))

DRAFTER_WORDS = $$($(table) --attrs $(R)/benchdecode.h5 | sed -n 's/^drafters\t//p' | tr ',' ' ')
$(eval $(call figure,acceptance,$(F)/bench.tsv,dir='$(F)'; drafters='$$(DRAFTER_WORDS)'))
$(eval $(call figure,speedup,$(F)/bench.tsv,dir='$(F)'; drafters='$$(DRAFTER_WORDS)'))

# ---- the laboratory: a fragment a stage (pipelines/lab/README) ----------------------------------------------------
SHARED := $(or $(GEODEC_SHARED),../shared)
X := results/exports
EXPORTS := $(patsubst $(SHARED)/golden/ott/%.h5,%,$(filter-out %/sphere_n4.h5,$(wildcard $(SHARED)/golden/ott/*_n[0-9].h5 $(SHARED)/golden/ott/*_n[0-9][0-9].h5)))
LABORATORY :=
EXPORT_ARTIFACTS :=
LAB_FIGURES :=
-include $(sort $(wildcard pipelines/lab/*.mk))
FIGURES += $(LAB_FIGURES)
CAPTIONS := pipelines/report/captions.tsv $(sort $(wildcard pipelines/lab/*.caption.tsv))

# ---- report --------------------------------------------------------------------------------------------------------
REPORT := $(R)/report
FIGURE_FILES := $(foreach f,$(FIGURES),$(F)/$f.svg $(F)/$f.png)
# Rules as data (docs/verdicts.md): pipelines/report/headline.tsv, and a row of the embedded model alone.
HEADLINE_RULES := $(if $(filter data/model/%,$(MODEL)),pipelines/report/headline-embedded.tsv) pipelines/report/headline.tsv
$(R)/headline.tsv: $(BIN)/geodec-verdict $(HEADLINE_RULES) $(GEOMETRY) $(LABORATORY) $(DECODING)
	$(run) $(call tool,verdict) --root '$(R)' -o '$@' $(HEADLINE_RULES)
$(REPORT)/index.html: $(R)/headline.tsv $(FIGURE_FILES) $(R)/sample.txt pipelines/report/make-report pipelines/report/style.css $(CAPTIONS)
	$(run) for f in $(FIGURES); do awk -F'\t' -v f=$$f -v dir=$(F) '$$1 == f {print dir "/" f ".svg\t" $$2 "\t" $$3}' $(CAPTIONS); done \
	    > $(R)/figures.tsv; \
	  { printf 'model\t%s\n' "$(notdir $(MODEL))"; printf 'text\t%s\n' "$(if $(TEXT),$(notdir $(TEXT)),stories of the embedded corpus generator, a seed not trained on)"; \
	    $(BIN)/geodec-info $(R)/activations.h5 | sed -n 's/^  model  *\(.*\)/model fingerprint\t\1/p; s/^  BLAS core  *\(.*\)/BLAS kernels\t\1/p'; \
	    printf 'settings\t%s\n' "$(filter-out MODEL=% TEXT=%,$(SETTINGS))"; printf 'version\tgeodec %s\n' "$(VERSION)"; } > $(R)/inputs.tsv; \
	  sh pipelines/report/make-report "Geodec: $(basename $(notdir $(MODEL)))" $(R)/inputs.tsv $(R)/headline.tsv $(R)/figures.tsv $(R)/sample.txt \
	    > $@.tmp && mv $@.tmp $@

.PHONY: figures report
figures: $(FIGURE_FILES)
report: $(REPORT)/index.html
