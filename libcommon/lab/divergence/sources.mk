lab/divergence_SRCS := \
  correct.c \
  measure.c
