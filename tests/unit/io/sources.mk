io_TESTS := \
  sample.c \
  test_artifact.c \
  test_binding.c \
  test_binding_rows.c \
  test_compare.c \
  test_file.c \
  test_foreign.c \
  test_foreign_text.c \
  test_safetensors.c \
  test_text.c
