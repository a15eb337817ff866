geometry_SRCS := \
  activations.c \
  space.c \

