# A tool is one file: geodec-<name> from tools/geodec-<name>.c
TOOLS := $(patsubst tools/geodec-%.c,%,$(sort $(wildcard tools/geodec-*.c)))
SUPPORT_SRCS := \
  bench_plan.c \
  bench_table.c \
  charts.c \
  cli.c \
  decode_report.c \
  describe.c \
  dialogue.c \
  drafters.c \
  evaluation.c \
  fisher.c \
  guard.c \
  kinds.c \
  layers.c \
  presets.c \
  printer.c \
  report.c \
  schema.c \
  space.c \
  sweep.c \
  tables.c \
  text.c
