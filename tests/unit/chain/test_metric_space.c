/* Metrics of every kind: written, read back, and opened as their space. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "chain/metric_space.h"
#include "geometry/curvature.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static void test_fill(uint64_t seed, int64_t n, double *x)
{
    geodec_rng r = geodec_rng_stream(seed, 0);
    for (int64_t i = 0; i < n; i++) x[i] = geodec_rng_normal(&r);
}

/* The metric of a test space, through a file. */
static geodec_metric through_file(geodec_metric_type kind, int64_t n, double curvature)
{
    geodec_err err = {0};
    geodec_metric m, back;
    geodec_artifact *a;
    const geodec_metric_options o = geodec_metric_defaults();
    const geodec_provenance p = {.tool = "test"};
    const char *path = test_tmp("space.h5");
    test_ok(geodec_metric_test_space(kind, 40, n, curvature, 7, &o, NULL, NULL, &m, &err), &err);
    test_ok(geodec_artifact_create(&geodec_metric_kind, path, &p, &a, &err), &err);
    test_ok(geodec_metric_write(&m, NULL, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_metric_kind, path, &a, &err), &err);
    test_ok(geodec_metric_read(a, &back, &err), &err);
    geodec_artifact_close(a);
    cr_assert_eq(back.kind, kind);
    cr_assert_eq(back.curvature, m.curvature);
    cr_assert_arr_eq(back.point, m.point, (size_t)(40 * n) * sizeof *m.point);
    geodec_metric_clear(&m);
    return back;
}

Test(metric_space, curvature_of_every_test_space)
{
    static const struct {
        geodec_metric_type kind;
        int64_t n;
        double given, want; /* scalar curvature over n (n - 1) */
    } list[] = {
        {GEODEC_METRIC_SPHERE, 3, 0, 1},
        {GEODEC_METRIC_SPHERE, 5, 4, 4},
        {GEODEC_METRIC_HYPERBOLIC, 3, 0, -1},
        {GEODEC_METRIC_HYPERBOLIC, 6, -0.25, -0.25},
        {GEODEC_METRIC_FLAT, 5, 0, 0},
        {GEODEC_METRIC_POLAR, 2, 0, 0},
        {GEODEC_METRIC_GAUSSIAN_FISHER, 2, 0, -0.5},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        geodec_err err = {0};
        geodec_metric m = through_file(list[i].kind, list[i].n, list[i].given);
        geodec_metric_space s;
        test_ok(geodec_metric_space_init(&m, &s, &err), &err);
        cr_assert_null(s.field);
        for (int64_t p = 0; p < m.points; p++) {
            geodec_curvature_invariants inv;
            test_ok(geodec_curvature_at(s.space, m.point + p * m.n, NULL, NULL, &inv, &err), &err);
            const double pairs = (double)(m.n * (m.n - 1));
            cr_assert_float_eq(inv.scalar / pairs, list[i].want, 1e-12 * (1 + fabs(list[i].want)), "%s at %d: %g",
                               geodec_metric_type_name(m.kind), (int)p, inv.scalar / pairs);
        }
        geodec_metric_space_clear(&s);
        geodec_metric_clear(&m);
    }
}

