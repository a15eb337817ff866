/* The table of codes: sizes, errors on synthetic keys, hostile bytes. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/integer/codes/codes.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 4096, TEST = 1024 };

/* Keys as after a rotation: pairs of large, medium and small amplitude at all angles around a mean, with noise. */
static float *keys(int64_t dim, int64_t n, uint64_t stream)
{
    geodec_rng r = geodec_rng_stream(7, stream);
    float *x = geodec_mem_new(n * dim, sizeof *x);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < dim; i += 2) {
            const double angle = 6.283185307179586 * geodec_rng_uniform(&r), size = 4.0 / (1 + (double)(i / 2 % 16));
            x[k * dim + i] = (float)(0.5 + size * cos(angle) + 0.3 * geodec_rng_normal(&r));
            if (i + 1 < dim) x[k * dim + i + 1] = (float)(size * sin(angle) + 0.3 * geodec_rng_normal(&r));
        }
    return x;
}

/* Relative L2 error over n vectors. */
static double error_of(const geodec_codes *c, int64_t dim, int64_t n, const float *x)
{
    const int64_t rows = geodec_codes_rows(geodec_codes_kind_of(c));
    const int64_t bytes = geodec_codes_bytes(geodec_codes_kind_of(c), dim);
    uint8_t *b = geodec_mem_new(bytes, 1);
    float *y = geodec_mem_new(rows * dim, sizeof *y);
    double error = 0, norm = 0;
    geodec_err err = {0};
    for (int64_t k = 0; k < n; k += rows) {
        geodec_codes_encode(c, x + k * dim, b);
        test_ok(geodec_codes_decode(c, b, y, &err), &err);
        for (int64_t i = 0; i < rows * dim; i++) {
            error += pow((double)y[i] - (double)x[k * dim + i], 2);
            norm += pow((double)x[k * dim + i], 2);
        }
    }
    GEODEC_FREE(b, y);
    return sqrt(error / norm);
}

static double measure(const char *name, int64_t dim, float *(*make)(int64_t, int64_t, uint64_t))
{
    geodec_err err = {0};
    geodec_codes *c = NULL;
    float *train = make(dim, N, 1), *test = make(dim, TEST, 2);
    const geodec_codes_sample s = {.n = N, .x = train};
    test_ok(geodec_codes_create(geodec_codes_named(name), dim, &s, &c, &err), &err);
    const double e = error_of(c, dim, TEST, test);
    geodec_codes_destroy(c);
    GEODEC_FREE(train, test);
    return e;
}

static float *white(int64_t dim, int64_t n, uint64_t stream)
{
    geodec_rng r = geodec_rng_stream(11, stream);
    float *x = geodec_mem_new(n * dim, sizeof *x);
    for (int64_t i = 0; i < n * dim; i++) x[i] = (float)geodec_rng_normal(&r);
    return x;
}

/* Bytes of a vector of 128 values with all its metadata, and the largest error allowed on rotated and white keys. */
static const struct limit {
    const char *name;
    double bytes, rotated, white;
} limits[] = {
    {"q8_0", 136, 0.010, 0.008},
    {"q4_0", 72, 0.14, 0.11},
    {"q3", 56, 0.29, 0.24},
    {"band-5543", 76, 0.13, 0.14},
    {"band-4443", 68, 0.16, 0.17},
    {"band-4333", 60, 0.21, 0.24},
    {"band-4333-variance", 60, 0.21, 0.24},
    {"lowrank", 62, 0.42, 0.90},
    {"kivi2", 48, 0.31, 0.45},
    {"kivi2-token", 48, 0.54, 0.45},
    {"h63", 63, 0.68, 0.78},
    {"h63-prediction", 63, 0.68, 0.78},
    {"v1", 189, 0.010, 0.010},
    {"klt", 63, 0.050, 0.085},
    {"klt-48", 48, 0.10, 0.16},
    {"klt-32", 32, 0.21, 0.32},
};

