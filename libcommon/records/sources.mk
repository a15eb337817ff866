records_SRCS := \
  apply.c \
  apply_avx2.c \
  apply_avx512.c \
  apply_scalar.c \
  compress.c \
  coverage.c \
  coverage_file.c \
  coverage_task.c \
  flow_bake.c \
  flow_calibrate.c \
  flow_charts.c \
  flow_file.c \
  flow_scan.c \
  flow_scan_avx2.c \
  flow_scan_avx512.c \
  flow_scan_vnni.c \
  flowmap.c \
  flowtrack.c \
  lookup.c \
  lookup_pack.c \
  lookup_scan.c \
  lookup_scan_avx2.c \
  lookup_scan_avx512.c \
  records.c \
  records_file.c \

