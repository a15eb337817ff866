artifact_SRCS := \
  binding.c \
  chunks.c \
  compare.c \
  header.c \
  kind.c \
  merge.c \
  provenance.c \
  read.c \
  sweep.c \
  write.c
