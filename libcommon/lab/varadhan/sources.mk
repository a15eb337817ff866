lab/varadhan_SRCS := \
  ask.c \
  attention_gradient.c \
  correct.c \
  file.c
