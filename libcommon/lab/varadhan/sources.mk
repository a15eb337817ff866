lab/varadhan_SRCS := \
  ask.c \
  attention_gradient.c \
  cases.c \
  correct.c
