bench_TESTS := \
  test_shape.c \
  test_speed.c
