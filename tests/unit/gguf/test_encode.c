/* Encoders: against exhaustive searches where the format is small enough, against plain rounding, and at the edges. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "gguf/gguf.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 64 * 256 };

static const int searched[] = {GEODEC_GGML_Q4_0,  GEODEC_GGML_Q4_1,   GEODEC_GGML_Q5_0, GEODEC_GGML_Q5_1,
                               GEODEC_GGML_Q4_K,  GEODEC_GGML_Q5_K,   GEODEC_GGML_Q6_K, GEODEC_GGML_TQ1_0,
                               GEODEC_GGML_TQ2_0, GEODEC_GGML_IQ4_XS, GEODEC_GGML_MXFP4};
enum { N_SEARCHED = sizeof searched / sizeof *searched };

typedef void (*encoder)(const float *src, void *dst, int64_t n);

static void there_and_back(const geodec_ggml_traits *t, encoder encode, const float *x, float *y, int64_t n)
{
    uint8_t *packed = geodec_mem_new((int64_t)geodec_ggml_bytes(t, n), 1);
    encode(x, packed, n);
    t->decode(packed, y, n);
    geodec_mem_free(packed);
}

static double squared_error(const float *x, const float *y, int64_t n)
{
    double e = 0;
    for (int64_t i = 0; i < n; i++) e += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return e;
}

static void fill_normal(float *x, int64_t n, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("encode", 0));
    for (int64_t i = 0; i < n; i++) x[i] = (float)geodec_rng_normal(&r);
}

/* Relative error on a normal density. The search must gain on plain rounding, by at least the given factor. TQ1_0 and
 * TQ2_0 have a closed form: the best three levels for a normal density leave 0.1902 of its variance (Max 1960); with
 * the scale fitted to 256 samples a little less. */
Test(gguf_encode, error_on_a_normal_density)
{
    static const struct {
        int type;
        double most, gain;
    } cases[] = {
        {GEODEC_GGML_Q8_0, 0.0075, 1.0},  {GEODEC_GGML_Q6_K, 0.0185, 1.05},  {GEODEC_GGML_Q5_K, 0.037, 1.08},
        {GEODEC_GGML_Q5_1, 0.037, 1.08},  {GEODEC_GGML_Q5_0, 0.044, 1.04},   {GEODEC_GGML_Q4_K, 0.075, 1.08},
        {GEODEC_GGML_Q4_1, 0.075, 1.08},  {GEODEC_GGML_Q4_0, 0.088, 1.04},   {GEODEC_GGML_TQ2_0, 0.4361, 1.2},
        {GEODEC_GGML_TQ1_0, 0.4361, 1.2}, {GEODEC_GGML_F16, 2.5e-4, 1.0},    {GEODEC_GGML_BF16, 2e-3, 1.0},
        {GEODEC_GGML_F32, 0, 1.0},        {GEODEC_GGML_IQ4_XS, 0.074, 1.08}, {GEODEC_GGML_MXFP4, 0.115, 1.02},
    };
    static float x[N], y[N], plain[N];
    fill_normal(x, N, 1);
    const double size = sqrt(squared_error(x, plain, N)); /* plain is still zero */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const geodec_ggml_traits *t = geodec_ggml_traits_of(cases[k].type);
        there_and_back(t, t->encode, x, y, N);
        there_and_back(t, t->nearest, x, plain, N);
        const double e = sqrt(squared_error(x, y, N)) / size, e_plain = sqrt(squared_error(x, plain, N)) / size;
        cr_assert_leq(e, cases[k].most, "%s: relative error %g", t->name, e);
        cr_assert_leq(e * cases[k].gain, e_plain, "%s: %g, plain rounding %g", t->name, e, e_plain);
        if (cases[k].type == GEODEC_GGML_TQ2_0 || cases[k].type == GEODEC_GGML_TQ1_0)
            cr_assert_geq(e, 0.43, "%s: relative error %g", t->name, e);
    }
}

