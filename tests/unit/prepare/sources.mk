prepare_TESTS := \
  test_plan.c \
  test_trial.c
