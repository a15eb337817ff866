/* Products in integers, by themselves: the packed weights lose nothing, and every instruction set, batch and cut gives
 * the bits of the definition in products_internal.h, evaluated here plainly from the file's blocks. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kernels/products_internal.h"
#include "session/arithmetic.h"
#include "session/blocks.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 64 };
static const geodec_isa isas[] = {GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AVX512};

static float random_float(geodec_rng *r) { return (float)(2 * geodec_rng_uniform(r) - 1); }
static float half_at(const uint8_t *p) { return geodec_f16_to_f32((uint16_t)(p[0] | p[1] << 8)); }
static int bit(const uint8_t *p, int i) { return p[i / 8] >> (i % 8) & 1; }

/* ---- one weight, from its block -----------------------------------------------------------------------------------
 */

typedef struct weight {
    int code;         /* signed: the offset is off */
    float scale, min; /* value = scale code + min */
} weight;

static weight legacy_weight(int type, const uint8_t *b, int i)
{
    static const int table[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    const float d = half_at(b);
    const int nibble_shift = i < 16 ? 0 : 4;
    switch (type) {
    case GEODEC_GGML_Q8_0:
        return (weight){(int8_t)b[2 + i], d, 0};
    case GEODEC_GGML_Q4_0:
        return (weight){(b[2 + i % 16] >> nibble_shift & 15) - 8, d, 0};
    case GEODEC_GGML_IQ4_NL:
        return (weight){table[b[2 + i % 16] >> nibble_shift & 15], d, 0};
    case GEODEC_GGML_Q4_1:
        return (weight){b[4 + i % 16] >> nibble_shift & 15, d, half_at(b + 2)};
    case GEODEC_GGML_Q5_0:
        return (weight){((b[6 + i % 16] >> nibble_shift & 15) | bit(b + 2, i) << 4) - 16, d, 0};
    default: /* Q5_1 */
        return (weight){(b[8 + i % 16] >> nibble_shift & 15) | bit(b + 4, i) << 4, d, half_at(b + 2)};
    }
}

static weight super_weight(int type, const uint8_t *b, int i)
{
    const int half = i / 128, in_half = i % 128, g16 = i / 16, g32 = i / 32;
    const int two_bits = half * 32 + in_half % 32, two_shift = in_half / 32 * 2; /* Q2_K, Q3_K, TQ2_0 */
    switch (type) {
    case GEODEC_GGML_TQ2_0:
        return (weight){(b[two_bits] >> two_shift & 3) - 1, half_at(b + 64), 0};
    case GEODEC_GGML_Q2_K:
        return (weight){b[16 + two_bits] >> two_shift & 3, half_at(b + 80) * (float)(b[g16] & 15),
                        -(half_at(b + 82) * (float)(b[g16] >> 4))};
    case GEODEC_GGML_Q3_K: {
        const int high = b[i % 32] >> (i / 32) & 1;
        const uint8_t *s = b + 96;
        const int low4 = g16 < 8 ? s[g16] & 15 : s[g16 - 8] >> 4, high2 = s[8 + g16 % 4] >> 2 * (g16 / 4) & 3;
        return (weight){(b[32 + two_bits] >> two_shift & 3) + 4 * high - 4,
                        half_at(b + 108) * (float)((low4 | high2 << 4) - 32), 0};
    }
    case GEODEC_GGML_Q6_K: {
        const int low = b[half * 64 + in_half % 64] >> (in_half < 64 ? 0 : 4) & 15;
        const int high = b[128 + half * 32 + in_half % 32] >> (in_half / 32 * 2) & 3;
        return (weight){(low | high << 4) - 32, half_at(b + 208) * (float)(int8_t)b[192 + g16], 0};
    }
    default: { /* Q4_K, Q5_K */
        const uint8_t *s = b + 4, *low = type == GEODEC_GGML_Q4_K ? b + 16 : b + 48;
        const int scale = g32 < 4 ? s[g32] & 63 : (s[g32 + 4] & 15) | s[g32 - 4] >> 6 << 4;
        const int min = g32 < 4 ? s[g32 + 4] & 63 : s[g32 + 4] >> 4 | s[g32] >> 6 << 4;
        int code = low[i / 64 * 32 + i % 32] >> (i % 64 < 32 ? 0 : 4) & 15;
        if (type == GEODEC_GGML_Q5_K) code |= (b[16 + i % 32] >> g32 & 1) << 4;
        return (weight){code, half_at(b) * (float)scale, -(half_at(b + 2) * (float)min)};
    }
    }
}

/* The scale of value i of a block with levels, from its layout (types_internal.h), with the unit of the levels. */
static float level_scale(int type, const uint8_t *b, int i)
{
    const int g16 = i / 16, g32 = i / 32;
    switch (type) {
    case GEODEC_GGML_IQ4_XS:
        return half_at(b) *
               (float)(((b[4 + g32 / 2] >> g32 % 2 * 4 & 15) | (b[2 + g32 / 4] >> g32 % 4 * 2 & 3) << 4) - 32);
    case GEODEC_GGML_MXFP4:
        return ldexpf(1, b[0] - 128);
    case GEODEC_GGML_NVFP4: {
        const int e = b[g16] >> 3 & 15, m = b[g16] & 7;
        return b[g16] == 0x7f ? 0 : e ? ldexpf((float)(8 + m), e - 11) : ldexpf((float)m, -10);
    }
    case GEODEC_GGML_IQ3_S:
        return half_at(b) * (float)(2 * (b[106 + g32 / 2] >> g32 % 2 * 4 & 15) + 1);
    case GEODEC_GGML_IQ3_XXS:
        return half_at(b) * (float)(2 * (b[69 + 4 * g32] >> 4) + 1) / 2;
    case GEODEC_GGML_IQ2_S:
        return half_at(b) * (float)(2 * (b[74 + g32] >> g16 % 2 * 4 & 15) + 1) / 8;
    case GEODEC_GGML_IQ2_XS:
        return half_at(b) * (float)(2 * (b[66 + g32] >> g16 % 2 * 4 & 15) + 1) / 8;
    case GEODEC_GGML_IQ2_XXS:
        return half_at(b) * (float)(2 * (b[9 + 8 * g32] >> 4) + 1) / 8;
    case GEODEC_GGML_IQ1_S:
        return half_at(b) * (float)(2 * (b[35 + 2 * g32] >> 4 & 7) + 1) / 8;
    case GEODEC_GGML_IQ1_M: {
        int d = 0;
        for (int k = 0; k < 4; k++) d |= b[49 + 2 * k] >> 4 << 4 * k;
        const int s = (b[48 + 2 * (g16 / 4)] | b[49 + 2 * (g16 / 4)] << 8) >> 3 * (g16 % 4) & 7;
        return geodec_f16_to_f32((uint16_t)d) * (float)(2 * s + 1) / 8;
    }
    default: /* Q1_0, Q2_0 */
        return half_at(b);
    }
}

/* The code is what the decoder, tested by itself, makes of it; of any size where the scale is 0. */
static weight level_weight(const geodec_ggml_traits *t, const uint8_t *b, int i)
{
    float decoded[256];
    const float scale = level_scale(t->type, b, i);
    t->decode(b, decoded, t->block);
    const weight w = {scale == 0 ? 0 : (int)lrintf(decoded[i] / scale), scale, 0};
    cr_assert_eq((float)w.code * scale, decoded[i], "%s", t->name);
    return w;
}

static weight weight_at(const geodec__matrix *w, int64_t row, int64_t col)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(w->type);
    const uint8_t *block = w->data + row * w->row_bytes + col / t->block * t->block_bytes;
    const int i = (int)(col % t->block);
    if (geodec__expand_of(w->type)) return level_weight(t, block, i);
    return t->block == 32 ? legacy_weight(w->type, block, i) : super_weight(w->type, block, i);
}

