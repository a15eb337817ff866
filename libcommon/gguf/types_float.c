#include "gguf/types_internal.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor data is used in place: little-endian hosts only");

void geodec__types_decode_f32(const void *src, float *dst, int64_t n) { memcpy(dst, src, (size_t)n * sizeof *dst); }
void geodec__encode_f32(const float *src, void *dst, int64_t n) { memcpy(dst, src, (size_t)n * sizeof *src); }

void geodec__types_decode_f16(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t i = 0; i < n; i++) dst[i] = geodec__load_half(p + 2 * i);
}

void geodec__encode_f16(const float *src, void *dst, int64_t n)
{
    uint8_t *p = dst;
    for (int64_t i = 0; i < n; i++) geodec__store16(p + 2 * i, geodec_f32_to_f16(src[i]));
}

void geodec__types_decode_bf16(const void *src, float *dst, int64_t n)
{
    const uint8_t *p = src;
    for (int64_t i = 0; i < n; i++) dst[i] = geodec_bf16_to_f32(geodec__load16(p + 2 * i));
}

void geodec__encode_bf16(const float *src, void *dst, int64_t n)
{
    uint8_t *p = dst;
    for (int64_t i = 0; i < n; i++) geodec__store16(p + 2 * i, geodec_f32_to_bf16(src[i]));
}
