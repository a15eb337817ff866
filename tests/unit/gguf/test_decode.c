/* Block decoders against blocks packed here, bit by bit, from the written layout of each format. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "gguf/code_books_internal.h"
#include "gguf/gguf.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BLOCK = 256, MAX_BYTES = 256, TRIALS = 64 };

static void put_half(uint8_t *p, float v)
{
    const uint16_t h = geodec_f32_to_f16(v);
    p[0] = (uint8_t)h;
    p[1] = (uint8_t)(h >> 8);
}

/* Sets bits [first, first + n) of a byte. */
static void put_bits(uint8_t *p, int first, int n, int v)
{
    cr_assert(v >= 0 && v < 1 << n);
    cr_assert_eq(*p >> first & ((1 << n) - 1), 0, "two fields share bits");
    *p |= (uint8_t)(v << first);
}

/* Contents of a block: codes of all values, integer scales and minima of groups, two binary16 numbers. */
typedef struct content {
    int code[MAX_BLOCK];
    int scale[16], min[16];
    float d, m;
} content;

static void put_low_nibble(uint8_t *q, const content *c)
{
    for (int j = 0; j < 32; j++) put_bits(q + j % 16, j < 16 ? 0 : 4, 4, c->code[j] & 15);
}

static void put_fifth(uint8_t *q, const content *c)
{
    for (int j = 0; j < 32; j++) put_bits(q + j / 8, j % 8, 1, c->code[j] >> 4);
}

static void pack_q4_0(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    put_low_nibble(p + 2, c);
}

static void pack_q4_1(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    put_half(p + 2, c->m);
    put_low_nibble(p + 4, c);
}

static void pack_q5_0(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    put_fifth(p + 2, c);
    put_low_nibble(p + 6, c);
}

static void pack_q5_1(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    put_half(p + 2, c->m);
    put_fifth(p + 4, c);
    put_low_nibble(p + 8, c);
}

static void pack_q8_0(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    for (int j = 0; j < 32; j++) p[2 + j] = (uint8_t)c->code[j];
}

static void pack_q2_k(uint8_t *p, const content *c)
{
    for (int g = 0; g < 16; g++) {
        put_bits(p + g, 0, 4, c->scale[g]);
        put_bits(p + g, 4, 4, c->min[g]);
    }
    for (int i = 0; i < 256; i++) put_bits(p + 16 + 32 * (i / 128) + i % 32, 2 * (i % 128 / 32), 2, c->code[i]);
    put_half(p + 80, c->d);
    put_half(p + 82, c->m);
}

static void pack_q3_k(uint8_t *p, const content *c)
{
    for (int i = 0; i < 256; i++) {
        put_bits(p + i % 32, i / 32, 1, c->code[i] >> 2);
        put_bits(p + 32 + 32 * (i / 128) + i % 32, 2 * (i % 128 / 32), 2, c->code[i] & 3);
    }
    for (int g = 0; g < 16; g++) {
        put_bits(p + 96 + g % 8, g < 8 ? 0 : 4, 4, c->scale[g] & 15);
        put_bits(p + 104 + g % 4, 2 * (g / 4), 2, c->scale[g] >> 4);
    }
    put_half(p + 108, c->d);
}

static void put_k_scales(uint8_t *p, const content *c)
{
    for (int g = 0; g < 4; g++) {
        put_bits(p + g, 0, 6, c->scale[g]);
        put_bits(p + 4 + g, 0, 6, c->min[g]);
        put_bits(p + g, 6, 2, c->scale[4 + g] >> 4);
        put_bits(p + 4 + g, 6, 2, c->min[4 + g] >> 4);
        put_bits(p + 8 + g, 0, 4, c->scale[4 + g] & 15);
        put_bits(p + 8 + g, 4, 4, c->min[4 + g] & 15);
    }
}

static void pack_q4_k(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    put_half(p + 2, c->m);
    put_k_scales(p + 4, c);
    for (int i = 0; i < 256; i++) put_bits(p + 16 + 32 * (i / 64) + i % 32, i % 64 < 32 ? 0 : 4, 4, c->code[i]);
}

