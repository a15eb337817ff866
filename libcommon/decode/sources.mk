decode_SRCS := \
  counters.c \
  draft.c \
  draft_ngram.c \
  gamma.c \
  guard.c \
  loop.c \
  ngram.c \
  predict.c \
  sampler.c \
  target.c \
  verify.c
