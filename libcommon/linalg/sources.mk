linalg_SRCS :=
