# make drafting: drafting taken apart. Rejected drafts by kind, confidence gates, verifier alone, drafter alone and both; acceptance and
# tokens per pass by draft length; the closed form beside what was measured; claimed confidence beside acceptance.
DRAFTING := $(addprefix $(R)/,drafts.h5 readiness.json papers.tsv firststop.tsv depth.tsv)
LABORATORY += $(R)/drafts.h5 $(R)/papers.tsv
LAB_FIGURES += alpha closedform threeway rejections gates reliability margins
.PHONY: drafting
drafting: $(DRAFTING) $(foreach f,alpha closedform threeway rejections gates reliability margins,$(F)/$f.svg $(F)/$f.png)
	@cat $(R)/papers.tsv $(R)/firststop.tsv $(R)/depth.tsv $(F)/margins.tsv

DRAFTS_PROMPTS := $(if $(filter 1,$(QUICK)),10,30)
# Times as well: a file of their own, made in the same run.
$(R)/drafts.h5: private also := threeway.h5
$(R)/drafts.h5: $(BIN)/geodec-drafts $(R)/flowmap.h5 $(TEXT_FILE) FORCE
	@$(call tool,drafts) --seed $(SEED) --model $(MODEL_FILE) --artifacts $(R) $(call prompts,$(DRAFTS_PROMPTS)) \
	  --margin-rule-experiment -o $(out) --times $(new)/threeway.h5
$(R)/readiness.json: private also := readiness.tsv readiness-counts.h5 readiness-speed.h5
$(R)/readiness.json: $(BIN)/geodec-bench-decode $(R)/flowmap.h5 $(TEXT_FILE) FORCE
	@$(call tool,bench-decode) --seed $(SEED) --model $(MODEL_FILE) --artifacts $(R) $(call prompts,$(DRAFTS_PROMPTS)) \
	  --modes greedy --gammas $(GAMMAS) --max-tokens $(call size,new_tokens) -o $(new)/readiness-counts.h5 --speed $(new)/readiness-speed.h5 \
	  --readiness $(out) > $(new)/readiness.tsv

# Does the model end before it begins? Share of prompts whose first plain greedy token is a stop token, as text and as messages; the same of
# the model with the damping of the papers' runtime on, at their strength.
DAMPING := damp:0.35
$(R)/drafts-damped.h5: $(BIN)/geodec-drafts $(MODEL_FILE) $(TEXT_FILE) FORCE
	@$(call tool,drafts) --seed $(SEED) --model $(MODEL_FILE) $(call prompts,$(DRAFTS_PROMPTS)) --attnres $(DAMPING) \
	  --drafters lookup --gammas 1 --max-tokens 1 -o $(out)
$(R)/firststop.tsv: $(R)/drafts.h5 $(R)/drafts-damped.h5 FORCE
	@{ printf 'prompts\tresiduals\tchat_format\tmodels_own\tfirst_token_stops\n'; for f in $(filter %.h5,$^); do how=$(call attr,$$f,attnres); \
	  printf 'as text\t%s\t-\t-\t%s\n' "$$how" $(call attr,$$f,first_stop); \
	  printf 'as messages\t%s\t%s\t%s\t%s\n' "$$how" $(call attr,$$f,chat) $(call attr,$$f,chat_own) $(call attr,$$f,first_stop_chat); \
	  done; } > $(out)
# The depth sink: explained variance of the residual stream by depth.
$(R)/depth.tsv: private also := depth.h5
$(R)/depth.tsv: $(BIN)/geodec-depth $(MODEL_FILE) FORCE
	@$(call tool,depth) --model $(MODEL_FILE) -o $(new)/depth.h5 > $(out)

# The papers' numbers from their own formulas, and the papers' counting replayed on this model.
$(R)/papers.tsv: pipelines/lab/papers.awk $(BIN)/geodec-decode $(MODEL_FILE) FORCE
	@{ for n in 64 13; do $(BIN)/geodec-decode --quiet --model $(MODEL_FILE) --prompt "The" --compat-counters --max-tokens $$n; done; } | \
	  awk -f pipelines/lab/papers.awk > $(out)

# ---- tables: a row of numbers each, drafters in words -------------------------------------------------------------
DRAFTING_WORDS = drafters=$(call attr,$<,drafters)
$(F)/alpha.tsv: $(R)/benchdecode.h5 pipelines/lab/drafting.awk FORCE
	@$(table) $< drafter gamma sampled every_position budget accepted_share tokens_per_pass tokens_closed_form tokens_by_position | \
	  awk -f pipelines/lab/drafting.awk -v what=alpha -v $(DRAFTING_WORDS) > $(out)
$(F)/closedform.tsv: $(F)/alpha.tsv FORCE
	@cp $< $(out)
$(F)/reliability.tsv: $(R)/benchdecode.h5 pipelines/lab/drafting.awk FORCE
	@$(table) $< drafter gamma sampled every_position budget confidence_reached confidence_accepted confidence_claimed | \
	  awk -f pipelines/lab/drafting.awk -v what=reliability -v $(DRAFTING_WORDS) > $(out)
$(F)/rejections.tsv: $(R)/drafts.h5 pipelines/lab/drafting.awk FORCE
	@{ $(table) $< rank rejection_by_class rejection_warm_up; $(table) $< rank_uniform | tail -n +2 | tr '\n' '\t'; echo; } | \
	  awk -f pipelines/lab/drafting.awk -v what=rejections -v $(DRAFTING_WORDS) > $(out)
$(F)/gates.tsv: $(R)/drafts.h5 pipelines/lab/drafting.awk FORCE
	@{ $(table) $< threshold | tail -n +2 | tr '\n' ' '; echo; $(table) $< gamma | tail -n +2 | tr '\n' ' '; echo; \
	  $(table) $< gate_acceptance gate_tokens_per_pass gate_drafts_per_round | tail -n +2; } | \
	  awk -f pipelines/lab/drafting.awk -v what=gates -v $(DRAFTING_WORDS) > $(out)
# The papers' lossy rule, an experiment: a row a drafter and margin.
$(F)/margins.tsv: $(R)/drafts.h5 pipelines/lab/drafting.awk FORCE
	@{ $(table) $< margin | tail -n +2 | tr '\n' ' '; echo; for f in perplexity different departed tokens_per_pass; do \
	  $(table) $< margin_$$f | tail -n +2; done; } | awk -f pipelines/lab/drafting.awk -v what=margins -v $(DRAFTING_WORDS) > $(out)
$(F)/threeway.tsv: $(R)/drafts.h5 pipelines/lab/drafting.awk FORCE
	@{ $(table) $(R)/threeway.h5 verifier | tail -n +2 | tr '\n' '\t'; echo; $(table) $(R)/threeway.h5 alone both predicted | tail -n +2; } | \
	  awk -f pipelines/lab/drafting.awk -v what=threeway -v $(DRAFTING_WORDS) > $(out)

$(foreach f,alpha closedform threeway rejections gates reliability margins,$(eval $(call figure,$f,$(F)/$f.tsv,tsv='$(F)/$f.tsv')))
