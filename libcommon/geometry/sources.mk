geometry_SRCS := \
  activations.c \
  expdiff.c \
  metric.c \
  metric_file.c \
  rbf.c \
  space.c \

