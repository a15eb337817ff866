train_TESTS := \
  test_net.c \
  test_ops.c \
  test_text.c \
  test_trainer.c
