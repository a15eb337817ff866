# A tool is one file: geodec-<name> from tools/<topic>/geodec-<name>.c; what tools share lies in tools/cli.
TOOL_SRCS := $(wildcard tools/*/geodec-*.c)
TOOLS := $(sort $(patsubst geodec-%.c,%,$(notdir $(TOOL_SRCS))))
CLI_SRCS := \
  bench_plan.c \
  charts.c \
  cli.c \
  cloud.c \
  decode_report.c \
  describe.c \
  drafters.c \
  evaluation.c \
  guard.c \
  kinds.c \
  mode.c \
  pages.c \
  presets.c \
  report.c \
  space.c \
  stage.c \
  stage_model.c \
  sweep.c \
  tables.c \
  text.c
