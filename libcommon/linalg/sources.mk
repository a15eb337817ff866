linalg_SRCS := \
  blas.c \
  chol.c \
  eig.c \
  eig_avx2.c \
  eig_avx512.c \
  eig_scalar.c \
  expm.c \
  expm_avx2.c \
  expm_avx512.c \
  expm_scalar.c \
  fft.c \
  kmeans.c \
  knn.c \
  knn_brute.c \
  knn_coarse.c \
  knn_order.c \
  knn_scan_avx2.c \
  knn_scan_vnni.c \
  lapack.c \
  simplex_ls.c \
  stats.c \
  svd.c \

