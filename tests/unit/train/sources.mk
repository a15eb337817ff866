train_TESTS := \
  test_net.c \
  test_ops.c
