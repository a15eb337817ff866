model/kernels_SRCS := \
  columns.c \
  kernels.c \
  kernels_avx2.c \
  kernels_avx512.c \
  kernels_scalar.c \
  panels.c \
  products_avx2.c \
  products_scalar.c \
  products_vnni.c
