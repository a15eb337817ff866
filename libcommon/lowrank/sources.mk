lowrank_SRCS := \
  input_moments.c \
  kv_projection.c \
  kv_projection_file.c \
  projection.c \
  projection_file.c
