decode_TESTS := \
  test_decisions.c \
  test_decode.c \
  test_predict.c \
  test_replay.c \
  test_sample.c \
  test_sampler.c \
  test_stochastic.c \
  test_stoptext.c \
  tiny.c \
  toy.c
