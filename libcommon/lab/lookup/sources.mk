lab/lookup_SRCS := \
  correct.c
