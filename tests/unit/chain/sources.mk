chain_TESTS := \
  test_christoffel.c \
  test_cloud.c \
  test_coverage.c \
  test_coverage_task.c \
  test_memory.c \
  test_metric.c \
  test_metric_space.c \
  test_stages.c \
  test_successors.c \
  test_tasks.c \
  test_validity.c
chain_FIXTURES := geometry/analytic.c geometry/bumps.c geometry/field.c
