experiments_TESTS := \
  test_library.c \

