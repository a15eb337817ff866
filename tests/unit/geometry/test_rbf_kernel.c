/* The field's kernels against plain loops and against the contractions written out, on every instruction set here. */
#include "base/cpu_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "geometry/curvature.h"
#include "geometry/rbf_internal.h"
#include "geometry/rbf_kernel_internal.h"
#include "geometry/rbf_reference.h"
#include "linalg/expm.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MAX = 16 };

/* N sites in a cloud of width 1; spread: of the logarithms' eigenvalues. */
static geodec_rbf *field(int64_t N, int64_t n, double spread, double sigma, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("kernel test", (uint64_t)n));
    const int64_t packed = geodec_sym_packed(n);
    double *site = geodec_mem_new(N * n, sizeof *site), *log_g = geodec_mem_new(N * packed, sizeof *log_g);
    for (int64_t i = 0; i < N * n; i++) site[i] = geodec_rng_normal(&r);
    for (int64_t i = 0; i < N * packed; i++) log_g[i] = spread * geodec_rng_normal(&r) / sqrt((double)n);
    geodec_rbf *f = NULL;
    geodec_err err = {0};
    test_ok(geodec_rbf_create(N, n, site, log_g, sigma, &f, &err), &err);
    geodec_mem_free(site);
    geodec_mem_free(log_g);
    return f;
}

static double worst(int64_t n, const double *a, const double *b)
{
    double top = 0, gap = 0;
    for (int64_t i = 0; i < n; i++) {
        top = fmax(top, fabs(b[i]));
        gap = fmax(gap, fabs(a[i] - b[i]));
        if (!isfinite(a[i])) return INFINITY;
    }
    return top > 0 ? gap / top : gap;
}

/* A space without its contractions. */
typedef struct plain {
    geodec_space base;
    const geodec_space *inner;
} plain;

static geodec_status plain_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                              geodec_err *err)
{
    const plain *p = (const plain *)(const void *)s;
    geodec_status st = GEODEC_OK;
    double own[MAX * MAX], own_d[MAX * MAX * MAX];
    GEODEC_TRY(rbf_reference((const geodec_rbf *)(const void *)p->inner, x, own, own_d, err));
    if (gamma) GEODEC_TRY(geodec_space_christoffel(s->n, own, own_d, gamma, err));
    if (g) memcpy(g, own, (size_t)(s->n * s->n) * sizeof *g);
    if (dg) memcpy(dg, own_d, (size_t)(s->n * s->n * s->n) * sizeof *dg);
done:
    return st;
}

static geodec_status plain_dgamma(const geodec_space *s, const double *x, double *dgamma, geodec_err *err)
{
    const plain *p = (const plain *)(const void *)s;
    return p->inner->dgamma(p->inner, x, dgamma, err);
}

static const geodec__rbf_kernels *const sets[] = {&geodec__rbf_scalar, &geodec__rbf_avx2, &geodec__rbf_avx512};

static bool runs_here(const geodec__rbf_kernels *k)
{
    if (!k->name) return false;
#if defined(__x86_64__)
    if (k == &geodec__rbf_avx2) return geodec__cpu() & GEODEC__CPU_AVX2;
    if (k == &geodec__rbf_avx512) return geodec__rbf_best() == k;
#endif
    return true;
}

