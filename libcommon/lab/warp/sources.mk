lab/warp_SRCS := \
  correct.c \
  file.c \
  published.c \
  published_common.c \
  published_file.c \
