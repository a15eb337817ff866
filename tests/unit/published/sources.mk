published_TESTS := \
  test_coverage.c \
  test_density.c \
  test_hjb.c \
  test_substitution.c \
  test_manifold.c \
  test_records.c \
  test_validity.c \
  test_warp.c \
