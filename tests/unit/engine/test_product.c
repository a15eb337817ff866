/* Coded matrices, rounded rows and their products: against plain sums, in every instruction set, at the limits. */
#include "integer/engine/product_internal.h"
#include "integer/fixed/wide.h"
#include "toy_network.h"

#include <criterion/criterion.h>

/* ---- coding ------------------------------------------------------------------------------------------------------ */

Test(coded, rows_are_near_their_values)
{
    enum { COLS = 100 };
    static const double limit[] = {[4] = 1 / 7.0, [8] = 1 / 250.0, [16] = 1 / 60000.0};
    for (int bits = 4; bits <= 16; bits *= 2) {
        geodec_err err = {0};
        float x[COLS];
        uint8_t code[4 * 16 * 4 * 4];
        int16_t multiplier[4], shift;
        int64_t back[COLS];
        geodec_panels16 *p = NULL;
        /* blocks of very different sizes keep their relative error */
        for (int i = 0; i < COLS; i++)
            x[i] = (float)ldexp(geodec_rng_uniform_at(9, (uint64_t)bits, (uint64_t)i) - 0.5, -3 * (i / 32));
        geodec_coded_row(x, COLS, bits, code, multiplier, &shift);
        const geodec_coded c = {1, COLS, bits, code, multiplier, &shift};
        test_ok(geodec_coded_pack_in(&c, NULL, &p, &err), &err);
        geodec_coded_decode(p, 0, back);
        for (int i = 0; i < COLS; i++) {
            const double size = ldexp(0.5, -3 * (i / 32)), error = fabs((double)back[i] * 0x1p-24 - (double)x[i]);
            cr_assert_leq(error, limit[bits] * size + 0x1p-24, "bits %d column %d: %g of %g", bits, i, error, size);
        }
        geodec_coded_free(p);
    }
}

