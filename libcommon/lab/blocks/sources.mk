lab/blocks_SRCS := \
  correct.c \
  file.c \
  published.c
