# make claims: every published claim with its reproduction, the correct value, its control and a verdict (pipelines/claims/README).
CLAIMS := $(R)/claims
# Claims about experiments, then about other subjects, by name.
CLAIM_NAMES := $(sort $(basename $(notdir $(wildcard pipelines/claims/*.tsv))) $(notdir $(patsubst %/claims.tsv,%,$(wildcard $(LAB)/*/claims.tsv))))
CLAIM_ROWS := $(foreach n,$(CLAIM_NAMES),$(wildcard pipelines/claims/$n.tsv $(LAB)/$n/claims.tsv))
# Sweeps are quoted if they were made.
$(CLAIMS).tsv: private reads = $(POWER) $(wildcard $(foreach s,kv/kv attnres/sweep attnres/fit projection/sweep projection-drafts/sweep,$(R)/$s.tsv) results/shf/summary.tsv)
$(CLAIMS).tsv: private needs := any
$(CLAIMS).tsv: $(CLAIM_ROWS) $(R)/power.tsv $(BIN)/geodec-claims $(LABORATORY) $(GEOMETRY) $(EXPORT_ARTIFACTS) FORCE
	@$(call tool,claims) --root results --results $(patsubst results/%,%,$(R)) --file $(STEM) --power $(POWER:results/%=%) -o $(out) $(CLAIM_ROWS)
$(CLAIMS).html: $(CLAIMS).tsv pipelines/claims/make-page pipelines/report/style.css FORCE
	@sh pipelines/claims/make-page $< $(NAME) > $(out)
.PHONY: claims
claims: $(CLAIMS).html
	@$(table) --no-header $(CLAIMS).tsv 'SELECT verdict, count(*) FROM t GROUP BY verdict ORDER BY verdict'
	@$(table) --no-header $(CLAIMS).tsv "SELECT count(*) FILTER (WHERE published <> '-' AND verdict NOT IN ('untestable', 'undecidable', 'not measured', 'no power', 'error')) || ' of ' || \
	  count(*) FILTER (WHERE published <> '-') || ' published figures in the table decided' FROM t"
