lab/harness_SRCS := \
  field.c \
  fisher_metric.c \
  kernels_avx2.c \
  kernels_avx512.c \
  kernels_scalar.c \
  manifold.c \
  manifold_file.c \
  model_states.c \
  names.c \
  path.c \
  residual.c \
  split.c \
  starts.c \
  three_metrics.c \
  trajectories.c
