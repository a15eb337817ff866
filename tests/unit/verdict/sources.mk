verdict_TESTS := \
  test_expr.c \
  test_lists.c \
  test_reference.c \
  test_rule.c
