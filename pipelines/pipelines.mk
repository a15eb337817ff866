# The rules of the main job: each stage makes one artifact, a file in results/<model>/. pipelines/stage runs every rule and decides whether
# an input changed (pipelines/stage.mk).
include pipelines/config.mk
BIN := $(B)/bin
LIBRARY ?= $(TOOLS_SO)
tool = $(BIN)/geodec-$1 --force $(if $(V),,--quiet)
# For plain recipes, outside of results/<model>/.
run = @echo "  RUN   $(notdir $@)"; mkdir -p $(@D);

# Pages and the figure of docs/results that are made from results: $(call result_page,NAME,TITLE,TABLES) in an experiment's fragment.
RESULT_PAGES := kv-page projection-page attnres-page streaming-page integer-page perspective-page power-page second-form-page fisher-field-page readme-figure
# Goals of the pipeline: these words, the names of the experiments, and files under results/ or R. Trainings have folders of their own, without its lock.
PIPELINE_WORDS := results report plan geometry decoding figures claims notebooks power power-findings acceptance-page $(RESULT_PAGES) ablation $(notdir $(wildcard pipelines/lab/*))
R_GIVEN := $(if $(findstring command,$(origin R)),$(R))
TRAINING_FILES := $(foreach f,moe perspective,results/$f/% results/$f-quick/%)
PIPELINE_GOALS := $(filter $(PIPELINE_WORDS) results/% $(if $(R_GIVEN),$(R_GIVEN)/%),$(filter-out $(TRAINING_FILES),$(MAKECMDGOALS)))

# The names of the files are checked before they are used.
ifneq ($(PIPELINE_GOALS)$(filter print-report print-folders cluster-status,$(MAKECMDGOALS)),)
NAMES := $(shell pipelines/inputs name $(call quote,$(R_GIVEN)) $(call quote,$(MODEL)) $(call quote,$(TEXT)))
ifneq ($(firstword $(NAMES)),ok)
$(error $(NAMES))
endif
endif
STEM := $(or $(word 2,$(NAMES)),model)
NAME := $(STEM)$(call by_size,-quick,,-full)
R := results/$(NAME)

.PHONY: print-report
print-report:
	@echo $(R)/report/index.html

# Only one make works in a result folder: a second make, which holds the lock of the folder, makes the goals. Makes of parts of
# sweeps only (TARGET.i-m.h5 with SHARDS=m) may run at the same time on several machines; each file then has a lock.
SHARDS ?= 1
PARTS := $(if $(filter-out %-$(SHARDS).h5,$(PIPELINE_GOALS)),,$(filter-out 1,$(SHARDS)))
ifneq ($(PIPELINE_GOALS),)
ifneq ($(LOCKED),$(R))
.PHONY: $(PIPELINE_GOALS) locked
$(PIPELINE_GOALS): locked
	@:
locked: | $(filter-out $(PIPELINE_GOALS),$(MAKECMDGOALS))
	+@pipelines/locked $(if $(PARTS),-s) $(R) $(MAKE) --no-print-directory LOCKED=$(R) $(PIPELINE_GOALS)
endif
endif
ifeq ($(PIPELINE_GOALS)$(LOCKED),)
PIPELINE_RULES := yes
else
PIPELINE_RULES := $(filter $(LOCKED),$(R))
endif
# Their texts are inputs of experiments.
include pipelines/moe.mk
include pipelines/perspective.mk
ifneq ($(PIPELINE_RULES),)

include pipelines/stage.mk
# If a report is requested, it is made in any case and names the failures. Otherwise a failure stops make.
KEEP_GOING := $(if $(filter results report figures claims,$(MAKECMDGOALS)),--keep-going)
SHARED := $(or $(GEODEC_SHARED),../shared)
X := results/exports
$(eval $(call staged,$(R)/% $(X)/%))

# A stage that takes --shard: $(eval $(call sharded,TARGET.h5,TOOL,PREREQUISITES,OPTIONS AND ARGUMENTS)). With SHARDS=m the target is
# joined from TARGET.1-m.h5 .. TARGET.m-m.h5, which may be made on any machine; its bytes are the same.
SHARD_NUMBERS := $(if $(filter-out 1,$(SHARDS)),$(shell seq $(SHARDS)),1)
shard_parts = $(foreach i,$(SHARD_NUMBERS),$(1:.h5=).$i-$(SHARDS).h5)
define shard_rule
$(1:.h5=).$5-$(SHARDS).h5: $(BIN)/geodec-$2 $3 FORCE
	@$$(call tool,$2) --shard $5/$(SHARDS) -o $$(out) $4
endef
define sharded
ifeq ($(SHARDS),1)
$1: $(BIN)/geodec-$2 $3 FORCE
	@$$(call tool,$2) -o $$(out) $4
else
$(foreach i,$(SHARD_NUMBERS),
$(call shard_rule,$1,$2,$3,$4,$i)
)
$1: $(BIN)/geodec-merge $(call shard_parts,$1) FORCE
	@$$(call tool,merge) -o $$(out) $(call shard_parts,$1)
endif
endef

# A stage that reduces over all its tasks: the parts contain the results of tasks; they are joined, and the stage runs once more with them.
define swept
ifeq ($(SHARDS),1)
$1: $(BIN)/geodec-$2 $3 FORCE
	@$$(call tool,$2) -o $$(out) $4
else
$(foreach i,$(SHARD_NUMBERS),
$(call shard_rule,$1,$2,$3,$4,$i)
)
$(1:.h5=).sweep-$(SHARDS).h5: $(BIN)/geodec-merge $(call shard_parts,$1) FORCE
	@$$(call tool,merge) -o $$(out) $(call shard_parts,$1)
$1: $(BIN)/geodec-$2 $3 $(1:.h5=).sweep-$(SHARDS).h5 FORCE
	@$$(call tool,$2) --joined $(1:.h5=).sweep-$(SHARDS).h5 -o $$(out) $4
endif
endef

# ---- model, text, sizes --------------------------------------------------------------------------------------------
# Links with safe names; the original names are passed through the environment.
export MODEL TEXT
MODEL_FILE := $(R)/input/$(STEM).gguf
NAMES_FILE := $(R)/input/names.tsv
$(MODEL_FILE) $(R)/input/text.txt $(NAMES_FILE): private SHELL := /bin/sh
$(MODEL_FILE) $(R)/input/text.txt $(NAMES_FILE): private .SHELLFLAGS := -c
$(NAMES_FILE): FORCE
	@pipelines/inputs names $@ "$$MODEL" "$$TEXT"
$(MODEL_FILE): FORCE
	@pipelines/inputs link $@ "$$MODEL"
ifeq ($(TEXT),)
# Text of the corpus of the embedded model, from a seed that was not used in training.
TEXT_FILE := $(R)/text.txt
$(R)/text.txt: private also := text.json
$(R)/text.txt: private needs := fatal
$(R)/text.txt: $(BIN)/geodec-corpus FORCE
	@$(call tool,corpus) --seed 20260002 --stories $(CORPUS_STORIES) -o $(out) --report $(new)/text.json
else
TEXT_FILE := $(R)/input/text.txt
$(TEXT_FILE): FORCE
	@pipelines/inputs link $@ "$$TEXT"
endif
# Sizes that the model and the text support; sizes.txt has them as words for `size`. A rule that uses `size` has PLAN among its prerequisites. It is
# made again if a size in its command changed.
PLAN := $(R)/plan.tsv
size = $(patsubst $1=%,%,$(filter $1=%,$(file <$(R)/sizes.txt)))
separator = --separator $(call size,separator)
# Before the command of a stage that evaluates the model in float64, with derivatives. Its rule has PLAN among its prerequisites.
in_float64 = [ '$(call size,reference)' != no ] || { echo 'geodec-plan: no float64 evaluations of a model of this size in the short version' >&2; exit 5; };
# The same for a stage that can do without the model, and then measures less.
float64_model = $(if $(filter no,$(call size,reference)),,--model $(MODEL_FILE))
$(PLAN): private also := sizes.txt
$(PLAN): private needs := fatal
$(PLAN): $(BIN)/geodec-plan $(MODEL_FILE) $(TEXT_FILE) FORCE
	@$(call tool,plan) --model $(MODEL_FILE) --text $(TEXT_FILE) --separator $(SEPARATOR) --tokens $(TOKENS) --points $(POINTS) \
	  --store-texts $(STORE_TEXTS) --store-length $(STORE_LENGTH) --prompts $(PROMPTS) --prompt-length $(PROMPT_LENGTH) \
	  --new-tokens $(NEW_TOKENS) --work $(WORK) -o $(out); $(BIN)/geodec-table --no-header $(out) "SELECT name || '=' || value FROM t" > $(new)/sizes.txt
.PHONY: plan
plan: $(PLAN)
	@cat $(PLAN)

# ---- geometry ------------------------------------------------------------------------------------------------------
$(R)/activations.h5: $(BIN)/geodec-export $(MODEL_FILE) $(TEXT_FILE) $(PLAN) FORCE
	@$(call tool,export) --model $(MODEL_FILE) --text $(TEXT_FILE) --layers $(LAYERS) --max-tokens $(call size,tokens) $(separator) $(if $(LOGITS),--logits) -o $(out)
$(R)/cloud.h5: $(BIN)/geodec-cloud $(R)/activations.h5 FORCE
	@$(call tool,cloud) --seed $(SEED) --max-points $(call size,points) -o $(out) $(R)/activations.h5
$(R)/metric.h5: $(BIN)/geodec-metric $(R)/cloud.h5 FORCE
	@$(call tool,metric) -o $(out) $(R)/cloud.h5
$(eval $(call sharded,$(R)/christoffel.h5,christoffel,$(R)/metric.h5,$(R)/metric.h5))
$(eval $(call sharded,$(R)/geodesics.h5,geodesic,$(R)/metric.h5,--seed $(SEED) --steps 32 --dl 0.05 $(R)/metric.h5))
$(eval $(call sharded,$(R)/riemann.h5,riemann,$(R)/metric.h5,--seed $(SEED) $(R)/metric.h5))
# The curvature of the set itself, in all coordinates of the states.
$(eval $(call sharded,$(R)/second-form.h5,second-form,$(R)/cloud.h5 $(R)/activations.h5,--seed $(SEED) --samples 128 $(R)/cloud.h5 $(R)/activations.h5))
$(eval $(call sharded,$(R)/propagators.h5,propagate,$(R)/metric.h5 $(R)/geodesics.h5,$(R)/metric.h5 $(R)/geodesics.h5))
# A slope below 2 is a result for the report; it does not end the run.
$(eval $(call swept,$(R)/validity.h5,validity,$(R)/metric.h5,$(VALIDITY) --no-check --seed $(SEED) $(R)/metric.h5))
$(R)/records.h5: $(BIN)/geodec-records $(R)/propagators.h5 $(R)/metric.h5 $(R)/activations.h5 FORCE
	@$(call tool,records) -o $(out) $(R)/propagators.h5 $(R)/metric.h5 $(R)/activations.h5
# The same field and curvature on a Gaussian cloud of the same spectrum: the control.
$(R)/null.h5: $(BIN)/geodec-null $(R)/cloud.h5 FORCE
	@$(call tool,null) --seed $(SEED) -o $(out) $(R)/cloud.h5
$(R)/null-metric.h5: $(BIN)/geodec-metric $(R)/null.h5 FORCE
	@$(call tool,metric) -o $(out) $(R)/null.h5
$(R)/null-riemann.h5: $(BIN)/geodec-riemann $(R)/null-metric.h5 FORCE
	@$(call tool,riemann) --seed $(SEED) -o $(out) $(R)/null-metric.h5
$(eval $(call swept,$(R)/coverage.h5,coverage,$(R)/cloud.h5 $(R)/activations.h5,--seed $(SEED) --sweep --nulls 6 \
  --threshold task --activations $(R)/activations.h5 $(R)/cloud.h5))

# ---- flow map and decoder ------------------------------------------------------------------------------------------
$(R)/store.tokens: $(BIN)/geodec-sample $(MODEL_FILE) $(PLAN) FORCE
	@$(call tool,sample) --model $(MODEL_FILE) --seed $(SEED) --texts $(call size,store_texts) --length $(call size,store_length) -o $(out)
$(R)/store.h5: $(BIN)/geodec-export $(R)/store.tokens FORCE
	@$(call tool,export) --arithmetic auto --model $(MODEL_FILE) --tokens $(R)/store.tokens --layers last --window $(call size,store_length) -o $(out)
$(R)/flowmap.h5: $(BIN)/geodec-bake $(R)/store.h5 FORCE
	@$(call tool,bake) -o $(out) $(R)/store.h5
# The prompts of every measurement of drafts, taken from the text.
prompts = --prompts $(TEXT_FILE) $(separator) --prompt-tokens $(call size,prompt_length) --n-prompts $(call prompts_of,$1)
# At most as many as planned.
prompts_of = $$(($1 < $(call size,prompts) ? $1 : $(call size,prompts)))
$(R)/benchdecode.h5: private also := benchdecode.tsv speed.h5
$(R)/benchdecode.h5: $(BIN)/geodec-bench-decode $(R)/flowmap.h5 $(TEXT_FILE) FORCE
	@$(call tool,bench-decode) --model $(MODEL_FILE) --artifacts $(R) $(call prompts,$(call size,prompts)) \
	  --max-tokens $(call size,new_tokens) --gammas $(GAMMAS) --seeds $(SEEDS) -o $(out) > $(new)/benchdecode.tsv
$(R)/sample.txt: $(BIN)/geodec-decode $(R)/flowmap.h5 FORCE
	@$(call tool,decode) --model $(MODEL_FILE) --artifacts $(R) --draft flowmap --prompt "" --max-tokens 160 \
	  --temperature 0.8 --seed $(SEED) > $(out)

GEOMETRY := $(addprefix $(R)/,activations.h5 cloud.h5 metric.h5 christoffel.h5 geodesics.h5 riemann.h5 second-form.h5 propagators.h5 \
  validity.h5 records.h5 coverage.h5 null.h5 null-metric.h5 null-riemann.h5)
DECODING := $(addprefix $(R)/,flowmap.h5 benchdecode.h5)

.PHONY: results geometry decoding
geometry: $(GEOMETRY)
decoding: $(DECODING)
results: report

include pipelines/figures.mk
include pipelines/claims.mk
include pipelines/power/power.mk
include pipelines/notebooks.mk
endif
include pipelines/model.mk
include pipelines/slurm/slurm.mk