Test(coded, zeros_and_extremes)
{
    enum { COLS = 64 };
    geodec_err err = {0};
    float x[COLS] = {0};
    uint8_t code[128];
    int16_t multiplier[2], shift;
    int64_t back[COLS];
    geodec_panels16 *p = NULL;
    geodec_coded_row(x, COLS, 8, code, multiplier, &shift);
    cr_assert_eq(shift, 0);
    cr_assert_eq(multiplier[0], 0);
    x[3] = -0x1p100f;
    x[40] = 0x1p-100f;
    geodec_coded_row(x, COLS, 8, code, multiplier, &shift);
    const geodec_coded c = {1, COLS, 8, code, multiplier, &shift};
    test_ok(geodec_coded_pack_in(&c, NULL, &p, &err), &err);
    geodec_coded_decode(p, 0, back);
    cr_assert_eq(back[3], INT64_MIN); /* beyond Q24: the nearest */
    cr_assert_eq(back[40], 0);
    geodec_coded_free(p);
    shift = GEODEC_CODED_SHIFT + 1;
    cr_assert_eq(geodec_coded_pack_in(&c, NULL, &p, &err), GEODEC_FORMAT);
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

Test(rounded, blocks_keep_their_precision)
{
    enum { N = 96 };
    int64_t y[N];
    geodec_rounded_block block[4];
    geodec_rounded r = {.block = block};
    for (int bits = 7; bits <= 15; bits += 8) {
        for (int i = 0; i < N; i++)
            y[i] = ((int64_t)geodec_rng_at(4, 1, (uint64_t)i) >> 31) * 7 / 4 >> (i < 32 ? 0 : i < 64 ? 5 : 25);
        geodec_rounded_of(y, N, 24, bits, &r);
        cr_assert_eq(block[0].up, 8);
        cr_assert_eq(block[1].up, 3);
        cr_assert_eq(block[2].up, 0);
        for (int i = 0; i < N; i++) {
            const geodec_rounded_block *b = &block[i / 32];
            const int v = b->v[i % 32];
            const double value = ldexp(v, -(r.exponent + 8 - b->up)), step = ldexp(1, -(r.exponent + 8 - b->up));
            cr_assert_leq(fabs(value - ldexp((double)y[i], -24)), step);
            cr_assert_leq(abs(v), bits == 7 ? 127 : 32639);
            cr_assert_eq(256 * b->digit[1][i % 32] + b->digit[0][i % 32], v);
        }
    }
    for (int i = 0; i < N; i++) y[i] = i == 7 ? INT64_MIN : 0;
    geodec_rounded_of(y, N, 24, 15, &r);
    cr_assert_eq(block[0].v[7], -16384, "%d: beyond 2^61 the nearest", block[0].v[7]);
    for (int i = 0; i < N; i++) y[i] = 0;
    geodec_rounded_of(y, N, 24, 15, &r);
    for (int i = 0; i < N; i++) cr_assert_eq(block[i / 32].v[i % 32], 0);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct input {
    geodec_rounded *x;
    const geodec_rounded **list;
} input;

static input inputs(int64_t n, int64_t cols, uint64_t seed, bool extreme)
{
    const int64_t blocks = geodec_coded_blocks(cols), places = geodec_coded_places(cols);
    geodec_rounded_block *memory = geodec_mem_new(n * places, sizeof *memory);
    input in = {geodec_mem_new(n, sizeof *in.x), geodec_mem_new(n, sizeof *in.list)};
    for (int64_t t = 0; t < n; t++) {
        geodec_rounded *x = &in.x[t];
        x->block = memory + t * places;
        x->exponent = extreme ? 10 : 12 + (int)t;
        for (int64_t i = 0; i < cols; i++)
            x->block[i / 32].v[i % 32] =
                (int16_t)(extreme ? 32639 : (int)(geodec_rng_at(seed, (uint64_t)t, (uint64_t)i) % 65279) - 32639);
        for (int64_t b = 0; b < blocks; b++)
            x->block[b].up = (int32_t)(extreme ? 8 : geodec_rng_at(seed, 99 + (uint64_t)t, (uint64_t)b) % 9);
        geodec_rounded_split(x, cols);
        in.list[t] = x;
    }
    return in;
}

static void free_inputs(input in) { GEODEC_FREE(in.x[0].block, in.x, in.list); }

/* One output, from the definition. */
static int64_t plain(const geodec_panels16 *w, int64_t r, const geodec_rounded *x)
{
    int64_t acc = 0;
    for (int64_t c = 0; c < w->cols; c++) {
        const uint8_t *codes = geodec__product_codes(w, r / 16, c / 32);
        acc += (int64_t)geodec__product_get(codes, w->bits, (int)(r % 16), (int)(c % 32)) * x->block[c / 32].v[c % 32] *
               geodec__product_multipliers(w, r / 16, c / 32)[r % 16] * (1 << x->block[c / 32].up);
    }
    const int s = x->exponent + 8 + w->shift[r] - 24;
    return geodec_wide_shift(acc, s);
}

Test(product, every_set_gives_the_plain_sums)
{
    static const int64_t shape[][2] = {{1, 1}, {16, 32}, {17, 33}, {61, 48}, {40, 200}, {100, 576}};
    int64_t compared = 0;
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
        for (int bits = 4; bits <= 16; bits *= 2) {
            const int64_t rows = shape[k][0], cols = shape[k][1], n = 9;
            geodec_panels16 *w = toy_matrix(rows, cols, bits, 50 + k);
            const input in = inputs(n, cols, 60 + k, false);
            for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
                const geodec__product_ops *ops = geodec__product_for((geodec_isa)isa);
                if (!ops) continue;
                for (int64_t count = 1; count <= n; count++) {
                    int64_t *y[9], room[9][128];
                    for (int t = 0; t < 9; t++) y[t] = room[t];
                    for (int t = 0; t < 9; t++)
                        for (int i = 0; i < 128; i++) room[t][i] = -1;
                    ops->multiply(w, 0, (rows + 15) / 16, in.list, count, y);
                    for (int64_t t = 0; t < count; t++) {
                        for (int64_t r = 0; r < rows; r++, compared++)
                            cr_assert_eq(y[t][r], plain(w, r, &in.x[t]), "set %d bits %d %lld x %lld row %lld of %lld",
                                         isa, bits, (long long)rows, (long long)cols, (long long)r, (long long)t);
                        cr_assert_eq(y[t][rows], -1, "nothing behind the last row");
                    }
                }
            }
            free_inputs(in);
            geodec_coded_free(w);
        }
    cr_log_info("%lld outputs", (long long)compared);
}

/* The largest codes, multipliers, shifts and inputs, and the widest matrix: no sum overflows. */
Test(product, limits)
{
    geodec_err err = {0};
    for (int bits = 4; bits <= 16; bits *= 2) {
        const int64_t cols = GEODEC_CODED_COLS, blocks = cols / 32, bytes = geodec_coded_row_bytes(cols, bits);
        uint8_t *code = geodec_mem_new(bytes, 1);
        int16_t *multiplier = geodec_mem_new(blocks, sizeof *multiplier);
        const int16_t shift = 20, top = bits == 16 ? 255 : 32767;
        const int most = bits == 4 ? 7 : bits == 8 ? 127 : 32767;
        for (int64_t i = 0; i < bytes; i++)
            code[i] = (uint8_t)(bits == 4 ? 0x77 : bits == 8 ? 127 : i % 2 ? 0x7f : 0xff);
        for (int64_t b = 0; b < blocks; b++) multiplier[b] = top;
        const geodec_coded c = {1, cols, bits, code, multiplier, &shift};
        geodec_panels16 *w = NULL;
        test_ok(geodec_coded_pack_in(&c, NULL, &w, &err), &err);
        const input in = inputs(1, cols, 1, true);
        const double sum = (double)cols * most * 32639.0 * top * 256;
        cr_assert_lt(sum, 0x1p62);
        const int64_t wanted = (int64_t)(cols * most * (int64_t)32639 * top * 256 + (1 << 13)) >> 14;
        for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
            const geodec__product_ops *ops = geodec__product_for((geodec_isa)isa);
            int64_t out, *y = &out;
            if (!ops) continue;
            ops->multiply(w, 0, 1, in.list, 1, &y);
            cr_assert_eq(out, wanted, "set %d bits %d", isa, bits);
        }
        free_inputs(in);
        geodec_coded_free(w);
        GEODEC_FREE(code, multiplier);
    }
}
