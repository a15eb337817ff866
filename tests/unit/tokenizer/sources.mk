tokenizer_TESTS := test_tokenizer.c test_vocab_train.c test_bpe.c test_chat.c test_pretoken.c