static void pack_q5_k(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    put_half(p + 2, c->m);
    put_k_scales(p + 4, c);
    for (int i = 0; i < 256; i++) {
        put_bits(p + 16 + i % 32, i / 32, 1, c->code[i] >> 4);
        put_bits(p + 48 + 32 * (i / 64) + i % 32, i % 64 < 32 ? 0 : 4, 4, c->code[i] & 15);
    }
}

static void pack_q6_k(uint8_t *p, const content *c)
{
    for (int i = 0; i < 256; i++) {
        const int half = i / 128, within = i % 128; /* within a half: 64 low nibbles, then 64 high ones */
        put_bits(p + 64 * half + within % 64, within < 64 ? 0 : 4, 4, c->code[i] & 15);
        put_bits(p + 128 + 32 * half + i % 32, 2 * (within / 32), 2, c->code[i] >> 4);
    }
    for (int g = 0; g < 16; g++) p[192 + g] = (uint8_t)c->scale[g];
    put_half(p + 208, c->d);
}

/* Five trits t0 .. t4 as the number t0 3^4 + .. + t4 of 243, scaled to 256 and rounded up; four are the same with t4 0.
 */
static uint8_t trits(const int *t, int n, int stride)
{
    int v = 0;
    for (int k = 0; k < 5; k++) v = 3 * v + (k < n ? t[k * stride] : 0);
    return (uint8_t)((v * 256 + 242) / 243);
}

static void pack_tq1_0(uint8_t *p, const content *c)
{
    for (int j = 0; j < 32; j++) p[j] = trits(c->code + j, 5, 32);
    for (int j = 0; j < 16; j++) p[32 + j] = trits(c->code + 160 + j, 5, 16);
    for (int j = 0; j < 4; j++) p[48 + j] = trits(c->code + 240 + j, 4, 4);
    put_half(p + 52, c->d);
}

static void pack_tq2_0(uint8_t *p, const content *c)
{
    for (int i = 0; i < 256; i++) put_bits(p + 32 * (i / 128) + i % 32, 2 * (i % 128 / 32), 2, c->code[i]);
    put_half(p + 64, c->d);
}

static void pack_iq4_xs(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    for (int g = 0; g < 8; g++) {
        put_bits(p + 2 + g / 4, 2 * (g % 4), 2, c->scale[g] >> 4);
        put_bits(p + 4 + g / 2, 4 * (g % 2), 4, c->scale[g] & 15);
    }
    for (int i = 0; i < 256; i++) put_bits(p + 8 + 16 * (i / 32) + i % 16, i % 32 < 16 ? 0 : 4, 4, c->code[i]);
}

static void pack_mxfp4(uint8_t *p, const content *c)
{
    p[0] = (uint8_t)c->scale[0];
    put_low_nibble(p + 1, c);
}

static void pack_nvfp4(uint8_t *p, const content *c)
{
    for (int g = 0; g < 4; g++) p[g] = (uint8_t)c->scale[g];
    for (int i = 0; i < 64; i++) put_bits(p + 4 + 8 * (i / 16) + i % 8, i % 16 < 8 ? 0 : 4, 4, c->code[i]);
}

static void pack_q1_0(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    for (int i = 0; i < 128; i++) put_bits(p + 2 + i / 8, i % 8, 1, c->code[i]);
}

static void pack_q2_0(uint8_t *p, const content *c)
{
    put_half(p, c->d);
    for (int i = 0; i < 64; i++) put_bits(p + 2 + i / 4, i % 4 * 2, 2, c->code[i]);
}

static const int normal_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int float_levels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
static const int sign_levels[2] = {-1, 1};

/* value = d s (levels[code] or code - zero) -+ m mn; s = 1 without groups. MXFP4: d s is 2^(s - 128); NVFP4: half of
 * the float of 4 + 3 bits s. */
