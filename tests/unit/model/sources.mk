model_TESTS := test_golden.c
