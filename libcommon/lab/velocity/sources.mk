lab/velocity_SRCS := \
  cases.c \
  correct.c
