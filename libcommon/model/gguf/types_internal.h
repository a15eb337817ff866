/* Block formats of quantised rows, as ggml lays them out. A block is a run of `block` consecutive values of a row.
 *
 * Decoding is exact by definition: every value is a product of at most 24 significant bits, or the difference of two
 * such products rounded once to float32; so any order of the factors, fused or not, gives the same bits.
 *
 *   type    bytes of a block, in order               value          place of the codes
 *   Q4_0    d, 16 bytes                              d (q - 8)      byte j: values j (low nibble) and j + 16
 *   Q4_1    d, m, 16 bytes                           d q + m        the same
 *   Q5_0    d, 4 bytes, 16 bytes                     d (q - 16)     the same; bit j of the 32 bits is the fifth bit
 *                                                                   of value j
 *   Q5_1    d, m, 4 bytes, 16 bytes                  d q + m        the same
 *   Q8_0    d, 32 bytes                              d q            q signed
 *   IQ4_NL  d, 16 bytes                              d table[q]     nibbles as Q4_0
 *
 * K-quants have 256 values a block in two halves; a half has 32 bytes of low bits a field, field f of byte l is value
 * 32 f + l of the half (Q6_K: see decode_q6_k). Groups of 16 or 32 values have an integer scale (and minimum).
 *
 *   Q2_K    16 bytes (scale low, min high nibble), 64 bytes, d, dmin     d s q - dmin m        groups of 16
 *   Q3_K    32 bytes of high bits, 64 bytes, 12 bytes of scales, d       d (s - 32) (q - 4)    groups of 16
 *   Q4_K    d, dmin, 12 bytes of scales, 128 bytes                       d s q - dmin m        groups of 32
 *   Q5_K    d, dmin, 12 bytes of scales, 32 bytes of high bits, 128      d s q - dmin m        groups of 32
 *   Q6_K    128 bytes, 64 bytes of high bits, 16 signed scales, d        d s (q - 32)          groups of 16
 *   TQ1_0   48 bytes of five trits, 4 of four, d                         d (t - 1)
 *   TQ2_0   64 bytes of four 2-bit fields, d                             d (t - 1)
 *
 * Types whose values are d s level[code]; codes and levels are in code_books_internal.h (unit: in s, where it is not
 * 1). A book's code stands for eight values, or four (IQ3). Seven signs are those of values 0-6 of eight; the number of
 * negative ones is even.
 *
 *   IQ2_XXS d, 8 groups of 32: 4 codes of 8 bits, 4 x 7 signs, s (4 bits: (2 s + 1) / 8)
 *   IQ2_XS  d, 32 of 16 bits: code (9), 7 signs; 8 bytes of s, (2 s + 1) / 8, groups of 16, low nibble first
 *   IQ2_S   d, 32 low bytes of codes, 32 bytes of signs, 8 of two high bits each, 8 of s as above
 *   IQ3_XXS d, 64 codes of 8 bits, 8 of 32 bits: 4 x 7 signs, s (4 bits: (2 s + 1) / 4)
 *   IQ3_S   d, 64 low bytes of codes, 8 bytes of high bits, 32 bytes of signs, 4 of s, 2 s + 1, groups of 32
 *   IQ1_S   d, 32 low bytes of codes, 8 of 16 bits: 4 x 3 high bits, s (3 bits: 2 s + 1), less an eighth
 *   IQ1_M   32 low bytes of codes, 32 nibbles: 3 high bits, less an eighth; 4 of 16 bits: 4 x s (3 bits), 4 bits of d
 *   IQ4_XS  d, 8 x 2 high bits of s, 8 low nibbles of s, s - 32, 8 x 16 bytes (nibbles as Q4_0)
 *   MXFP4   an exponent (d = 2^(e - 128)), 16 bytes (nibbles as Q4_0)
 *   NVFP4   4 floats of 4 + 3 bits, halved, 4 x 8 bytes: values 0-7 of 16 low, 8-15 high
 *   Q1_0    d, 128 bits                              d (2 q - 1)
 *   Q2_0    d, 64 x 2 bits                           d (q - 1)
 *
 * d, dmin and m are binary16, little-endian. Numbers and sizes: gguf/tensor_types.h. */
#ifndef GEODEC_GGUF_TYPES_INTERNAL_H
#define GEODEC_GGUF_TYPES_INTERNAL_H

#include "base/f16.h"
#include "gguf/gguf.h"

#include <stdint.h>

enum {
    Q_BLOCK = 32,  /* values of a legacy block */
    QK_BLOCK = 256 /* values of a K-quant or ternary block */
};

static inline uint16_t geodec__load16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline void geodec__store16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v & 0xffu);
    p[1] = (uint8_t)(v >> 8);
}
static inline float geodec__load_half(const uint8_t *p) { return geodec_f16_to_f32(geodec__load16(p)); }

/* Scale and minimum (6 bits each) of group g of the eight of a Q4_K or Q5_K block. Groups 0-3 have theirs in the low
 * six bits of bytes g and g + 4; groups 4-7 have four bits each in byte g + 4 and two in the top of bytes g - 4, g. */
static inline void geodec__k_scale_min(const uint8_t packed[12], int g, int *scale, int *min)
{
    if (g < 4) {
        *scale = packed[g] & 63;
        *min = packed[g + 4] & 63;
    } else {
        *scale = (packed[g + 4] & 15) | (packed[g - 4] >> 6) << 4;
        *min = (packed[g + 4] >> 4) | (packed[g] >> 6) << 4;
    }
}

/* Scale of group g of the sixteen of a Q3_K block, -32 to 31: four bits in bytes 0-7 (groups 8-15 in the high nibbles),
 * two in bytes 8-11, a field of two bits for each run of four groups. */
static inline int geodec__q3_k_scale(const uint8_t packed[12], int g)
{
    const int low = g < 8 ? packed[g] & 15 : packed[g - 8] >> 4, high = packed[8 + g % 4] >> (2 * (g / 4)) & 3;
    return (low | high << 4) - 32;
}

/* Reference conversions of whole rows, n a multiple of the block: geodec__types_decode_f32, geodec__encode_f32,
 * geodec__encode_nearest_q4_0, ... for the types that have them. */
#define DECODE(name) void geodec__types_decode_##name(const void *src, float *dst, int64_t n);
#define ENCODE(name) void geodec__encode_##name(const float *src, void *dst, int64_t n);
#define NEAREST(name) void geodec__encode_nearest_##name(const float *src, void *dst, int64_t n);
#define CODEC_READ_ONLY(name) DECODE(name)
#define CODEC_PLAIN(name) DECODE(name) ENCODE(name)
#define CODEC_SEARCHED(name) DECODE(name) ENCODE(name) NEAREST(name)
#define CODEC(X, NAME, name, number, block, bytes, codec, ...) CODEC_##codec(name)
GEODEC_TENSOR_TYPES(CODEC, )
#undef CODEC
#undef CODEC_SEARCHED
#undef CODEC_PLAIN
#undef CODEC_READ_ONLY
#undef NEAREST
#undef ENCODE
#undef DECODE

#endif
