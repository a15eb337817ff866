reference_TESTS := \
  models.c \
  test_attended.c \
  test_derivatives.c \
  test_forward.c \
  test_golden.c \
  test_operators.c
