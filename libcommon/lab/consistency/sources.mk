lab/consistency_SRCS := \
  correct.c
