lab/fisher_SRCS := \
  rank.c
