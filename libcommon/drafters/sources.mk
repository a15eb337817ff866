drafters_SRCS := \
  depth_file.c \
  depth_sink.c \
  draft_auto.c \
  draft_flowmap.c \
  draft_lookup.c \
  draft_mixture.c \
  draft_model.c \
  draft_ngram.c \
  draft_onedecode.c \
  draft_recurrent.c \
  draft_recycle.c \
  draft_rollout.c \
  drafting.c \
  registry.c \
  ngram.c \
  rungs.c \
  rungs_file.c \
  suffix.c
