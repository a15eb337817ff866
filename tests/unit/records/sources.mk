records_TESTS := \
  test_compress.c \
  test_lookup.c \
  test_records.c
