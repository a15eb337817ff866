linalg_SRCS := \
  blas.c \
  chol.c \
  eig.c \
  expm.c \
  lapack.c \
  svd.c \

