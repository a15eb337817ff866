chain_SRCS := \
  activations.c \
  christoffel.c \
  cloud.c \
  cloud_file.c \
  coverage.c \
  coverage_file.c \
  coverage_task.c \
  geodesics.c \
  geodesics_file.c \
  import.c \
  import_matrix.c \
  metric.c \
  metric_constant.c \
  metric_file.c \
  metric_matrices.c \
  metric_space.c \
  null.c \
  propagators.c \
  propagators_file.c \
  riemann.c \
  riemann_file.c \
  successors.c \
  validity.c \
  validity_file.c \
  validity_run.c \
  validity_settle.c
