# Identities of every metric: the model's field, and those of the exports in both modes (the published manifold fails, which is the finding).
# A check that fails (status 4) is a result, and the file names it.
LABORATORY += $(R)/verification.h5
$(R)/verification.h5: $(BIN)/geodec-verify-geometry $(R)/metric.h5 FORCE
	@$(call tool,verify-geometry) --quiet -o $(out) $(R)/metric.h5 || [ $$? -eq 4 ]
EXPORT_ARTIFACTS += $(foreach f,verification verification-ref,$(EXPORTS:%=$(X)/%/$f.h5))
$(X)/%/verification.h5: $(X)/%/metric.h5 $(BIN)/geodec-verify-geometry FORCE
	@$(call tool,verify-geometry) --quiet -o $(out) $<
$(X)/%/verification-ref.h5: $(X)/%/metric-ref.h5 $(BIN)/geodec-verify-geometry FORCE
	@$(call tool,verify-geometry) --quiet -o $(out) $< 2> $(w).log || { code=$$?; cat $(w).log >&2; [ $$code -eq 4 ] || exit $$code; }

$(F)/verification.tsv: $(R)/verification.h5 FORCE
	@$(table) $< 'SELECT word(@checks, rowid) AS "check", worst, "limit" FROM t WHERE worst >= 0 AND "limit" > 0 AND "limit" < 1' > $(out)
$(eval $(call figure,verification,$(F)/verification.tsv,tsv='$(F)/verification.tsv'))
LAB_FIGURES += verification
