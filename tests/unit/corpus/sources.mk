corpus_TESTS := test_corpus.c
