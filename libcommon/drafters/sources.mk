drafters_SRCS := \
  ablation.c \
  auto_drafter.c \
  auto_drafter_trials.c \
  depth_sink.c \
  drafting.c \
  flowmap_drafter.c \
  lookup_drafter.c \
  mixture_drafter.c \
  model_drafter.c \
  ngram.c \
  ngram_drafter.c \
  onedecode.c \
  onedecode_drafter.c \
  onedecode_ref.c \
  recurrent.c \
  recurrent_drafter.c \
  recurrent_fit.c \
  recycle_drafter.c \
  registry.c \
  rollout.c \
  rollout_ablation.c \
  rollout_drafter.c \
  step.c \
  suffix.c
