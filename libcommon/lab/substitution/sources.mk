lab/substitution_SRCS := \
  correct.c \
  published.c
