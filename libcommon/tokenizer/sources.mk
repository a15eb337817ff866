tokenizer_SRCS := \
  bpe.c \
  chat.c \
  chat_detect.c \
  chat_table.c \
  decode.c \
  encode.c \
  gguf_keys.c \
  pretoken.c \
  special.c \
  spm.c \
  vocab_train.c \
  vocabulary.c
