# make claims: every published claim with its reproduction, the correct value, its control and a verdict (pipelines/claims/README).
CLAIMS := results/report/claims
CLAIM_ROWS := $(sort $(wildcard pipelines/claims/*.tsv))
$(CLAIMS).tsv: $(CLAIM_ROWS) $(wildcard pipelines/claims/*.awk) pipelines/claims/make-claims $(BIN)/geodec-value $(LABORATORY) $(GEOMETRY) $(EXPORT_ARTIFACTS)
	$(run) BIN=$(BIN) bash pipelines/claims/make-claims $(NAME) $(CLAIM_ROWS) > $@.tmp && mv $@.tmp $@
$(CLAIMS).html: $(CLAIMS).tsv pipelines/claims/make-page pipelines/report/style.css
	$(run) sh pipelines/claims/make-page $< $(NAME) > $@.tmp && mv $@.tmp $@
.PHONY: claims
claims: $(CLAIMS).html
	@awk -F'\t' 'NR > 1 {n[$$9]++} END {for (w in n) printf "%-12s %d\n", w, n[w]}' $(CLAIMS).tsv
