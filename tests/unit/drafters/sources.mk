drafters_TESTS := \
  test_ablation.c \
  test_auto.c \
  test_decisions.c \
  test_depth.c \
  test_lookup.c \
  test_mixture.c \
  test_ngram.c \
  test_onedecode.c \
  test_onedecode_bake.c \
  test_recurrent.c \
  test_recurrent_fit.c \
  test_recycle.c \
  test_rollout.c \
  test_session.c
drafters_FIXTURES := decode/tiny.c decode/toy.c flowmap/flow_world.c
