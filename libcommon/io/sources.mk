io_SRCS :=
