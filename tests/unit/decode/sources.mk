decode_TESTS := \
  test_auto.c \
  test_bench.c \
  test_decode.c \
  test_depth.c \
  test_drafts.c \
  test_export.c \
  test_flowmap.c \
  test_mixture.c \
  test_ngram.c \
  test_onedecode.c \
  test_predict.c \
  test_readiness.c \
  test_recycle.c \
  test_rollout.c \
  test_rungs.c \
  test_sampler.c \
  test_session.c \
  test_lookup.c \
  test_margin.c \
  test_models.c \
  test_shards.c \
  test_stochastic.c \
  tiny.c \
  toy.c
