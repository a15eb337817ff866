gguf_TESTS := test_gguf.c
