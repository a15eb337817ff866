lab/geodesicity_SRCS := \
  cases.c \
  correct.c