/* ---- the definition -----------------------------------------------------------------------------------------------
 */

static int group_of(int type)
{
    static const int halves[] = {GEODEC_GGML_Q2_K,  GEODEC_GGML_Q3_K,   GEODEC_GGML_Q6_K, GEODEC_GGML_NVFP4,
                                 GEODEC_GGML_IQ2_S, GEODEC_GGML_IQ2_XS, GEODEC_GGML_IQ1_M};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        if (halves[i] == type) return 16;
    return 32;
}
static bool has_min(int type)
{
    return type == GEODEC_GGML_Q4_1 || type == GEODEC_GGML_Q5_1 || type == GEODEC_GGML_Q2_K ||
           type == GEODEC_GGML_Q4_K || type == GEODEC_GGML_Q5_K;
}

/* 32 activations as integers and their scale. */
static float round_block(geodec_arithmetic arithmetic, const float *x, int q[32])
{
    const float most = arithmetic == GEODEC_FAST ? 127.0f : 8225600.0f;
    float a = 0;
    memset(q, 0, 32 * sizeof *q);
    for (int i = 0; i < 32; i++) {
        if (!isfinite(x[i])) return NAN;
        a = fmaxf(a, fabsf(x[i]));
    }
    if (a < 1e-30f) return 0;
    for (int i = 0; i < 32; i++) q[i] = (int)nearbyintf(x[i] * (most / a));
    return a * (1.0f / most);
}

