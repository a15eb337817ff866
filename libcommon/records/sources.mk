records_SRCS := \
  compress.c \
  lookup.c \
  lookup_pack.c \
  lookup_scan.c \
  lookup_scan_avx2.c \
  lookup_scan_avx512.c \
  records.c
