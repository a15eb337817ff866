TEST_SUPPORT_SRCS := goldens.c h5.c support.c
