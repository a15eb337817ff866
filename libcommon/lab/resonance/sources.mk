lab/resonance_SRCS := \
  correct.c \
  published.c
