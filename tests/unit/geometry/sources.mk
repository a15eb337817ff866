geometry_TESTS := \
  test_metric.c \
  test_rbf.c \

