evaluate_TESTS := \
  ../decode/tiny.c \
  test_perplexity.c
