io_TESTS := \
  test_file.c \
  test_foreign.c \
  test_foreign_text.c \
  test_safetensors.c \
  test_text.c
