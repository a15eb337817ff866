lab/divergence_SRCS := \
  correct.c
