#include "base/mem.h"
#include "base/rng.h"
#include "chain/coverage.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(coverage, golden_closed_form)
{
    const char *file = test_shared("golden/ott/smollm2-135m_n8.h5");
    double *want = test_h5(file, "/coverage/hypergeometric", NULL, NULL),
           *cached = test_h5(file, "/coverage/cache_size", NULL, NULL);
    for (int s = 0; s < 4; s++)
        cr_assert_float_eq(geodec_coverage_closed_form(64, 8, (int64_t)cached[s]), want[s], 1e-12);
    geodec_mem_free(want);
    geodec_mem_free(cached);
}

Test(coverage, closed_form_by_counting)
{
    /* 5 others, 2 of them neighbours, 2 cached: 1 - C(3,2) / C(5,2) = 0.7 */
    cr_assert_float_eq(geodec_coverage_closed_form(6, 2, 2), 0.7, 1e-15);
    cr_assert_eq(geodec_coverage_closed_form(6, 2, 4), 1);
    cr_assert_eq(geodec_coverage_closed_form(6, 2, 0), 0);
    cr_assert_eq(geodec_coverage_closed_form(100, 0, 50), 0);
}

static double *gaussian_cloud(int64_t count, int64_t n, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("cloud", 0));
    double *x = geodec_mem_new(count * n, sizeof *x);
    for (int64_t i = 0; i < count * n; i++) x[i] = geodec_rng_normal(&r) * (double)(1 + n - i % n);
    return x;
}

static geodec_coverage_options small(void)
{
    geodec_coverage_options o = geodec_coverage_defaults();
    o.repeats = 6;
    o.queries = 60;
    o.nulls = 4;
    o.null_repeats = 2;
    return o;
}

/* The leaky design with the reference's metric (k = n = 8 neighbours about the point, no shrinkage) hits at eps just
 * above sqrt(k - 1) with the probability of the closed form, on points that are pure noise. */
Test(coverage, leaky_design_repeats_the_closed_form)
{
    double *x = gaussian_cloud(64, 8, 3);
    geodec_coverage c;
    geodec_err err = {0};
    geodec_coverage_options o = small();
    o.n_shares = 3;
    memcpy(o.share, (double[]){0.25, 0.5, 0.75}, 3 * sizeof(double));
    o.n_eps = 2;
    memcpy(o.eps, (double[]){2, 3}, 2 * sizeof(double));
    o.repeats = 40;
    o.nulls = 0;
    o.metric.k = 8;
    o.metric.force_k = true;
    o.metric.centre = GEODEC_CENTRE_POINT;
    o.metric.shrink = 0;
    o.metric.ridge = 1e-3;
    o.metric.clip_min = 1e-3;
    o.metric.clip_max = 1e3;
    test_ok(geodec_coverage_compute(64, 8, x, &o, NULL, NULL, &c, &err), &err);
    cr_assert_float_eq(c.closed_form[0], 0.919, 5e-4);
    for (int64_t s = 0; s < 3; s++) {
        cr_assert_float_eq(c.leaky[2 * s + 1], c.closed_form[s], 0.03, "%g against %g", c.leaky[2 * s + 1],
                           c.closed_form[s]);
        cr_assert_lt(c.leaky[2 * s], 0.1); /* below the shell: nearly nothing */
    }
    geodec_coverage_clear(&c);
    geodec_mem_free(x);
}

/* On a Gaussian cloud the measured figures are samples of the null; hits grow with eps. */
Test(coverage, a_gaussian_cloud_is_its_own_null)
{
    double *x = gaussian_cloud(240, 3, 5);
    geodec_coverage c;
    geodec_err err = {0};
    geodec_coverage_options o = small();
    o.n_sizes = 2;
    o.size[0] = 160;
    o.size[1] = 240;
    o.nulls = 10;
    test_ok(geodec_coverage_compute(240, 3, x, &o, NULL, NULL, &c, &err), &err);
    cr_assert_eq(c.k, 15); /* 10 % of 160 points: 16 cached, so 15 neighbours */
    const int64_t total = c.sizes * c.shares * c.n_eps;
    int64_t far = 0;
    for (int64_t i = 0; i < total; i++) {
        far += fabs(c.z[i]) > 4;
        cr_assert(c.hit_p10[i] <= c.hit[i] + 1e-12 && c.hit[i] <= c.hit_p90[i] + 1e-12 + 0.2);
        cr_assert(c.hit[i] >= 0 && c.hit[i] <= 1);
        if (i % c.n_eps) cr_assert_geq(c.hit[i], c.hit[i - 1]);
    }
    cr_assert_leq(far, total / 10);
    for (int64_t i = 0; i < c.sizes * c.shares; i++) {
        cr_assert(c.recall[i] > 0.5 && c.recall[i] <= 1);
        cr_assert(fabs(c.distance[i] / c.null_distance[i] - 1) < 0.3);
    }
    geodec_coverage_clear(&c);
    geodec_mem_free(x);
}

Test(coverage, clustered_points_differ_from_the_null)
{
    geodec_rng r = geodec_rng_stream(7, geodec_rng_id("clusters", 0));
    double *x = geodec_mem_new(300 * 2, sizeof *x);
    for (int i = 0; i < 300; i++) { /* thin ring */
        const double a = 2 * 3.14159265358979 * geodec_rng_uniform(&r);
        x[2 * i] = 10 * cos(a) + 0.01 * geodec_rng_normal(&r);
        x[2 * i + 1] = 10 * sin(a) + 0.01 * geodec_rng_normal(&r);
    }
    geodec_coverage c;
    geodec_err err = {0};
    const geodec_coverage_options o = small();
    test_ok(geodec_coverage_compute(300, 2, x, &o, NULL, NULL, &c, &err), &err);
    double top = 0;
    for (int64_t i = 0; i < c.shares * c.n_eps; i++) top = fmax(top, fabs(c.z[i]));
    cr_assert_gt(top, 5);
    geodec_coverage_clear(&c);
    geodec_mem_free(x);
}

