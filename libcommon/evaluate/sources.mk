evaluate_SRCS := \
  attention_gradient.c \
  fisher.c \
  fisher_metric.c \
  needle.c \
  perplexity.c \
  residual.c \
  scorer.c \
  windows.c
