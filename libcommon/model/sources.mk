model_SRCS := \
  arch.c \
  arithmetic.c \
  attention.c \
  attnres.c \
  cache.c \
  config.c \
  experts.c \
  factors.c \
  forward.c \
  jobs.c \
  layer_list.c \
  lowkv.c \
  merge.c \
  model.c \
  model_print.c \
  prepare.c \
  rope.c \
  rows.c \
  session.c \
  shape.c \
  shape_blocks.c \
  team.c \
  weights.c
