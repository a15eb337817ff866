# make drafting: the parts of drafting. Rejected drafts by kind, confidence gates, verifier alone, drafter alone and both; acceptance and tokens
# per pass by draft length; the closed form compared with measurements; claimed confidence compared with acceptance.
DRAFTING := $(addprefix $(R)/,drafts.h5 readiness.json papers.tsv firststop.tsv depth.tsv)
LABORATORY += $(R)/drafts.h5 $(R)/papers.tsv
LAB_FIGURES += alpha closedform threeway rejections gates reliability margins
.PHONY: drafting
drafting: $(DRAFTING) $(foreach f,alpha closedform threeway rejections gates reliability margins,$(F)/$f.svg $(F)/$f.png)
	@cat $(R)/papers.tsv $(R)/firststop.tsv $(R)/depth.tsv $(F)/margins.tsv

DRAFTS_PROMPTS := $(call by_size,10,20,30)
# Times, in a separate file of the same run.
$(R)/drafts.h5: private also := threeway.h5
$(R)/drafts.h5: $(BIN)/geodec-drafts $(R)/flowmap.h5 $(TEXT_FILE) FORCE
	@$(call tool,drafts) --seed $(SEED) --model $(MODEL_FILE) --artifacts $(R) $(call prompts,$(DRAFTS_PROMPTS)) \
	  --margin-rule-experiment -o $(out) --times $(new)/threeway.h5
$(R)/readiness.json: private also := readiness.tsv readiness-counts.h5 readiness-speed.h5
$(R)/readiness.json: $(BIN)/geodec-bench-decode $(R)/flowmap.h5 $(TEXT_FILE) FORCE
	@$(call tool,bench-decode) --seed $(SEED) --model $(MODEL_FILE) --artifacts $(R) $(call prompts,$(DRAFTS_PROMPTS)) \
	  --modes greedy --gammas $(GAMMAS) --max-tokens $(call size,new_tokens) -o $(new)/readiness-counts.h5 --speed $(new)/readiness-speed.h5 \
	  --readiness $(out) > $(new)/readiness.tsv

# Share of prompts whose first plain greedy token is a stop token, as text and as messages; and the same for the model with the damping of
# the papers' runtime, at its strength.
DAMPING := damp:0.35
$(R)/drafts-damped.h5: $(BIN)/geodec-drafts $(MODEL_FILE) $(TEXT_FILE) FORCE
	@$(call tool,drafts) --seed $(SEED) --model $(MODEL_FILE) $(call prompts,$(DRAFTS_PROMPTS)) --attnres $(DAMPING) \
	  --drafters lookup --gammas 1 --max-tokens 1 -o $(out)
$(R)/firststop.tsv: $(R)/drafts.h5 $(R)/drafts-damped.h5 FORCE
	@bare=; for f in $(filter %.h5,$^); do \
	  $(table) $$bare $$f "SELECT 'as text' AS prompts, @attnres AS residuals, '-' AS chat_format, '-' AS models_own, \
	    @first_stop AS first_token_stops UNION ALL SELECT 'as messages', @attnres, @chat, @chat_own, @first_stop_chat"; \
	  bare=--no-header; done > $(out)
# The depth sink: explained variance of the residual stream by depth.
$(R)/depth.tsv: private also := depth.h5
$(R)/depth.tsv: $(BIN)/geodec-depth $(MODEL_FILE) FORCE
	@$(call tool,depth) --model $(MODEL_FILE) -o $(new)/depth.h5 > $(out)

# The papers' numbers from their own formulas (papers.tsv: alpha is accepted / of), and the papers' counting replayed on this model.
#   rate   E / (gamma draft + pass), E = (1 - alpha^(gamma + 1)) / (1 - alpha) tokens a pass; draft and pass in seconds or in passes
#   any    one of gamma candidates is right, each with probability alpha independently
#   share  alpha itself
PAPERS_ALPHA := 1.0 * accepted / of
PAPERS_RATE := (1 - pow($(PAPERS_ALPHA), gamma + 1)) / (1 - $(PAPERS_ALPHA)) / (gamma * draft + pass)
$(R)/papers.tsv: $(LAB)/drafting/papers.tsv $(BIN)/geodec-published $(MODEL_FILE) FORCE
	@replay() { $(BIN)/geodec-published --quiet --model $(MODEL_FILE) --prompt "The" --max-tokens $$1 counters | sed 's|^geo_accepted *\([0-9]*\)/.*|\1|'; }; \
	  replayed_64=$$(replay 64); replayed_13=$$(replay 13); \
	  $(table) --digits 6 $< "SELECT key, quantity, CASE form WHEN 'rate' THEN $(PAPERS_RATE) WHEN 'any' THEN 1 - pow(1 - $(PAPERS_ALPHA), gamma) \
	    ELSE 1.0 * CASE key WHEN 'replayed-64' THEN $$replayed_64 WHEN 'replayed-13' THEN $$replayed_13 ELSE accepted END / of END AS formula, \
	    published FROM t" > $(out)

