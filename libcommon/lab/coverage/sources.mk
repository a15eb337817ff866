lab/coverage_SRCS := \
  published.c \
  published_file.c
