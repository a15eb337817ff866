# Growth of a library that stores missed states: for the model's states, by the error of the next state; for the exports, by distance.
LABORATORY += $(R)/library.h5
LAB_FIGURES += library
$(R)/library.h5: $(BIN)/geodec-library $(R)/cloud.h5 $(R)/activations.h5 FORCE
	@$(call tool,library) --seed $(SEED) --activations $(R)/activations.h5 -o $(out) $(R)/cloud.h5
EXPORT_ARTIFACTS += $(EXPORTS:%=$(X)/%/library.h5)
$(X)/%/library.h5: $(BIN)/geodec-library $(X)/%/cloud.h5 FORCE
	@$(call tool,library) --seed $(SEED) -o $(out) $(X)/$*/cloud.h5
# Rows of radii: stored shares of the four streams (text, shuffled, Gaussian, surrogate), then errors of hits.
$(F)/library.tsv: $(R)/library.h5 FORCE
	@$(table) --digits 6 --over R $< "SELECT radius, 1.0 * at(stored, 0) / @points AS text, 1.0 * at(stored, 1) / @points AS shuffled, \
	  1.0 * at(stored, 2) / @points AS gaussian, 1.0 * at(stored, 3) / @points AS surrogate, quality FROM t" > $(out)
$(eval $(call figure,library,$(F)/library.tsv,tsv='$(F)/library.tsv'; surrogate='$$(call attr,$(R)/library.h5,surrogate)'))
