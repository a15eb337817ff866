tokenizer_SRCS :=
