artifact_SRCS := \
  binding.c \
  chunks.c \
  compare.c \
  header.c \
  kind.c \
  merge.c \
  provenance.c \
  read.c \
  schema.c \
  select.c \
  select_function.c \
  select_source.c \
  sweep.c \
  write.c