/* The digits of 254 (254 q2 + q1) + q0, each -127 to 127. */
static void digits(int q, int out[3])
{
    for (int k = 0; k < 3; k++) {
        const int rest = k < 2 ? (int)nearbyintf((float)q * (1.0f / 254.0f)) : 0;
        out[k] = q - 254 * rest;
        q = rest;
    }
}

/* v: the weights of one row. */
static float plain_product(geodec_arithmetic arithmetic, const geodec__matrix *w, const weight *v, const float *x)
{
    const int group = group_of(w->type);
    float acc = 0;
    for (int64_t at = 0; at < w->cols; at += 32) {
        int q[32];
        const float scale = round_block(arithmetic, x + at, q);
        for (int first = 0; first < 32; first += group) {
            const weight common = v[at + first];
            int sum[3] = {0, 0, 0}, total = 0;
            for (int i = first; i < first + group; i++) {
                const int code = v[at + i].code;
                int digit[3] = {q[i], 0, 0};
                if (arithmetic == GEODEC_EXACT) digits(q[i], digit);
                for (int k = 0; k < 3; k++) {
                    cr_assert(abs(digit[k]) <= 127);
                    sum[k] += code * digit[k];
                }
                total += q[i];
            }
            const float all = arithmetic == GEODEC_EXACT ? fmaf((float)sum[2], 64516.0f, (float)(sum[0] + 254 * sum[1]))
                                                         : (float)sum[0];
            acc = fmaf(all, common.scale * scale, acc);
            if (has_min(w->type)) acc = fmaf(common.min, (float)total * scale, acc);
        }
    }
    return acc;
}

/* ---- matrices -----------------------------------------------------------------------------------------------------
 */

static geodec__matrix random_matrix(int type, int64_t rows, int64_t cols, geodec_rng *r)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type);
    const int64_t row_bytes = (int64_t)geodec_ggml_bytes(t, cols);
    uint8_t *data = geodec_mem_new(rows * row_bytes, 1);
    blocks_random(t, r, data, rows * cols);
    return (geodec__matrix){.data = data, .rows = rows, .cols = cols, .row_bytes = row_bytes, .type = type};
}

