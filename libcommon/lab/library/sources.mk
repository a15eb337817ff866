lab/library_SRCS := \
  correct.c
