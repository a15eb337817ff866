/* The log-Euclidean field: golden values, plain reference, differences, divided differences of exp, determinism. */
#include "base/mem.h"
#include "base/rng.h"
#include "geometry/rbf.h"
#include "geometry/rbf_internal.h"
#include "geometry/rbf_reference.h"
#include "linalg/expm.h"
#include "linalg/lapack.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static void start(void) { geodec_linalg_init(); }
TestSuite(geometry, .init = start);

/* Sites in the unit box times `spread`, random symmetric logs. */
static geodec_rbf *random_field(int64_t n_sites, int64_t n, double spread, double sigma)
{
    geodec_rng r = geodec_rng_stream(5, geodec_rng_id("field", (uint64_t)n));
    const int64_t packed = geodec_sym_packed(n);
    double *site = geodec_mem_new(n_sites * n, 8), *log_g = geodec_mem_new(n_sites * packed, 8);
    for (int64_t i = 0; i < n_sites * n; i++) site[i] = spread * geodec_rng_uniform(&r);
    for (int64_t i = 0; i < n_sites * packed; i++) log_g[i] = geodec_rng_normal(&r);
    geodec_rbf *f = NULL;
    geodec_err err = {0};
    test_ok(geodec_rbf_create(n_sites, n, site, log_g, sigma, &f, &err), &err);
    geodec_mem_free(site);
    geodec_mem_free(log_g);
    return f;
}

Test(geometry, divided_differences_of_exp)
{
    cr_assert_lt(fabs(geodec__expdiff_dd2(1, 1) - exp(1)), 1e-15);
    cr_assert_lt(fabs(geodec__expdiff_dd3(2, 2, 2) - exp(2) / 2), 1e-15);
    /* long double quotients where they are safe, and continuity across the change of formula */
    const double spread[] = {0.5, 0.9, 0.9999, 1.0001, 2, 8, 30};
    for (size_t t = 0; t < sizeof spread / sizeof *spread; t++) {
        const long double x = -0.3L, y = x + 0.37L * (long double)spread[t], z = x + (long double)spread[t];
        const long double xy = (expl(y) - expl(x)) / (y - x), yz = (expl(z) - expl(y)) / (z - y);
        const long double want = (yz - xy) / (z - x);
        cr_assert_lt(fabs(geodec__expdiff_dd2((double)x, (double)y) / (double)xy - 1), 4e-15);
        cr_assert_lt(fabs(geodec__expdiff_dd3((double)x, (double)y, (double)z) / (double)want - 1), 1e-14, "%g",
                     spread[t]);
        cr_assert_eq(geodec__expdiff_dd3((double)x, (double)y, (double)z),
                     geodec__expdiff_dd3((double)z, (double)x, (double)y));
    }
}

Test(geometry, field_agrees_with_the_plain_reference)
{
    const int64_t dims[] = {1, 2, 3, 8, 12};
    for (size_t t = 0; t < sizeof dims / sizeof *dims; t++) {
        const int64_t n = dims[t], nn = n * n;
        geodec_rbf *f = random_field(700, n, 4, 0.5);
        const geodec_space *s = geodec_rbf_space(f);
        double *x = geodec_mem_new(n, 8), *g = geodec_mem_new(nn, 8), *dg = geodec_mem_new(nn * n, 8);
        double *g2 = geodec_mem_new(nn, 8), *dg2 = geodec_mem_new(nn * n, 8);
        for (int q = 0; q < 6; q++) {
            for (int64_t a = 0; a < n; a++) x[a] = q == 5 ? 1e3 : 0.7 * q + 0.1 * (double)a; /* the last far outside */
            geodec_err err = {0};
            test_ok(s->at(s, x, g, dg, NULL, &err), &err);
            test_ok(rbf_reference(f, x, g2, dg2, &err), &err);
            cr_assert_lt(test_max_abs_diff(g, g2, nn), 1e-12 * test_max_abs(g2, nn));
            /* far outside, exponents are differences of numbers near 2e6: 1e-9 of a small weight is rounding */
            cr_assert_leq(test_max_abs_diff(dg, dg2, nn * n),
                          (q == 5 ? 1e-8 : 1e-11) * (test_max_abs(dg2, nn * n) + 1e-30));
        }
        geodec_mem_free(x);
        geodec_mem_free(g);
        geodec_mem_free(dg);
        geodec_mem_free(g2);
        geodec_mem_free(dg2);
        geodec_rbf_destroy(f);
    }
}

