gguf_SRCS := \
  access.c \
  encode_affine.c \
  encode_fit.c \
  encode_legacy.c \
  encode_q6_k.c \
  encode_ternary.c \
  quantize.c \
  quantize_recipe.c \
  quantize_report.c \
  reader.c \
  types.c \
  types_decode.c \
  writer.c
