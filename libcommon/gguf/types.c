#include "base/f16.h"
#include "gguf/gguf.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor data is used in place: little-endian hosts only");

enum { Q8_BLOCK = 32, Q8_BYTES = 34 };

static void decode_f32(const void *src, float *dst, int64_t n) { memcpy(dst, src, (size_t)n * sizeof *dst); }
static void encode_f32(const float *src, void *dst, int64_t n) { memcpy(dst, src, (size_t)n * sizeof *src); }

static uint16_t load16(const unsigned char *p) { return (uint16_t)(p[0] | p[1] << 8); }
static void store16(unsigned char *p, uint16_t v)
{
    p[0] = (unsigned char)(v & 0xffu);
    p[1] = (unsigned char)(v >> 8);
}

static void decode_f16(const void *src, float *dst, int64_t n)
{
    const unsigned char *p = src;
    for (int64_t i = 0; i < n; i++) dst[i] = geodec_f16_to_f32(load16(p + 2 * i));
}

static void encode_f16(const float *src, void *dst, int64_t n)
{
    unsigned char *p = dst;
    for (int64_t i = 0; i < n; i++) store16(p + 2 * i, geodec_f32_to_f16(src[i]));
}

static void decode_bf16(const void *src, float *dst, int64_t n)
{
    const unsigned char *p = src;
    for (int64_t i = 0; i < n; i++) dst[i] = geodec_bf16_to_f32(load16(p + 2 * i));
}

static void encode_bf16(const float *src, void *dst, int64_t n)
{
    unsigned char *p = dst;
    for (int64_t i = 0; i < n; i++) store16(p + 2 * i, geodec_f32_to_bf16(src[i]));
}

/* Q8_0: a binary16 scale and 32 signed bytes; value = scale * byte. */
static void decode_q8_0(const void *src, float *dst, int64_t n)
{
    const unsigned char *p = src;
    for (int64_t b = 0; b < n / Q8_BLOCK; b++, p += Q8_BYTES, dst += Q8_BLOCK) {
        const float scale = geodec_f16_to_f32(load16(p));
        for (int j = 0; j < Q8_BLOCK; j++) dst[j] = scale * (float)(int8_t)p[2 + j];
    }
}

/* As ggml's reference: bytes are rounded with the float32 scale, which is then stored as binary16. */
static void encode_q8_0(const float *src, void *dst, int64_t n)
{
    unsigned char *p = dst;
    for (int64_t b = 0; b < n / Q8_BLOCK; b++, p += Q8_BYTES, src += Q8_BLOCK) {
        float amax = 0;
        for (int j = 0; j < Q8_BLOCK; j++) amax = fmaxf(amax, fabsf(src[j]));
        const float scale = amax / 127.0f, inverse = scale > 0 ? 1.0f / scale : 0.0f;
        store16(p, geodec_f32_to_f16(scale));
        for (int j = 0; j < Q8_BLOCK; j++) {
            const float q = fminf(127.0f, fmaxf(-127.0f, roundf(src[j] * inverse)));
            p[2 + j] = (unsigned char)(int8_t)q;
        }
    }
}

static const geodec_ggml_traits table[] = {
    {GEODEC_GGML_F32, "F32", 1, 4, decode_f32, encode_f32},
    {GEODEC_GGML_F16, "F16", 1, 2, decode_f16, encode_f16},
    {GEODEC_GGML_BF16, "BF16", 1, 2, decode_bf16, encode_bf16},
    {GEODEC_GGML_Q8_0, "Q8_0", Q8_BLOCK, Q8_BYTES, decode_q8_0, encode_q8_0},
};

const geodec_ggml_traits *geodec_ggml_traits_of(int type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == type) return &table[i];
    return NULL;
}

size_t geodec_ggml_bytes(const geodec_ggml_traits *t, int64_t n)
{
    return (size_t)(n / t->block) * (size_t)t->block_bytes;
}

const char *geodec_ggml_type_name(int type)
{
    /* ggml's numbering, so that a message can name what it refuses; holes are types that were withdrawn. */
    static const char *const names[] = {
        "F32",    "F16",   "Q4_0",  "Q4_1",   NULL,    NULL,    "Q5_0",    "Q5_1",   "Q8_0",    "Q8_1",
        "Q2_K",   "Q3_K",  "Q4_K",  "Q5_K",   "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
        "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",    "I16",   "I32",     "I64",    "F64",     "IQ1_M",
        "BF16",   NULL,    NULL,    NULL,     "TQ1_0", "TQ2_0", NULL,      NULL,     NULL,      "MXFP4",
    };
    if (type < 0 || type >= (int)(sizeof names / sizeof *names) || !names[type]) return "unknown";
    return names[type];
}
