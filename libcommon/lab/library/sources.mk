lab/library_SRCS := \
  correct.c \
  file.c
