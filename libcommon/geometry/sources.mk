geometry_SRCS := \
  space.c \

