lab/harness_SRCS := \
  charts.c \
  field.c \
  fisher_metric.c \
  kernels_avx2.c \
  kernels_avx512.c \
  kernels_scalar.c \
  manifold.c \
  model_states.c \
  names.c \
  path.c \
  residual.c \
  space.c \
  split.c \
  three_metrics.c \
  trajectories.c
