linalg_TESTS := \
  test_chol.c \

