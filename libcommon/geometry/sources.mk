geometry_SRCS := \
  activations.c \
  christoffel.c \
  cloud.c \
  cloud_file.c \
  expdiff.c \
  geodesic.c \
  geodesic_adaptive.c \
  jacobi.c \
  magnus.c \
  metric.c \
  metric_file.c \
  pca.c \
  propagate.c \
  rbf.c \
  riemann.c \
  space.c \
  spaces.c \
  tasks.c \
  twonn.c \
  validity.c \
  validity_run.c \

