# One tool a line: geodec-<name>, source tools/geodec-<name>.c
TOOLS_PLANNED := \
  info check diff table \
  tokenize model-info quantize \
  corpus vocab train \
  sample perplexity fisher \
  export cloud null metric christoffel geodesic riemann propagate records coverage validity \
  bake decode bench-decode \
  shape bench
TOOLS := $(foreach t,$(TOOLS_PLANNED),$(if $(wildcard tools/geodec-$t.c),$t))
SUPPORT_SRCS := \
  bench_plan.c \
  bench_table.c \
  cli.c \
  decode_report.c \
  describe.c \
  evaluation.c \
  kinds.c \
  layers.c \
  printer.c \
  report.c \
  schema.c
