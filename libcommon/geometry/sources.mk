geometry_SRCS := \
  activations.c \
  expdiff.c \
  rbf.c \
  space.c \

