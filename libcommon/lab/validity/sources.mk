lab/validity_SRCS := \
  published.c
