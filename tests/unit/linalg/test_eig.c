/* Eigenvalues, singular values, exponentials and logarithms. */
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "linalg/expm.h"
#include "linalg/lapack.h"
#include "linalg/svd.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double *random_matrix(int64_t m, int64_t n, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("matrix", 0));
    double *a = geodec_mem_new(m * n, sizeof *a);
    for (int64_t i = 0; i < m * n; i++) a[i] = geodec_rng_normal(&r);
    return a;
}

Test(linalg, symmetric_eigenproblem)
{
    geodec_linalg_init();
    const int64_t sizes[] = {1, 2, 3, 8, 33, 120};
    for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
        const int64_t n = sizes[t];
        geodec_err err = {0};
        double *a = random_matrix(n, n, t), *w = geodec_mem_new(n, sizeof *w), *v = geodec_mem_new(n * n, sizeof *v);
        double *p = geodec_mem_new(n * n, sizeof *p);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) a[j * n + i] = a[i * n + j];
        test_ok(geodec_eig_sym(n, a, w, v, &err), &err);
        for (int64_t i = 1; i < n; i++) cr_assert_leq(w[i - 1], w[i]);
        geodec_eig_compose(n, w, v, p);
        cr_assert_lt(test_max_abs_diff(p, a, n * n), 1e-13 * (double)n);
        geodec_blas_mul_small_t(n, v, v, p); /* rows are orthonormal */
        for (int64_t i = 0; i < n; i++) p[i * n + i] -= 1;
        cr_assert_lt(test_max_abs(p, n * n), 1e-13);
        a[0] = NAN;
        cr_assert_eq(geodec_eig_sym(n, a, w, v, NULL), GEODEC_NUMERIC);
        geodec_mem_free(a);
        geodec_mem_free(w);
        geodec_mem_free(v);
        geodec_mem_free(p);
    }
}

/* Second difference matrix: eigenvalues 2 - 2 cos(k pi / (n+1)). */
Test(linalg, eigenvalues_of_the_discrete_laplacian)
{
    enum { N = 21 };
    double a[N * N] = {0}, w[N], v[N * N];
    for (int i = 0; i < N; i++) {
        a[i * N + i] = 2;
        if (i) a[i * N + i - 1] = a[(i - 1) * N + i] = -1;
    }
    test_ok(geodec_eig_sym(N, a, w, v, NULL), NULL);
    for (int k = 0; k < N; k++) cr_assert_lt(fabs(w[k] - (2 - 2 * cos((k + 1) * M_PI / (N + 1)))), 1e-14);
}

Test(linalg, singular_values)
{
    const int64_t sizes[][2] = {{1, 1}, {6, 3}, {3, 6}, {40, 40}, {90, 12}};
    for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
        const int64_t m = sizes[t][0], n = sizes[t][1], r = m < n ? m : n;
        geodec_err err = {0};
        double *a = random_matrix(m, n, 50 + t), *u = geodec_mem_new(m * r, 8), *s = geodec_mem_new(r, 8);
        double *s2 = geodec_mem_new(r, 8), *vt = geodec_mem_new(r * n, 8), *p = geodec_mem_new(m * n, 8);
        test_ok(geodec_svd_thin(m, n, a, u, s, vt, &err), &err);
        test_ok(geodec_svd_values(m, n, a, s2, &err), &err);
        cr_assert_lt(test_max_abs_diff(s, s2, r), 1e-13 * s[0]);
        double squares = 0, want = 0;
        for (int64_t i = 0; i < r; i++) {
            cr_assert(s[i] >= 0 && (i == 0 || s[i - 1] >= s[i]));
            squares += s[i] * s[i];
        }
        for (int64_t i = 0; i < m * n; i++) want += a[i] * a[i];
        cr_assert_lt(fabs(squares / want - 1), 1e-13);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double x = 0;
                for (int64_t k = 0; k < r; k++) x += u[i * r + k] * s[k] * vt[k * n + j];
                p[i * n + j] = x;
            }
        cr_assert_lt(test_max_abs_diff(p, a, m * n), 1e-13 * s[0]);
        geodec_mem_free(a);
        geodec_mem_free(u);
        geodec_mem_free(s);
        geodec_mem_free(s2);
        geodec_mem_free(vt);
        geodec_mem_free(p);
    }
}

