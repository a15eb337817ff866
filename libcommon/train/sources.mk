train_SRCS := \
  layout.c \
  ops.c \
  ops_f32.c \
  ops_f32_avx2.c \
  ops_f32_avx512.c \
  ops_f64.c \
  net_f32.c \
  net_f64.c \
  text.c \
  params.c \
  start.c \
  penalty.c \
  trainer.c \
  checkpoint.c
