# make claims: every published claim with its reproduction, the correct value, its control and a verdict (pipelines/claims/README).
# The tables of `make kv`, `make attnres` and `make shf` take part where they have been made.
CLAIMS := $(R)/claims
CLAIM_ROWS := $(sort $(wildcard pipelines/claims/*.tsv))
CLAIM_OPTIONAL := $(wildcard $(R)/kv/kv.tsv $(R)/attnres/sweep.tsv $(R)/attnres/fit.tsv results/shf/summary.tsv)
$(CLAIMS).tsv: $(CLAIM_ROWS) $(BIN)/geodec-claims $(R)/settings.txt $(CLAIM_OPTIONAL) $(LABORATORY) $(GEOMETRY) $(EXPORT_ARTIFACTS)
	$(run) $(call tool,claims) --root results --results '$(patsubst results/%,%,$(R))' --file '$(basename $(notdir $(MODEL)))' -o $@ $(CLAIM_ROWS)
$(CLAIMS).html: $(CLAIMS).tsv pipelines/claims/make-page pipelines/report/style.css
	$(run) sh pipelines/claims/make-page $< '$(NAME)' > $@.tmp && mv $@.tmp $@
.PHONY: claims
claims: $(CLAIMS).html
	@awk -F'\t' 'NR > 1 {n[$$9]++} END {for (w in n) printf "%-12s %d\n", w, n[w]}' $(CLAIMS).tsv
