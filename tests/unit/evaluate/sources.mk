evaluate_TESTS := \
  ../decode/tiny.c \
  ../reference/models.c \
  test_attention_gradient.c \
  test_fisher.c \
  test_fisher_metric.c \
  test_needle.c \
  test_perplexity.c \
  test_residual.c
