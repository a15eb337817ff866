bench_TESTS := \
  test_shape.c
