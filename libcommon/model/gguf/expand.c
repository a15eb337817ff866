/* Blocks of the types with code books in the common form of code_books_internal.h. Their layout is in types_internal.h.
 */
#include "gguf/code_books_internal.h"
#include "gguf/types_internal.h"

static uint32_t load32(const uint8_t *p) { return (uint32_t)geodec__load16(p) | (uint32_t)geodec__load16(p + 2) << 16; }

/* Byte j of eight or four is part j of v: one bit, two or three. */
static uint64_t spread1(uint32_t v)
{
    uint64_t x = v & 0xffu;
    x = (x | x << 28) & 0x0000000f0000000fu;
    x = (x | x << 14) & 0x0003000300030003u;
    return (x | x << 7) & 0x0101010101010101u;
}
static uint64_t spread2(uint16_t v)
{
    uint64_t x = v;
    x = (x | x << 24) & 0x000000ff000000ffu;
    x = (x | x << 12) & 0x000f000f000f000fu;
    return (x | x << 6) & 0x0303030303030303u;
}
static uint64_t spread3(uint16_t v)
{
    uint32_t x = v;
    x = (x | x << 10) & 0x003f003fu;
    return (x | x << 5) & 0x07070707u;
}

/* One store, which compilers see in eight statements and not in a loop. */
static void store8(uint8_t *p, uint64_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
    p[4] = (uint8_t)(v >> 32);
    p[5] = (uint8_t)(v >> 40);
    p[6] = (uint8_t)(v >> 48);
    p[7] = (uint8_t)(v >> 56);
}
static uint64_t load64(const uint8_t *p) { return load32(p) | (uint64_t)load32(p + 4) << 32; }

/* The eighth sign of those that have seven bits: the number of negative values is even. */
static uint32_t signs8(uint32_t seven)
{
    seven &= 127u;
    return seven | (uint32_t)__builtin_parity(seven) << 7;
}

/* Scales 0 .. 15 are odd numbers. */
static uint8_t odd(int s) { return (uint8_t)(2 * s + 1); }

/* Eight values: indices of two bits and their signs; two fours of indices of three bits. */
static void put2(uint16_t entry, uint32_t signs, uint8_t *code) { store8(code, spread2(entry) | spread1(signs) << 2); }
static void put3(uint16_t first, uint16_t second, uint32_t signs, uint8_t *code)
{
    store8(code, spread3(first) | spread3(second) << 32 | spread1(signs) << 3);
}

static void expand_iq2_xxs(const uint8_t *p, geodec__expanded *out)
{
    out->d = geodec__load16(p);
    for (int g = 0; g < 8; g++) {
        const uint8_t *q = p + 2 + 8 * g;
        const uint32_t signs = load32(q + 4);
        out->scale[g] = odd((int)(signs >> 28));
        for (int k = 0; k < 4; k++)
            put2(geodec__code_books_iq2_xxs[q[k]], signs8(signs >> 7 * k), out->code + 32 * g + 8 * k);
    }
}

static void expand_iq2_xs(const uint8_t *p, geodec__expanded *out)
{
    out->d = geodec__load16(p);
    for (int g = 0; g < 16; g++) out->scale[g] = odd(p[66 + g / 2] >> 4 * (g % 2) & 15);
    for (int k = 0; k < 32; k++) {
        const unsigned q = geodec__load16(p + 2 + 2 * k);
        put2(geodec__code_books_iq2_xs[q & 511], signs8(q >> 9), out->code + 8 * k);
    }
}

static void expand_iq2_s(const uint8_t *p, geodec__expanded *out)
{
    out->d = geodec__load16(p);
    for (int g = 0; g < 16; g++) out->scale[g] = odd(p[74 + g / 2] >> 4 * (g % 2) & 15);
    for (int k = 0; k < 32; k++) {
        const int high = p[66 + k / 4] >> 2 * (k % 4) & 3;
        put2(geodec__code_books_iq2_s[p[2 + k] | high << 8], p[34 + k], out->code + 8 * k);
    }
}

static void expand_iq3_xxs(const uint8_t *p, geodec__expanded *out)
{
    out->d = geodec__load16(p);
    for (int g = 0; g < 8; g++) {
        const uint32_t signs = load32(p + 66 + 4 * g);
        out->scale[g] = odd((int)(signs >> 28));
        for (int k = 0; k < 4; k++) {
            const uint8_t *q = p + 2 + 8 * g + 2 * k;
            put3(geodec__code_books_iq3_xxs[q[0]], geodec__code_books_iq3_xxs[q[1]], signs8(signs >> 7 * k),
                 out->code + 32 * g + 8 * k);
        }
    }
}