/* Every binary16 scale there is. */
static double best_of_all_scales(const float *x, int n, int lo, int hi)
{
    double best = INFINITY;
    for (uint32_t h = 0; h < 0x10000; h++) {
        if ((h & 0x7c00) == 0x7c00 || (h & 0x7fff) == 0) continue;
        const float d = geodec_f16_to_f32((uint16_t)h);
        if (fabsf(d) < 0.02f || fabsf(d) > 2.0f) continue; /* the blocks below are of unit size */
        double e = 0;
        for (int i = 0; i < n; i++) {
            const float q = fminf((float)hi, fmaxf((float)lo, nearbyintf(x[i] / d)));
            e += ((double)(d * q) - (double)x[i]) * ((double)(d * q) - (double)x[i]);
        }
        if (e < best) best = e;
    }
    return best;
}

Test(gguf_encode, near_the_global_optimum)
{
    static const struct {
        int type, lo, hi;
        double mean, worst; /* excess squared error over the optimum */
    } cases[] = {{GEODEC_GGML_Q4_0, -8, 7, 0.01, 0.1},
                 {GEODEC_GGML_Q5_0, -16, 15, 0.04, 0.25},
                 {GEODEC_GGML_TQ1_0, -1, 1, 1e-3, 1e-2},
                 {GEODEC_GGML_TQ2_0, -1, 1, 1e-3, 1e-2}};
    enum { BLOCKS = 8 };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const geodec_ggml_traits *t = geodec_ggml_traits_of(cases[k].type);
        float x[256], y[256];
        double mean = 0;
        for (int b = 0; b < BLOCKS; b++) {
            fill_normal(x, t->block, 100 + (uint64_t)b);
            there_and_back(t, t->encode, x, y, t->block);
            const double e = squared_error(x, y, t->block),
                         best = best_of_all_scales(x, t->block, cases[k].lo, cases[k].hi);
            cr_assert_geq(e, best * (1 - 1e-5), "%s: better than every scale", t->name);
            cr_assert_leq(e, best * (1 + cases[k].worst), "%s block %d: %g, best %g", t->name, b, e, best);
            mean += (e / best - 1) / BLOCKS;
        }
        cr_assert_leq(mean, cases[k].mean, "%s: %g above the optimum on average", t->name, mean);
    }
}

/* The output of an encoder, decoded and encoded again. One scale or binary16 minimum a block: the same values. K-quants
 * have integer scales under a common one, where several choices are nearly equivalent: most blocks return, and what
 * moves moves by far less than the quantiser's own error. */
Test(gguf_encode, again)
{
    static const struct {
        int type;
        double same, moved; /* least share of equal values; most of the error of encoding */
    } cases[] = {
        {GEODEC_GGML_F32, 1, 0},        {GEODEC_GGML_F16, 1, 0},        {GEODEC_GGML_BF16, 1, 0},
        {GEODEC_GGML_Q8_0, 1, 0},       {GEODEC_GGML_Q4_0, 1, 0},       {GEODEC_GGML_TQ2_0, 1, 0},
        {GEODEC_GGML_TQ1_0, 1, 0},      {GEODEC_GGML_Q5_0, 0.99, 0.02}, {GEODEC_GGML_Q4_1, 0.99, 0.02},
        {GEODEC_GGML_Q5_1, 0.99, 0.02}, {GEODEC_GGML_Q4_K, 0.8, 0.1},   {GEODEC_GGML_Q5_K, 0.7, 0.2},
        {GEODEC_GGML_Q6_K, 0.8, 0.3},   {GEODEC_GGML_MXFP4, 1, 0},      {GEODEC_GGML_IQ4_XS, 0.8, 0.2},
    };
    static float x[N], y[N], z[N];
    fill_normal(x, N, 2);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const geodec_ggml_traits *t = geodec_ggml_traits_of(cases[k].type);
        there_and_back(t, t->encode, x, y, N);
        there_and_back(t, t->encode, y, z, N);
        int64_t same = 0;
        for (int64_t i = 0; i < N; i++) same += y[i] == z[i];
        const double share = (double)same / N, moved = sqrt(squared_error(y, z, N)), e = sqrt(squared_error(x, y, N));
        cr_assert_geq(share, cases[k].same, "%s: %g of the values are the same", t->name, share);
        cr_assert_leq(moved, cases[k].moved * e, "%s: moved by %g, error %g", t->name, moved, e);
    }
}