/* The analytic second derivatives against fourth-order differences of the analytic first ones. */
Test(geometry, gamma_derivative_agrees_with_differences)
{
    const int64_t dims[] = {1, 2, 5, 8};
    for (size_t t = 0; t < sizeof dims / sizeof *dims; t++) {
        const int64_t n = dims[t], n3 = n * n * n;
        geodec_rbf *f = random_field(300, n, 2, 0.8);
        double *x = geodec_mem_new(n, 8), *d = geodec_mem_new(n * n3, 8), *q[4], *y = geodec_mem_new(n, 8);
        for (int i = 0; i < 4; i++) q[i] = geodec_mem_new(n3, 8);
        const geodec_space *s = geodec_rbf_space(f);
        geodec_err err = {0};
        for (int64_t a = 0; a < n; a++) x[a] = 0.6 + 0.15 * (double)a;
        test_ok(s->dgamma(s, x, d, &err), &err);
        const double h = 2e-3, scale = test_max_abs(d, n * n3);
        for (int64_t c = 0; c < n; c++) {
            const double step[4] = {-2 * h, -h, h, 2 * h};
            for (int i = 0; i < 4; i++) {
                memcpy(y, x, (size_t)n * sizeof *y);
                y[c] += step[i];
                test_ok(s->at(s, y, NULL, NULL, q[i], &err), &err);
            }
            for (int64_t i = 0; i < n3; i++) {
                const double num = (q[0][i] - 8 * q[1][i] + 8 * q[2][i] - q[3][i]) / (12 * h);
                cr_assert_lt(fabs(num - d[c * n3 + i]), 1e-8 * scale, "n %d c %d: %g %g", (int)n, (int)c, num,
                             d[c * n3 + i]);
            }
        }
        for (int i = 0; i < 4; i++) geodec_mem_free(q[i]);
        geodec_mem_free(x);
        geodec_mem_free(y);
        geodec_mem_free(d);
        geodec_rbf_destroy(f);
    }
}

/* d_l g_ij = Gamma^m_li g_mj + Gamma^m_lj g_im, and symmetry, exactly. */
Test(geometry, connection_is_symmetric_and_metric)
{
    enum { N = 7 };
    geodec_rbf *f = random_field(200, N, 2, 0.7);
    const geodec_space *s = geodec_rbf_space(f);
    double x[N], g[N][N], dg[N][N][N], gamma[N][N][N];
    for (int q = 0; q < 5; q++) {
        for (int a = 0; a < N; a++) x[a] = 0.3 * q + 0.1 * a;
        test_ok(s->at(s, x, &g[0][0], &dg[0][0][0], &gamma[0][0][0], NULL), NULL);
        for (int l = 0; l < N; l++)
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    double r = dg[l][i][j];
                    for (int m = 0; m < N; m++) r -= gamma[l][i][m] * g[m][j] + gamma[l][j][m] * g[i][m];
                    cr_assert_lt(fabs(r), 1e-10 * test_max_abs(&g[0][0], N * N));
                    cr_assert_eq(gamma[i][j][l], gamma[j][i][l]);
                }
    }
    geodec_rbf_destroy(f);
}

Test(geometry, batches_threads_and_single_points_give_the_same_bytes)
{
    enum { N = 6, COUNT = 300 };
    geodec_rbf *f = random_field(600, N, 3, 0.6);
    const geodec_space *s = geodec_rbf_space(f);
    double *x = geodec_mem_new(COUNT * N, 8), *one = geodec_mem_new(COUNT * N * N * N, 8);
    double *many = geodec_mem_new(COUNT * N * N * N, 8), *single = geodec_mem_new(N * N * N, 8);
    for (int i = 0; i < COUNT * N; i++) x[i] = 1.5 + sin(i);
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, NULL), NULL);
    test_ok(geodec_rbf_eval(f, COUNT, x, NULL, NULL, one, NULL, NULL, NULL), NULL);
    test_ok(geodec_rbf_eval(f, COUNT, x, NULL, NULL, many, pool, NULL, NULL), NULL);
    cr_assert_arr_eq(one, many, sizeof(double) * COUNT * N * N * N);
    test_ok(s->at(s, x + 17 * N, NULL, NULL, single, NULL), NULL);
    cr_assert_arr_eq(single, one + 17 * N * N * N, sizeof(double) * N * N * N);

    geodec_err err = {0};
    char line[200];
    x[200 * N + 3] = NAN;
    cr_assert_eq(geodec_rbf_eval(f, COUNT, x, NULL, NULL, many, pool, NULL, &err), GEODEC_NUMERIC);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "point 200"), "%s", line);
    geodec_pool_destroy(pool);
    geodec_rbf_destroy(f);
    geodec_mem_free(x);
    geodec_mem_free(one);
    geodec_mem_free(many);
    geodec_mem_free(single);
}

