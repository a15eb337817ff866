published_TESTS := \
  goldens.c \
  test_manifold.c \

