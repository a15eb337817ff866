train_SRCS :=