static void expand_iq3_s(const uint8_t *p, geodec__expanded *out)
{
    out->d = geodec__load16(p);
    for (int g = 0; g < 8; g++) out->scale[g] = odd(p[106 + g / 2] >> 4 * (g % 2) & 15);
    for (int k = 0; k < 32; k++) {
        const uint8_t *q = p + 2 + 2 * k;
        const int high = p[66 + k / 4] >> 2 * (k % 4);
        put3(geodec__code_books_iq3_s[q[0] | (high & 1) << 8], geodec__code_books_iq3_s[q[1] | (high & 2) << 7],
             p[74 + k], out->code + 8 * k);
    }
}

/* Eight values of IQ1: an index of eleven bits, and whether an eighth is subtracted rather than added. */
static void put1(int index, unsigned less, uint8_t *code)
{
    store8(code, spread2(geodec__code_books_iq1[index]) | spread1(less ? 0xffu : 0) << 2);
}

static void expand_iq1_s(const uint8_t *p, geodec__expanded *out)
{
    out->d = geodec__load16(p);
    for (int g = 0; g < 8; g++) {
        const unsigned high = geodec__load16(p + 34 + 2 * g);
        out->scale[g] = odd((int)(high >> 12 & 7));
        for (int k = 0; k < 4; k++)
            put1(p[2 + 4 * g + k] | (int)(high >> 3 * k & 7) << 8, high >> 15, out->code + 32 * g + 8 * k);
    }
}

static void expand_iq1_m(const uint8_t *p, geodec__expanded *out)
{
    unsigned d = 0;
    for (int g = 0; g < 4; g++) {
        const unsigned s = geodec__load16(p + 48 + 2 * g);
        for (int k = 0; k < 4; k++) out->scale[4 * g + k] = odd((int)(s >> 3 * k & 7));
        d |= s >> 12 << 4 * g;
    }
    out->d = (uint16_t)d;
    for (int k = 0; k < 32; k++) {
        const int high = p[32 + k / 2] >> 4 * (k % 2);
        put1(p[k] | (high & 7) << 8, high & 8, out->code + 8 * k);
    }
}

static void expand_iq4_xs(const uint8_t *p, geodec__expanded *out)
{
    const unsigned high = geodec__load16(p + 2);
    out->d = geodec__load16(p);
    for (int g = 0; g < 8; g++) {
        const int s = (p[4 + g / 2] >> 4 * (g % 2) & 15) | (int)(high >> 2 * g & 3) << 4;
        out->scale[g] = (uint8_t)(s - 32);
    }
    out->nibbles = p + 8;
}

static void expand_mxfp4(const uint8_t *p, geodec__expanded *out)
{
    out->scale[0] = p[0];
    out->nibbles = p + 1;
}

/* The top bit does not count; without it 0x7f is not a number, and means 0. */
static void expand_nvfp4(const uint8_t *p, geodec__expanded *out)
{
    for (int g = 0; g < 4; g++) {
        out->scale[g] = p[g] == 0x7f ? 0 : p[g] & 0x7f;
        const uint64_t q = load64(p + 4 + 8 * g), low = 0x0f0f0f0f0f0f0f0fu;
        store8(out->code + 16 * g, q & low);
        store8(out->code + 16 * g + 8, q >> 4 & low);
    }
}

static void expand_q1_0(const uint8_t *p, geodec__expanded *out)
{
    out->d = geodec__load16(p);
    for (int k = 0; k < 16; k++) store8(out->code + 8 * k, spread1(p[2 + k]));
}

static void expand_q2_0(const uint8_t *p, geodec__expanded *out)
{
    out->d = geodec__load16(p);
    for (int k = 0; k < 8; k++) store8(out->code + 8 * k, spread2(geodec__load16(p + 2 + 2 * k)));
}

geodec__expand_fn geodec__expand_of(int type)
{
    switch (type) {
    case GEODEC_GGML_IQ2_XXS:
        return expand_iq2_xxs;
    case GEODEC_GGML_IQ2_XS:
        return expand_iq2_xs;
    case GEODEC_GGML_IQ2_S:
        return expand_iq2_s;
    case GEODEC_GGML_IQ3_XXS:
        return expand_iq3_xxs;
    case GEODEC_GGML_IQ3_S:
        return expand_iq3_s;
    case GEODEC_GGML_IQ1_S:
        return expand_iq1_s;
    case GEODEC_GGML_IQ1_M:
        return expand_iq1_m;
    case GEODEC_GGML_IQ4_XS:
        return expand_iq4_xs;
    case GEODEC_GGML_MXFP4:
        return expand_mxfp4;
    case GEODEC_GGML_NVFP4:
        return expand_nvfp4;
    case GEODEC_GGML_Q1_0:
        return expand_q1_0;
    case GEODEC_GGML_Q2_0:
        return expand_q2_0;
    default:
        return NULL;
    }
}
