lab/shf_SRCS := \
  correct.c
