records_SRCS := \
  compress.c \
  coverage.c \
  coverage_file.c \
  lookup.c \
  records.c \
  records_file.c \

