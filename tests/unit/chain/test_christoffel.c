/* Christoffel symbols at many points: golden values, closed forms, and that the self-tests can fail. */
#include "base/mem.h"
#include "chain/christoffel.h"
#include "chain/metric.h"
#include "io/file.h"
#include "io/h5.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* The golden reference settings: k = 8, scatter about the point, ridge 1e-3, eigenvalues in [1e-3, 1e3], sigma 0.6. */
static geodec_rbf *golden_field(const char *path, double **points, int64_t *m, int64_t *n)
{
    int64_t shape[8];
    double *x = test_h5(path, "cloud/points", shape, NULL);
    geodec_metric_options o = geodec_metric_defaults();
    o.k = 8;
    o.force_k = true;
    o.centre = GEODEC_CENTRE_POINT;
    o.shrink = 0;
    o.ridge = 1e-3;
    o.clip_min = 1e-3;
    o.clip_max = 1e3;
    o.sigma = 0.6;
    geodec_metric f;
    geodec_rbf *field = NULL;
    *m = shape[0];
    *n = shape[1];
    test_ok(geodec_metric_fit(*m, *n, x, &o, NULL, NULL, &f, NULL), NULL);
    test_ok(geodec_metric_field(&f, &field, NULL), NULL);
    geodec_metric_clear(&f);
    *points = x;
    return field;
}

static void golden(const char *path)
{
    int64_t m, n;
    double *x;
    geodec_rbf *f = golden_field(path, &x, &m, &n);
    const int64_t total = m * n * n * n;
    double *exact = test_h5(path, "gamma/analytic", NULL, NULL), *fd = test_h5(path, "gamma/ref_fd", NULL, NULL);
    geodec_christoffel c;
    geodec_err err = {0};
    geodec_christoffel_options o = geodec_christoffel_defaults();
    o.step = test_h5_attr(path, "/", "gamma_h");
    o.control = 1000; /* all */
    test_ok(geodec_christoffel_compute(geodec_rbf_space(f), m, x, &o, NULL, NULL, &c, &err), &err);
    goldens_compare(path, "/gamma/analytic", total, c.gamma, 1e-9);
    cr_assert_lt(c.worst_residual, 1e-10);
    cr_assert_eq(test_max_abs(c.asymmetry, m), 0);
    cr_assert_eq(c.control, m);
    /* The gap of the two derivatives is the one the golden files have; 1e-8: rounding of the metric (1e-16 of its
     * entries, up to 1e4) over the step. In a field that is constant to rounding (gemma-4-e2b_n8) all is rounding. */
    const double want_gap = test_max_abs_diff(exact, fd, total);
    cr_assert(fabs(c.worst_gap - want_gap) < 1e-4 * want_gap + 1e-8 &&
                  want_gap < 1e-3 * test_max_abs(exact, total) + 1e-8,
              "%g %g", c.worst_gap, want_gap);
    geodec_christoffel_clear(&c);
    o.deriv = GEODEC_DERIV_FD;
    test_ok(geodec_christoffel_compute(geodec_rbf_space(f), m, x, &o, NULL, NULL, &c, &err), &err);
    goldens_compare(path, "/gamma/ref_fd", total, c.gamma, 1e-7);
    cr_assert(fabs(c.worst_gap - want_gap) < 1e-4 * want_gap + 1e-8);
    geodec_christoffel_clear(&c);
    o.deriv = GEODEC_DERIV_ANALYTIC; /* halving the step divides the gap by four */
    o.step /= 2;
    test_ok(geodec_christoffel_compute(geodec_rbf_space(f), m, x, &o, NULL, NULL, &c, &err), &err);
    cr_assert(want_gap < 1e-6 || fabs(want_gap / c.worst_gap - 4) < 0.05, "%g", want_gap / c.worst_gap);
    geodec_christoffel_clear(&c);
    geodec_rbf_destroy(f);
    geodec_mem_free(x);
    geodec_mem_free(exact);
    geodec_mem_free(fd);
}

Test(geometry, golden_christoffel) { goldens_each(golden); }

