reference_SRCS := \
  attended.c \
  attention.c \
  experts.c \
  feed.c \
  fisher.c \
  gated.c \
  head.c \
  mix.c \
  norm.c \
  point.c \
  product.c \
  reference.c \
  rope.c \
  router.c \
  softcap.c \
  tape.c
