TEST_SUPPORT_SRCS := support.c
