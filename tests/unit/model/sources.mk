model_TESTS := \
  reference.c \
  test_arch.c \
  test_arithmetic.c \
  test_attention.c \
  test_attnres.c \
  test_forward.c \
  test_golden.c \
  test_kernels.c \
  test_layer_list.c \
  test_lowkv.c \
  test_memory.c \
  test_products.c \
  test_shape.c \
  test_team.c \
  test_types.c
