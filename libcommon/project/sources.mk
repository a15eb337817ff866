project_SRCS := \
  apply.c \
  kvprojection.c \
  kvprojection_file.c \
  moments.c \
  projection.c \
  projection_file.c \
  rank.c
