/* TwoNN does not depend on the unit of the coordinates or on repeated rows. */
#include "base/mem.h"
#include "base/rng.h"
#include "geometry/twonn.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 900, DIM = 5, AMBIENT = 9 };

/* A Gaussian cloud of five dimensions in nine, as float32 gives it. */
static void fill(double *x)
{
    geodec_rng r = geodec_rng_stream(17, geodec_rng_id("twonn-test", 0));
    for (int i = 0; i < N; i++) {
        double z[DIM];
        for (int j = 0; j < DIM; j++) z[j] = geodec_rng_normal(&r);
        for (int c = 0; c < AMBIENT; c++) {
            const double s = z[c % DIM] + 0.3 * z[(2 * c + 1) % DIM];
            x[i * AMBIENT + c] = (double)(float)s;
        }
    }
}

static geodec_twonn estimate(int64_t n, const double *x)
{
    const geodec_twonn_options o = geodec_twonn_defaults();
    geodec_err err = {0};
    geodec_twonn t;
    test_ok(geodec_twonn_estimate(n, AMBIENT, x, &o, NULL, NULL, &t, &err), &err);
    return t;
}

static void same_figures(const geodec_twonn *a, const geodec_twonn *b)
{
    cr_assert_eq(a->used, b->used);
    cr_assert(a->ml == b->ml && a->ml_low == b->ml_low && a->ml_high == b->ml_high);
    cr_assert(a->fit == b->fit && a->fit_low == b->fit_low && a->fit_high == b->fit_high);
}

Test(geometry, twonn_does_not_depend_on_the_unit)
{
    static double x[N * AMBIENT], y[N * AMBIENT];
    fill(x);
    const geodec_twonn t = estimate(N, x);
    cr_assert(t.fit > 4 && t.fit < 5.6, "five dimensions: %g", t.fit);
    cr_assert_eq(t.duplicates, 0);
    for (int e = -1000; e <= 1000; e += 250) { /* squares leave the range of doubles */
        for (int i = 0; i < N * AMBIENT; i++) y[i] = ldexp(x[i], e);
        const geodec_twonn u = estimate(N, y);
        same_figures(&t, &u);
    }
    for (int e = -30; e <= 30; e += 20) {
        for (int i = 0; i < N * AMBIENT; i++) y[i] = x[i] * pow(10, e);
        const geodec_twonn u = estimate(N, y);
        cr_assert_float_eq(u.ml, t.ml, 1e-9 * t.ml);
        cr_assert_float_eq(u.fit, t.fit, 1e-9 * t.fit);
    }
    for (int i = 0; i < N * AMBIENT; i++) y[i] = (double)((float)x[i] * 1e-25f); /* float32 squares of these are zero */
    const geodec_twonn u = estimate(N, y);
    cr_assert_float_eq(u.fit, t.fit, 1e-3 * t.fit);
}

Test(geometry, twonn_counts_equal_points_once)
{
    static double x[N * AMBIENT], y[4 * N * AMBIENT];
    fill(x);
    x[3] = 0;
    const geodec_twonn t = estimate(N, x);
    int64_t rows = 0;
    for (int i = 0; i < N; i++) /* the first occurrences in order, repetitions anywhere after them */
        for (int c = 0; c <= i % 4; c++) {
            const int from = c == 0 ? i : (i * 7 + c) % (i + 1);
            memcpy(y + rows++ * AMBIENT, x + from * AMBIENT, AMBIENT * sizeof *y);
        }
    geodec_twonn u = estimate(rows, y);
    same_figures(&t, &u);
    cr_assert_eq(u.points, rows);
    cr_assert_eq(u.duplicates, rows - N);

    memcpy(y, x, sizeof x); /* all twice; -0 is 0 */
    memcpy(y + N * AMBIENT, x, sizeof x);
    y[N * AMBIENT + 3] = -0.0;
    u = estimate(2 * N, y);
    same_figures(&t, &u);
    cr_assert_eq(u.duplicates, N);

    const geodec_twonn_options o = geodec_twonn_defaults();
    for (int i = 0; i < N; i++) memcpy(y + i * AMBIENT, x + (i % 3) * AMBIENT, AMBIENT * sizeof *y);
    cr_assert_eq(geodec_twonn_estimate(N, AMBIENT, y, &o, NULL, NULL, &u, NULL), GEODEC_SCARCE);
    y[5] = NAN;
    cr_assert_eq(geodec_twonn_estimate(N, AMBIENT, y, &o, NULL, NULL, &u, NULL), GEODEC_NUMERIC);
}

/* On a lattice all neighbours are at one of few distances: ties dominate, and nothing is estimated. Points between its
 * nodes have no ties. */
Test(geometry, twonn_is_not_measured_where_ties_dominate)
{
    static double x[N * AMBIENT];
    const geodec_twonn_options o = geodec_twonn_defaults();
    geodec_twonn t;
    geodec_rng r = geodec_rng_stream(18, geodec_rng_id("twonn-test", 1));
    memset(x, 0, sizeof x);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 6; c++) x[i * AMBIENT + c] = (double)geodec_rng_below(&r, 4);
    cr_assert_eq(geodec_twonn_estimate(N, AMBIENT, x, &o, NULL, NULL, &t, NULL), GEODEC_SCARCE);
    cr_assert(isnan(t.fit) && isnan(t.ml_low) && t.points == N && 2 * t.ratios < N - t.duplicates, "%lld ratios",
              (long long)t.ratios);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 6; c++) x[i * AMBIENT + c] += geodec_rng_uniform(&r);
    const geodec_twonn u = estimate(N, x);
    cr_assert(u.used == N && u.ratios > N - N / 20 && u.fit > 4.5 && u.fit_low < u.fit_high, "%g", u.fit);
}
