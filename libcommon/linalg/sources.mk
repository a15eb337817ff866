linalg_SRCS := \
  blas.c \
  chol.c \
  lapack.c \

