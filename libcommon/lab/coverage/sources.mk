lab/coverage_SRCS := \
  published.c \
  published_draws.c \
  published_file.c
