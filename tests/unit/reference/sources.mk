reference_TESTS := \
  test_golden.c
