io_SRCS := \
  h5.c \
  atomic.c \
  file.c
