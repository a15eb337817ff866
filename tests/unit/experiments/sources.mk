experiments_TESTS := \
  test_density.c \
  test_blocks.c \
  test_consistency.c \
  test_divergence.c \
  test_geodesicity.c \
  test_substitution.c \
  test_injectivity.c \
  test_hjb.c \
  test_library.c \
  test_lookup_speed.c \
  test_resonance.c \
  test_shf.c \
  test_varadhan.c \
  test_velocity.c \
  test_verify.c \
  test_warp.c \

