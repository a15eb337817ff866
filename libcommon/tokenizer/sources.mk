tokenizer_SRCS := vocabulary.c encode.c decode.c gguf_keys.c vocab_train.c
