corpus_SRCS :=
