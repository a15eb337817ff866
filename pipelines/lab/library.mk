# Growth of a library that stores what it misses: of the model's states, judged by the next state; of the exports by distance.
LABORATORY += $(R)/library.h5
LAB_FIGURES += library
$(R)/library.h5: $(BIN)/geodec-library $(R)/cloud.h5 $(R)/activations.h5
	$(run) $(call tool,library) --seed $(SEED) --activations $(R)/activations.h5 -o $@ $(R)/cloud.h5
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/library.h5)
$(X)/%/library.h5: $(BIN)/geodec-library $(X)/%/cloud.h5
	$(run) $(call tool,library) --seed $(SEED) -o $@ $(X)/$*/cloud.h5
# Rows of radii: stored shares of the four streams (text, shuffled, Gaussian, surrogate), then errors of hits.
$(F)/library.tsv: $(R)/library.h5
	$(run) n=$(call attr,$<,points); { $(table) $< radius > $@.radius; \
	  $(table) $< stored | awk -v n=$$n 'NR > 1 {for (i = 1; i <= NF; i++) v[NR - 1, i] = $$i / n; c = NF} \
	    END {print "text\tshuffled\tgaussian\tsurrogate"; for (i = 1; i <= c; i++) print v[1, i] "\t" v[2, i] "\t" v[3, i] "\t" v[4, i]}' > $@.stored; \
	  $(table) $< quality > $@.quality; paste $@.radius $@.stored $@.quality; rm -f $@.radius $@.stored $@.quality; } > $@.tmp && mv $@.tmp $@
$(eval $(call figure,library,$(F)/library.tsv,tsv='$(F)/library.tsv'; surrogate='$$(call attr,$(R)/library.h5,surrogate)'))