static const struct format {
    int type, block, bytes;
    void (*pack)(uint8_t *p, const content *c);
    int codes, zero; /* codes 0 .. codes-1, the one that means 0 */
    int group, scales,
        scale_zero; /* values a group (0 = none), its integer scales 0 .. scales-1, the one that means 0 */
    int minimum;    /* 0 none, 1 added as binary16, -1 an integer of the group times binary16, subtracted */
    bool signed_code;
    const int *levels;
} formats[] = {
    {GEODEC_GGML_Q4_0, 32, 18, pack_q4_0, 16, 8, 0, 0, 0, 0, false, NULL},
    {GEODEC_GGML_Q4_1, 32, 20, pack_q4_1, 16, 0, 0, 0, 0, 1, false, NULL},
    {GEODEC_GGML_Q5_0, 32, 22, pack_q5_0, 32, 16, 0, 0, 0, 0, false, NULL},
    {GEODEC_GGML_Q5_1, 32, 24, pack_q5_1, 32, 0, 0, 0, 0, 1, false, NULL},
    {GEODEC_GGML_Q8_0, 32, 34, pack_q8_0, 256, 0, 0, 0, 0, 0, true, NULL},
    {GEODEC_GGML_IQ4_NL, 32, 18, pack_q4_0, 16, 0, 0, 0, 0, 0, false, normal_levels},
    {GEODEC_GGML_Q2_K, 256, 84, pack_q2_k, 4, 0, 16, 16, 0, -1, false, NULL},
    {GEODEC_GGML_Q3_K, 256, 110, pack_q3_k, 8, 4, 16, 64, 32, 0, false, NULL},
    {GEODEC_GGML_Q4_K, 256, 144, pack_q4_k, 16, 0, 32, 64, 0, -1, false, NULL},
    {GEODEC_GGML_Q5_K, 256, 176, pack_q5_k, 32, 0, 32, 64, 0, -1, false, NULL},
    {GEODEC_GGML_Q6_K, 256, 210, pack_q6_k, 64, 32, 16, 256, 0, 0, false, NULL},
    {GEODEC_GGML_TQ1_0, 256, 54, pack_tq1_0, 3, 1, 0, 0, 0, 0, false, NULL},
    {GEODEC_GGML_TQ2_0, 256, 66, pack_tq2_0, 3, 1, 0, 0, 0, 0, false, NULL},
    {GEODEC_GGML_IQ4_XS, 256, 136, pack_iq4_xs, 16, 0, 32, 64, 32, 0, false, normal_levels},
    {GEODEC_GGML_MXFP4, 32, 17, pack_mxfp4, 16, 0, 32, 256, 127, 0, false, float_levels},
    {GEODEC_GGML_NVFP4, 64, 36, pack_nvfp4, 16, 0, 16, 128, 55, 0, false, float_levels},
    {GEODEC_GGML_Q1_0, 128, 18, pack_q1_0, 2, 0, 0, 0, 0, 0, false, sign_levels},
    {GEODEC_GGML_Q2_0, 64, 18, pack_q2_0, 4, 1, 0, 0, 0, 0, false, NULL},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* A float of 4 bits of exponent, less 7, and 3 of mantissa; the one that would not be a number is 0. */
static double small_float(int s)
{
    const int e = s >> 3, m = s & 7;
    return s == 0x7f ? 0 : e == 0 ? ldexp(m, -9) : ldexp(8 + m, e - 10);
}

static float value_of(const struct format *f, const content *c, int i)
{
    int code = c->code[i] - f->zero;
    if (f->signed_code) code = (int8_t)c->code[i];
    if (f->levels) code = f->levels[c->code[i]];
    const int g = f->group ? i / f->group : 0;
    int scale = f->group ? c->scale[g] - f->scale_zero : 1;
    if (f->type == GEODEC_GGML_Q6_K) scale = (int8_t)scale;
    if (f->type == GEODEC_GGML_MXFP4) return (float)ldexp(code, c->scale[0] - 128);
    if (f->type == GEODEC_GGML_NVFP4) return (float)(small_float(c->scale[g]) / 2 * code);
    /* exact in double: 11 + 8 + 8 bits, and d and m are within a factor of 2^20 of each other */
    double v = (double)c->d * scale * code;
    if (f->minimum > 0) v += (double)c->m;
    if (f->minimum < 0) v -= (double)c->m * c->min[g];
    return (float)v;
}

/* ---- code books --------------------------------------------------------------------------------------------------
 */

/* Contents of a block with a code book: entries of the book, a byte of signs for eight values (or the sign of the
 * eighth part that is added), scales of groups. */
typedef struct booked_content {
    int entry[64], sign[32], scale[16];
    float d;
} booked_content;

static void put_word(uint8_t *p, int first, int n, unsigned v)
{
    for (int i = 0; i < n; i++) put_bits(p + (first + i) / 8, (first + i) % 8, 1, (int)(v >> i & 1u));
}

static void pack_iq2_xxs(uint8_t *p, const booked_content *c)
{
    put_half(p, c->d);
    for (int k = 0; k < 32; k++) {
        p[2 + 8 * (k / 4) + k % 4] = (uint8_t)c->entry[k];
        put_word(p + 6 + 8 * (k / 4), 7 * (k % 4), 7, (unsigned)c->sign[k] & 127u);
    }
    for (int g = 0; g < 8; g++) put_word(p + 6 + 8 * g, 28, 4, (unsigned)c->scale[g]);
}

static void pack_iq2_xs(uint8_t *p, const booked_content *c)
{
    put_half(p, c->d);
    for (int k = 0; k < 32; k++) put_word(p + 2 + 2 * k, 0, 16, (unsigned)(c->entry[k] | (c->sign[k] & 127) << 9));
    for (int g = 0; g < 16; g++) put_word(p + 66, 4 * g, 4, (unsigned)c->scale[g]);
}

static void pack_iq2_s(uint8_t *p, const booked_content *c)
{
    put_half(p, c->d);
    for (int k = 0; k < 32; k++) {
        p[2 + k] = (uint8_t)(c->entry[k] & 255);
        p[34 + k] = (uint8_t)c->sign[k];
        put_word(p + 66, 2 * k, 2, (unsigned)c->entry[k] >> 8);
    }
    for (int g = 0; g < 16; g++) put_word(p + 74, 4 * g, 4, (unsigned)c->scale[g]);
}

static void pack_iq3_xxs(uint8_t *p, const booked_content *c)
{
    put_half(p, c->d);
    for (int k = 0; k < 64; k++) p[2 + k] = (uint8_t)c->entry[k];
    for (int k = 0; k < 32; k++) put_word(p + 66 + 4 * (k / 4), 7 * (k % 4), 7, (unsigned)c->sign[k] & 127u);
    for (int g = 0; g < 8; g++) put_word(p + 66 + 4 * g, 28, 4, (unsigned)c->scale[g]);
}

static void pack_iq3_s(uint8_t *p, const booked_content *c)
{
    put_half(p, c->d);
    for (int k = 0; k < 64; k++) {
        p[2 + k] = (uint8_t)(c->entry[k] & 255);
        put_word(p + 66, k, 1, (unsigned)c->entry[k] >> 8);
    }
    for (int k = 0; k < 32; k++) p[74 + k] = (uint8_t)c->sign[k];
    for (int g = 0; g < 8; g++) put_word(p + 106, 4 * g, 4, (unsigned)c->scale[g]);
}

static void pack_iq1_s(uint8_t *p, const booked_content *c)
{
    put_half(p, c->d);
    for (int k = 0; k < 32; k++) {
        p[2 + k] = (uint8_t)(c->entry[k] & 255);
        put_word(p + 34 + 2 * (k / 4), 3 * (k % 4), 3, (unsigned)c->entry[k] >> 8);
    }
    for (int g = 0; g < 8; g++) put_word(p + 34 + 2 * g, 12, 4, (unsigned)(c->scale[g] | (c->sign[4 * g] & 1) << 3));
}

static void pack_iq1_m(uint8_t *p, const booked_content *c)
{
    uint8_t d[2];
    put_half(d, c->d);
    for (int k = 0; k < 32; k++) {
        p[k] = (uint8_t)(c->entry[k] & 255);
        put_word(p + 32, 4 * k, 4, (unsigned)(c->entry[k] >> 8 | (c->sign[k] & 1) << 3));
    }
    for (int g = 0; g < 16; g++) put_word(p + 48, 16 * (g / 4) + 3 * (g % 4), 3, (unsigned)c->scale[g]);
    for (int k = 0; k < 4; k++) put_word(p + 48, 16 * k + 12, 4, (unsigned)(d[k / 2] >> k % 2 * 4 & 15));
}

/* value = d (2 s + 1) unit magnitude, negative by its sign; of IQ1 d (2 s + 1) (magnitude +- 1/8). */
static const struct booked_format {
    int type, block, bytes;
    void (*pack)(uint8_t *p, const booked_content *c);
    const uint16_t *book;
    int entries, run, group, scales; /* values of an entry and of a group; scales 0 .. scales-1 */
    float unit, magnitude[8];
    int shared; /* values whose sign in `sign` counts together; 8 of IQ1_M, 32 of IQ1_S; 0: one each */
} booked[] = {
    {GEODEC_GGML_IQ2_XXS, 256, 66, pack_iq2_xxs, geodec__code_books_iq2_xxs, 256, 8, 32, 16, 0.125f, {8, 25, 43}, 0},
    {GEODEC_GGML_IQ2_XS, 256, 74, pack_iq2_xs, geodec__code_books_iq2_xs, 512, 8, 16, 16, 0.125f, {8, 25, 43}, 0},
    {GEODEC_GGML_IQ2_S, 256, 82, pack_iq2_s, geodec__code_books_iq2_s, 1024, 8, 16, 16, 0.125f, {8, 25, 43}, 0},
    {GEODEC_GGML_IQ3_XXS,
     256,
     98,
     pack_iq3_xxs,
     geodec__code_books_iq3_xxs,
     256,
     4,
     32,
     16,
     0.25f,
     {4, 12, 20, 28, 36, 44, 52, 62},
     0},
    {GEODEC_GGML_IQ3_S,
     256,
     110,
     pack_iq3_s,
     geodec__code_books_iq3_s,
     512,
     4,
     32,
     16,
     1,
     {1, 3, 5, 7, 9, 11, 13, 15},
     0},
    {GEODEC_GGML_IQ1_S, 256, 50, pack_iq1_s, geodec__code_books_iq1, 2048, 8, 32, 8, 1, {-1, 0, 1}, 32},
    {GEODEC_GGML_IQ1_M, 256, 56, pack_iq1_m, geodec__code_books_iq1, 2048, 8, 16, 8, 1, {-1, 0, 1}, 8},
};
enum { N_BOOKED = sizeof booked / sizeof *booked };

static float booked_value(const struct booked_format *f, const booked_content *c, int i)
{
    const int bits = f->run == 8 ? 2 : 3, entry = f->book[c->entry[i / f->run]] >> bits * (i % f->run);
    const float scale = c->d * (float)(2 * c->scale[i / f->group] + 1) * f->unit,
                magnitude = f->magnitude[entry & (f->run == 8 ? 3 : 7)];
    if (f->shared) return scale * (magnitude + (c->sign[i / f->shared * f->shared / 8] & 1 ? -0.125f : 0.125f));
    return c->sign[i / 8] >> i % 8 & 1 ? -(scale * magnitude) : scale * magnitude;
}

static void check_booked(const struct booked_format *f, const booked_content *c)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(f->type);
    uint8_t packed[MAX_BYTES] = {0};
    float got[MAX_BLOCK];
    f->pack(packed, c);
    t->decode(packed, got, f->block);
    for (int i = 0; i < f->block; i++)
        cr_assert_eq(got[i], booked_value(f, c, i), "%s: value %d is %a, not %a", t->name, i, (double)got[i],
                     (double)booked_value(f, c, i));
}