Test(geometry, field_refuses_bad_input)
{
    double site[2] = {0, 1}, log_g[2] = {0, 0};
    geodec_rbf *f = NULL;
    cr_assert_eq(geodec_rbf_create(2, 0, site, log_g, 1, &f, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_rbf_create(2, 65, site, log_g, 1, &f, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_rbf_create(0, 1, site, log_g, 1, &f, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_rbf_create(2, 1, site, log_g, 0, &f, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_rbf_create(2, 1, site, log_g, NAN, &f, NULL), GEODEC_RANGE);
    log_g[1] = INFINITY;
    cr_assert_eq(geodec_rbf_create(2, 1, site, log_g, 1, &f, NULL), GEODEC_NUMERIC);
    log_g[1] = 2000; /* exp overflows: refused where it is met */
    test_ok(geodec_rbf_create(2, 1, site, log_g, 0.1, &f, NULL), NULL);
    double g;
    cr_assert_eq(geodec_rbf_space(f)->at(geodec_rbf_space(f), &site[1], &g, NULL, NULL, NULL), GEODEC_NUMERIC);
    geodec_rbf_destroy(f);
}

/* ---- every golden/ott/<model>_n<dim>.h5 at the tolerances of its README
 * -------------------------------------------------- */

static geodec_rbf *golden_field(const char *path, double sigma, int64_t *n_sites, int64_t *n)
{
    int64_t shape[8];
    double *point = test_h5(path, "cloud/points", shape, NULL), *g = test_h5(path, "metric/g_raw", NULL, NULL);
    *n_sites = shape[0];
    *n = shape[1];
    const int64_t nn = *n * *n, packed = geodec_sym_packed(*n);
    double *log_g = geodec_mem_new(*n_sites * packed, 8), *full = geodec_mem_new(nn, 8);
    for (int64_t p = 0; p < *n_sites; p++) {
        test_ok(geodec_logm_spd(*n, g + p * nn, full, NULL), NULL);
        geodec_sym_pack(*n, full, log_g + p * packed);
    }
    geodec_rbf *f = NULL;
    test_ok(geodec_rbf_create(*n_sites, *n, point, log_g, sigma, &f, NULL), NULL);
    geodec_mem_free(point);
    geodec_mem_free(g);
    geodec_mem_free(log_g);
    geodec_mem_free(full);
    return f;
}

static const double *site_of(const geodec_rbf *f, int64_t p) { return f->site + (f->place ? f->place[p] : p) * f->n; }

static void golden_model(const char *path)
{
    int64_t m, n, shape[8];
    geodec_rbf *f = golden_field(path, test_h5_attr(path, "/", "sigma"), &m, &n);
    const int64_t nn = n * n, n3 = nn * n;
    double *probe = test_h5(path, "metric/probe_points", shape, NULL);
    const int64_t q = shape[0];
    double *g = geodec_mem_new(m * nn, 8), *dg = geodec_mem_new(m * n3, 8), *gamma = geodec_mem_new(m * n3, 8);
    test_ok(geodec_rbf_eval(f, m, site_of(f, 0), g, NULL, gamma, NULL, NULL, NULL), NULL);
    goldens_compare(path, "/metric/g_smooth_own", m * nn, g, 1e-9);
    goldens_compare(path, "/metric/g_smooth", m * nn, g, 1e-9);
    goldens_compare(path, "/gamma/analytic", m * n3, gamma, 1e-9);
    for (int64_t p = 0; p < m; p++)
        test_ok(geodec_space_christoffel_fd(geodec_rbf_space(f), site_of(f, p), 1e-2, gamma + p * n3, NULL), NULL);
    goldens_compare(path, "/gamma/ref_fd", m * n3, gamma, 1e-7);
    test_ok(geodec_rbf_eval(f, q, probe, g, dg, gamma, NULL, NULL, NULL), NULL);
    goldens_compare(path, "/metric/g_probe", q * nn, g, 1e-9);
    goldens_compare(path, "/metric/dg_probe", q * n3, dg, 1e-8);
    goldens_compare(path, "/gamma/probe_analytic", q * n3, gamma, 1e-9);
    for (int64_t p = 0; p < q; p++)
        test_ok(geodec_space_christoffel_fd(geodec_rbf_space(f), probe + p * n, 1e-2, gamma + p * n3, NULL), NULL);
    goldens_compare(path, "/gamma/probe_fd", q * n3, gamma, 1e-7);
    geodec_mem_free(probe);
    geodec_mem_free(g);
    geodec_mem_free(dg);
    geodec_mem_free(gamma);
    geodec_rbf_destroy(f);
}

Test(geometry, golden_fields) { goldens_each(golden_model); }
