linalg_SRCS := \
  lapack.c
