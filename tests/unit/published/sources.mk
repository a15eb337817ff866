published_TESTS := \
  goldens.c \
  test_manifold.c \
  test_warp.c \
