lowrank_TESTS := \
  test_kv_projection.c \
  test_projection.c
