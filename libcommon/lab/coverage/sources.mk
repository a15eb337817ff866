lab/coverage_SRCS := \
  published.c
