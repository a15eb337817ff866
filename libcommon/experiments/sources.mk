experiments_SRCS := \
  geodesicity.c \
  geodesicity_file.c \
  library.c \
  regression.c \
  trajectories.c
