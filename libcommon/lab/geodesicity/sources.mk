lab/geodesicity_SRCS := \
  correct.c \
  file.c
