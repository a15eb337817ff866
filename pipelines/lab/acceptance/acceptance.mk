# make acceptance: acceptance by draft length on texts that are not from the model, outside of the main job. Each of
# ACCEPTANCE_TEXTS (names without blanks) gives up to ACCEPTANCE_PROMPTS prompts, decoded greedily. A prompt of JSON Lines is a record, in the
# model's chat format if there is one. NAME.h5 has acceptance by position, and tokens a pass, measured and by both closed forms, with 95 %
# intervals by bootstrap over prompts; the bigram is the control of each drafter. acceptance.tsv is the table of all texts. acceptance.md is
# its page, which make acceptance-page copies to docs/results/acceptance.md.
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
	@bare=; for t in $(ACCEPTANCE_NAMES); do $(table) $$bare $(R)/acceptance/$$t.tsv "SELECT '$$t' AS text, * FROM t"; bare=--no-header; done > $(out)
$(R)/acceptance/%.alpha.tsv: $(R)/acceptance/%.h5 FORCE
	@$(drafting_alpha) > $(out)
$(foreach t,$(ACCEPTANCE_NAMES),$(eval $(call drawn,$(R)/acceptance/$t,$(LAB)/drafting/alpha.gp,$(R)/acceptance/$t.alpha.tsv,tsv='$(R)/acceptance/$t.alpha.tsv')))
$(R)/acceptance/acceptance.md: $(LAB)/acceptance/page $(BIN)/geodec-bench-decode $(BIN)/geodec-table $(MODEL_FILE) $(ACCEPTANCE_NAMES:%=$(R)/acceptance/%.h5) FORCE
	@$(LAB)/acceptance/page $(BIN) $(MODEL_FILE) $(R)/acceptance $(ACCEPTANCE_NAMES) > $(out)
.PHONY: acceptance acceptance-page
acceptance-page: $(R)/acceptance/acceptance.md
	cp $< docs/results/acceptance.md
acceptance: $(R)/acceptance/acceptance.tsv $(R)/acceptance/acceptance.md $(foreach t,$(ACCEPTANCE_NAMES),$(R)/acceptance/$t.svg $(R)/acceptance/$t.png)
	@$(table) $< "SELECT text, drafter, gamma, first_acceptance, first_low, first_high, tokens_per_pass, tpp_low, tpp_high, \
	  tokens_closed_form, tokens_by_position FROM t WHERE setting = 'loop'"
