TEST_SUPPORT_SRCS := h5.c support.c
