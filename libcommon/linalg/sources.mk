linalg_SRCS := \
  apply.c \
  blas.c \
  chol.c \
  counts.c \
  eig.c \
  expm.c \
  fft.c \
  kmeans.c \
  knn.c \
  knn_coarse.c \
  knn_order.c \
  knn_scan_avx2.c \
  knn_scan_vnni.c \
  lapack.c \
  regression.c \
  simplex_ls.c \
  small.c \
  small_avx2.c \
  small_avx512.c \
  stats.c \
  surrogate.c \
  svd.c
