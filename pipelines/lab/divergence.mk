# The Fisher metric of the next token on the cloud, its blend with the local covariances, and what each knows of the output.
LABORATORY += $(R)/metric-fisher.h5 $(R)/metric-blend.h5 $(R)/divergence.h5
LAB_FIGURES += divergence
$(R)/metric-fisher.h5 $(R)/metric-blend.h5: $(R)/metric-%.h5: $(BIN)/geodec-metric $(R)/cloud.h5 $(R)/activations.h5 $(MODEL)
	$(run) $(call tool,metric) --kind $* --model $(MODEL) --activations $(R)/activations.h5 -o $@ $(R)/cloud.h5
$(R)/divergence.h5: $(BIN)/geodec-divergence $(R)/metric.h5 $(R)/metric-fisher.h5 $(R)/metric-blend.h5
	$(run) $(call tool,divergence) --seed $(SEED) --model $(MODEL) --activations $(R)/activations.h5 -o $@ $(filter %.h5,$^)
$(F)/divergence.tsv: $(R)/divergence.h5
	$(run) $(table) --attrs $< | sed -n "s/^kinds\t//p" | tr ',' '\n' | sed '1i kind' > $@.kinds; $(table) $< rank | paste $@.kinds - > $@.tmp && rm -f $@.kinds && mv $@.tmp $@
$(eval $(call figure,divergence,$(F)/divergence.tsv,tsv='$(F)/divergence.tsv'))
