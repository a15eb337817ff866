base_TESTS := test_base.c
