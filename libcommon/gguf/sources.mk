gguf_SRCS :=
