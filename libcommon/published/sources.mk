published_SRCS := \
  field.c \
  manifold.c \
  path.c \

