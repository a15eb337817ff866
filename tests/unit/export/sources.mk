export_TESTS := \
  test_export.c \
  test_shards.c
export_FIXTURES := decode/tiny.c
