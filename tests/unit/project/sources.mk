project_TESTS := \
  test_kvprojection.c test_projection.c
