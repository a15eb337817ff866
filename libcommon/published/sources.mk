published_SRCS := \
  field.c \
  manifold.c \
  manifold_file.c \
  path.c \

