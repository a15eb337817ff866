bench_TESTS := \
  test_resident.c \
  test_shape.c \
  test_speed.c
