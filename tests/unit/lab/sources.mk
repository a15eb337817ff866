lab_TESTS := \
  test_attention_gradient.c \
  test_blocks.c \
  test_consistency.c \
  test_density.c \
  test_divergence.c \
  test_fisher.c \
  test_fisher_metric.c \
  test_geodesicity.c \
  test_hjb.c \
  test_injectivity.c \
  test_library.c \
  test_lookup.c \
  test_model_states.c \
  test_published_coverage.c \
  test_published_density.c \
  test_published_hjb.c \
  test_published_manifold.c \
  test_published_points.c \
  test_published_records.c \
  test_published_substitution.c \
  test_published_validity.c \
  test_published_warp.c \
  test_resonance.c \
  test_shf.c \
  test_split.c \
  test_substitution.c \
  test_varadhan.c \
  test_velocity.c \
  test_verification.c \
  test_warp.c
lab_FIXTURES := reference/models.c
