evaluate_SRCS := \
  needle.c \
  perplexity.c \
  read_limit.c \
  residual.c \
  scorer.c \
  speed.c \
  windows.c
