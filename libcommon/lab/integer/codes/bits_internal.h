/* Strings of bits, least significant first, and little-endian numbers. */
#ifndef GEODEC_INTEGER_CODES_BITS_INTERNAL_H
#define GEODEC_INTEGER_CODES_BITS_INTERNAL_H

#include <stdint.h>
#include <string.h>

/* n <= 16 bits of value at bit `at` of bytes that were zero. */
static inline void geodec__bits_put(uint8_t *to, int64_t at, int n, uint32_t value)
{
    value <<= at % 8;
    for (int64_t b = at / 8; b <= (at + n - 1) / 8; b++, value >>= 8) to[b] = (uint8_t)(to[b] | (value & 255));
}

static inline uint32_t geodec__bits_get(const uint8_t *from, int64_t at, int n)
{
    uint32_t value = 0;
    for (int64_t b = at / 8; b <= (at + n - 1) / 8; b++) value |= (uint32_t)from[b] << 8 * (b - at / 8);
    return value >> at % 8 & ((1u << n) - 1);
}

static inline void geodec__bits_put16(uint8_t *to, uint16_t v)
{
    to[0] = (uint8_t)v;
    to[1] = (uint8_t)(v >> 8);
}

static inline uint16_t geodec__bits_get16(const uint8_t *from) { return (uint16_t)(from[0] | from[1] << 8); }

static inline void geodec__bits_put_f32(uint8_t *to, float f)
{
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> 8 * i);
}

static inline float geodec__bits_get_f32(const uint8_t *from)
{
    const uint32_t v = from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}

#endif
