lab/substitution_SRCS := \
  correct.c \
  measure.c \
  published.c
