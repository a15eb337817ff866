lab/records_SRCS := \
  published.c
