geometry_TESTS := \
  analytic.c \
  bumps.c \
  closed_forms.c \
  field.c \
  test_curvature.c \
  test_geodesic.c \
  test_logmap.c \
  test_magnus.c \
  test_propagate.c \
  test_rbf.c \
  test_rbf_kernel.c \
  test_sketch.c \
  test_space_closed.c \
  test_space_warped.c \
  test_twonn.c
