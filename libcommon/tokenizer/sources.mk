tokenizer_SRCS := vocabulary.c encode.c spm.c bpe.c pretoken.c special.c decode.c gguf_keys.c vocab_train.c \
  chat.c chat_table.c chat_detect.c chat_messages.c