/* Zeros, and three levels with a range of 1: a binary16 scale is within 2^-11 of the ideal one, integer scales within
 * one step. */
Test(gguf_encode, exact_blocks)
{
    for (int k = 0; k < N_SEARCHED; k++) {
        const geodec_ggml_traits *t = geodec_ggml_traits_of(searched[k]);
        float x[256] = {0}, y[256];
        there_and_back(t, t->encode, x, y, t->block);
        for (int i = 0; i < t->block; i++) cr_assert_eq(y[i], 0, "%s of zeros: %g", t->name, (double)y[i]);
        there_and_back(t, t->nearest, x, y, t->block);
        for (int i = 0; i < t->block; i++) cr_assert_eq(y[i], 0, "%s of zeros: %g", t->name, (double)y[i]);
        for (int i = 0; i < t->block; i++) x[i] = 0.5f * (float)(i % 3 - 1); /* levels -1, 0, 1 */
        there_and_back(t, t->encode, x, y, t->block);
        for (int i = 0; i < t->block; i++)
            cr_assert_lt(fabsf(y[i] - x[i]), t->block == 32 ? 0x1p-11f : 0.02f, "%s: %g for %g", t->name, (double)y[i],
                         (double)x[i]);
    }
}

/* Weights that are -s, 0 and s for any binary16 s, and zeros alone, keep their values: both encoders of both ternary
 * types, with the bits that the other type gives. */
Test(gguf_encode, ternary_weights_keep_their_values)
{
    static const int types[] = {GEODEC_GGML_TQ1_0, GEODEC_GGML_TQ2_0};
    for (uint32_t h = 0; h < 0x7bff /* its limit is the next one */; h += h < 64 ? 1 : 97)
        for (int k = 0; k < 2; k++) {
            const geodec_ggml_traits *t = geodec_ggml_traits_of(types[k]);
            float x[256], y[256];
            for (uint64_t i = 0; i < 256; i++)
                x[i] = geodec_f16_to_f32((uint16_t)h) * (float)((int)(geodec_rng_at(h, 7, i) % 3) - 1);
            for (int plain = 0; plain < 2; plain++) {
                there_and_back(t, plain ? t->nearest : t->encode, x, y, 256);
                for (int i = 0; i < 256; i++)
                    cr_assert_eq(x[i], y[i], "%s, scale %x: %g for %g", t->name, h, (double)y[i], (double)x[i]);
            }
        }
}

/* One outlier, a constant, subnormal numbers, values next to the limit: finite, and no value further off than the
 * coarsest level of its block allows. */
Test(gguf_encode, extremes)
{
    static float x[256], y[256];
    for (int k = 0; k < N_SEARCHED; k++) {
        const geodec_ggml_traits *t = geodec_ggml_traits_of(searched[k]);
        for (int kind = 0; kind < 6; kind++) {
            float largest = 0;
            fill_normal(x, 256, 3);
            for (int i = 0; i < 256; i++) {
                if (kind == 0) x[i] *= 1e-3f;
                if (kind == 0 && i == 77) x[i] = -30.0f;
                if (kind == 1) x[i] = 3.25f;
                if (kind == 2) x[i] *= 1e-42f;
                if (kind == 3) x[i] *= t->limit / 5.0f;
                if (kind == 4) x[i] = (i % 2 ? -1.0f : 1.0f) * nextafterf(t->limit, 0);
                if (kind == 5) x[i] = -nextafterf(t->limit, 0);
                largest = fmaxf(largest, fabsf(x[i]));
            }
            for (int plain = 0; plain < 2; plain++) {
                there_and_back(t, plain ? t->nearest : t->encode, x, y, 256);
                for (int i = 0; i < 256; i++)
                    cr_assert(fabsf(y[i] - x[i]) <= largest, "%s, kind %d: %g for %g", t->name, kind, (double)y[i],
                              (double)x[i]);
            }
        }
    }
}

