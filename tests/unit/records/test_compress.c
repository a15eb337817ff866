#include "base/mem.h"
#include "base/rng.h"
#include "records/compress.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 8, NN = N * N, COUNT = 3 };

/* I + sum of `rank` random outer products of falling size. */
static void near_identity(int rank, double size, double *phi, geodec_rng *r)
{
    for (int i = 0; i < NN; i++) phi[i] = i % (N + 1) == 0 ? 1 : 0;
    for (int k = 0; k < rank; k++, size /= 10) {
        double u[N], v[N];
        for (int i = 0; i < N; i++) u[i] = geodec_rng_normal(r), v[i] = geodec_rng_normal(r);
        for (int i = 0; i < NN; i++) phi[i] += size / N * u[i / N] * v[i % N];
    }
}

static double relative(const double *a, const double *b)
{
    double e = 0, s = 0;
    for (int i = 0; i < NN; i++) e += (a[i] - b[i]) * (a[i] - b[i]), s += b[i] * b[i];
    return sqrt(e / s);
}

Test(records, factors_meet_the_tolerance_with_the_smallest_rank)
{
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("factors", 0));
    for (int rank = 0; rank <= 3; rank++) {
        double phi[COUNT * NN], back[NN];
        float packed[COUNT * NN];
        geodec_compress_factors f;
        geodec_err err = {0};
        for (int i = 0; i < COUNT; i++) near_identity(rank, 0.5, phi + i * NN, &r);
        test_ok(geodec_compress_factors_make(N, COUNT, phi, 1e-6, packed, &f, &err), &err);
        cr_assert_eq(f.rank, rank);
        cr_assert(!f.full);
        cr_assert_eq(geodec_compress_factors_size(N, COUNT, f.rank, f.full), COUNT * 2 * N * rank);
        double worst = 0;
        for (int i = 0; i < COUNT; i++) {
            geodec_compress_factors_expand(N, f.rank, f.full, packed, i, back);
            worst = fmax(worst, relative(back, phi + i * NN));
        }
        cr_assert_float_eq(worst, f.error, 1e-15);
        cr_assert_lt(worst, 1e-6);
        /* Phi itself cut to the same rank loses nearly sqrt((n - r) / n) of it */
        cr_assert(f.naive > 0.5, "%g", f.naive);
        if (rank == 0) cr_assert_float_eq(f.naive, 1, 1e-12);
        /* a coarser tolerance gives a lower rank and keeps its promise */
        if (rank < 2) continue;
        test_ok(geodec_compress_factors_make(N, COUNT, phi, 0.05, packed, &f, &err), &err);
        cr_assert_lt(f.rank, rank);
        cr_assert_lt(f.error, 0.05 + 1e-6);
    }
}

/* At 2 n r >= n^2 the matrix itself is smaller, and exact up to float32. */
Test(records, full_storage_where_factors_would_be_larger)
{
    geodec_rng r = geodec_rng_stream(2, geodec_rng_id("factors", 1));
    double phi[COUNT * NN], back[NN];
    float packed[COUNT * NN];
    geodec_compress_factors f;
    geodec_err err = {0};
    for (int i = 0; i < COUNT * NN; i++) phi[i] = geodec_rng_normal(&r);
    test_ok(geodec_compress_factors_make(N, COUNT, phi, 1e-3, packed, &f, &err), &err);
    cr_assert(f.full && f.rank == N);
    cr_assert_eq(geodec_compress_factors_size(N, COUNT, f.rank, f.full), COUNT * NN);
    cr_assert_lt(f.error, 1e-7);
    for (int i = 0; i < COUNT; i++) {
        geodec_compress_factors_expand(N, f.rank, f.full, packed, i, back);
        cr_assert_lt(test_max_abs_diff(back, phi + i * NN, NN), 1e-6);
    }
    near_identity(4, 0.5, phi, &r); /* 2 * 8 * 4 = 64: no gain */
    test_ok(geodec_compress_factors_make(N, 1, phi, 1e-9, packed, &f, &err), &err);
    cr_assert(f.full);
    phi[3] = NAN;
    cr_assert_eq(geodec_compress_factors_make(N, 1, phi, 1e-3, packed, &f, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_compress_factors_make(0, 1, phi, 1e-3, packed, &f, NULL), GEODEC_RANGE);
}

/* A circle of radius 3 far from the origin: Hermite interpolation is of fourth order until float16 limits it. */
Test(records, waypoints_reproduce_the_path)
{
    enum { T = 16 };
    double xs[(T + 1) * 2], vs[(T + 1) * 2], x[2];
    uint16_t wx[(T + 1) * 2], wv[(T + 1) * 2];
    float x_scale, v_scale;
    const double dl = 0.05;
    for (int k = 0; k <= T; k++) {
        const double t = dl * k;
        xs[2 * k] = 1e4 + 3 * cos(t), xs[2 * k + 1] = -1e4 + 3 * sin(t);
        vs[2 * k] = -3 * sin(t), vs[2 * k + 1] = 3 * cos(t);
    }
    for (int64_t stride = 1; stride <= T; stride *= 2) {
        geodec_compress_waypoints_make(2, T, stride, xs, vs, wx, wv, &x_scale, &v_scale);
        const geodec_compress_waypoints w = {2, T / stride + 1, dl * (double)stride, xs, x_scale, v_scale, wx, wv};
        double worst = 0;
        for (int k = 0; k <= T; k++) {
            geodec_compress_waypoints_at(&w, dl * k, x);
            worst = fmax(worst, test_max_abs_diff(x, xs + 2 * k, 2));
        }
        const double h = dl * (double)stride, hermite = 3 * h * h * h * h / 384, rounding = 2e-3 * (1 + h);
        cr_assert_lt(worst, hermite + rounding, "stride %d: %g", (int)stride, worst);
        geodec_compress_waypoints_at(&w, 0, x);
        cr_assert_lt(test_max_abs_diff(x, xs, 2), 1e-11);
    }
}
