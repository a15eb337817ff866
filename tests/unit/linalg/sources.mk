linalg_TESTS := \
  test_apply.c \
  test_chol.c \
  test_eig.c \
  test_eig_small.c \
  test_expm.c \
  test_fft.c \
  test_kmeans.c \
  test_knn.c \
  test_simplex_ls.c \
  test_stats.c \
  test_surrogate.c