static geodec__panels pack(const geodec__matrix *w)
{
    const geodec__panel_format *f = geodec__panel_format_of(w->type);
    cr_assert_not_null(f, "%s has no panels", geodec_ggml_type_name(w->type));
    geodec__panels p = {.format = f, .rows = w->rows, .records = w->cols / (32 * f->blocks)};
    const int64_t count = geodec__panels_count(w->rows), bytes = geodec__panel_bytes(&p);
    uint8_t *data = geodec_mem_new(count * bytes, 1);
    for (int64_t i = 0; i < count; i++) geodec__panel_pack(f, w, i, data + i * bytes);
    p.data = data;
    return p;
}

static void free_data(const uint8_t *data) { geodec_mem_free((void *)(uintptr_t)data); }

Test(model_products, packing_loses_nothing)
{
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("panels", 0));
    const geodec_ggml_traits *t;
    for (int k = 0; (t = geodec_ggml_traits_at(k)); k++) {
        if (!geodec__panel_format_of(t->type)) continue;
        const int64_t rows = 37, cols = 3 * t->block;
        geodec__matrix w = random_matrix(t->type, rows, cols, &r);
        geodec__panels p = pack(&w);
        float *want = geodec_mem_new(cols, sizeof *want), *got = geodec_mem_new(cols, sizeof *got);
        for (int64_t row = 0; row < rows; row++) {
            t->decode(w.data + row * w.row_bytes, want, cols);
            geodec__panel_decode_row(&p, row, got);
            cr_assert(memcmp(want, got, (size_t)cols * sizeof *got) == 0, "%s, row %d", t->name, (int)row);
        }
        /* places of levels are wider than the codes of a book, which stand for several values */
        const double most = p.format->levels && t->block == 256 ? 1.04 * (p.format->bits + 0.55) * (double)cols / 8
                                                                : 1.04 * (double)w.row_bytes;
        cr_assert_leq((double)geodec__panel_bytes(&p) / GEODEC__PANEL, most, "%s", t->name);
        geodec_mem_free(want);
        geodec_mem_free(got);
        free_data(w.data);
        free_data(p.data);
    }
}

/* ---- products -----------------------------------------------------------------------------------------------------
 */

typedef struct inputs {
    float *x;
    const float *row[MAX_N];
} inputs;

static inputs random_inputs(int64_t n, int64_t cols, geodec_rng *r)
{
    inputs in = {.x = geodec_mem_new(n * cols, sizeof(float))};
    for (int64_t i = 0; i < n; i++) {
        in.row[i] = in.x + i * cols;
        for (int64_t k = 0; k < cols; k++) {
            const float size = k / 32 % 5 == 3 ? 1e-32f : k / 32 % 5 == 4 ? 300.0f : 1.0f;
            in.x[i * cols + k] = k % 7 == 2 ? 0 : size * random_float(r);
        }
    }
    return in;
}

/* All rows at once, the panels in two parts as tasks do it. */
static void multiply(const geodec__product *product, const geodec__panels *p, const float *const *x, int64_t n,
                     float *y)
{
    const geodec__panel_format *f = p->format;
    const int64_t blocks = p->records * f->blocks, count = geodec__panels_count(p->rows), cut = count / 3;
    uint8_t *rounded = geodec_mem_new(n * blocks * product->block_bytes, 1);
    float *y_row[MAX_N];
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = i / GEODEC__PRODUCT_TILE * GEODEC__PRODUCT_TILE;
        product->round(x[i], blocks * 32, f->offset, f->group,
                       rounded + (first * blocks + i - first) * product->block_bytes,
                       n - first < GEODEC__PRODUCT_TILE ? n - first : GEODEC__PRODUCT_TILE);
        y_row[i] = y + i * p->rows;
    }
    product->multiply(p, 0, cut, rounded, n, y_row);
    product->multiply(p, cut, count, rounded, n, y_row);
    geodec_mem_free(rounded);
}

static const geodec__product *product_of(geodec_isa isa, geodec_arithmetic a)
{
    return geodec__product_of(geodec__products_for(isa), a);
}

