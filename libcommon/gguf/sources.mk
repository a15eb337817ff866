gguf_SRCS := \
  types.c \
  types_float.c \
  types_legacy.c \
  types_kquants.c \
  types_ternary.c \
  encode_fit.c \
  encode_legacy.c \
  encode_affine.c \
  encode_q6_k.c \
  encode_ternary.c \
  reader.c \
  access.c \
  writer.c \
  quantize.c \
  quantize_recipe.c
