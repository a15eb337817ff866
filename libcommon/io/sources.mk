io_SRCS := \
  h5.c \
  h5_storage.c \
  artifact_chunks.c \
  artifact_header.c \
  artifact_kind.c \
  artifact_read.c \
  artifact_write.c \
  atomic.c \
  binding.c \
  compare.c \
  file.c \
  foreign.c \
  foreign_npy.c \
  foreign_text.c \
  format.c \
  json_read.c \
  json_write.c \
  merge.c \
  provenance.c \
  safetensors_read.c \
  safetensors_write.c \
  table.c \
  tsv.c
