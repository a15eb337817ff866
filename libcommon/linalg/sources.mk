linalg_SRCS := \
  blas.c \
  chol.c \
  eig.c \
  expm.c \
  expm_avx2.c \
  expm_avx512.c \
  expm_scalar.c \
  fft.c \
  knn.c \
  lapack.c \
  stats.c \
  svd.c \

