decode_SRCS := \
  draft.c \
  guard.c
