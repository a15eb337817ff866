geometry_SRCS :=