/* Types whose seventh sign of eight values follows from the others have an even number of negative ones. */
static int some_signs(const struct booked_format *f, geodec_rng *r)
{
    const int v = (int)geodec_rng_below(r, 256);
    const bool even = f->type == GEODEC_GGML_IQ2_XXS || f->type == GEODEC_GGML_IQ2_XS || f->type == GEODEC_GGML_IQ3_XXS;
    return even ? (v & 127) | __builtin_parity((unsigned)v & 127u) << 7 : v;
}

/* Every entry of a book at some place, among random ones; then every sign, scale and place is met too. */
Test(gguf_decode, code_books)
{
    for (int k = 0; k < N_BOOKED; k++) {
        const struct booked_format *f = &booked[k];
        geodec_rng r = geodec_rng_stream(9, geodec_rng_id("books", (uint64_t)k));
        const geodec_ggml_traits *t = geodec_ggml_traits_of(f->type);
        cr_assert(t && t->block == f->block && t->block_bytes == f->bytes);
        for (int first = 0; first < 2 * f->entries; first++) {
            booked_content c = {.d = geodec_f16_to_f32(geodec_f32_to_f16((float)geodec_rng_normal(&r)))};
            for (int i = 0; i < f->block / f->run; i++) c.entry[i] = (int)geodec_rng_below(&r, (uint64_t)f->entries);
            c.entry[first % (f->block / f->run)] = first % f->entries;
            for (int i = 0; i < 32; i++) c.sign[i] = some_signs(f, &r);
            for (int g = 0; g < f->block / f->group; g++) c.scale[g] = (int)geodec_rng_below(&r, (uint64_t)f->scales);
            check_booked(f, &c);
        }
    }
}

