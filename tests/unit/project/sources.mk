project_TESTS := \
  test_projection.c
