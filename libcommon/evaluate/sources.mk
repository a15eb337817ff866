evaluate_SRCS := \
  fisher.c \
  perplexity.c \
  scorer.c \
  windows.c
