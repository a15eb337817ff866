experiments_SRCS := \
  density.c \
  density_file.c \
  blocks.c \
  blocks_file.c \
  divergence.c \
  geodesicity.c \
  geodesicity_file.c \
  injectivity.c \
  injectivity_file.c \
  injectivity_nearest.c \
  hjb.c \
  hjb_file.c \
  hjb_paths.c \
  library.c \
  library_file.c \
  library_sweep.c \
  residual.c \
  warp.c \
  warp_file.c \
  regression.c \
  resonance.c \
  trajectories.c \
  verify.c \
  verify_control.c \
  verify_convention.c \
  verify_file.c \

