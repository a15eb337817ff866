decode_SRCS := \
  bench_count.c \
  bench_file.c \
  bench_drafters.c \
  bench_speed.c \
  cost.c \
  counters.c \
  draft.c \
  export.c \
  export_folder.c \
  export_plan.c \
  export_rows.c \
  export_shards.c \
  export_sources.c \
  drafting.c \
  draft_flowmap.c \
  draft_ngram.c \
  gamma.c \
  guard.c \
  loop.c \
  ngram.c \
  predict.c \
  prompts.c \
  sample.c \
  sampler.c \
  stoptext.c \
  target.c \
  verify.c
