decode_SRCS := \
  adapt.c \
  cost.c \
  dialogue.c \
  drafter.c \
  gamma_papers.c \
  guard.c \
  loop.c \
  loop_draft.c \
  loop_tally.c \
  pace.c \
  predict.c \
  printer.c \
  prompts.c \
  replay.c \
  sample.c \
  sampler.c \
  stoptext.c \
  target.c \
  tree.c \
  verify.c \
  verify_stochastic.c
