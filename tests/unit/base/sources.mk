base_TESTS := \
  test_base.c \
  test_numbers.c \
  test_pool.c \
  test_shard.c \
  test_split.c
