records_TESTS := \
  test_apply.c \
  flow_world.c \
  test_compress.c \
  test_coverage.c \
  test_coverage_task.c \
  test_flowgrown.c \
  test_flowmap.c \
  test_lookup.c \
  test_onedecode.c \
  test_records.c \
  test_recurrent.c \

