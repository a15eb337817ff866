# The main job as rules: one stage, one artifact, one file in results/<model>/. Made again only when an input changed.
include pipelines/config.mk

NAME := $(basename $(notdir $(MODEL)))$(if $(filter 1,$(QUICK)),-quick)
R := results/$(NAME)
BIN := $(B)/bin
run = @echo "  RUN   $(notdir $@)"; mkdir -p $(@D);
tool = $(BIN)/geodec-$1 --force $(if $(V),,--quiet)

# A stage that takes --shard: $(eval $(call sharded,TARGET.h5,TOOL,PREREQUISITES,OPTIONS AND ARGUMENTS)). With SHARDS=m the target is
# joined from TARGET.1-m.h5 .. TARGET.m-m.h5, which may be made anywhere; its bytes are the same.
SHARDS ?= 1
shard_parts = $(foreach i,$(shell seq $(SHARDS)),$(1:.h5=).$i-$(SHARDS).h5)
define shard_rule
$(1:.h5=).$5-$(SHARDS).h5: $(BIN)/geodec-$2 $3
	$$(run) $$(call tool,$2) --shard $5/$(SHARDS) -o $$@ $4
endef
define sharded
ifeq ($(SHARDS),1)
$1: $(BIN)/geodec-$2 $3
	$$(run) $$(call tool,$2) -o $$@ $4
else
$(foreach i,$(shell seq $(SHARDS)),
$(call shard_rule,$1,$2,$3,$4,$i)
)
$1: $(BIN)/geodec-merge $(call shard_parts,$1)
	$$(run) $$(call tool,merge) -o $$@ $(call shard_parts,$1)
endif
endef

# A stage that sums up over all its tasks: parts hold the tasks' results, which are joined, and the stage runs once more with them.
define swept
ifeq ($(SHARDS),1)
$1: $(BIN)/geodec-$2 $3
	$$(run) $$(call tool,$2) -o $$@ $4
else
$(foreach i,$(shell seq $(SHARDS)),
$(call shard_rule,$1,$2,$3,$4,$i)
)
$(1:.h5=).sweep-$(SHARDS).h5: $(BIN)/geodec-merge $(call shard_parts,$1)
	$$(run) $$(call tool,merge) -o $$@ $(call shard_parts,$1)
$1: $(BIN)/geodec-$2 $3 $(1:.h5=).sweep-$(SHARDS).h5
	$$(run) $$(call tool,$2) --joined $(1:.h5=).sweep-$(SHARDS).h5 -o $$@ $4
endif
endef

# What was asked for, as a file: another text or another size remakes what depends on it.
SETTINGS := MODEL=$(MODEL) TEXT=$(TEXT) SEED=$(SEED) CORPUS_STORIES=$(CORPUS_STORIES) TOKENS=$(TOKENS) POINTS=$(POINTS) \
  STORE_TEXTS=$(STORE_TEXTS) STORE_LENGTH=$(STORE_LENGTH) PROMPTS=$(PROMPTS) NEW_TOKENS=$(NEW_TOKENS) GAMMAS=$(GAMMAS) \
  SEEDS=$(SEEDS) LAYERS=$(LAYERS) LOGITS=$(LOGITS)
.PHONY: settings-check
$(R)/settings.txt: settings-check
	@mkdir -p $(@D); echo "$(SETTINGS)" | tr ' ' '\n' > $@.new; \
	if cmp -s $@.new $@; then rm -f $@.new; else mv $@.new $@; fi

ifeq ($(TEXT),)
# Text of the model's own corpus, from a seed the model was not trained on.
TEXT_FILE := $(R)/text.txt
$(R)/text.txt: $(BIN)/geodec-corpus $(R)/settings.txt
	$(run) $(call tool,corpus) --seed 20260002 --stories $(CORPUS_STORIES) -o $@ --report $(R)/text.json
else
TEXT_FILE := $(TEXT)
endif

# ---- geometry ------------------------------------------------------------------------------------------------------
$(R)/activations.h5: $(BIN)/geodec-export $(MODEL) $(TEXT_FILE) $(R)/settings.txt
	$(run) $(call tool,export) --model $(MODEL) --text $(TEXT_FILE) --layers $(LAYERS) --max-tokens $(TOKENS) $(if $(LOGITS),--logits) -o $@
$(R)/cloud.h5: $(BIN)/geodec-cloud $(R)/activations.h5
	$(run) $(call tool,cloud) --seed $(SEED) --max-points $(POINTS) -o $@ $(R)/activations.h5