/* The books are ggml's: ascending, and the digest is that of the numbers in its tables, written as 16 bits each. */
Test(gguf_decode, books_are_those_of_the_formats)
{
    static const struct {
        const uint16_t *book;
        int entries;
        const char *digest;
    } books[] = {
        {geodec__code_books_iq2_xxs, 256, "915952ebc4af8ddba8113583ca1316fc818843f7b825bbf1a25ae1c39bf0e16d"},
        {geodec__code_books_iq2_xs, 512, "f66435966ca8d64e9e4a6e3c91e64afcf9015e700ec85962f527283ebae207b9"},
        {geodec__code_books_iq2_s, 1024, "e6e75e121b65e8afa5c1f92b71463cfbe217b83893f438acde22fd5db06a43f7"},
        {geodec__code_books_iq1, 2048, "e9ffebfc997ad6023063a667c0bf4eedd8ebf7f56b3da399cbc7d1b1f7ea52c6"},
        {geodec__code_books_iq3_xxs, 256, "c9678803c61b2210fbd8cbbb3f965a835409cd7d88a04d086d236261bd221d11"},
        {geodec__code_books_iq3_s, 512, "353274c58dd7d8dc5ee960dc8fc54ff9164eaf2b49206b841cd49415cf393f81"},
    };
    for (size_t k = 0; k < sizeof books / sizeof *books; k++) {
        uint8_t bytes[2 * 2048];
        char hex[GEODEC_SHA256_HEX];
        for (int i = 0; i < books[k].entries; i++) {
            cr_assert(i == 0 || books[k].book[i] > books[k].book[i - 1]);
            bytes[2 * i] = (uint8_t)(books[k].book[i] & 255);
            bytes[2 * i + 1] = (uint8_t)(books[k].book[i] >> 8);
        }
        geodec_sha256_of(bytes, 2 * (size_t)books[k].entries, hex);
        cr_assert_str_eq(hex, books[k].digest, "book %d", (int)k);
    }
}

