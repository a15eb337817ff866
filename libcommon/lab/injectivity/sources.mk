lab/injectivity_SRCS := \
  correct.c \
  file.c \
  nearest.c \
  published.c