Test(codes_table, sizes_and_errors, .timeout = 120)
{
    int rows = 0;
    for (int i = 0; geodec_codes_at(i); i++, rows++) {
        const geodec_codes_kind *k = geodec_codes_at(i);
        const double bytes = (double)geodec_codes_bytes(k, 128) / geodec_codes_rows(k);
        const double e = measure(k->name, 128, keys), w = measure(k->name, 128, white);
        cr_log_info("%-20s %3.0f bytes, error %.4f, of white keys %.4f", k->name, bytes, e, w);
        cr_assert_str_eq(k->name, limits[i].name);
        cr_assert_eq(bytes, limits[i].bytes);
        cr_assert_leq(e, limits[i].rotated);
        cr_assert_leq(w, limits[i].white);
        cr_assert_geq(e, 0.5 * limits[i].rotated); /* the limits are tight enough to notice a loss */
    }
    cr_assert_eq(rows, (int)(sizeof limits / sizeof *limits));
}

/* The chosen code of 63 bytes against all others: of at most 76 on rotated keys, of at most 64 on white ones, where a
 * basis has nothing to find. */
Test(codes_table, best_of_the_budget, .timeout = 120)
{
    const double best = measure("klt", 128, keys), best_white = measure("klt", 128, white);
    for (int i = 0; geodec_codes_at(i); i++) {
        const geodec_codes_kind *k = geodec_codes_at(i);
        const double bytes = (double)geodec_codes_bytes(k, 128) / geodec_codes_rows(k);
        if (bytes > 76 || strncmp(k->name, "klt", 3) == 0) continue;
        cr_assert_lt(best, measure(k->name, 128, keys), "%s", k->name);
        if (bytes <= 64) cr_assert_lt(best_white, measure(k->name, 128, white), "%s", k->name);
    }
}

Test(codes_table, other_dimensions, .timeout = 120)
{
    static const int64_t dims[] = {8, 16, 32, 64, 80, 96, 100, 256};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        cr_assert_leq(measure("klt", dims[d], keys), 0.30, "%lld", (long long)dims[d]);
        cr_assert_leq(measure("q8_0", dims[d], keys), 0.012);
        cr_assert_leq(measure("v1", dims[d], keys), 0.012);
        cr_assert_leq(measure("band-5543", dims[d], keys), 0.20, "%lld", (long long)dims[d]);
        cr_assert_leq(measure("h63", dims[d], keys), 0.95);
        cr_assert_leq(measure("kivi2", dims[d], keys), 0.33);
    }
    cr_assert_eq(geodec_codes_budget(128), 63);
    cr_assert_eq(geodec_codes_budget(64), 31);
    cr_assert_eq(geodec_codes_bytes(geodec_codes_named("klt"), 257), 0);
    cr_assert_eq(geodec_codes_bytes(geodec_codes_named("klt"), 0), 0);
    cr_assert_null(geodec_codes_named("none"));
}

/* Zeros, one huge value, huge vectors, constants: finite results, and the error that the format allows. */
Test(codes_table, extreme_vectors)
{
    enum { DIM = 128 };
    static float x[GEODEC_CODES_ROWS_MAX * DIM], y[GEODEC_CODES_ROWS_MAX * DIM];
    static uint8_t b[1 << 16];
    geodec_err err = {0};
    float *train = keys(DIM, 256, 1);
    const geodec_codes_sample s = {.n = 256, .x = train};
    for (int i = 0; geodec_codes_at(i); i++) {
        geodec_codes *c = NULL;
        test_ok(geodec_codes_create(geodec_codes_at(i), DIM, &s, &c, &err), &err);
        for (int what = 0; what < 5; what++) {
            for (int k = 0; k < GEODEC_CODES_ROWS_MAX * DIM; k++)
                x[k] = what == 0   ? 0
                       : what == 1 ? (k % DIM == 5 ? 3e4f : 0.1f)
                       : what == 2 ? 1e7f
                       : what == 3 ? 1
                                   : 1e-30f;
            geodec_codes_encode(c, x, b);
            test_ok(geodec_codes_decode(c, b, y, &err), &err);
            for (int k = 0; k < DIM * geodec_codes_rows(geodec_codes_at(i)); k++) cr_assert(isfinite(y[k]));
            if (what == 1 && strcmp(geodec_codes_at(i)->name, "klt") == 0)
                cr_assert_leq(fabsf(y[5] - 3e4f), 6e3f, "%s: %g", geodec_codes_at(i)->name, (double)y[5]);
        }
        geodec_codes_destroy(c);
    }
    geodec_mem_free(train);
}