static float half_between(geodec_rng *r, float lo, float hi)
{
    const float v = lo + (hi - lo) * (float)geodec_rng_uniform(r);
    return geodec_f16_to_f32(geodec_f32_to_f16(geodec_rng_uniform(r) < 0.5 ? -v : v));
}

static content random_content(const struct format *f, geodec_rng *r)
{
    content c = {.d = half_between(r, 1e-3f, 2.0f), .m = half_between(r, 1e-3f, 2.0f)};
    for (int i = 0; i < f->block; i++) c.code[i] = (int)(geodec_rng_uniform(r) * f->codes);
    for (int g = 0; f->group && g < f->block / f->group; g++) {
        c.scale[g] = (int)(geodec_rng_uniform(r) * f->scales);
        if (f->minimum < 0) c.min[g] = (int)(geodec_rng_uniform(r) * f->scales);
    }
    return c;
}

static void check_block(const struct format *f, const content *c, const char *what)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(f->type);
    uint8_t packed[MAX_BYTES] = {0};
    float got[MAX_BLOCK];
    f->pack(packed, c);
    t->decode(packed, got, f->block);
    for (int i = 0; i < f->block; i++)
        cr_assert_eq(got[i], value_of(f, c, i), "%s, %s: value %d is %a, not %a", t->name, what, i, (double)got[i],
                     (double)value_of(f, c, i));
}

