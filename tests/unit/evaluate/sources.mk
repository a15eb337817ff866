evaluate_TESTS := \
  ../decode/tiny.c \
  test_fisher.c \
  test_perplexity.c
