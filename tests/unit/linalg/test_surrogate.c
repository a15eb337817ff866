/* Surrogates keep their stated properties and no others. */
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/stats.h"
#include "linalg/surrogate.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 3000, D = 3 };

/* Correlated columns with memory and a shape: the second is the square of the first. */
static double *series(void)
{
    double *x = geodec_mem_new(N * D, sizeof *x), at = 0;
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("series", 0));
    for (int i = 0; i < N; i++) {
        at = 0.9 * at + geodec_rng_normal(&r);
        x[i * D] = at + 3;
        x[i * D + 1] = at * at;
        x[i * D + 2] = 0.7 * at + geodec_rng_normal(&r);
    }
    return x;
}

static double mean(const double *x, int c)
{
    double s = 0;
    for (int i = 0; i < N; i++) s += x[i * D + c] / N;
    return s;
}

/* Circular covariance of columns a and b at a lag. */
static double lagged(const double *x, int a, int b, int lag)
{
    const double ma = mean(x, a), mb = mean(x, b);
    double s = 0;
    for (int i = 0; i < N; i++) s += (x[i * D + a] - ma) * (x[(i + lag) % N * D + b] - mb) / N;
    return s;
}

/* Covariance of the square of column 0 with column 1: a nonlinear property. */
static double shape(const double *x)
{
    const double m = mean(x, 0), m1 = mean(x, 1);
    double s = 0, v = 0, w = 0;
    for (int i = 0; i < N; i++) {
        const double q = (x[i * D] - m) * (x[i * D] - m), y = x[i * D + 1] - m1;
        s += q * y / N, v += y * y / N, w += q * q / N;
    }
    return s / sqrt(v * w);
}

Test(surrogate, phase_keeps_all_second_moments_and_loses_the_shape)
{
    double *x = series(), *y = geodec_mem_new(N * D, sizeof *y);
    geodec_err err = {0};
    test_ok(geodec_surrogate_draw(GEODEC_SURROGATE_PHASE, N, D, x, 5, 7, y, &err), &err);
    for (int c = 0; c < D; c++) cr_assert_float_eq(mean(y, c), mean(x, c), 1e-10);
    for (int a = 0; a < D; a++)
        for (int b = 0; b < D; b++)
            for (int lag = 0; lag < 20; lag += 3)
                cr_assert_float_eq(lagged(y, a, b, lag), lagged(x, a, b, lag), 1e-9 * fabs(lagged(x, 1, 1, 0)));
    cr_assert_gt(shape(x), 0.7);
    cr_assert_lt(fabs(shape(y)), 0.4);
    cr_assert_gt(test_max_abs_diff(x, y, N * D), 1);
    geodec_mem_free(x);
    geodec_mem_free(y);
}

Test(surrogate, shuffle_keeps_values_and_loses_dependence)
{
    double *x = series(), *y = geodec_mem_new(N * D, sizeof *y), a[N], b[N];
    geodec_err err = {0};
    test_ok(geodec_surrogate_draw(GEODEC_SURROGATE_SHUFFLE, N, D, x, 5, 7, y, &err), &err);
    for (int c = 0; c < D; c++) {
        for (int i = 0; i < N; i++) a[i] = x[i * D + c], b[i] = y[i * D + c];
        geodec_stats_sort(N, a);
        geodec_stats_sort(N, b);
        cr_assert_eq(memcmp(a, b, sizeof a), 0);
    }
    cr_assert_gt(lagged(x, 0, 2, 0) / sqrt(lagged(x, 0, 0, 0) * lagged(x, 2, 2, 0)), 0.5);
    cr_assert_lt(fabs(lagged(y, 0, 2, 0) / sqrt(lagged(y, 0, 0, 0) * lagged(y, 2, 2, 0))), 0.1);
    cr_assert_lt(fabs(lagged(y, 0, 0, 1) / lagged(y, 0, 0, 0)), 0.1);
    geodec_mem_free(x);
    geodec_mem_free(y);
}

Test(surrogate, gaussian_keeps_mean_and_covariance)
{
    double *x = series(), *y = geodec_mem_new(N * D, sizeof *y);
    geodec_err err = {0};
    test_ok(geodec_surrogate_draw(GEODEC_SURROGATE_GAUSSIAN, N, D, x, 5, 7, y, &err), &err);
    for (int a = 0; a < D; a++)
        for (int b = 0; b <= a; b++) { /* six standard errors of a covariance */
            const double sd = sqrt(2 * lagged(x, a, a, 0) * lagged(x, b, b, 0) / N);
            cr_assert_lt(fabs(lagged(y, a, b, 0) - lagged(x, a, b, 0)), 6 * sd);
        }
    cr_assert_lt(fabs(shape(y)), 0.2);
    geodec_mem_free(x);
    geodec_mem_free(y);
}

Test(surrogate, words_orders_and_refusals)
{
    geodec_surrogate kind;
    geodec_err err = {0};
    double x[4] = {0, 1, 2, NAN}, y[4];
    test_ok(geodec_surrogate_find("phase", &kind, &err), &err);
    cr_assert_eq(kind, GEODEC_SURROGATE_PHASE);
    cr_assert_eq(geodec_surrogate_find("noise", &kind, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_surrogate_for(4, (int32_t[]){0, 0, 0, 1}), GEODEC_SURROGATE_PHASE);
    cr_assert_eq(geodec_surrogate_for(4, (int32_t[]){0, 1, 2, 3}), GEODEC_SURROGATE_SHUFFLE);
    for (int k = 0; k < 3; k++) {
        cr_assert_eq(geodec_surrogate_draw((geodec_surrogate)k, 4, 1, x, 1, 1, y, &err), GEODEC_NUMERIC);
        cr_assert_eq(geodec_surrogate_draw((geodec_surrogate)k, 1, 1, x, 1, 1, y, &err), GEODEC_SCARCE);
    }
    x[3] = 3;
    for (int k = 1; k < 11; k++) {
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_surrogate_draw(GEODEC_SURROGATE_PHASE, 3, 1, x, 1, 1, y, &err);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_NOMEM || st == GEODEC_OK);
        if (k < 4) cr_assert_eq(st, GEODEC_NOMEM);
    }
}