Test(gguf_decode, sizes)
{
    for (int k = 0; k < N_FORMATS; k++) {
        const geodec_ggml_traits *t = geodec_ggml_traits_of(formats[k].type);
        cr_assert(t);
        cr_assert_eq(t->block, formats[k].block, "%s", t->name);
        cr_assert_eq(t->block_bytes, formats[k].bytes, "%s", t->name);
        cr_assert_str_eq(t->name, geodec_ggml_type_name(formats[k].type));
    }
}

/* Every row of the table of types has its format above, except the floats. */
Test(gguf_decode, no_type_without_a_format)
{
    const geodec_ggml_traits *t;
    int n = 0;
    for (; (t = geodec_ggml_traits_at(n)); n++) {
        int k = 0;
        while (k < N_FORMATS && formats[k].type != t->type) k++;
        int b = 0;
        while (b < N_BOOKED && booked[b].type != t->type) b++;
        cr_assert(k < N_FORMATS || b < N_BOOKED || t->block == 1, "%s has no format here", t->name);
        cr_assert_eq(geodec_ggml_traits_of(t->type), t);
        cr_assert_eq(geodec_ggml_traits_named(t->name), t);
    }
    cr_assert_eq(n, N_FORMATS + N_BOOKED + 3);
    cr_assert_null(geodec_ggml_traits_named("q4"));
    cr_assert_null(geodec_ggml_traits_named("q4_00"));
    for (int type = -1; type < 300; type += type < 40 ? 1 : 37)
        cr_assert(!geodec_ggml_traits_of(type) || geodec_ggml_traits_of(type)->type == type);
}

Test(gguf_decode, random_blocks)
{
    for (int k = 0; k < N_FORMATS; k++) {
        geodec_rng r = geodec_rng_stream(7, geodec_rng_id("blocks", (uint64_t)k));
        for (int trial = 0; trial < TRIALS; trial++) {
            const content c = random_content(&formats[k], &r);
            check_block(&formats[k], &c, "random");
        }
    }
}

/* Every code at every place, then every scale and minimum of every group, the rest at rest: no bit is read twice, none
 * is left out. */
Test(gguf_decode, every_bit)
{
    for (int k = 0; k < N_FORMATS; k++) {
        const struct format *f = &formats[k];
        for (int bit = 1; bit < f->codes; bit *= 2)
            for (int i = 0; i < f->block; i++) {
                content c = {.d = 0.5f, .m = 0.25f};
                for (int g = 0; g < 16; g++) c.scale[g] = f->group ? f->scale_zero + 1 : 0;
                c.code[i] = bit;
                check_block(f, &c, "one code");
            }
        for (int g = 0; f->group && g < f->block / f->group; g++)
            for (int bit = 1; bit < f->scales; bit *= 2) {
                content c = {.d = 0.5f, .m = 0.25f};
                for (int i = 0; i < f->block; i++) c.code[i] = f->codes - 1;
                c.scale[g] = bit;
                check_block(f, &c, "one scale");
                if (f->minimum == 0) continue;
                c.scale[g] = 0;
                c.min[g] = bit;
                check_block(f, &c, "one minimum");
            }
    }
}

/* Written out by hand: the twelve bytes of scales of Q4_K. Groups 0-3: scales 1, 2, 3, 63 and minima 4, 5, 6, 7; groups
 * 4-7: scales 0x21, 0x12, 0x3f, 0 and minima 0x10, 0x2f, 0, 0x35. */
