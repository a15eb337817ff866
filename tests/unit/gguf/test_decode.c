/* Block decoders against blocks packed here, bit by bit, from the written layout of each format. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "gguf/gguf.h"
#include "support/support.h"

#include <criterion/criterion.h>
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

/* value = d s (table[code] or code - zero) -+ m mn; s = 1 without groups. */
static const struct format {
    int type, block, bytes;
    void (*pack)(uint8_t *p, const content *c);
    int codes, zero; /* codes 0 .. codes-1, the one that means 0 */
    int group, scales,
        scale_zero; /* values a group (0 = none), its integer scales 0 .. scales-1, the one that means 0 */
    int minimum;    /* 0 none, 1 added as binary16, -1 an integer of the group times binary16, subtracted */
    bool signed_code, nonlinear;
} formats[] = {
    {GEODEC_GGML_Q4_0, 32, 18, pack_q4_0, 16, 8, 0, 0, 0, 0, false, false},
    {GEODEC_GGML_Q4_1, 32, 20, pack_q4_1, 16, 0, 0, 0, 0, 1, false, false},
    {GEODEC_GGML_Q5_0, 32, 22, pack_q5_0, 32, 16, 0, 0, 0, 0, false, false},
    {GEODEC_GGML_Q5_1, 32, 24, pack_q5_1, 32, 0, 0, 0, 0, 1, false, false},
    {GEODEC_GGML_Q8_0, 32, 34, pack_q8_0, 256, 0, 0, 0, 0, 0, true, false},
    {GEODEC_GGML_IQ4_NL, 32, 18, pack_q4_0, 16, 0, 0, 0, 0, 0, false, true},
    {GEODEC_GGML_Q2_K, 256, 84, pack_q2_k, 4, 0, 16, 16, 0, -1, false, false},
    {GEODEC_GGML_Q3_K, 256, 110, pack_q3_k, 8, 4, 16, 64, 32, 0, false, false},
    {GEODEC_GGML_Q4_K, 256, 144, pack_q4_k, 16, 0, 32, 64, 0, -1, false, false},
    {GEODEC_GGML_Q5_K, 256, 176, pack_q5_k, 32, 0, 32, 64, 0, -1, false, false},
    {GEODEC_GGML_Q6_K, 256, 210, pack_q6_k, 64, 32, 16, 256, 0, 0, false, false},
    {GEODEC_GGML_TQ1_0, 256, 54, pack_tq1_0, 3, 1, 0, 0, 0, 0, false, false},
    {GEODEC_GGML_TQ2_0, 256, 66, pack_tq2_0, 3, 1, 0, 0, 0, 0, false, false},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static float value_of(const struct format *f, const content *c, int i)
{
    static const int level[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    int code = c->code[i] - f->zero;
    if (f->signed_code) code = (int8_t)c->code[i];
    if (f->nonlinear) code = level[c->code[i]];
    const int g = f->group ? i / f->group : 0;
    int scale = f->group ? c->scale[g] - f->scale_zero : 1;
    if (f->type == GEODEC_GGML_Q6_K) scale = (int8_t)scale;
    /* exact in double: 11 + 8 + 8 bits, and d and m are within a factor of 2^20 of each other */
    double v = (double)c->d * scale * code;
    if (f->minimum > 0) v += (double)c->m;
    if (f->minimum < 0) v -= (double)c->m * c->min[g];
    return (float)v;
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
        cr_assert(k < N_FORMATS || t->block == 1, "%s has no format here", t->name);
        cr_assert_eq(geodec_ggml_traits_of(t->type), t);
        cr_assert_eq(geodec_ggml_traits_named(t->name), t);
    }
    cr_assert_eq(n, N_FORMATS + 3);
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
