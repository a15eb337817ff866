artifact_TESTS := \
  sample.c \
  test_artifact.c \
  test_binding.c \
  test_binding_rows.c \
  test_compare.c \
  test_select.c \
  test_sweep.c
