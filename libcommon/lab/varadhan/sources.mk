lab/varadhan_SRCS := \
  attention_gradient.c \
  cases.c \
  correct.c