/* In two independent coordinates of unit variance, and a metric of all neighbours, two measurements of a state are at
 * sqrt(2) noise times the length of two normal numbers: on average sqrt(pi) noise, and within eps with the probability
 * 1 - exp(-eps^2 / (4 noise^2)). */
Test(coverage, twins_are_as_far_apart_as_the_noise)
{
    const int64_t count = 800;
    const double noise = 0.2;
    geodec_rng r = geodec_rng_stream(5, geodec_rng_id("cloud", 0));
    double *x = geodec_mem_new(count * 2, sizeof *x);
    geodec_coverage c;
    geodec_err err = {0};
    geodec_coverage_options o = small();
    for (int64_t i = 0; i < 2 * count; i++) x[i] = geodec_rng_normal(&r);
    o.n_shares = 1;
    o.share[0] = 0.5;
    o.n_eps = 3;
    memcpy(o.eps, (double[]){0.1, 0.3, 0.8}, 3 * sizeof(double));
    o.queries = 400;
    o.metric.k = 399;
    for (int twice = 0; twice < 3; twice++) {
        o.noise = twice * noise;
        test_ok(geodec_coverage_compute(count, 2, x, &o, NULL, NULL, &c, &err), &err);
        cr_expect_eq(c.noise, o.noise);
        cr_expect_float_eq(c.twin_distance[0], sqrt(M_PI) * o.noise, 0.08 * o.noise, "%g", c.twin_distance[0]);
        for (int e = 0; e < 3; e++) {
            const double want = twice ? 1 - exp(-o.eps[e] * o.eps[e] / (4 * o.noise * o.noise)) : 1;
            cr_expect_float_eq(c.twin[e], want, twice ? 0.04 : 0, "eps %g: %g, %g", o.eps[e], c.twin[e], want);
        }
        geodec_coverage_clear(&c);
    }
    o.noise = -1;
    cr_expect_eq(geodec_coverage_compute(count, 2, x, &o, NULL, NULL, &c, &err), GEODEC_RANGE);
    geodec_mem_free(x);
}

Test(coverage, refusals)
{
    double *x = gaussian_cloud(64, 8, 1);
    geodec_coverage c;
    geodec_coverage_options o = small();
    cr_assert_eq(geodec_coverage_compute(64, 8, x, &o, NULL, NULL, &c, NULL), GEODEC_SCARCE); /* 6 cached, n = 8 */
    o.share[0] = 0;
    cr_assert_eq(geodec_coverage_compute(64, 2, x, &o, NULL, NULL, &c, NULL), GEODEC_RANGE);
    o = small();
    o.eps[2] = o.eps[1];
    cr_assert_eq(geodec_coverage_compute(64, 2, x, &o, NULL, NULL, &c, NULL), GEODEC_RANGE);
    o = small();
    o.n_sizes = 1;
    o.size[0] = 65;
    cr_assert_eq(geodec_coverage_compute(64, 2, x, &o, NULL, NULL, &c, NULL), GEODEC_RANGE);
    geodec_mem_free(x);
}

Test(coverage, one_and_three_threads_agree_bit_for_bit)
{
    double *x = gaussian_cloud(120, 3, 2);
    geodec_coverage c[2];
    geodec_err err = {0};
    geodec_pool *pool;
    geodec_coverage_options o = small();
    o.nulls = 2;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    o.n_shares = 2;
    memcpy(o.share, (double[]){0.25, 0.75}, 2 * sizeof(double));
    for (int t = 0; t < 2; t++)
        test_ok(geodec_coverage_compute(120, 3, x, &o, t ? pool : NULL, NULL, &c[t], &err), &err);
    geodec_pool_destroy(pool);
    const size_t bytes = (size_t)(c[0].shares * c[0].n_eps) * sizeof(double);
    cr_assert_eq(memcmp(c[0].hit, c[1].hit, bytes), 0);
    cr_assert_eq(memcmp(c[0].z, c[1].z, bytes), 0);
    cr_assert_eq(memcmp(c[0].distance, c[1].distance, (size_t)c[0].shares * sizeof(double)), 0);
    geodec_coverage_clear(&c[0]);
    geodec_coverage_clear(&c[1]);
    geodec_mem_free(x);
}

/* Whichever allocation fails, the call returns an error; the sanitizer build looks for leaks. */
Test(coverage, every_failing_allocation_is_reported)
{
    double *x = gaussian_cloud(60, 2, 2);
    geodec_coverage_options o = small();
    o.repeats = o.nulls = o.null_repeats = 1;
    o.queries = 2;
    o.n_shares = 1;
    o.share[0] = 0.5;
    int64_t k = 1;
    for (bool done = false; !done; k += 1 + k / 24) {
        geodec_coverage c = {0};
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_coverage_compute(60, 2, x, &o, NULL, NULL, &c, NULL);
        geodec_mem_fail_after(0);
        done = st == GEODEC_OK;
        if (!done) cr_assert_eq(st, GEODEC_NOMEM, "allocation %d: %s", (int)k, geodec_status_name(st));
        geodec_coverage_clear(&c);
    }
    cr_assert_gt(k, 50);
    geodec_mem_free(x);
}
