/* The published coverage against the goldens, split by split. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/published/coverage.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t *whole(const char *path, const char *dataset, int64_t shape[8])
{
    int ndim;
    int64_t total = 1;
    double *x = test_h5(path, dataset, shape, &ndim);
    for (int i = 0; i < ndim; i++) total *= shape[i];
    int64_t *v = geodec_mem_new(total, sizeof *v);
    for (int64_t i = 0; i < total; i++) v[i] = (int64_t)x[i];
    geodec_mem_free(x);
    return v;
}

static void coverage(const char *path)
{
    static const char *const names[] = {"raw", "smooth1", "smooth2"};
    geodec_err err = {0};
    int64_t shape[8];
    char name[64];
    double *point = test_h5(path, "/cloud/points", shape, NULL);
    geodec_coverage_published_splits s = {.points = shape[0], .n = shape[1], .point = point};
    int64_t *permutation = whole(path, "/coverage/permutations", shape);
    s.permutation = permutation;
    s.shares = shape[0], s.repeats = shape[1];
    int64_t *cached = whole(path, "/coverage/cache_size", shape);
    s.cached = cached;
    double *eps = test_h5(path, "/coverage/eps", shape, NULL);
    s.eps = eps, s.n_eps = shape[0];
    const geodec_harness_options o = geodec_harness_defaults();
    geodec_coverage_published c;
    test_ok(geodec_coverage_published_compute(&s, &o, 0, 1, NULL, NULL, &c, &err), &err);
    for (int v = 0; v < GEODEC_PUBLISHED_VARIANTS; v++) {
        (void)snprintf(name, sizeof name, "/coverage/hit_%s", names[v]);
        goldens_compare(path, name, c.shares * c.n_eps, c.hit[v], 1e-12);
        (void)snprintf(name, sizeof name, "/coverage/mean_gdist_%s", names[v]);
        goldens_compare(path, name, c.shares, c.distance[v], 1e-8);
    }
    goldens_compare(path, "/coverage/hypergeometric", c.shares, c.closed_form, 1e-12);
    geodec_coverage_published_clear(&c);
    geodec_mem_free(point);
    geodec_mem_free(permutation);
    geodec_mem_free(cached);
    geodec_mem_free(eps);
}
Test(published_coverage, goldens) { goldens_each(coverage); }

/* On normal noise the published count repeats the closed form above sqrt(k - 1) and finds nothing well below, as
 * does the null. */
Test(published_coverage, noise_gives_the_closed_form)
{
    enum { N = 64, D = 8, R = 16 };
    double point[N * D], eps[2] = {1.5, 3};
    int64_t permutation[R * N], cached[1] = {16};
    geodec_rng r = geodec_rng_stream(11, geodec_rng_id("noise", 0));
    geodec_err err = {0};
    for (int i = 0; i < N * D; i++) point[i] = 3 * geodec_rng_normal(&r);
    for (int64_t s = 0; s < R; s++) {
        for (int64_t i = 0; i < N; i++) {
            const int64_t j = (int64_t)geodec_rng_below(&r, (uint64_t)i + 1);
            permutation[s * N + i] = permutation[s * N + j];
            permutation[s * N + j] = i;
        }
    }
    const geodec_coverage_published_splits s = {N, D, point, 1, R, cached, permutation, 2, eps};
    const geodec_harness_options o = geodec_harness_defaults();
    geodec_coverage_published c;
    test_ok(geodec_coverage_published_compute(&s, &o, 8, 1, NULL, NULL, &c, &err), &err);
    cr_assert_float_eq(c.closed_form[0], 0.919, 5e-4);
    for (int v = 0; v < GEODEC_PUBLISHED_VARIANTS; v++) {
        cr_assert_float_eq(c.hit[v][1], c.closed_form[0], 0.04);
        cr_assert_lt(c.hit[v][0], 0.02);
        cr_assert(c.p10[v][1] <= c.hit[v][1] && c.hit[v][1] <= c.p90[v][1]);
    }
    cr_assert_float_eq(c.null_mean[1], c.closed_form[0], 0.04);
    cr_assert_lt(fabs(c.z[1]), 4);
    geodec_coverage_published_clear(&c);

    permutation[3] = permutation[4];
    cr_assert_eq(geodec_coverage_published_compute(&s, &o, 0, 1, NULL, NULL, &c, &err), GEODEC_RANGE);
    permutation[3] = N;
    cr_assert_eq(geodec_coverage_published_compute(&s, &o, 0, 1, NULL, NULL, &c, &err), GEODEC_RANGE);
    cached[0] = N;
    cr_assert_eq(geodec_coverage_published_compute(&s, &o, 0, 1, NULL, NULL, &c, &err), GEODEC_RANGE);
}
