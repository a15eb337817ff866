lab/hjb_SRCS := \
  correct.c \
  paths.c \
  published.c