/* Extreme codes and digits: where sums of 16 bits are fullest. */
static void fill_extremes(geodec__matrix *w, inputs *in, int64_t n)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(w->type);
    uint8_t *data = (uint8_t *)(uintptr_t)w->data;
    const float most = 8225600.0f, full[4] = {most, -127 * 64516.0f - 127, 127 * 254.0f + 127, -126 * 64516.0f + 127};
    memset(data, 0, (size_t)(w->rows / 2 * w->row_bytes)); /* the lowest codes; random ones in the other rows */
    for (int64_t row = 0; row < w->rows / 2; row += 2) memset(data + row * w->row_bytes, 0xff, (size_t)w->row_bytes);
    for (int64_t b = 0; b < w->rows / 2 * w->row_bytes / t->block_bytes; b++) { /* scales that are numbers */
        uint8_t *block = data + b * t->block_bytes;
        for (int k = 0; k < blocks_n_scales(w->type); k++) blocks_put_scale(w->type, block, k, 1.0f);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < w->cols; k++)
            in->x[i * w->cols + k] = k % 32 == 31 ? most : full[(i + (k % 32 > 23)) % 4];
}

static void check_definition(int type, geodec_arithmetic arithmetic, int64_t rows, bool extreme, geodec_rng *r)
{
    static const int64_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 33, 64};
    const int64_t block = geodec_ggml_traits_of(type)->block, cols = block < 256 ? block * (1 + 2 * (type % 12)) : 512;
    geodec__matrix w = random_matrix(type, rows, cols, r);
    inputs in = random_inputs(MAX_N, cols, r);
    if (extreme) fill_extremes(&w, &in, MAX_N);
    geodec__panels p = pack(&w);
    float *want = geodec_mem_new(MAX_N * rows, sizeof *want), *y = geodec_mem_new(MAX_N * rows, sizeof *y);
    weight *v = geodec_mem_new(cols, sizeof *v);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t col = 0; col < cols; col++) v[col] = weight_at(&w, row, col);
        for (int64_t i = 0; i < MAX_N; i++) want[i * rows + row] = plain_product(arithmetic, &w, v, in.row[i]);
    }
    for (int a = 0; a < 3; a++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            if (!geodec_kernels_isa_available(isas[a])) continue;
            memset(y, 0x55, (size_t)(MAX_N * rows) * sizeof *y);
            multiply(product_of(isas[a], arithmetic), &p, in.row, counts[c], y);
            for (int64_t i = 0; i < counts[c] * rows; i++)
                cr_assert(memcmp(&y[i], &want[i], sizeof *y) == 0, "%s %s %s: %d rows, row %d, output %d: %a, not %a",
                          geodec_ggml_type_name(type), geodec_arithmetic_name(arithmetic),
                          geodec_kernels_isa_name(isas[a]), (int)counts[c], (int)(i / rows), (int)(i % rows),
                          (double)y[i], (double)want[i]);
            if (counts[c] < MAX_N) cr_assert_eq(((uint32_t *)(void *)y)[counts[c] * rows], 0x55555555u);
        }
    free_data(w.data);
    free_data(p.data);
    geodec_mem_free(in.x);
    geodec_mem_free(v);
    geodec_mem_free(want);
    geodec_mem_free(y);
}

Test(model_products, products_are_the_definition_on_every_isa_for_any_batch)
{
    geodec_rng r = geodec_rng_stream(2, geodec_rng_id("panels", 0));
    const geodec_ggml_traits *t;
    for (int k = 0; (t = geodec_ggml_traits_at(k)); k++)
        for (int a = 0; a < GEODEC_ARITHMETICS; a++)
            for (int extreme = 0; extreme < 2; extreme++)
                if (geodec__panel_format_in((geodec_arithmetic)a, t->type))
                    check_definition(t->type, (geodec_arithmetic)a, k % 2 ? 37 : 16 + k, extreme, &r);
}

