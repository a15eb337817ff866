corpus_TESTS := test_corpus.c test_derivations.c test_language.c
