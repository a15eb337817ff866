chain_SRCS := \
  activations.c \
  christoffel.c \
  cloud.c \
  cloud_file.c \
  coverage.c \
  coverage_task.c \
  geodesics.c \
  import.c \
  metric.c \
  metric_file.c \
  metric_matrices.c \
  metric_space.c \
  null.c \
  propagators.c \
  riemann.c \
  successors.c \
  validity.c \
  validity_file.c \
  validity_run.c
