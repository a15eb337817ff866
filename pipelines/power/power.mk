# The positive controls of the findings (docs/manual/verdicts.md): worlds in which an effect is present, of the sizes of the data, through the same
# tools and the same rules. The main job makes the quick form, power.tsv, in worlds of fewer states; `make power` the full form, power/full.tsv, in worlds of
# as many states as the data. The report and the claims use the full form where it was made.
P := $(R)/power
POWER_FINDINGS := pipelines/power/findings.tsv
POWER_POINTS ?= 500
# Whole texts, for findings along them: the sample of cloud.h5 has few neighbouring positions.
POWER_TOKENS ?= 2000
POWER_TOOLS := $(addprefix $(BIN)/geodec-,power worlds cloud metric null riemann second-form coverage validity consistency geodesicity hjb velocity density library substitution verdict claims value)
POWER_RULES := pipelines/report/headline.tsv $(wildcard $(foreach l,geodesicity hjb velocity density library substitution,$(LAB)/$l/claims.tsv))
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

# ---- docs/results/power.md: the rows that the findings name, judged with the full form -----------------------------------------
$(P)/headline.tsv: private needs := any
$(P)/headline.tsv: $(BIN)/geodec-verdict pipelines/report/headline.tsv $(P)/full.tsv $(GEOMETRY) $(R)/consistency.h5 FORCE
	@$(call tool,verdict) --root $(R) --power power/full.tsv -o $(out) pipelines/report/headline.tsv
$(P)/claims.tsv: private needs := any
$(P)/claims.tsv: $(BIN)/geodec-claims $(CLAIM_ROWS) $(P)/full.tsv $(R)/geodesicity.h5 $(R)/hjb.h5 $(GEOMETRY) FORCE
	@$(call tool,claims) --root results --results $(patsubst results/%,%,$(R)) --file $(STEM) --power $(patsubst results/%,%,$(R))/power/full.tsv -o $(out) $(CLAIM_ROWS)
$(P)/findings.tsv: pipelines/power/rows $(POWER_FINDINGS) $(P)/full.tsv $(P)/headline.tsv $(P)/claims.tsv pipelines/report/headline.tsv $(CLAIM_ROWS) FORCE
	@$< $(POWER_FINDINGS) $(P)/full.tsv $(P)/headline.tsv $(P)/claims.tsv pipelines/report/headline.tsv $(CLAIM_ROWS) > $(out)
$(P)/strengths.tsv: $(P)/full.tsv FORCE
	@awk -F'\t' -v CONVFMT=%.3g 'BEGIN {OFS = "\t"} NR > 1 {for (i = 5; i <= NF; i++) if ($$i ~ /^-?[0-9]+\.[0-9]+/) $$i += 0} {NF = NF; print}' $(P)/full-levels.tsv > $(out)
$(eval $(call result_page,power,Power of the geometric findings,$(P)/findings.tsv $(P)/strengths.tsv))
