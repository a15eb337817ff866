lab/validity_SRCS := \
  published.c \
  published_file.c
