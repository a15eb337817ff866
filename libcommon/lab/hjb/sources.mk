lab/hjb_SRCS := \
  correct.c \
  file.c \
  paths.c \
  published.c \
  published_file.c
