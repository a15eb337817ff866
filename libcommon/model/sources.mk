model_SRCS :=
