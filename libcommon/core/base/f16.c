#include "base/f16.h"

#include "base/cpu_internal.h"
#include "base/f16_internal.h"

#include <string.h>

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float geodec_f16_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu, mantissa = h & 0x3ffu;
    if (exponent == 0x1f) return float_of(sign | 0x7f800000u | mantissa << 13);
    if (exponent) return float_of(sign | (exponent + 112u) << 23 | mantissa << 13);
    const float magnitude = (float)mantissa * 0x1p-24f; /* subnormal or zero: exact */
    return sign ? -magnitude : magnitude;
}

uint16_t geodec_f32_to_f16(float f)
{
    const uint32_t u = bits_of(f), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and above round to infinity */
    if (magnitude < 0x38800000u) {                                   /* below 2^-14: subnormal */
        /* Adding 0.5 aligns the 2^-24 grid with the last mantissa bit, so the hardware rounds to nearest even. */
        const float shifted = float_of(magnitude) + 0.5f;
        return (uint16_t)(sign | (bits_of(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return (uint16_t)(sign | ((rounded - 0x38000000u) >> 13));
}

float geodec_bf16_to_f32(uint16_t b) { return float_of((uint32_t)b << 16); }

uint16_t geodec_f32_to_bf16(float f)
{
    const uint32_t u = bits_of(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((u >> 16) | 0x40u);
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

void geodec_f32_to_f16_n(const float *f, uint16_t *h, int64_t n)
{
    int64_t i = geodec__cpu() & GEODEC__CPU_AVX2 ? geodec__f32_to_f16_avx2(f, h, n) : 0;
    for (; i < n; i++) h[i] = geodec_f32_to_f16(f[i]);
}