$(R)/metric.h5: $(BIN)/geodec-metric $(R)/cloud.h5
	$(run) $(call tool,metric) -o $@ $(R)/cloud.h5
$(eval $(call sharded,$(R)/christoffel.h5,christoffel,$(R)/metric.h5,$(R)/metric.h5))
$(eval $(call sharded,$(R)/geodesics.h5,geodesic,$(R)/metric.h5,--seed $(SEED) --steps 32 --dl 0.05 $(R)/metric.h5))
$(eval $(call sharded,$(R)/riemann.h5,riemann,$(R)/metric.h5,--seed $(SEED) $(R)/metric.h5))
$(eval $(call sharded,$(R)/propagators.h5,propagate,$(R)/metric.h5 $(R)/geodesics.h5,$(R)/metric.h5 $(R)/geodesics.h5))
$(eval $(call swept,$(R)/validity.h5,validity,$(R)/metric.h5,$(VALIDITY) --seed $(SEED) $(R)/metric.h5))
$(R)/records.h5: $(BIN)/geodec-records $(R)/propagators.h5 $(R)/metric.h5 $(R)/activations.h5
	$(run) $(call tool,records) -o $@ $(R)/propagators.h5 $(R)/metric.h5 $(R)/activations.h5
# The same field and curvature on a Gaussian cloud of the same spectrum: the control.
$(R)/null.h5: $(BIN)/geodec-null $(R)/cloud.h5
	$(run) $(call tool,null) --seed $(SEED) -o $@ $(R)/cloud.h5
$(R)/null-metric.h5: $(BIN)/geodec-metric $(R)/null.h5
	$(run) $(call tool,metric) -o $@ $(R)/null.h5
$(R)/null-riemann.h5: $(BIN)/geodec-riemann $(R)/null-metric.h5
	$(run) $(call tool,riemann) --seed $(SEED) -o $@ $(R)/null-metric.h5
$(eval $(call swept,$(R)/coverage.h5,coverage,$(R)/cloud.h5 $(R)/activations.h5,--seed $(SEED) --sweep --nulls 6 \
  --threshold task --activations $(R)/activations.h5 $(R)/cloud.h5))

# ---- flow map and decoder ------------------------------------------------------------------------------------------
$(R)/store.tokens: $(BIN)/geodec-sample $(MODEL) $(R)/settings.txt
	$(run) $(call tool,sample) --model $(MODEL) --seed $(SEED) --texts $(STORE_TEXTS) --length $(STORE_LENGTH) -o $@
$(R)/store.h5: $(BIN)/geodec-export $(R)/store.tokens
	$(run) $(call tool,export) --arithmetic auto --model $(MODEL) --tokens $(R)/store.tokens --layers last --window $(STORE_LENGTH) -o $@
$(R)/flowmap.h5: $(BIN)/geodec-bake $(R)/store.h5
	$(run) $(call tool,bake) -o $@ $(R)/store.h5
$(R)/benchdecode.h5: $(BIN)/geodec-bench-decode $(R)/flowmap.h5 $(TEXT_FILE)
	$(run) $(call tool,bench-decode) --model $(MODEL) --artifacts $(R) --prompts $(TEXT_FILE) --n-prompts $(PROMPTS) \
	  --max-tokens $(NEW_TOKENS) --gammas $(GAMMAS) --seeds $(SEEDS) -o $@ > $(R)/benchdecode.tsv.tmp && mv $(R)/benchdecode.tsv.tmp $(R)/benchdecode.tsv
$(R)/sample.txt: $(BIN)/geodec-decode $(R)/flowmap.h5
	$(run) $(call tool,decode) --model $(MODEL) --artifacts $(R) --draft flowmap --prompt "" --max-tokens 160 \
	  --temperature 0.8 --seed $(SEED) > $@.tmp && mv $@.tmp $@

GEOMETRY := $(addprefix $(R)/,activations.h5 cloud.h5 metric.h5 christoffel.h5 geodesics.h5 riemann.h5 propagators.h5 \
  validity.h5 records.h5 coverage.h5 null.h5 null-metric.h5 null-riemann.h5)
DECODING := $(addprefix $(R)/,flowmap.h5 benchdecode.h5)

.PHONY: results geometry decoding print-report
geometry: $(GEOMETRY)
decoding: $(DECODING)
results: report
print-report:
	@echo $(R)/report/index.html

include pipelines/figures.mk
include pipelines/claims.mk
include pipelines/notebooks.mk
include pipelines/model.mk