static void compare(int64_t N, int64_t n, double spread, double sigma)
{
    geodec_rbf *f = field(N, n, spread, sigma, 7);
    const geodec_space *s = geodec_rbf_space(f);
    const plain p = {{.n = (int32_t)n, .name = "plain", .at = plain_at, .dgamma = plain_dgamma, .fd_step = 1e-3}, s};
    const int64_t n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    double *m = geodec_mem_new(6 * n4 + 8 * n3 + 32 * n2, sizeof *m);
    double *riem = m, *riem0 = riem + n4, *work = riem0 + n4, *gv = work + 2 * n4 + n3, *dgvv = gv + n2,
           *gv0 = dgvv + n2, *dgvv0 = gv0 + n2, *g = dgvv0 + n2, *g0 = g + n2, *dg = g0 + n2, *dg0 = dg + n3;
    geodec_err err = {0};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        if (!runs_here(sets[k])) continue;
        f->kernels = sets[k];
        for (uint64_t q = 0; q < 4; q++) {
            double x[MAX], v[MAX], a[MAX], a0[MAX], speed2, speed20;
            geodec_rng r = geodec_rng_stream(3, geodec_rng_id("kernel test point", q));
            for (int64_t i = 0; i < n; i++) x[i] = 0.5 * geodec_rng_normal(&r), v[i] = geodec_rng_normal(&r);
            bool here;
            test_ok(geodec__rbf_first(f, x, g, dg, &here, &err), &err);
            cr_assert(here);
            test_ok(rbf_reference(f, x, g0, dg0, &err), &err);
            cr_expect_lt(worst(n2, g, g0), 1e-12, "%s n %d: g %g", sets[k]->name, (int)n, worst(n2, g, g0));
            cr_expect_lt(worst(n3, dg, dg0), 1e-9, "%s n %d: dg %g", sets[k]->name, (int)n, worst(n3, dg, dg0));
            test_ok(geodec_space_path(s, 1, x, v, &speed2, a, work, &err), &err);
            test_ok(geodec_space_path(&p.base, 1, x, v, &speed20, a0, work, &err), &err);
            cr_expect_lt(fabs(speed2 / speed20 - 1), 1e-12);
            cr_expect_lt(worst(n, a, a0), 1e-9, "%s n %d: accel %g", sets[k]->name, (int)n, worst(n, a, a0));
            test_ok(geodec_space_variation(s, 1, x, v, gv, dgvv, work, &err), &err);
            test_ok(geodec_space_variation(&p.base, 1, x, v, gv0, dgvv0, work, &err), &err);
            cr_expect_lt(worst(n2, gv, gv0), 1e-9, "%s n %d: gv %g", sets[k]->name, (int)n, worst(n2, gv, gv0));
            cr_expect_lt(worst(n2, dgvv, dgvv0), 1e-9, "%s n %d: dgvv %g", sets[k]->name, (int)n,
                         worst(n2, dgvv, dgvv0));
            if (n > 8) continue;
            test_ok(geodec_curvature_at(s, x, riem, NULL, NULL, &err), &err);
            test_ok(geodec_curvature_at(&p.base, x, riem0, NULL, NULL, &err), &err);
            cr_expect_lt(worst(n4, riem, riem0), 1e-9, "%s n %d: riemann %g", sets[k]->name, (int)n,
                         worst(n4, riem, riem0));
        }
    }
    geodec_mem_free(m);
    geodec_rbf_destroy(f);
}

Test(rbf_kernel, every_dimension_against_plain_loops)
{
    for (int64_t n = 1; n <= MAX; n++) compare(23, n, 1.5, 1.0);
}

Test(rbf_kernel, close_and_far_eigenvalues)
{
    compare(40, 8, 1e-3, 0.8);
    compare(40, 8, 4, 0.8);
    compare(5, 6, 0, 1);
    compare(1, 3, 1, 1);
}

Test(rbf_kernel, exp_is_accurate)
{
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        if (!runs_here(sets[k])) continue;
        double top = 0;
        for (int i = 0; i < 200000; i++) {
            double y;
            const double x = -700 + 1400.0 * i / 199999;
            sets[k]->exp(1, &x, &y);
            top = fmax(top, fabs(y / exp(x) - 1));
        }
        cr_expect_lt(top, 5e-16, "%s: %g", sets[k]->name, top); /* 3e-16 and the library's own half ulp */
    }
}

static const double *site_of(const geodec_rbf *f, int64_t p) { return f->site + (f->place ? f->place[p] : p) * f->n; }

