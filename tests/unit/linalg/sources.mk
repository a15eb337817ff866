linalg_TESTS := \
  test_chol.c \
  test_eig.c \

