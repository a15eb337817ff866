published_SRCS := \
  blocks.c \
  coverage.c \
  coverage_file.c \
  density.c \
  field.c \
  injectivity.c \
  injectivity_run.c \
  hjb.c \
  hjb_file.c \
  kernels_avx2.c \
  kernels_avx512.c \
  kernels_scalar.c \
  manifold.c \
  manifold_file.c \
  path.c \
  records.c \
  resonance.c \
  telemetry.c \
  substitution.c \
  validity.c \
  validity_file.c \
  warp.c \
  warp_common.c \
  warp_file.c \
  warp_plain.c \

