records_SRCS :=