# ---- tables of the figures -------------------------------------------------------------
# Greedy rows of the decoding loop: a block for each drafter, which gnuplot finds by its index.
drafting_alpha = $(table) --blocks drafter=drafters $< 'SELECT word(@drafters, drafter) AS drafter, gamma, accepted_share, tokens_per_pass, \
  tokens_closed_form, tokens_by_position FROM t WHERE NOT sampled AND NOT budget AND NOT every_position ORDER BY t.drafter, t.rowid'
$(F)/alpha.tsv: $(R)/benchdecode.h5 FORCE
	@$(drafting_alpha) > $(out)
$(F)/closedform.tsv: $(F)/alpha.tsv FORCE
	@cp $< $(out)
# Tenths of the claimed confidence at every position, of the longest draft. The intervals assume independent drafts.
reliability_share = 1.0 * confidence_accepted / confidence_reached
reliability_error = 1.96 * sqrt(($(reliability_share)) * (1 - $(reliability_share)) / confidence_reached)
$(F)/reliability.tsv: $(R)/benchdecode.h5 FORCE
	@$(table) --digits 6 --over C,B --blocks drafter=drafters $< "SELECT word(@drafters, drafter) AS drafter, confidence_claimed, \
	  $(reliability_share) AS accepted, $(reliability_share) - $(reliability_error) AS low, $(reliability_share) + $(reliability_error) AS high, \
	  confidence_reached FROM t WHERE NOT sampled AND NOT budget AND every_position AND gamma = :G AND confidence_reached > 0 \
	  ORDER BY t.drafter, t.rowid" > $(out)
$(F)/rejections.tsv: $(R)/drafts.h5 FORCE
	@$(table) --over D $< "SELECT word(@drafters, D) AS drafter, at(rank, 0) AS second, at(rank, 1) AS third_to_tenth, at(rank, 2) AS further, \
	  at(rejection_by_class, 0) AS punctuation, at(rejection_by_class, 1) AS blank, at(rejection_by_class, 2) AS word_start, \
	  at(rejection_by_class, 3) AS word_inside, at(rejection_by_class, 4) AS other, at(rejection_warm_up, 0) AS later, \
	  at(rejection_warm_up, 1) AS warm_up FROM t UNION ALL SELECT 'uniform', at(rank_uniform, 0), at(rank_uniform, 1), at(rank_uniform, 2), \
	  NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM t WHERE D = 0" > $(out)
$(F)/gates.tsv: $(R)/drafts.h5 FORCE
	@$(table) --over D,G,T --gap G --blocks drafter=drafters $< "SELECT word(@drafters, D) AS drafter, G, threshold, gamma, gate_acceptance, \
	  gate_tokens_per_pass, gate_drafts_per_round FROM t" > $(out)
# The papers' lossy rule, an experiment: a row a drafter and margin.
$(F)/margins.tsv: $(R)/drafts.h5 FORCE
	@$(table) --over D,M $< "SELECT word(@drafters, D) AS drafter, margin, at(margin_perplexity, 0) AS perplexity, \
	  at(margin_perplexity, 1) AS low, at(margin_perplexity, 2) AS high, margin_different AS different_from_greedy, \
	  margin_departed AS not_the_argmax, margin_tokens_per_pass AS tokens_per_pass FROM t" > $(out)
$(F)/threeway.tsv: $(R)/drafts.h5 FORCE
	@$(table) --also times=$(R)/threeway.h5 --over D $< "SELECT word(@drafters, D) AS drafter, \
	  $(foreach f,verifier alone both,at($f, 0) AS $f, at($f, 1) AS low, at($f, 2) AS high,) predicted FROM times" > $(out)

$(foreach f,alpha closedform threeway rejections gates reliability margins,$(eval $(call figure,$f,$(F)/$f.tsv,tsv='$(F)/$f.tsv')))
