# The rules of the pipeline with installed tools (pipelines/run). The current folder has the links pipelines, data, results and tools/bin.
include pipelines/names.mk
SHELL := /bin/sh
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

.PHONY: all
all: results
B := tools
include pipelines/pipelines.mk
