# make acceptance: acceptance by draft length on texts that the model did not write (decoding spec 2.6), outside of the main job. Of each of
# ACCEPTANCE_TEXTS (names without blanks) up to ACCEPTANCE_PROMPTS prompts, greedy; of JSON Lines a record is a prompt, in the model's chat
# format where it has one. NAME.h5 has acceptance by position, tokens a pass as measured and by both closed forms, with 95 % intervals by
# bootstrap over prompts; beside each drafter stands the bigram. acceptance.tsv: the table of all texts; acceptance.md: a page of it, which
# make acceptance-page puts at docs/acceptance.md.
ACCEPTANCE_TEXTS ?= $(wildcard $(SHARED)/text/wikitext2-test-a.txt $(SHARED)/text/spec_bench-a.jsonl)
ACCEPTANCE_PROMPTS ?= $(if $(filter 1,$(QUICK)),20,1000)
ACCEPTANCE_NAMES := $(basename $(notdir $(ACCEPTANCE_TEXTS)))
define acceptance_of
$(R)/acceptance/$(basename $(notdir $1)).h5: private also := $(basename $(notdir $1)).tsv speed-$(basename $(notdir $1)).h5
$(R)/acceptance/$(basename $(notdir $1)).h5: $(BIN)/geodec-bench-decode $(R)/flowmap.h5 $(PLAN) $1 FORCE
	@$$(call tool,bench-decode) --seed $(SEED) --model $(MODEL_FILE) --artifacts $(R) --prompts $1 --n-prompts $(ACCEPTANCE_PROMPTS) --modes greedy \
	  --gammas 1,2,4,8 --max-tokens $$(call size,new_tokens) --speed $$(new)/speed-$(basename $(notdir $1)).h5 -o $$(out) > $$(new)/$(basename $(notdir $1)).tsv
endef
$(foreach t,$(ACCEPTANCE_TEXTS),$(eval $(call acceptance_of,$t)))
$(R)/acceptance/acceptance.tsv: $(ACCEPTANCE_NAMES:%=$(R)/acceptance/%.h5) FORCE
	@for t in $(ACCEPTANCE_NAMES); do awk -v text=$$t 'NR == 1 {print "text\t" $$0; next} {print text "\t" $$0}' $(R)/acceptance/$$t.tsv; done | \
	  awk 'NR == 1 || !/^text\t/' > $(out)
$(R)/acceptance/%.alpha.tsv: $(R)/acceptance/%.h5 pipelines/lab/drafting.awk FORCE
	@$(table) $< drafter gamma sampled every_position budget accepted_share tokens_per_pass tokens_closed_form tokens_by_position | \
	  awk -f pipelines/lab/drafting.awk -v what=alpha -v $(DRAFTING_WORDS) > $(out)
$(R)/acceptance/%.svg: $(GP)/alpha.gp $(GP)/style.gp $(R)/acceptance/%.alpha.tsv FORCE
	@$(call plot,svg,tsv='$(R)/acceptance/$*.alpha.tsv')
$(R)/acceptance/%.png: $(GP)/alpha.gp $(GP)/style.gp $(R)/acceptance/%.alpha.tsv FORCE
	@$(call plot,png,tsv='$(R)/acceptance/$*.alpha.tsv')
$(R)/acceptance/acceptance.md: pipelines/acceptance-page $(BIN)/geodec-bench-decode $(BIN)/geodec-table $(MODEL_FILE) $(ACCEPTANCE_NAMES:%=$(R)/acceptance/%.h5) FORCE
	@pipelines/acceptance-page $(BIN) $(MODEL_FILE) $(R)/acceptance $(ACCEPTANCE_NAMES) > $(out)
.PHONY: acceptance acceptance-page
acceptance-page: $(R)/acceptance/acceptance.md
	cp $< docs/acceptance.md
acceptance: $(R)/acceptance/acceptance.tsv $(R)/acceptance/acceptance.md $(foreach t,$(ACCEPTANCE_NAMES),$(R)/acceptance/$t.svg $(R)/acceptance/$t.png)
	@awk -F'\t' 'NR == 1 || $$5 == "loop"' $< | cut -f 1-3,8-10,14-18
