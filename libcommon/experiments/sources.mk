experiments_SRCS := \
  library.c \

