#include "base/mem.h"
#include "base/rng.h"
#include "linalg/stats.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

Test(linalg, percentiles_interpolate)
{
    double x[5] = {4, 1, NAN, 3, 2};
    geodec_stats_sort(5, x);
    cr_assert(x[0] == 1 && x[3] == 4 && isnan(x[4]));
    cr_assert_eq(geodec_stats_percentile(4, x, 0), 1);
    cr_assert_eq(geodec_stats_percentile(4, x, 1), 4);
    cr_assert_lt(fabs(geodec_stats_percentile(4, x, 0.9) - 3.7), 1e-15);
    cr_assert_eq(geodec_stats_percentile(1, x, 0.3), 1);
    double m;
    test_ok(geodec_stats_median(4, x, &m, NULL), NULL);
    cr_assert_eq(m, 2.5);
    cr_assert_lt(fabs(geodec_stats_variance(4, x) - 5.0 / 3), 1e-15);
    cr_assert_eq(geodec_stats_median(0, x, &m, NULL), GEODEC_RANGE);
}

/* Values from numpy's normal equations. */
Test(linalg, weighted_line_fit)
{
    const double x[] = {0, 1, 2, 4, 7, 99}, y[] = {1, 2.5, 2.7, 6, 9.2, NAN}, w[] = {1, 2, 1, 0.5, 3, 0};
    geodec_stats_line l;
    test_ok(geodec_stats_fit_line(6, x, y, w, &l, NULL), NULL);
    cr_assert_lt(fabs(l.slope - 1.161755485893417), 1e-14);
    cr_assert_lt(fabs(l.intercept - 1.0576802507837006), 1e-14);
    cr_assert_lt(fabs(l.slope_se - 0.05910705205659465), 1e-14);
    cr_assert_lt(fabs(l.intercept_se - 0.27385558726067755), 1e-14);
    cr_assert_lt(fabs(l.r2 - 0.992294321307475), 1e-14);
    cr_assert_eq(l.n, 5);
    const double same[] = {2, 2, 2};
    cr_assert_eq(geodec_stats_fit_line(3, same, y, NULL, &l, NULL), GEODEC_SINGULAR);
    cr_assert_eq(geodec_stats_fit_line(6, x, y, NULL, &l, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_stats_fit_line(1, x, y, NULL, &l, NULL), GEODEC_RANGE);
}

/* Against the definition summed out in numpy, and its limits: 0 < a -> 0 as samples grow, 1 on a sphere. */
Test(linalg, ledoit_wolf_intensity)
{
    double x[9 * 4], mean[4] = {0}, scratch[16];
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 4; j++) {
            x[i * 4 + j] = (double)((i * 7 + j * j * 3 + i * j) % 11 - 5) * (4 - j);
            mean[j] += x[i * 4 + j] / 9;
        }
    for (int i = 0; i < 36; i++) x[i] -= mean[i % 4];
    cr_assert_lt(fabs(geodec_stats_ledoit_wolf(9, 4, x, scratch) - 0.5578533820841424), 1e-13);

    enum { M = 4000 };
    double *y = geodec_mem_new(M * 4, 8), last = 1;
    geodec_rng r = geodec_rng_stream(1, 2);
    for (int i = 0; i < M * 4; i++) y[i] = geodec_rng_normal(&r) * (1 + i % 4);
    for (int m = 40; m <= M; m *= 10) {
        const double a = geodec_stats_ledoit_wolf(m, 4, y, scratch);
        cr_assert(a > 0 && a < 0.5 * last, "%d %g", m, a);
        last = a;
    }
    const double cross[8] = {1, 0, 0, 1, -1, 0, 0, -1}; /* S is a multiple of I */
    cr_assert_eq(geodec_stats_ledoit_wolf(4, 2, cross, scratch), 1);
    geodec_mem_free(y);
}

