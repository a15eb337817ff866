records_TESTS := \
  flow_world.c \
  test_compress.c \
  test_coverage.c \
  test_flowmap.c \
  test_lookup.c \
  test_records.c \