Test(gguf_decode, k_scales_by_hand)
{
    static const uint8_t scales[12] = {1 | 2 << 6, 2 | 1 << 6,   3 | 3 << 6,     63,  4 | 1 << 6,    5 | 2 << 6, 6,
                                       7 | 3 << 6, 0x1 | 0 << 4, 0x2 | 0xf << 4, 0xf, 0x0 | 0x5 << 4};
    static const float want[8] = {1 - 4, 2 - 5, 3 - 6, 63 - 7, 0x21 - 0x10, 0x12 - 0x2f, 0x3f, -0x35};
    uint8_t block[144] = {0x00, 0x3c, 0x00, 0x3c}; /* d = dmin = 1 */
    float y[256];
    memcpy(block + 4, scales, sizeof scales);
    memset(block + 16, 0x11, 128); /* every code 1 */
    geodec_ggml_traits_of(GEODEC_GGML_Q4_K)->decode(block, y, 256);
    for (int i = 0; i < 256; i++) cr_assert_eq(y[i], want[i / 32], "value %d: %g", i, (double)y[i]);
}

/* The largest and smallest scales: products stay exact, subnormal scales too, infinities stay infinite. */
Test(gguf_decode, extreme_scales)
{
    static const struct {
        uint16_t half;
        float d;
    } scales[] = {{0x0001, 0x1p-24f}, {0x03ff, 1023 * 0x1p-24f}, {0x7bff, 65504.0f}, {0x8001, -0x1p-24f}};
    for (int k = 0; k < N_FORMATS; k++)
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            geodec_rng r = geodec_rng_stream(8, geodec_rng_id("blocks", (uint64_t)k));
            content c = random_content(&formats[k], &r);
            c.d = scales[s].d;
            c.m = scales[s].d;
            cr_assert_eq(geodec_f32_to_f16(c.d), scales[s].half);
            check_block(&formats[k], &c, "extreme");
        }
}

/* Blocks that the peer's encoders made of twelve rows, and what it decodes them to. */
Test(gguf_decode, blocks_of_the_peer)
{
    static const char *const names[] = {"iq1_m",  "iq1_s",  "iq2_s", "iq2_xs", "iq2_xxs", "iq3_s", "iq3_xxs",
                                        "iq4_nl", "iq4_xs", "mxfp4", "nvfp4",  "q1_0",    "q2_0",  "q2_K",
                                        "q3_K",   "q4_0",   "q4_1",  "q4_K",   "q5_0",    "q5_1",  "q5_K",
                                        "q6_K",   "q8_0",   "tq1_0", "tq2_0"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[100];
        int64_t shape[8], want_shape[8];
        int dims;
        const geodec_ggml_traits *t = geodec_ggml_traits_named(names[k]);
        cr_assert_not_null(t, "%s", names[k]);
        (void)snprintf(path, sizeof path, "golden/types/%s.bytes.npy", names[k]);
        double *bytes = test_npy(test_shared(path), shape, &dims);
        (void)snprintf(path, sizeof path, "golden/types/%s.f32.npy", names[k]);
        double *want = test_npy(test_shared(path), want_shape, &dims);
        cr_assert(bytes && want && shape[0] == want_shape[0]);
        cr_assert_eq(shape[1], (int64_t)geodec_ggml_bytes(t, want_shape[1]), "%s", names[k]);
        const int64_t n = shape[0] * want_shape[1];
        uint8_t *blocks = geodec_mem_new(shape[0] * shape[1], 1);
        float *got = geodec_mem_new(n, sizeof *got);
        for (int64_t i = 0; i < shape[0] * shape[1]; i++) blocks[i] = (uint8_t)bytes[i];
        t->decode(blocks, got, n);
        for (int64_t i = 0; i < n; i++) {
            const float w = (float)want[i];
            cr_assert(memcmp(&got[i], &w, sizeof w) == 0, "%s: value %d is %a, not %a", names[k], (int)i,
                      (double)got[i], (double)w);
        }
        geodec_mem_free(bytes);
        geodec_mem_free(want);
        geodec_mem_free(blocks);
        geodec_mem_free(got);
    }
}
