evaluate_SRCS := \
  needle.c \
  needle_report.c \
  perplexity.c \
  perplexity_report.c \
  read_limit.c \
  residual.c \
  residual_report.c \
  scorer.c \
  speed.c \
  speed_report.c \
  windows.c
