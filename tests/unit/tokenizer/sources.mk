tokenizer_TESTS := test_tokenizer.c
