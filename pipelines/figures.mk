# Figures: a TSV for each (geodec-table), then SVG and PNG by gnuplot; then the report page. If only a plot script changed, only its figure
# is made again.
F := $(R)/fig
table = $(BIN)/geodec-table
# $(call attr,FILE,NAME): the value of an attribute, as a shell word.
attr = $$($(table) --attr $2 $1)
GP := pipelines/plots
LAB := pipelines/lab
# A table without a value to plot is not a failure.
FIGURES := $(if $(EMBEDDED),training) spectrum twonn geodesics validity coverage acceptance speedup

# ---- tables --------------------------------------------------------------------------------------------------------
$(F)/training.tsv: data/model/losscurve.h5 $(BIN)/geodec-table FORCE
	@$(table) $< tokens held_out_bits_per_byte train_loss learning_rate grad_norm > $(out)
$(F)/spectrum.tsv: $(R)/cloud.h5 FORCE
	@$(table) $< "SELECT rowid + 1 AS component, fixed(total(eigenvalues) OVER (ORDER BY rowid) / total(eigenvalues) OVER (), 8) AS cumulative \
	  FROM t" > $(out)
$(F)/subsets.tsv: $(R)/cloud.h5 FORCE
	@$(table) $< ladder/points ladder/components control/components > $(out)
$(F)/twonn.tsv: $(R)/cloud.h5 FORCE
	@$(table) $< ladder/twonn_points ladder/dimension ladder/dimension_interval control/dimension control/dimension_interval \
	  ladder/twonn_fit > $(out)

$(F)/cloud.tsv: $(R)/metric.h5 FORCE
	@$(table) $< 'SELECT at(points, 0) AS points_0, at(points, 1) AS points_1 FROM t' > $(out)
$(F)/curvature.tsv: $(R)/riemann.h5 FORCE
	@$(table) $< 'SELECT at(x, 0) AS x_0, at(x, 1) AS x_1, scalar FROM t WHERE place < 2' > $(out)
$(F)/paths.tsv: $(R)/geodesics.h5 FORCE
	@$(table) --no-header --over P,S --gap P $< 'SELECT P, at(x, 0), at(x, 1) FROM t' > $(out)

# One small table for each drafter: acceptance by position of the longest draft, and speed by draft length. bench.tsv marks that they
# exist.
DRAFTER_WORDS = $$(echo $(call attr,$(R)/benchdecode.h5,drafters) | tr ',' ' ')
$(F)/acceptance.svg $(F)/acceptance.png $(F)/speedup.svg $(F)/speedup.png: private reads := $(R)/benchdecode.h5
$(F)/bench.tsv: $(R)/benchdecode.h5 FORCE
	@for d in $(DRAFTER_WORDS); do \
	  $(table) --over C,G $< "SELECT G + 1 AS position, acceptance, acceptance_low AS low, acceptance_high AS high FROM t \
	    WHERE word(@drafters, drafter) = '$$d' AND NOT sampled AND every_position AND gamma = :G AND \
	    (acceptance IS NOT 0 OR acceptance_high IS NOT 0)" > $(new)/acceptance-$$d.tsv; \
	  $(table) $(R)/benchdecode.tsv "SELECT gamma, speedup AS measured, speedup_low AS low, speedup_high AS high, predicted, \
	    predicted_textbook AS textbook FROM t WHERE drafter = '$$d' AND mode = 'greedy' AND setting = 'loop' AND gamma <> 'auto'" \
	    > $(new)/speedup-$$d.tsv; \
	done; cp $(R)/benchdecode.tsv $(out)

