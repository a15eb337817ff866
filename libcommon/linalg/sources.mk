linalg_SRCS := \
  blas.c \
  chol.c \
  eig.c \
  expm.c \
  knn.c \
  lapack.c \
  stats.c \
  svd.c \

