lab/verification_SRCS := \
  control.c \
  convention.c \
  correct.c \
  file.c