# ---- figures -------------------------------------------------------------------------------------------------------
# The script of figure NAME: plot.gp of the experiment of that name, NAME.gp of another, or one of $(GP).
script = $(or $(wildcard $(LAB)/$1/plot.gp),$(wildcard $(LAB)/*/$1.gp),$(GP)/$1.gp)
figure = $(call drawn,$(F)/$1,$(call script,$1),$2,$3)
# $(call drawn,PATH,SCRIPT,TABLES,SETTINGS): PATH.svg and PATH.png
define drawn
$1.svg: private also := $(notdir $1).png
$1.svg: $2 $(GP)/style.gp $3 FORCE
	@pipelines/plots/draw $$< $$(out) "nan=NaN; plots='$(GP)'; $4"
$1.png: $1.svg
endef
# The figure of the README.
.PHONY: readme-figure
readme-figure: $(F)/acceptance.png
	cp $< docs/results/acceptance.png
# make NAME-page writes docs/results/NAME.md from tables: $(eval $(call result_page,NAME,TITLE,TABLES)).
define result_page
.PHONY: $1-page
$1-page: pipelines/report/result-page $3
	@pipelines/report/result-page '$2' 'make $1-page' $(BIN) $(MODEL_FILE) $3 > docs/results/.$1.tmp && mv docs/results/.$1.tmp docs/results/$1.md
endef
TRAINING_ARGS = tsv='$(F)/training.tsv'; floor=$(call attr,data/model/losscurve.h5,floor_bits_per_byte); ngram=$$(sed -n 's/.*"bits_per_byte": *\([0-9.]*\).*/\1/p' data/model/held-out.json | tail -n 1)
$(eval $(call figure,training,$(F)/training.tsv,$$(TRAINING_ARGS)))
$(eval $(call figure,spectrum,$(F)/spectrum.tsv $(F)/subsets.tsv,spectrum='$(F)/spectrum.tsv'; subsets='$(F)/subsets.tsv'))
$(eval $(call figure,twonn,$(F)/twonn.tsv,subsets='$(F)/twonn.tsv'))

# The colour scale covers 95 % of the curvatures.
CURVATURE_LIMIT = $$($(table) --no-header $(F)/curvature.tsv 'SELECT quantile(abs(number(scalar)), 0.95) FROM t')
$(eval $(call figure,geodesics,$(F)/cloud.tsv $(F)/curvature.tsv $(F)/paths.tsv,cloud='$(F)/cloud.tsv'; curvature='$(F)/curvature.tsv'; paths='$(F)/paths.tsv'; limit=$$(CURVATURE_LIMIT)))

$(eval $(call figure,acceptance,$(F)/bench.tsv,dir='$(F)'; drafters='$$(DRAFTER_WORDS)'))
$(eval $(call figure,speedup,$(F)/bench.tsv,dir='$(F)'; drafters='$$(DRAFTER_WORDS)'))

# ---- the laboratory: one folder for each experiment (pipelines/lab/README) ----------------------------------------------------
EXPORTS := $(patsubst $(SHARED)/golden/ott/%.h5,%,$(filter-out %/sphere_n4.h5,$(wildcard $(SHARED)/golden/ott/*_n[0-9].h5 $(SHARED)/golden/ott/*_n[0-9][0-9].h5)))
LABORATORY :=
EXPORT_ARTIFACTS :=
LAB_FIGURES :=
include $(sort $(wildcard $(LAB)/*/*.mk))
FIGURES += $(LAB_FIGURES)
CAPTIONS := pipelines/report/captions.tsv $(sort $(wildcard $(LAB)/*/caption.tsv))

# ---- report --------------------------------------------------------------------------------------------------------
REPORT := $(R)/report
FIGURE_FILES := $(foreach f,$(FIGURES),$(F)/$f.svg $(F)/$f.png)
# Rules as data (docs/manual/verdicts.md): pipelines/report/headline.tsv, one row for the embedded model only, and those of experiments.
HEADLINE_RULES := $(if $(EMBEDDED),pipelines/report/headline-embedded.tsv) pipelines/report/headline.tsv $(sort $(wildcard $(LAB)/*/headline.tsv))
$(R)/headline.tsv: private needs := any
$(R)/headline.tsv: private reads = $(POWER)
$(R)/headline.tsv: $(BIN)/geodec-verdict $(HEADLINE_RULES) $(R)/power.tsv $(R)/perplexity.tsv $(GEOMETRY) $(LABORATORY) $(DECODING) FORCE
	@$(call tool,verdict) --root $(R) $(power_option) -o $(out) $(HEADLINE_RULES)
SETTINGS := QUICK=$(QUICK) FULL=$(FULL) SEED=$(SEED) CORPUS_STORIES=$(CORPUS_STORIES) GAMMAS=$(GAMMAS) SEEDS=$(SEEDS) LAYERS=$(LAYERS) LOGITS=$(LOGITS)
# The model's own perplexity on its text, with controls: a row of the headline.
PERPLEXITY_UNITS ?= $(call by_size,40,40,100)
$(R)/perplexity.tsv: pipelines/report/perplexity $(BIN)/geodec-perplexity $(MODEL_FILE) $(TEXT_FILE) $(PLAN) FORCE
	@$< $(BIN) $(MODEL_FILE) $(TEXT_FILE) $(call size,separator) $(PERPLEXITY_UNITS) $(w).d > $(out)
$(REPORT)/index.html: private needs := any
$(REPORT)/index.html: private also := program.html
$(REPORT)/index.html: $(R)/headline.tsv $(FIGURE_FILES) $(R)/sample.txt $(NAMES_FILE) pipelines/report/make-report pipelines/report/style.css pipelines/report/row-figures.tsv \
  $(CAPTIONS) FORCE
	@{ printf 'figure\ttitle\ttext\n'; cat $(CAPTIONS); } > $(w).captions; printf '%s\n' figure $(FIGURES) > $(w).list; \
	  $(table) --no-header --at-least $(words $(FIGURES)) --also c=$(w).captions $(w).list \
	    'SELECT * FROM t JOIN c USING (figure) ORDER BY t.rowid' > $(w).figures; \
	  { cat $(NAMES_FILE); if [ -e $(R)/activations.h5 ]; then printf '%s\t%s\n' 'BLAS kernels' "$(call attr,$(R)/activations.h5,blas_core)" \
	      'model fingerprint' $(call attr,$(R)/activations.h5,model_fingerprint); fi; \
	    printf 'settings\t%s\n' "$(SETTINGS)"; printf 'version\tgeodec %s\n' "$(VERSION)"; } > $(w).inputs; \
	  pipelines/report/make-report $(w).inputs $(PLAN) $(R)/headline.tsv $(w).figures $(R) > $(out); \
	  pipelines/report/make-report --program $(w).inputs $(PLAN) $(R)/headline.tsv $(w).figures $(R) > $(new)/program.html

.PHONY: figures report
# They end with an error if a stage failed. A result that could not be measured is not an error.
figures: $(FIGURE_FILES)
	@pipelines/report/failures $(R)
report: $(REPORT)/index.html
	@pipelines/report/failures $(R)
