measure_SRCS := \
  bench_count.c \
  bench_drafters.c \
  bench_file.c \
  bench_lists.c \
  bench_speed.c \
  bench_table.c \
  compat_counters.c \
  decode_report.c \
  draft_alone.c \
  drafts.c \
  drafts_file.c \
  faults.c \
  gain.c \
  margin.c \
  readiness.c \
  rejections.c