/* Every Pade degree and the squaring phase against the eigenvalue route, which shares no code with them. */
Test(linalg, expm_agrees_with_the_symmetric_route_at_every_norm)
{
    const double scales[] = {1e-9, 1e-3, 0.02, 0.1, 0.3, 1, 3, 12, 60};
    for (size_t t = 0; t < sizeof scales / sizeof *scales; t++)
        for (int64_t n = 1; n <= 24; n += 23) {
            double *a = random_matrix(n, n, 90 + t), *e = geodec_mem_new(n * n, 8), *f = geodec_mem_new(n * n, 8);
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = a[i * n + j] * scales[t] / (double)n;
            test_ok(geodec_expm(n, a, e, NULL, NULL), NULL);
            test_ok(geodec_expm_sym(n, a, f, NULL), NULL);
            cr_assert_lt(test_max_abs_diff(e, f, n * n), 1e-13 * (1 + scales[t]) * test_max_abs(f, n * n),
                         "scale %g n %d", scales[t], (int)n);
            geodec_mem_free(a);
            geodec_mem_free(e);
            geodec_mem_free(f);
        }
}

/* Not symmetric, not normal: exp [[0,1],[-k,0]] t and a nilpotent matrix, in closed form. */
Test(linalg, expm_closed_forms)
{
    for (double t = 0.001; t < 40; t *= 3) {
        const double w = 1.7, a[4] = {0, t, -w * w * t, 0};
        const double want[4] = {cos(w * t), sin(w * t) / w, -w * sin(w * t), cos(w * t)};
        double e[4];
        test_ok(geodec_expm(2, a, e, NULL, NULL), NULL);
        cr_assert_lt(test_max_abs_diff(e, want, 4), 2e-14 * (1 + 10 * t), "t %g", t);
    }
    const double x = 1000, nil[9] = {0, x, 0, 0, 0, x, 0, 0, 0}, want[9] = {1, x, x * x / 2, 0, 1, x, 0, 0, 1};
    double e[9];
    test_ok(geodec_expm(3, nil, e, NULL, NULL), NULL);
    cr_assert_lt(test_max_abs_diff(e, want, 9), 1e-9 * x);
    const double big[1] = {1e6}, nan[1] = {NAN};
    cr_assert_eq(geodec_expm(1, big, e, NULL, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_expm(1, nan, e, NULL, NULL), GEODEC_NUMERIC);
}

Test(linalg, packing_keeps_symmetric_matrices)
{
    double a[9] = {1, 2, 3, 2, 4, 5, 3, 5, 6}, p[6], b[9];
    geodec_sym_pack(3, a, p);
    for (int i = 0; i < 6; i++) cr_assert_eq(p[i], i + 1);
    geodec_sym_unpack(3, p, b);
    cr_assert_arr_eq(a, b, sizeof a);
}

/* golden/ott/analytic.h5: logarithms of SPD matrices (1e-12) and their weighted log-Euclidean mean (1e-11). */
static void spd_group(const char *path, const char *group)
{
    int64_t shape[8];
    char name[4][2 * TEST_H5_NAME];
    static const char *const sets[] = {"spd", "log", "weights", "log_euclid_mean"};
    for (int i = 0; i < 4; i++) (void)snprintf(name[i], sizeof name[i], "/%.60s/%s", group, sets[i]);
    double *spd = test_h5(path, name[0], shape, NULL), *weight = test_h5(path, name[2], NULL, NULL);
    const int64_t m = shape[0], n = shape[1], nn = n * n;
    double *l = geodec_mem_new(m * nn, 8), *sum = geodec_mem_new(nn, 8), total = 0;
    for (int64_t p = 0; p < m; p++) total += weight[p];
    for (int64_t p = 0; p < m; p++) {
        test_ok(geodec_logm_spd(n, spd + p * nn, l + p * nn, NULL), NULL);
        for (int64_t i = 0; i < nn; i++) sum[i] += weight[p] / total * l[p * nn + i];
    }
    goldens_compare(path, name[1], m * nn, l, 1e-12);
    test_ok(geodec_expm_sym(n, sum, l, NULL), NULL);
    goldens_compare(path, name[3], nn, l, 1e-11);
    geodec_mem_free(spd);
    geodec_mem_free(weight);
    geodec_mem_free(l);
    geodec_mem_free(sum);
}

Test(linalg, golden_spd_logarithms)
{
    static char groups[64][TEST_H5_NAME];
    const char *path = test_shared("golden/ott/analytic.h5");
    const int count = test_h5_members(path, "/", 64, groups);
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (strncmp(groups[i], "spd_log", 7) != 0) continue;
        spd_group(path, groups[i]);
        found++;
    }
    cr_assert_gt(found, 0);
}
