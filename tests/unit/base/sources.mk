base_TESTS := test_base.c test_pool.c
