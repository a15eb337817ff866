# Sizes of the main job: variables only. QUICK=1 is the small version of run_all.sh --quick. FULL=1 is run_all.sh --full: more prompts and seeds, and
# the sweeps of paper three (codes of keys, bits, further models), which take most of its time. Each has a result folder of its own.
# Every variable can be given on the command line: make results MODEL=my.gguf TEXT=my.txt TOKENS=50000
# These are upper limits. geodec-plan reduces them to the sizes that the model and the text support ($(R)/plan.tsv has each with its reason).

ifeq ($(MODEL),)
override MODEL := data/model/geodec-stories-f16.gguf
endif
TEXT ?=
SEED ?= 1
# Rule that divides the text into documents: auto, mark, blank, line, window.
SEPARATOR ?= auto

ifeq ($(QUICK)$(FULL),11)
$(error QUICK=1 and FULL=1: one of them)
endif
# $(call by_size,QUICK,DEFAULT,FULL)
by_size = $(if $(filter 1,$(QUICK)),$1,$(if $(filter 1,$(FULL)),$3,$2))

ifeq ($(QUICK),1)
CORPUS_STORIES ?= 120
TOKENS ?= 4000
POINTS ?= 400
STORE_TEXTS ?= 64
STORE_LENGTH ?= 192
PROMPTS ?= 10
NEW_TOKENS ?= 48
GAMMAS ?= 1,4
SEEDS ?= 1
else
CORPUS_STORIES ?= 600
TOKENS ?= 30000
POINTS ?= 2000
STORE_TEXTS ?= 768
STORE_LENGTH ?= 256
PROMPTS ?= $(call by_size,,40,100)
NEW_TOKENS ?= 128
GAMMAS ?= 1,2,4,8
SEEDS ?= $(call by_size,,2,3)
endif
PROMPT_LENGTH ?= 16
# Weights times tokens that each of text, store and decoding may take, so that the short version stays one for a model of some thousand million weights.
WORK ?= $(call by_size,8e12,0,0)
LAYERS ?= last
EMBEDDED := $(if $(word 2,$(MODEL)),,$(filter data/model/geodec-stories-%,$(MODEL)))
# 1: whole rows of logits in activations.h5, for the KL of coverage by the task. They need a small vocabulary, as that of the embedded models.
LOGITS ?= $(if $(word 2,$(MODEL)),,$(if $(filter data/model/%,$(MODEL)),1))