Test(metric_space, matrices_come_back_and_make_a_field)
{
    enum { N = 30, D = 3 };
    geodec_err err = {0};
    geodec_metric m;
    geodec_metric_space s;
    double x[N * D], g[N * D * D], at[D * D];
    geodec_metric_options o = geodec_metric_defaults();
    test_fill(3, N * D, x);
    for (int64_t p = 0; p < N; p++)
        for (int64_t i = 0; i < D; i++)
            for (int64_t j = 0; j < D; j++)
                g[(p * D + i) * D + j] = (i == j) + 0.3 * x[p * D + i] * x[p * D + j] + (i == j ? 0.1 * (double)p : 0);
    o.sigma_nn = 1e-3; /* so narrow that the field is its own matrix at each site */
    test_ok(geodec_metric_from_matrices(GEODEC_METRIC_FISHER, N, D, x, g, &o, NULL, NULL, &m, &err), &err);
    cr_assert_eq(m.k, 16);
    test_ok(geodec_metric_space_init(&m, &s, &err), &err);
    cr_assert_not_null(s.field);
    for (int64_t p = 0; p < N; p++) {
        test_ok(s.space->at(s.space, x + p * D, at, NULL, NULL, &err), &err);
        cr_assert_leq(test_max_abs_diff(at, g + p * D * D, D * D), 1e-13 * geodec__largest(D * D, at));
    }
    geodec_metric_space_clear(&s);
    geodec_metric_clear(&m);
    g[1] += 0.1; /* no longer symmetric */
    cr_assert_eq(geodec_metric_from_matrices(GEODEC_METRIC_FISHER, N, D, x, g, &o, NULL, NULL, &m, NULL),
                 GEODEC_NUMERIC);
    g[1] = g[3] = 100; /* no longer definite */
    cr_assert_eq(geodec_metric_from_matrices(GEODEC_METRIC_FISHER, N, D, x, g, &o, NULL, NULL, &m, NULL),
                 GEODEC_NUMERIC);
}

Test(metric_space, constant_metric_is_flat_and_exact)
{
    enum { N = 20, D = 2 };
    geodec_err err = {0};
    geodec_metric m;
    geodec_metric_space s;
    double x[N * D], g[N * D * D], at[4], dg[8], gamma[8];
    const double want[4] = {2, 0.5, 0.5, 1};
    const geodec_metric_options o = geodec_metric_defaults();
    test_fill(5, N * D, x);
    for (int64_t p = 0; p < N; p++) memcpy(g + p * 4, want, sizeof want);
    test_ok(geodec_metric_from_matrices(GEODEC_METRIC_EUCLIDEAN, N, D, x, g, &o, NULL, NULL, &m, &err), &err);
    test_ok(geodec_metric_space_init(&m, &s, &err), &err);
    test_ok(s.space->at(s.space, (double[]){9, -7}, at, dg, gamma, &err), &err);
    cr_assert_leq(test_max_abs_diff(at, want, 4), 1e-14);
    cr_assert_eq(geodec__largest(8, dg), 0);
    cr_assert_eq(geodec__largest(8, gamma), 0);
    geodec_metric_space_clear(&s);
    m.log_g[3] += 1e-6; /* another matrix at point 1 */
    cr_assert_eq(geodec_metric_space_init(&m, &s, NULL), GEODEC_FORMAT);
    geodec_metric_clear(&m);
}

Test(metric_space, what_a_file_claims_is_checked)
{
    geodec_metric m = through_file(GEODEC_METRIC_SPHERE, 2, 1);
    geodec_metric_space s;
    m.curvature = 2; /* not the sphere of its matrices */
    cr_assert_eq(geodec_metric_space_init(&m, &s, NULL), GEODEC_FORMAT);
    m.curvature = -1;
    cr_assert_eq(geodec_metric_space_init(&m, &s, NULL), GEODEC_RANGE);
    m.kind = GEODEC_METRIC_POLAR;
    cr_assert_neq(geodec_metric_space_init(&m, &s, NULL), GEODEC_OK);
    m.kind = GEODEC_METRIC_PUBLISHED;
    cr_assert_eq(geodec_metric_space_init(&m, &s, NULL), GEODEC_UNSUPPORTED);
    geodec_metric_clear(&m);
    const geodec_metric_options o = geodec_metric_defaults();
    cr_assert_eq(geodec_metric_test_space(GEODEC_METRIC_POLAR, 9, 3, 0, 1, &o, NULL, NULL, &m, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_metric_test_space(GEODEC_METRIC_FISHER, 9, 3, 0, 1, &o, NULL, NULL, &m, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_metric_test_space(GEODEC_METRIC_SPHERE, 9, 3, -1, 1, &o, NULL, NULL, &m, NULL), GEODEC_RANGE);
}
