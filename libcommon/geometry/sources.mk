geometry_SRCS := \
  curvature.c \
  expdiff.c \
  geodesic.c \
  logmap.c \
  magnus.c \
  pca.c \
  propagate.c \
  rbf.c \
  rbf_kernel.c \
  rbf_kernel_avx2.c \
  rbf_kernel_avx512.c \
  rbf_point.c \
  rbf_tree.c \
  sketch.c \
  space.c \
  space_closed.c \
  space_warped.c \
  twonn.c
