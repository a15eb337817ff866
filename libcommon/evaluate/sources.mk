evaluate_SRCS := \
  perplexity.c \
  scorer.c \
  windows.c
