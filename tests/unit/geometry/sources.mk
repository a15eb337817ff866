geometry_TESTS := \
  test_rbf.c \

