io_TESTS := \
  sample.c \
  test_artifact.c
