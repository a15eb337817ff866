io_SRCS := \
  h5.c \
  artifact_header.c \
  artifact_kind.c \
  artifact_read.c \
  artifact_write.c \
  atomic.c \
  file.c \
  provenance.c
