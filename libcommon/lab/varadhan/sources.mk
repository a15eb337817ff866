lab/varadhan_SRCS := \
  attention_gradient.c \
  correct.c \
  file.c
