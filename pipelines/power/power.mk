# The positive controls of the findings (docs/manual/verdicts.md): worlds in which an effect is present, of the sizes of the data, through the same
# tools and the same rules. The main job makes the quick form, power.tsv, in worlds of fewer states; `make power` the full form, power/full.tsv, in worlds of
# as many states as the data. The report and the claims use the full form where it was made.
P := $(R)/power
POWER_FINDINGS := pipelines/power/findings.tsv
POWER_POINTS ?= 500
# Whole texts, for findings along them: the sample of cloud.h5 has few neighbouring positions.
POWER_TOKENS ?= 2000
POWER_TOOLS := $(addprefix $(BIN)/geodec-,power worlds cloud metric null riemann second-form coverage validity consistency geodesicity hjb velocity density library substitution warp varadhan verdict claims value)
POWER_RULES := pipelines/report/headline.tsv $(wildcard $(foreach l,geodesicity hjb velocity density library substitution warp varadhan,$(LAB)/$l/claims.tsv))
$(P)/cloud.h5: $(BIN)/geodec-cloud $(R)/activations.h5 FORCE
	@$(call tool,cloud) --seed $(SEED) --max-points $(POWER_POINTS) -o $(out) $(R)/activations.h5
$(P)/texts-activations.h5: $(BIN)/geodec-export $(MODEL_FILE) $(TEXT_FILE) $(PLAN) FORCE
	@$(call tool,export) --model $(MODEL_FILE) --text $(TEXT_FILE) --layers $(LAYERS) --max-tokens $(POWER_TOKENS) $(separator) -o $(out)
$(P)/texts.h5: $(BIN)/geodec-cloud $(P)/texts-activations.h5 FORCE
	@$(call tool,cloud) --seed $(SEED) -o $(out) $(P)/texts-activations.h5
# $(call power_of,TARGET,NAME,FORM,CLOUD): also NAME-trials.tsv and NAME-levels.tsv
define power_of
$1: private also := $2-trials.tsv $2-levels.tsv
$1: pipelines/power/trials $(POWER_TOOLS) $(POWER_FINDINGS) $(POWER_RULES) $4 $(P)/texts.h5 $(R)/cloud.h5 FORCE
	@MODEL_FILE='$(MODEL_FILE)' $$< $3 $(BIN) $(POWER_FINDINGS) $4 $(P)/texts.h5 $$(w).d $(R)/cloud.h5 > $$(new)/$2-trials.tsv; \
	  $$(call tool,power) --levels $$(new)/$2-levels.tsv -o $$(out) $(POWER_FINDINGS) $$(new)/$2-trials.tsv; rm -rf $$(w).d
endef
$(eval $(call power_of,$(R)/power.tsv,power,quick,$(P)/cloud.h5))
$(eval $(call power_of,$(P)/full.tsv,full,full,$(R)/cloud.h5))
.PHONY: power
power: $(P)/full.tsv
	@$(table) --no-header $< "SELECT finding, power, least, reason FROM t"
# What the verdicts use.
POWER := $(firstword $(wildcard $(P)/full.tsv) $(R)/power.tsv)
power_option = --power $(POWER:$(R)/%=%)

# What the rows of the claims are about.
POWER_RESULTS := geodesicity.h5 hjb.h5 velocity.h5 density.h5 library.h5 substitution.h5 warp.h5 null-warp.h5 varadhan.h5

# ---- docs/results/power.md: the rows that the findings name, judged with the full form -----------------------------------------
$(P)/headline.tsv: private needs := any
$(P)/headline.tsv: $(BIN)/geodec-verdict pipelines/report/headline.tsv $(P)/full.tsv $(GEOMETRY) $(R)/consistency.h5 FORCE
	@$(call tool,verdict) --root $(R) --power power/full.tsv -o $(out) pipelines/report/headline.tsv
$(P)/claims.tsv: private needs := any
$(P)/claims.tsv: $(BIN)/geodec-claims $(CLAIM_ROWS) $(P)/full.tsv $(addprefix $(R)/,$(POWER_RESULTS)) $(GEOMETRY) FORCE
	@$(call tool,claims) --root results --results $(patsubst results/%,%,$(R)) --file $(STEM) --power $(patsubst results/%,%,$(R))/power/full.tsv -o $(out) $(CLAIM_ROWS)
$(P)/findings.tsv: pipelines/power/rows $(POWER_FINDINGS) $(P)/full.tsv $(P)/headline.tsv $(P)/claims.tsv pipelines/report/headline.tsv $(CLAIM_ROWS) FORCE
	@$< $(POWER_FINDINGS) $(P)/full.tsv $(P)/headline.tsv $(P)/claims.tsv pipelines/report/headline.tsv $(CLAIM_ROWS) > $(out)
$(P)/strengths.tsv: $(P)/full.tsv FORCE
	@awk -F'\t' -v CONVFMT=%.3g 'BEGIN {OFS = "\t"} NR > 1 {for (i = 5; i <= NF; i++) if ($$i ~ /^-?[0-9]+\.[0-9]+/) $$i += 0} {NF = NF; print}' $(P)/full-levels.tsv > $(out)
# The same verdicts on other models: make power-models POWER_MODELS="a.gguf:its-text.txt b.gguf:"; without a text, of the corpus. Each with the sizes of
# QUICK=1, in worlds of as many states. The page has the table if it was made.
POWER_MODELS ?=
.PHONY: power-findings power-models
power-findings: $(P)/findings.tsv
power-models: pipelines/power/models
	@set -e; for w in $(POWER_MODELS); do t=$${w#*:}; [ "$$t" != "$$w" ] || t=; set -- QUICK=1 MODEL="$${w%%:*}" TEXT="$$t"; \
	  $(MAKE) --no-print-directory "$$@" power-findings; report=$$($(MAKE) -s "$$@" print-report); tables="$$tables $${report%/report/*}/power/findings.tsv"; done; \
	  $< $$tables > results/power-models.tsv
$(eval $(call result_page,power,Power of the geometric findings,$(P)/findings.tsv $(P)/strengths.tsv $(wildcard results/power-models.tsv)))
