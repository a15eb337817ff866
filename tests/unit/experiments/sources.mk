experiments_TESTS := \
  test_geodesicity.c \
  test_library.c \

