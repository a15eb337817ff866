lab/consistency_SRCS := \
  correct.c \
  file.c
