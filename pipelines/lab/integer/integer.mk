# make integer: what the third paper's figures come to (docs/references.md): its own arithmetic, its listings, Config B and E, perplexity in integers by
# bits, cost of a score, codes of keys, the ring of prefetches, results over builds. The models are MODEL with TEXT and, with FULL=1,
# INTEGER_MODELS (pairs of a model and a text); those that are not there are skipped aloud. The mixture of the ring is that of make streaming.
# Only scores, ring and memory have times.
IE := $(R)/integer
# INTEGER: sizes of measure; INTEGER_SCORES: dimensions, contexts, rounds; INTEGER_CODES: options of geodec-integer-keycodes.
ifeq ($(QUICK),1)
INTEGER ?= WINDOWS=10 ROUNDS=1 NEW_TOKENS=100
INTEGER_SCORES ?= 64,256 128,1024 3
INTEGER_CODES ?= --calibration 1024 --tokens 512 --replicates 200 --perplexity --windows 4 \
  --codes q8_0,q4_0,q3,band-5543,band-4443,band-4333,lowrank/pre,kivi2/pre,h63,v1,klt/pre
INTEGER_MODELS ?=
else ifneq ($(FULL),1)
INTEGER ?= WINDOWS=25 BITS='8 12' ROUNDS=3 NEW_TOKENS=100
INTEGER_SCORES ?= 64,256 128,1024 5
INTEGER_CODES ?= --calibration 2048 --tokens 3072 --perplexity --windows 8 \
  --codes q8_0,q4_0,q3,band-5543,band-4443,band-4333,lowrank/pre,kivi2/pre,h63,v1,klt/pre
INTEGER_MODELS ?=
else
INTEGER ?= WINDOWS=100 BITS='8 12' ROUNDS=5 NEW_TOKENS=200
INTEGER_SCORES ?= 64,128,256 128,1024,8192 7
INTEGER_CODES ?= --calibration 8192 --tokens 8192 --perplexity --windows 40
INTEGER_MODELS ?= $(SHARED)/models/stories260K-f32.gguf $(SHARED)/text/tinystories-a.txt $(SHARED)/models/moe22m-f16.gguf $(SHARED)/text/moe22m-a.txt
endif
# The results over builds, which make check-everywhere and its controls wrote.
EVERYWHERE_TABLE ?= docs/results/everywhere.tsv
INTEGER_TABLES := $(addprefix $(IE)/,arithmetic.tsv listings.tsv shim.tsv bits.tsv few.tsv scores.tsv keycodes.tsv bridges.tsv hashes.tsv ring.tsv memory.tsv)
INTEGER_FIGURES := integer-shim integer-bits integer-scores integer-codes integer-hashes
integer = $(INTEGER) $(LAB)/integer/measure
integer_models := $(MODEL_FILE) $(TEXT_FILE) $(INTEGER_MODELS)

$(IE)/arithmetic.tsv: $(LAB)/integer/measure $(LAB)/integer/published.tsv $(LAB)/integer/arithmetic.sql $(BIN)/geodec-table FORCE
	@$(integer) arithmetic $(BIN) $(LAB)/integer/published.tsv $(LAB)/integer/arithmetic.sql > $(out)
$(IE)/listings.tsv: $(BIN)/geodec-integer-listings FORCE
	@$(call tool,integer-listings) --seed $(SEED) -o $(out)
$(IE)/shim.tsv: $(LAB)/integer/measure $(BIN)/geodec-integer-shim $(BIN)/geodec-perplexity $(MODEL_FILE) $(TEXT_FILE) FORCE
	@$(integer) shim $(BIN) $(w) $(integer_models) > $(out)
$(IE)/bits.tsv: $(LAB)/integer/measure $(BIN)/geodec-integer-convert $(BIN)/geodec-perplexity $(MODEL_FILE) $(TEXT_FILE) FORCE
	@$(integer) bits $(BIN) $(w) $(integer_models) > $(out)
$(IE)/few.tsv: $(LAB)/integer/measure $(BIN)/geodec-perplexity $(MODEL_FILE) $(TEXT_FILE) FORCE
	@$(integer) few $(BIN) $(w) $(integer_models) > $(out)
$(IE)/keycodes.h5: private also := keycodes.tsv
$(IE)/keycodes.h5: $(BIN)/geodec-integer-keycodes $(MODEL_FILE) $(TEXT_FILE) $(PLAN) FORCE
	@$(call tool,integer-keycodes) --model $(MODEL_FILE) --seed $(SEED) $(INTEGER_CODES) -o $(out) $(TEXT_FILE) > $(new)/keycodes.tsv
