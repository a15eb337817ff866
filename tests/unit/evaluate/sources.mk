evaluate_TESTS := \
  test_needle.c \
  test_perplexity.c \
  test_resident.c \
  test_residual.c \
  test_speed.c
evaluate_FIXTURES := decode/tiny.c
