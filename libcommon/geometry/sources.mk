geometry_SRCS := \
  activations.c \
  expdiff.c \
  geodesic.c \
  geodesic_adaptive.c \
  magnus.c \
  metric.c \
  metric_file.c \
  rbf.c \
  riemann.c \
  space.c \
  spaces.c \
  tasks.c \