/* One dimension: Gamma = g' / 2g = L'(x) / 2, and with two sites L' has a closed form: a logistic step. */
Test(geometry, christoffel_symbol_of_a_step_between_two_sites)
{
    const double site[2] = {-1, 1}, log_g[2] = {0.3, 2.1}, sigma = 0.8;
    geodec_rbf *f = NULL;
    test_ok(geodec_rbf_create(2, 1, site, log_g, sigma, &f, NULL), NULL);
    double x[9];
    for (int i = 0; i < 9; i++) x[i] = -2 + 0.5 * i;
    geodec_christoffel c;
    const geodec_christoffel_options o = geodec_christoffel_defaults();
    test_ok(geodec_christoffel_compute(geodec_rbf_space(f), 9, x, &o, NULL, NULL, &c, NULL), NULL);
    for (int i = 0; i < 9; i++) {
        const double t = tanh(x[i] / (sigma * sigma)); /* L = 1.2 + 0.9 tanh(x / sigma^2) */
        cr_assert_lt(fabs(c.gamma[i] - 0.45 * (1 - t * t) / (sigma * sigma)), 1e-14);
    }
    cr_assert_lt(c.worst_gap, 1e-5);
    geodec_christoffel_clear(&c);
    geodec_rbf_destroy(f);
}

Test(geometry, compatibility_residual_sees_a_wrong_symbol)
{
    /* g = diag(1, x^2) at x = 2 (polar plane): Gamma^r_tt = -r, Gamma^t_rt = 1/r */
    const double g[4] = {1, 0, 0, 4}, dg[8] = {0, 0, 0, 4, 0, 0, 0, 0};
    double gamma[8] = {0, 0, 0, 0.5, 0, 0.5, -2, 0};
    cr_assert_lt(geodec_christoffel_residual(2, g, dg, gamma), 1e-15);
    double own[8];
    test_ok(geodec_space_christoffel(2, g, dg, own, NULL), NULL);
    cr_assert_lt(test_max_abs_diff(gamma, own, 8), 1e-15);
    gamma[6] += 1e-3;
    cr_assert_gt(geodec_christoffel_residual(2, g, dg, gamma), 9e-4);
    const double bad[4] = {1, 2, 2, 1};
    cr_assert_eq(geodec_space_christoffel(2, bad, dg, own, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_space_christoffel(65, g, dg, own, NULL), GEODEC_RANGE);
}

Test(geometry, christoffel_file_is_the_same_with_three_threads)
{
    geodec_io_init();
    enum { M = 40, N = 3 };
    double site[M * N], log_g[M * 6], x[M * N];
    char hex[2][GEODEC_SHA256_HEX];
    for (int i = 0; i < M * N; i++) site[i] = sin(3.7 * i), x[i] = 0.5 * cos(i);
    for (int i = 0; i < M * 6; i++) log_g[i] = cos(1.3 * i);
    geodec_rbf *f = NULL;
    geodec_pool *pool = NULL;
    geodec_err err = {0};
    test_ok(geodec_rbf_create(M, N, site, log_g, 0.5, &f, &err), &err);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    const geodec_christoffel_options o = geodec_christoffel_defaults();
    for (int t = 0; t < 2; t++) {
        const geodec_provenance p = {
            .tool = "test", .command_line = "", .model_fingerprint = "", .tokenizer_fingerprint = ""};
        const char *path = test_tmp(t ? "c3.h5" : "c1.h5");
        geodec_christoffel c;
        geodec_artifact *a = NULL;
        test_ok(geodec_christoffel_compute(geodec_rbf_space(f), M, x, &o, t ? pool : NULL, NULL, &c, &err), &err);
        test_ok(geodec_artifact_create(&geodec_christoffel_kind, path, &p, &a, &err), &err);
        test_ok(geodec_christoffel_write(&c, x, "samples", 0.5, a, &err), &err);
        test_ok(geodec_artifact_commit(a, &err), &err);
        test_ok(geodec_file_sha256(path, hex[t], &err), &err);
        test_ok(geodec_artifact_open(&geodec_christoffel_kind, path, &a, &err), &err);
        double *gamma = NULL;
        test_ok(geodec_artifact_read(a, "/gamma", &gamma, &err), &err);
        cr_assert_arr_eq(gamma, c.gamma, sizeof(double) * M * N * N * N);
        geodec_mem_free(gamma);
        geodec_artifact_close(a);
        geodec_christoffel_clear(&c);
    }
    cr_assert_str_eq(hex[0], hex[1]);
    geodec_pool_destroy(pool);
    geodec_rbf_destroy(f);
}
