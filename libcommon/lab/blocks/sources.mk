lab/blocks_SRCS := \
  correct.c \
  file.c \
  published.c \
  published_points.c
