reference_SRCS := reference.c
