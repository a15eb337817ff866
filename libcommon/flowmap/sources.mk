flowmap_SRCS := \
  bake.c \
  calibrate.c \
  charts.c \
  file.c \
  library.c \
  map.c \
  near.c \
  scan.c \
  scan_avx2.c \
  scan_avx512.c \
  scan_vnni.c \
  track.c