/* Many sites, few of them with weight: the tree finds them, and no others are needed. */
Test(rbf_kernel, a_tree_leaves_out_what_has_no_weight)
{
    const int64_t n = 3, N = 5000;
    geodec_rbf *f = field(N, n, 1, 0.05, 11);
    geodec_err err = {0};
    for (uint64_t q = 0; q < 30; q++) {
        double x[3], g[9], dg[27], g0[9], dg0[27], least = INFINITY;
        geodec_rng r = geodec_rng_stream(5, geodec_rng_id("tree test", q));
        for (int64_t i = 0; i < n; i++) x[i] = (q == 29 ? 9 : 1) * geodec_rng_normal(&r);
        int64_t where, first = -1, inside = 0;
        const double d2 = geodec__rbf_tree_nearest(f->tree, x, &where);
        for (int64_t p = 0; p < N; p++) {
            double d = 0;
            for (int64_t a = 0; a < n; a++) d += (site_of(f, p)[a] - x[a]) * (site_of(f, p)[a] - x[a]);
            if (d < least) least = d, first = p;
        }
        cr_assert_eq(geodec__rbf_tree_order(f->tree)[where], first);
        cr_assert_eq(d2, least);
        const double radius2 = least + 0.25;
        int32_t index[5000];
        for (int64_t p = 0; p < N; p++) {
            double d = 0;
            for (int64_t a = 0; a < n; a++) d += (site_of(f, p)[a] - x[a]) * (site_of(f, p)[a] - x[a]);
            inside += d <= radius2;
        }
        cr_assert_eq(geodec__rbf_tree_within(f->tree, x, radius2, N, index), inside);
        cr_assert_gt(geodec__rbf_tree_within(f->tree, x, radius2, inside - 1, index), inside - 1);
        bool here;
        test_ok(geodec__rbf_first(f, x, g, dg, &here, &err), &err);
        cr_assert(here);
        test_ok(rbf_reference(f, x, g0, dg0, &err), &err);
        cr_expect_lt(worst(9, g, g0), 1e-12);
        /* the plain loops lose what a site of nearly all the weight is off the mean: its natural size is |g| / sigma */
        for (int i = 0; i < 27; i++) cr_expect_lt(fabs(dg[i] - dg0[i]), 1e-13 * test_max_abs(g0, 9) / 0.05);
    }
    geodec_rbf_destroy(f);
}

/* Points of one call are in the lanes of one vector: neither the lane nor the other points may change a bit.
 */
static void together(int64_t N, int64_t n, double spread)
{
    enum { P = GEODEC_SPACE_TOGETHER };
    geodec_rbf *f = field(N, n, spread, 0.9, 21);
    const geodec_space *s = geodec_rbf_space(f);
    const int64_t nn = n * n;
    geodec_err err = {0};
    double *m = geodec_mem_new(P * (4 * n + 4 * nn + 2) + nn * nn + nn * n, sizeof *m);
    double *x = m, *v = x + P * n, *accel = v + P * n, *alone = accel + P * n, *speed2 = alone + P * n,
           *gv = speed2 + 2 * P, *dgvv = gv + P * nn, *gv1 = dgvv + P * nn, *dgvv1 = gv1 + P * nn,
           *work = dgvv1 + P * nn;
    geodec_rng r = geodec_rng_stream(9, geodec_rng_id("together", (uint64_t)n));
    for (int64_t i = 0; i < P * n; i++)
        x[i] = (i / n == 3 ? 30 : 0.7) * geodec_rng_normal(&r), v[i] = geodec_rng_normal(&r);
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        if (!runs_here(sets[k])) continue;
        f->kernels = sets[k];
        for (int64_t i = 0; i < P; i++) {
            test_ok(geodec_space_path(s, 1, x + i * n, v + i * n, speed2 + P + i, alone + i * n, work, &err), &err);
            test_ok(geodec_space_variation(s, 1, x + i * n, v + i * n, gv1 + i * nn, dgvv1 + i * nn, work, &err), &err);
        }
        for (int64_t first = 0; first < P; first++)
            for (int64_t count = 1; first + count <= P; count++) {
                const int64_t at = first * n;
                test_ok(geodec_space_path(s, count, x + at, v + at, speed2, accel, work, &err), &err);
                cr_assert_eq(memcmp(speed2, speed2 + P + first, (size_t)count * sizeof *speed2), 0);
                cr_assert_eq(memcmp(accel, alone + at, (size_t)(count * n) * sizeof *accel), 0);
                test_ok(geodec_space_variation(s, count, x + at, v + at, gv, dgvv, work, &err), &err);
                cr_assert_eq(memcmp(gv, gv1 + first * nn, (size_t)(count * nn) * sizeof *gv), 0);
                cr_assert_eq(memcmp(dgvv, dgvv1 + first * nn, (size_t)(count * nn) * sizeof *dgvv), 0);
            }
        x[5 * n] = NAN; /* one that fails is the one that is reported, and is no one else's matter */
        cr_assert_eq(geodec_space_path(s, P, x, v, speed2, accel, work, &err), GEODEC_NUMERIC);
        geodec_err_clear(&err);
        test_ok(geodec_space_path(s, 5, x, v, speed2, accel, work, &err), &err);
        x[5 * n] = 0.25;
    }
    geodec_mem_free(m);
    geodec_rbf_destroy(f);
}

Test(rbf_kernel, neither_neighbours_nor_place_change_a_bit)
{
    together(64, 8, 1.5);
    together(20, 5, 1e-4);
    together(30, 13, 2);
    together(300, 3, 1); /* found by the tree */
    together(9, 1, 1);
}
