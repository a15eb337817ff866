# Figures: a TSV behind each (geodec-table, awk), then SVG and PNG by gnuplot; then the report page. Remade alone when only a
# plot script changed.
F := $(R)/fig
table = $(BIN)/geodec-table
attr = $$($(table) --attrs $1 | awk -F'\t' '$$1 == "$2" {print $$2}')
GP := pipelines/plots
# A table without a value that can be drawn is no failure.
plot = pipelines/plots/draw $< "nan=NaN; plots='$(GP)'; format='$1'; out='$(out)'; $2"
FIGURES := $(if $(EMBEDDED),training) spectrum twonn geodesics validity coverage acceptance speedup

# ---- tables --------------------------------------------------------------------------------------------------------
$(F)/training.tsv: data/model/losscurve.h5 $(BIN)/geodec-table FORCE
	@$(table) $< tokens held_out_bits_per_byte train_loss learning_rate grad_norm > $(out)
$(F)/spectrum.tsv: $(R)/cloud.h5 FORCE
	@$(table) $< eigenvalues | awk 'NR > 1 {total += $$1; c[NR] = total} \
	  END {print "component\tcumulative"; for (i = 2; i <= NR; i++) printf "%d\t%.8f\n", i - 1, c[i] / total}' > $(out)
$(F)/ladder.tsv: $(R)/cloud.h5 FORCE
	@$(table) $< ladder/points ladder/components control/components > $(out)
$(F)/twonn.tsv: $(R)/cloud.h5 FORCE
	@$(table) $< ladder/twonn_points ladder/twonn_fit ladder/twonn_fit_interval control/twonn_fit control/twonn_fit_interval \
	  > $(out)

$(F)/cloud.tsv: $(R)/metric.h5 FORCE
	@$(table) $< points | cut -f 1-2 > $(out)
$(F)/curvature.tsv: $(R)/riemann.h5 FORCE
	@$(table) $< x scalar place | awk -F'\t' 'NR == 1 || $$NF < 2 {print $$1 "\t" $$2 "\t" $$(NF - 1)}' > $(out)
$(F)/paths.tsv: $(R)/geodesics.h5 FORCE
	@$(table) $< x | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) {split($$i, p, "_"); if (p[3] == 0) a[p[2]] = i; \
	  if (p[3] == 1) b[p[2]] = i}; next} {for (k = 0; k in a; k++) print $$a[k] "\t" $$b[k]; print ""}' > $(out)
$(F)/validity.tsv: $(R)/validity.h5 FORCE
	@$(table) $< eps field/mean field/mean_low field/mean_high sphere/mean field/shift hyperbolic/mean gaussian_fisher/mean \
	  flat/mean > $(out)

# All points of coverage.h5 (the last size), a quarter of them cached (share index 1): rows of eps.
COVERAGE_COLUMNS := hit hit_p10 hit_p90 null_mean null_sd leaky second_mean second_sd
$(F)/coverage.tsv: $(R)/coverage.h5 FORCE
	@for f in $(COVERAGE_COLUMNS); do \
	  $(table) $< $$f | tail -n 1 | tr '\t' '\n' | awk -v name=$$f 'BEGIN {print name} NR > 8 && NR <= 16' > $(w).$$f; done; \
	  $(table) $< eps | paste - $(COVERAGE_COLUMNS:%=$(w).%) > $(out)

# One small table a drafter; bench.tsv marks that they are there.
$(F)/acceptance.svg $(F)/acceptance.png $(F)/speedup.svg $(F)/speedup.png: private reads := $(R)/benchdecode.h5
$(F)/bench.tsv: $(R)/benchdecode.h5 pipelines/report/split-bench.awk FORCE
	@$(table) $< drafter gamma sampled every_position acceptance acceptance_low acceptance_high > $(w).positions; \
	  awk -f pipelines/report/split-bench.awk -v dir=$(new) -v drafters=$(call attr,$<,drafters) $(w).positions $(R)/benchdecode.tsv; \
	  cp $(R)/benchdecode.tsv $(out)

# ---- figures -------------------------------------------------------------------------------------------------------
define figure
$(F)/$1.svg $(F)/$1.png: $(F)/$1.%: $(GP)/$1.gp $(GP)/style.gp $2 FORCE
	@$$(call plot,$$*,$3)
endef
TRAINING_ARGS = tsv='$(F)/training.tsv'; floor=$(call attr,data/model/losscurve.h5,floor_bits_per_byte); ngram=$$(sed -n 's/.*"bits_per_byte": *\([0-9.]*\).*/\1/p' data/model/held-out.json | tail -n 1)
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
HEADLINE_RULES := $(if $(EMBEDDED),pipelines/report/headline-embedded.tsv) pipelines/report/headline.tsv
$(R)/headline.tsv: private needs := any
$(R)/headline.tsv: $(BIN)/geodec-verdict $(HEADLINE_RULES) $(GEOMETRY) $(LABORATORY) $(DECODING) FORCE
	@$(call tool,verdict) --root $(R) -o $(out) $(HEADLINE_RULES)
SETTINGS := QUICK=$(QUICK) SEED=$(SEED) CORPUS_STORIES=$(CORPUS_STORIES) GAMMAS=$(GAMMAS) SEEDS=$(SEEDS) LAYERS=$(LAYERS) LOGITS=$(LOGITS)
$(REPORT)/index.html: private needs := any
$(REPORT)/index.html: $(R)/headline.tsv $(FIGURE_FILES) $(R)/sample.txt $(NAMES_FILE) pipelines/report/make-report pipelines/report/style.css \
  $(CAPTIONS) FORCE
	@for f in $(FIGURES); do awk -F'\t' -v f=$$f -v dir=$(F) '$$1 == f {print dir "/" f ".svg\t" $$2 "\t" $$3}' $(CAPTIONS); done > $(w).figures; \
	  { cat $(NAMES_FILE); if [ -e $(R)/activations.h5 ]; then $(BIN)/geodec-info $(R)/activations.h5 | \
	      sed -n 's/^  model  *\(.*\)/model fingerprint\t\1/p; s/^  BLAS core  *\(.*\)/BLAS kernels\t\1/p'; fi; \
	    printf 'settings\t%s\n' "$(SETTINGS)"; printf 'version\tgeodec %s\n' "$(VERSION)"; } > $(w).inputs; \
	  pipelines/report/make-report $(w).inputs $(PLAN) $(R)/headline.tsv $(w).figures $(R) > $(out)

.PHONY: figures report
# They end with an error when a stage failed; what could not be measured is no error.
figures: $(FIGURE_FILES)
	@pipelines/report/failures $(R)
report: $(REPORT)/index.html
	@pipelines/report/failures $(R)
