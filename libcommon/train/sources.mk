train_SRCS := \
  checkpoint.c \
  layout.c \
  net_f32.c \
  net_f64.c \
  ops.c \
  ops_f32.c \
  ops_f32_avx2.c \
  ops_f32_avx512.c \
  ops_f64.c \
  ops_scalar.c \
  params.c \
  penalty.c \
  start.c \
  text.c \
  trainer.c