Test(model_products, exact_arithmetic_takes_all_but_q8_0)
{
    const geodec_ggml_traits *t;
    for (int k = 0; (t = geodec_ggml_traits_at(k)); k++) {
        const bool exact = t->product == GEODEC_GGML_INTEGERS, fast = exact || t->type == GEODEC_GGML_Q8_0;
        cr_assert_eq(geodec__panel_format_in(GEODEC_EXACT, t->type) != NULL, exact, "%s", t->name);
        cr_assert_eq(geodec__panel_format_in(GEODEC_FAST, t->type) != NULL, fast, "%s", t->name);
    }
    cr_assert_not_null(geodec__panel_format_in(GEODEC_EXACT, GEODEC_GGML_Q4_0));
    cr_assert_null(geodec__panel_format_in(GEODEC_EXACT, GEODEC_GGML_F16));
}

/* Every activation is off by half a step at most, every sum of floats by half a unit of its last place. */
static void check_near_floats(int type, geodec_arithmetic arithmetic, geodec_rng *r)
{
    enum { ROWS = 20, COLS = 768 };
    const double step = arithmetic == GEODEC_FAST ? 1.0 / 127 : 1.0 / 8225600;
    geodec__matrix w = random_matrix(type, ROWS, COLS, r);
    geodec__panels p = pack(&w);
    inputs in = random_inputs(1, COLS, r);
    float y[ROWS], plain[COLS];
    multiply(product_of(GEODEC_ISA_AUTO, arithmetic), &p, in.row, 1, y);
    for (int64_t o = 0; o < ROWS; o++) {
        geodec_ggml_traits_of(type)->decode(w.data + o * w.row_bytes, plain, COLS);
        double want = 0, most = 0;
        for (int64_t at = 0; at < COLS; at += 32) {
            double a = 0, size = 0;
            for (int64_t i = at; i < at + 32; i++) {
                want += (double)plain[i] * (double)in.x[i];
                size += fabs((double)plain[i]);
                a = fmax(a, fabs((double)in.x[i]));
            }
            most += size * a;
        }
        const double sums = 2.0 * COLS / group_of(type) + 4;
        cr_assert_leq(fabs((double)y[o] - want), most * (0.50005 * step + sums * FLT_EPSILON / 2), "%s %s",
                      geodec_ggml_type_name(type), geodec_arithmetic_name(arithmetic));
    }
    free_data(w.data);
    free_data(p.data);
    geodec_mem_free(in.x);
}

Test(model_products, products_are_near_those_of_floats)
{
    geodec_rng r = geodec_rng_stream(3, geodec_rng_id("panels", 0));
    const geodec_ggml_traits *t;
    for (int k = 0; (t = geodec_ggml_traits_at(k)); k++)
        for (int a = 0; a < GEODEC_ARITHMETICS; a++)
            if (geodec__panel_format_in((geodec_arithmetic)a, t->type))
                check_near_floats(t->type, (geodec_arithmetic)a, &r);
}

Test(model_products, not_a_number_stays_one)
{
    geodec_rng r = geodec_rng_stream(4, geodec_rng_id("panels", 0));
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) {
        geodec__matrix w = random_matrix(GEODEC_GGML_Q4_K, 16, 256, &r);
        geodec__panels p = pack(&w);
        inputs in = random_inputs(2, 256, &r);
        in.x[256 + 77] = odd[k];
        for (int a = 0; a < 3 * GEODEC_ARITHMETICS; a++) {
            float y[2 * 16];
            if (!geodec_kernels_isa_available(isas[a / 2])) continue;
            multiply(product_of(isas[a / 2], (geodec_arithmetic)(a % 2)), &p, in.row, 2, y);
            for (int i = 0; i < 16; i++) cr_assert(isfinite(y[i]) && isnan(y[16 + i]));
        }
        free_data(w.data);
        free_data(p.data);
        geodec_mem_free(in.x);
    }
}