$(IE)/keycodes.tsv: $(IE)/keycodes.h5
$(IE)/scores.tsv: $(LAB)/integer/measure $(filter $(BIN)/geodec-integer-scores,$(TOOL_BINS)) FORCE
	@$(integer) scores $(BIN) $(w) $(INTEGER_SCORES) > $(out)
$(IE)/ring.tsv: $(LAB)/integer/measure $(R)/streaming/model.gguf $(BIN)/geodec-decode FORCE
	@$(integer) ring $(BIN) $(w) $(R)/streaming/model.gguf > $(out)
$(IE)/memory.tsv: $(LAB)/integer/measure $(BIN)/geodec-bench $(MODEL_FILE) FORCE
	@$(integer) memory $(BIN) $(MODEL_FILE) > $(out)
$(IE)/bridges.tsv: $(LAB)/integer/measure $(LAB)/integer/bridges.c FORCE
	@$(integer) bridges $(BIN) $(w) $(LAB)/integer/bridges.c > $(out)
$(IE)/hashes.tsv: $(LAB)/integer/measure $(BIN)/geodec-table $(wildcard $(EVERYWHERE_TABLE) $(EVERYWHERE_TABLE:.tsv=-run.tsv)) FORCE
	@$(integer) hashes $(BIN) $(EVERYWHERE_TABLE) > $(out)

# A cell for each build and model, of its largest number of tokens: the number of its first result among the distinct ones of this system, model and
# number of tokens; several: results of the build, by threads and rows of a pass.
$(F)/integer-hashes.tsv: $(IE)/hashes.tsv $(wildcard $(EVERYWHERE_TABLE)) FORCE
	@$(table) $(EVERYWHERE_TABLE) "WITH r AS (SELECT rowid AS i, *, number(tokens) AS length, architecture || ' ' || compiler || ' ' || flags || ' ' || \"set\" AS build \
	    FROM t WHERE hash NOT IN ('-', '')), \
	  w AS (SELECT *, max(length) OVER (PARTITION BY system, model, build) AS longest, min(i) OVER (PARTITION BY system, model, tokens, hash) AS of_hash, \
	    min(i) OVER cell AS of_cell, count(*) OVER cell AS several, min(i) OVER (PARTITION BY build) AS of_build, \
	    min(i) OVER (PARTITION BY system, model) AS of_row FROM r WINDOW cell AS (PARTITION BY system, model, build, tokens)), \
	  n AS (SELECT *, dense_rank() OVER (PARTITION BY system, model, tokens ORDER BY of_hash) AS nth, dense_rank() OVER (ORDER BY of_build) AS x, \
	    dense_rank() OVER (ORDER BY of_row DESC) AS y FROM w) \
	  SELECT x, y, nth AS result, build, system || ', ' || model AS \"row\", several FROM n WHERE i = of_cell AND length = longest ORDER BY y, x" > $(out)

$(eval $(call figure,integer-shim,$(IE)/shim.tsv $(IE)/arithmetic.tsv,tsv='$(IE)/shim.tsv'; info='$(IE)/arithmetic.tsv'))
$(eval $(call figure,integer-bits,$(IE)/bits.tsv,tsv='$(IE)/bits.tsv'))
$(eval $(call figure,integer-scores,$(IE)/scores.tsv,tsv='$(IE)/scores.tsv'))
$(eval $(call figure,integer-codes,$(IE)/keycodes.tsv,tsv='$(IE)/keycodes.tsv'))
$(eval $(call figure,integer-hashes,$(F)/integer-hashes.tsv,tsv='$(F)/integer-hashes.tsv'))
LABORATORY += $(INTEGER_TABLES)
LAB_FIGURES += $(INTEGER_FIGURES)
.PHONY: integer
integer: $(INTEGER_TABLES) $(foreach f,$(INTEGER_FIGURES),$(F)/$f.svg $(F)/$f.png)
	@for t in shim bits scores ring hashes; do cat $(IE)/$$t.tsv 2>/dev/null || cat $(IE)/$$t.tsv.not-measured; done
.PHONY: integer-page
integer-page: $(LAB)/integer/page $(INTEGER_TABLES)
	@$< $(BIN) $(IE) $(MODEL_FILE) '$(INTEGER)' > docs/results/.integer.tmp && mv docs/results/.integer.tmp docs/results/integer.md
