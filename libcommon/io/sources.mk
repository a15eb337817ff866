io_SRCS := \
  atomic.c \
  file.c \
  foreign.c \
  foreign_npy.c \
  foreign_text.c \
  format.c \
  h5.c \
  h5_storage.c \
  json_read.c \
  json_write.c \
  safetensors_read.c \
  safetensors_write.c \
  table.c \
  tsv.c \
  type.c