/* Any bytes decode or are refused; the sanitizers watch. */
Test(codes_table, hostile_bytes, .timeout = 120)
{
    enum { DIM = 96 };
    static float y[GEODEC_CODES_ROWS_MAX * DIM];
    static uint8_t b[1 << 16];
    geodec_err err = {0};
    float *train = keys(DIM, 512, 1);
    const geodec_codes_sample s = {.n = 512, .x = train};
    for (int i = 0; geodec_codes_at(i); i++) {
        geodec_codes *c = NULL;
        int64_t refused = 0;
        test_ok(geodec_codes_create(geodec_codes_at(i), DIM, &s, &c, &err), &err);
        const int64_t bytes = geodec_codes_bytes(geodec_codes_at(i), DIM);
        for (uint64_t t = 0; t < 300; t++) {
            for (int64_t k = 0; k < bytes; k++)
                b[k] = t == 0 ? 0 : t == 1 ? 255 : (uint8_t)geodec_rng_at(3, t, (uint64_t)k);
            refused += geodec_codes_decode(c, b, y, &err) != GEODEC_OK;
        }
        cr_assert_eq(refused > 0, strcmp(geodec_codes_at(i)->name, "v1") == 0, "%s", geodec_codes_at(i)->name);
        geodec_codes_destroy(c);
    }
    geodec_mem_free(train);
}

/* A metric moves the error to where it counts less. */
Test(codes_table, metric)
{
    enum { DIM = 64 };
    geodec_err err = {0};
    float *train = white(DIM, N, 1), *test = white(DIM, TEST, 2), y[DIM];
    double *metric = geodec_mem_new(DIM * DIM, sizeof *metric), error[2][2] = {{0}};
    uint8_t b[64];
    for (int i = 0; i < DIM; i++) metric[i * DIM + i] = i < DIM / 2 ? 16 : 1;
    for (int with = 0; with < 2; with++) {
        geodec_codes *c = NULL;
        const geodec_codes_sample s = {.n = N, .x = train, .metric = with ? metric : NULL};
        test_ok(geodec_codes_create(geodec_codes_named("klt"), DIM, &s, &c, &err), &err);
        for (int64_t k = 0; k < TEST; k++) {
            geodec_codes_encode(c, test + k * DIM, b);
            test_ok(geodec_codes_decode(c, b, y, &err), &err);
            for (int i = 0; i < DIM; i++) error[with][i >= DIM / 2] += pow((double)y[i] - (double)test[k * DIM + i], 2);
        }
        geodec_codes_destroy(c);
    }
    cr_assert_lt(error[1][0], 0.4 * error[0][0]);
    cr_assert_gt(error[1][1], error[0][1]);
    cr_assert_lt(16 * error[1][0] + error[1][1], 0.7 * (16 * error[0][0] + error[0][1]));
    GEODEC_FREE(train, test, metric);
}

Test(codes_table, needs_a_sample)
{
    geodec_err err = {0};
    geodec_codes *c = NULL;
    const float x[8] = {0};
    const geodec_codes_sample one = {.n = 1, .x = x};
    cr_assert_eq(geodec_codes_create(geodec_codes_named("klt"), 8, NULL, &c, &err), GEODEC_SCARCE);
    cr_assert_eq(geodec_codes_create(geodec_codes_named("klt"), 8, &one, &c, &err), GEODEC_SCARCE);
    cr_assert_eq(geodec_codes_create(geodec_codes_named("klt"), 300, NULL, &c, &err), GEODEC_RANGE);
    cr_assert_null(c);
}
