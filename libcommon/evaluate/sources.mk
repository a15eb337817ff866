evaluate_SRCS := \
  attention_gradient.c \
  fisher.c \
  fisher_metric.c \
  perplexity.c \
  scorer.c \
  windows.c
