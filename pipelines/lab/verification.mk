# Identities of every metric: the model's field, the exports' in both modes (the published manifold fails, which is the finding).
LABORATORY += $(R)/verification.h5
$(R)/verification.h5: $(BIN)/geodec-verify-geometry $(R)/metric.h5
	$(run) $(call tool,verify-geometry) --quiet -o $@ $(R)/metric.h5
EXPORT_ARTIFACTS += $(foreach f,verification verification-ref,$(EXPORTS:%=$(X)/%/$f.h5))
$(X)/%/verification.h5: $(X)/%/metric.h5 $(BIN)/geodec-verify-geometry
	$(run) $(call tool,verify-geometry) --quiet -o $@ $<
$(X)/%/verification-ref.h5: $(X)/%/metric-ref.h5 $(BIN)/geodec-verify-geometry
	$(run) $(call tool,verify-geometry) --quiet -o $@ $< 2> $@.log || [ $$? -eq 4 ]; rm -f $@.log; test -e $@

$(F)/verification.tsv: $(R)/verification.h5
	$(run) $(table) --attrs $< | awk -F'\t' '$$1 == "checks" {print $$2}' | tr ';' '\n' > $@.names; \
	  { printf 'check\tworst\tlimit\n'; $(table) $< worst limit | sed 1d | paste $@.names - | awk -F'\t' '$$2 >= 0 && $$3 > 0 && $$3 < 1'; } > $@.tmp; \
	  rm -f $@.names; mv $@.tmp $@
$(eval $(call figure,verification,$(F)/verification.tsv,tsv='$(F)/verification.tsv'))
LAB_FIGURES += verification
