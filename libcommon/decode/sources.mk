decode_SRCS :=
