lab/blocks_SRCS := \
  correct.c \
  published.c
