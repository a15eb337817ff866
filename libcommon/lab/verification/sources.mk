lab/verification_SRCS := \
  control.c \
  convention.c \
  correct.c \
  file.c \
  input.c \
  report.c
