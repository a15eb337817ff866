flowmap_TESTS := \
  flow_world.c \
  test_flowmap.c \
  test_library.c
