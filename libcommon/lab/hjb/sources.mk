lab/hjb_SRCS := \
  correct.c \
  published.c
