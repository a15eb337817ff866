geometry_TESTS := \
  analytic.c \
  bumps.c \
  field.c \
  test_christoffel.c \
  test_cloud.c \
  test_geodesic.c \
  test_logmap.c \
  test_magnus.c \
  test_memory.c \
  test_metric.c \
  test_metric_space.c \
  test_propagate.c \
  test_rbf.c test_rbf_kernel.c \
  test_riemann.c \
  test_sketch.c \
  test_spaces.c \
  test_stages.c \
  test_successors.c \
  test_surrogate.c \
  test_sweep.c \
  test_tasks.c \
  test_twonn.c \
  test_validity.c \
  test_warped.c \

