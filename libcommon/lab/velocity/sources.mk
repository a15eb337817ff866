lab/velocity_SRCS := \
  cases.c \
  correct.c \
  file.c \
  model.c
