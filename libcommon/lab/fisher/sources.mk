lab/fisher_SRCS := \
  metric.c \
  rank.c \
  windows.c
