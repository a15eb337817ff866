lab/velocity_SRCS := \
  correct.c \
  file.c \
  model.c
