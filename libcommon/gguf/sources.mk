gguf_SRCS := types.c reader.c access.c writer.c
