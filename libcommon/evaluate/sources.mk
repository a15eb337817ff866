evaluate_SRCS := \
  fisher.c \
  fisher_metric.c \
  perplexity.c \
  scorer.c \
  windows.c
