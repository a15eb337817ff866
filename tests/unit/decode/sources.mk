decode_TESTS := \
  test_decode.c \
  test_ngram.c \
  test_predict.c \
  test_sampler.c \
  toy.c