/* Numbers that the type cannot hold are refused by the writer, by name. */
Test(gguf_encode, refused_values)
{
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    float x[256];
    char line[512];
    const int64_t dim[1] = {256};
    test_ok(geodec_gguf_writer_create(test_tmp("refused.gguf"), &w, &err), &err);
    const geodec_ggml_traits *t;
    for (int k = 0; (t = geodec_ggml_traits_at(k)); k++) {
        if (!t->encode) continue;
        const float bad[] = {NAN, INFINITY, -INFINITY, t->limit, -t->limit};
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            fill_normal(x, 256, 4);
            x[200] = bad[b];
            cr_assert_eq(geodec_gguf_put_tensor(w, "some.weight", t->type, 1, dim, x, &err), GEODEC_NUMERIC);
            (void)geodec_err_line(&err, line, sizeof line);
            cr_assert(strstr(line, "some.weight") && strstr(line, "200") && strstr(line, t->name), "%s", line);
            geodec_err_clear(&err);
        }
    }
    static const int read_only[] = {GEODEC_GGML_Q2_K,    GEODEC_GGML_Q3_K,   GEODEC_GGML_IQ4_NL,  GEODEC_GGML_IQ3_S,
                                    GEODEC_GGML_IQ2_S,   GEODEC_GGML_IQ2_XS, GEODEC_GGML_IQ3_XXS, GEODEC_GGML_NVFP4,
                                    GEODEC_GGML_IQ2_XXS, GEODEC_GGML_IQ1_S,  GEODEC_GGML_IQ1_M,   GEODEC_GGML_Q1_0,
                                    GEODEC_GGML_Q2_0};
    for (size_t k = 0; k < sizeof read_only / sizeof *read_only; k++) {
        cr_assert_eq(geodec_gguf_put_tensor(w, "t", read_only[k], 1, dim, x, &err), GEODEC_UNSUPPORTED);
        geodec_err_clear(&err);
    }
    geodec_gguf_writer_abandon(w);
}

/* Twelve rows: the error of each is at most that of the peer's blocks. */
Test(gguf_encode, no_more_error_than_the_peer)
{
    static const char *const names[] = {"iq4_xs", "mxfp4"};
    int64_t shape[8];
    int dims;
    double *rows = test_npy(test_shared("golden/types/rows.f32.npy"), shape, &dims);
    cr_assert(rows && dims == 2);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const geodec_ggml_traits *t = geodec_ggml_traits_named(names[k]);
        char path[100];
        (void)snprintf(path, sizeof path, "golden/types/%s.f32.npy", names[k]);
        double *peer = test_npy(test_shared(path), shape, &dims);
        const int64_t n = shape[1];
        float *x = geodec_mem_new(n, sizeof *x), *y = geodec_mem_new(n, sizeof *y);
        double ours = 0, theirs = 0;
        for (int64_t row = 0; row < shape[0]; row++) {
            double their_row = 0;
            for (int64_t i = 0; i < n; i++) {
                const double e = peer[row * n + i] - rows[row * n + i];
                x[i] = (float)rows[row * n + i];
                their_row += e * e;
            }
            there_and_back(t, t->encode, x, y, n);
            const double our_row = squared_error(x, y, n);
            cr_assert_leq(our_row, their_row * (1 + 1e-9), "%s, row %d: %g, the peer's %g", names[k], (int)row, our_row,
                          their_row);
            ours += our_row;
            theirs += their_row;
        }
        (void)printf("%s: rms %g, the peer's %g\n", names[k], sqrt(ours / (double)(shape[0] * n)),
                     sqrt(theirs / (double)(shape[0] * n)));
        geodec_mem_free(peer);
        geodec_mem_free(x);
        geodec_mem_free(y);
    }
    geodec_mem_free(rows);
}
