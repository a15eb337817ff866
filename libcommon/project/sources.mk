project_SRCS := \
  apply.c \
  moments.c \
  projection.c \
  projection_file.c \
  rank.c