Test(linalg, resampling_is_a_function_of_the_replicate)
{
    enum { N = 1000 };
    int64_t a[N], b[N], seen = 0;
    static int count[N];
    geodec_stats_resample(1, 2, 3, N, a);
    geodec_stats_resample(1, 2, 4, N, b);
    int equal = 0;
    for (int i = 0; i < N; i++) {
        cr_assert(a[i] >= 0 && a[i] < N);
        seen += !count[a[i]]++;
        equal += a[i] == b[i];
    }
    cr_assert(seen > 600 && seen < 664, "%d", (int)seen); /* 1 - 1/e = 632 +- 10 */
    cr_assert_lt(equal, 10);
    geodec_stats_resample(1, 2, 3, N, b);
    cr_assert_arr_eq(a, b, sizeof a);
}

Test(linalg, ratio_with_its_interval)
{
    enum { N = 400 };
    geodec_err err = {0};
    geodec_estimate e;
    double x[N], w[N];
    geodec_rng r = geodec_rng_stream(5, 6);
    for (int i = 0; i < N; i++) {
        x[i] = 3 + geodec_rng_normal(&r);
        w[i] = 2;
    }
    test_ok(geodec_stats_ratio(N, x, NULL, 2000, 1, 2, &e, &err), &err);
    const double mean = geodec_stats_mean(N, x), se = sqrt(geodec_stats_variance(N, x) / N);
    cr_assert_float_eq(e.value, mean, 1e-12);
    cr_assert_float_eq((e.high - e.low) / (2 * 1.96 * se), 1, 0.08); /* of a mean, the normal interval */
    cr_assert(e.low < mean && mean < e.high);
    geodec_estimate half;
    test_ok(geodec_stats_ratio(N, x, w, 2000, 1, 2, &half, &err), &err);
    cr_assert_float_eq(half.low, e.low / 2, 1e-12);
    test_ok(geodec_stats_ratio(N, x, NULL, 0, 1, 2, &e, &err), &err);
    cr_assert(e.low == e.value && e.high == e.value);
    test_ok(geodec_stats_ratio(0, x, NULL, 10, 1, 2, &e, &err), &err);
    cr_assert(isnan(e.value));
    x[3] = NAN;
    cr_assert_eq(geodec_stats_ratio(N, x, NULL, 10, 1, 2, &e, &err), GEODEC_NUMERIC);
}

/* Ties by hand: ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4: 4.5 / sqrt(4.5 5). */
/* The ends are the 40th and the 60th of 100 values: 50 +- 0.98 * 10, the lower one rounded down. */
Test(stats, interval_of_a_median)
{
    double x[100];
    for (int i = 0; i < 100; i++) x[i] = i;
    geodec_estimate m = geodec_stats_median_interval(100, x);
    cr_expect(m.value == 49.5 && m.low == 39 && m.high == 59, "%g %g %g", m.value, m.low, m.high);
    m = geodec_stats_median_interval(2, x);
    cr_expect(m.value == 0.5 && m.low == 0 && m.high == 1);
    cr_expect_eq(geodec_stats_argmax(4, (double[]){1, 3, 3, 2}), 1);
}

Test(stats, rank_correlation)
{
    geodec_err err = {0};
    const double a[] = {-1, 5, 5, 100}, b[] = {0.1, 0.3, 0.2, 0.4}, down[] = {3, 2, 1, -7}, same[] = {2, 2, 2, 2};
    double rho;
    test_ok(geodec_stats_rank_correlation(4, a, b, &rho, &err), &err);
    cr_assert_float_eq(rho, 4.5 / sqrt(4.5 * 5), 1e-15);
    test_ok(geodec_stats_rank_correlation(4, b, b, &rho, &err), &err);
    cr_assert_float_eq(rho, 1, 1e-15);
    test_ok(geodec_stats_rank_correlation(3, (double[]){1, 2, 3}, down, &rho, &err), &err);
    cr_assert_float_eq(rho, -1, 1e-15);
    cr_assert_eq(geodec_stats_rank_correlation(4, a, same, &rho, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_stats_rank_correlation(1, a, b, &rho, NULL), GEODEC_RANGE);
}
