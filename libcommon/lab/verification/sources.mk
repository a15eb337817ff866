lab/verification_SRCS := \
  control.c \
  convention.c \
  correct.c \
  input.c \
  report.c
