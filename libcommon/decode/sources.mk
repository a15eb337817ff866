decode_SRCS := \
  cost.c \
  counters.c \
  draft.c \
  gamma.c \
  gamma_papers.c \
  guard.c \
  loop.c \
  predict.c \
  prompts.c \
  sample.c \
  sampler.c \
  stoptext.c \
  target.c \
  tree.c \
  verify.c \
  verify_stochastic.c
