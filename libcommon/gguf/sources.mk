gguf_SRCS := types.c types_float.c types_legacy.c types_kquants.c types_ternary.c reader.c access.c writer.c
