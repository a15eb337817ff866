#include "base/mem.h"
#include "base/rng.h"
#include "geometry/analytic.h"
#include "geometry/magnus.h"
#include "linalg/blas.h"
#include "linalg/expm.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A(t) = [[0, I], [-(K0 + K1 sin t + K2 cos 2t), -(G0 + G1 sin 3t)]] of golden/ott/magnus.h5. */
typedef struct problem {
    int64_t n;
    double *k0, *k1, *k2, *g0, *g1, *exact;
} problem;

static geodec_status generator(void *ctx, double t, double *a, geodec_err *err)
{
    (void)err;
    const problem *p = ctx;
    const int64_t n = p->n, m = 2 * n;
    memset(a, 0, (size_t)(m * m) * sizeof *a);
    for (int64_t i = 0; i < n; i++) {
        a[i * m + n + i] = 1;
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = i * n + j;
            a[(n + i) * m + j] = -(p->k0[at] + p->k1[at] * sin(t) + p->k2[at] * cos(2 * t));
            a[(n + i) * m + n + j] = -(p->g0[at] + p->g1[at] * sin(3 * t));
        }
    }
    return GEODEC_OK;
}

typedef geodec_status (*generator_fn)(void *ctx, double t, double *a, geodec_err *err);

/* Y(t0 + k h), k = 1..steps, h = (t1 - t0) / steps, from Y(t0) = I into y [steps][m][m] when `every`, else only the
 * last into y [m][m]. */
static geodec_status propagate(geodec_magnus_scheme scheme, int64_t m, generator_fn fn, void *ctx, double t0, double t1,
                               int64_t steps, bool every, double *y, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL, c[GEODEC_MAGNUS_NODES_MAX];
    const int64_t mm = m * m;
    const int nodes = geodec_magnus_nodes(scheme, c);
    const double h = (t1 - t0) / (double)steps;
    GEODEC_NEW(block, (GEODEC_MAGNUS_NODES_MAX + 3) * mm + geodec_magnus_scratch(m));
    double *a = block, *e = a + GEODEC_MAGNUS_NODES_MAX * mm, *now = e + mm, *next = now + mm, *scratch = next + mm;
    for (int64_t i = 0; i < m; i++) now[i * m + i] = 1;
    for (int64_t k = 0; k < steps; k++) {
        for (int i = 0; i < nodes; i++) GEODEC_TRY(fn(ctx, t0 + ((double)k + c[i]) * h, a + i * mm, err));
        GEODEC_TRY_MSG(geodec_magnus_step(scheme, m, a, h, e, scratch, err), "step %lld", (long long)k);
        if (m <= 8)
            geodec_blas_mul_small(m, e, now, next);
        else
            geodec_expm_product(m, e, now, next);
        double *swap = now;
        now = next;
        next = swap;
        if (every) memcpy(y + k * mm, now, (size_t)mm * sizeof *y);
    }
    if (!every) memcpy(y, now, (size_t)mm * sizeof *y);
done:
    geodec_mem_free(block);
    return st;
}

/* The file and the names of its problems, whichever are there. */
static const char *problems(char groups[][TEST_H5_NAME], int *count)
{
    const char *file = test_shared("golden/ott/magnus.h5");
    *count = test_h5_members(file, "/", ANALYTIC_MAX, groups);
    return file;
}

static problem load(const char *file, const char *group)
{
    int64_t shape[8];
    double *k0 = analytic_read(file, group, "K0", shape);
    return (problem){.n = shape[0],
                     .k0 = k0,
                     .k1 = analytic_read(file, group, "K1", NULL),
                     .k2 = analytic_read(file, group, "K2", NULL),
                     .g0 = analytic_read(file, group, "G0", NULL),
                     .g1 = analytic_read(file, group, "G1", NULL),
                     .exact = analytic_read(file, group, "exact_T", NULL)};
}

static void release(problem *p)
{
    geodec_mem_free(p->k0);
    geodec_mem_free(p->k1);
    geodec_mem_free(p->k2);
    geodec_mem_free(p->g0);
    geodec_mem_free(p->g1);
    geodec_mem_free(p->exact);
}

static double frobenius_error(const double *a, const double *b, int64_t n)
{
    double e = 0, s = 0;
    for (int64_t i = 0; i < n; i++) {
        e += (a[i] - b[i]) * (a[i] - b[i]);
        s += b[i] * b[i];
    }
    return sqrt(e / s);
}

/* The scheme a stored result is named after, and how well its order must come out. */
static bool scheme_of(const char *name, geodec_magnus_scheme *scheme, double *tolerance)
{
    static const struct {
        const char *name;
        geodec_magnus_scheme scheme;
        double tolerance;
    } list[] = {{"taylor3_avg_endpoints", GEODEC_MAGNUS_TAYLOR3, 0.15},
                {"exp_midpoint", GEODEC_MAGNUS_MIDPOINT, 0.15},
                {"magnus4", GEODEC_MAGNUS_MAGNUS4, 0.1},
                {"cf4", GEODEC_MAGNUS_CF4, 0.1},
                {"magnus6", GEODEC_MAGNUS_MAGNUS6, 0.2}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (strcmp(list[i].name, name) != 0) continue;
        *scheme = list[i].scheme;
        *tolerance = list[i].tolerance;
        return true;
    }
    return false;
}

/* One stored scheme: result at 16 steps to 1e-11, errors at the stored numbers of steps, and the order of the finest
 * pair of them whose error is not rounding. */
static void check_scheme(const char *file, const char *group, problem *p, const char *name)
{
    const int64_t m = 2 * p->n;
    geodec_magnus_scheme scheme;
    double *y = geodec_mem_new(m * m, sizeof *y), previous = 0, order = 0, tolerance = 0;
    geodec_err err = {0};
    int64_t shape[8];
    char dataset[2 * TEST_H5_NAME], full[4 * TEST_H5_NAME];
    cr_assert(scheme_of(name, &scheme, &tolerance), "%s: %s holds an unknown scheme %s", file, group, name);
    test_ok(propagate(scheme, m, generator, p, 0, 1.6, 16, false, y, &err), &err);
    (void)snprintf(full, sizeof full, "/%.60s/%.60s_N16", group, name);
    goldens_compare(file, full, m * m, y, 1e-11);
    (void)snprintf(dataset, sizeof dataset, "error_%.60s", name);
    double *errors = analytic_read(file, group, dataset, NULL), *steps = analytic_read(file, group, "steps", shape);
    for (int64_t k = 0; k < shape[0]; k++) {
        test_ok(propagate(scheme, m, generator, p, 0, 1.6, (int64_t)steps[k], false, y, &err), &err);
        const double e = frobenius_error(y, p->exact, m * m);
        /* the stored solution itself is good to about 2e-13 */
        cr_assert_float_eq(e, errors[k], 1e-3 * errors[k] + 1e-12, "%s %s %g steps: %g, stored %g", group, name,
                           steps[k], e, errors[k]);
        if (k > 0 && e > 1e-11) order = log(previous / e) / log(steps[k] / steps[k - 1]);
        previous = e;
    }
    (void)fprintf(stderr, "golden magnus.h5/%s %s: order %.3f\n", group, name, order);
    cr_assert(fabs(order - geodec_magnus_order(scheme)) < tolerance, "%s %s: order %g", group, name, order);
    geodec_mem_free(errors);
    geodec_mem_free(steps);
    geodec_mem_free(y);
}

/* The table: every name is found, and the choices of the tools name the same schemes in the same order. */
Test(magnus, table)
{
    geodec_err err = {0};
    char choices[256] = "";
    for (int i = 0; i < GEODEC_MAGNUS_SCHEMES; i++) {
        geodec_magnus_scheme found;
        const char *name = geodec_magnus_name((geodec_magnus_scheme)i);
        test_ok(geodec_magnus_find(name, &found, &err), &err);
        cr_assert_eq((int)found, i);
        cr_assert(*geodec_magnus_text(found));
        (void)snprintf(choices + strlen(choices), sizeof choices - strlen(choices), "%s%s", i ? "|" : "", name);
    }
    cr_assert_str_eq(choices, GEODEC_MAGNUS_CHOICES);
    geodec_magnus_scheme other;
    cr_assert_eq(geodec_magnus_find("magnus5", &other, &err), GEODEC_NOTFOUND);
}

Test(magnus, golden_schemes)
{
    static char groups[ANALYTIC_MAX][TEST_H5_NAME], members[ANALYTIC_MAX][TEST_H5_NAME];
    int count;
    const char *file = problems(groups, &count);
    for (int g = 0; g < count; g++) {
        const int sets = test_h5_members(file, groups[g], ANALYTIC_MAX, members);
        problem p = load(file, groups[g]);
        int schemes = 0;
        for (int i = 0; i < sets; i++) {
            char *end = strstr(members[i], "_N16");
            if (!end) continue;
            *end = '\0';
            check_scheme(file, groups[g], &p, members[i]);
            schemes++;
        }
        cr_assert_geq(schemes, 5);
        release(&p);
    }
}

/* Magnus-3 (three terms of the series) has order 4 and a smaller error than Magnus-4 (two terms); measured on the four
 * problems at 16 steps: 6.2e-7, 8.7e-7, 1.1e-6, 2.5e-6 against 3.1e-6, 2.6e-6, 3.5e-6, 7.7e-6. */
Test(magnus, three_terms_have_order_four)
{
    static char groups[ANALYTIC_MAX][TEST_H5_NAME];
    int count;
    const char *file = problems(groups, &count);
    for (int g = 0; g < count; g++) {
        problem p = load(file, groups[g]);
        const int64_t m = 2 * p.n;
        double *y = geodec_mem_new(m * m, sizeof *y), e[3];
        geodec_err err = {0};
        for (int k = 0; k < 3; k++) {
            test_ok(propagate(GEODEC_MAGNUS_MAGNUS3, m, generator, &p, 0, 1.6, 16 << k, false, y, &err), &err);
            e[k] = frobenius_error(y, p.exact, m * m);
        }
        test_ok(propagate(GEODEC_MAGNUS_MAGNUS4, m, generator, &p, 0, 1.6, 16, false, y, &err), &err);
        const double e4 = frobenius_error(y, p.exact, m * m);
        cr_assert(fabs(log2(e[1] / e[2]) - 4) < 0.15, "%s: %g %g %g", groups[g], e[0], e[1], e[2]);
        cr_assert_lt(e[0], e4);
        geodec_mem_free(y);
        release(&p);
    }
}

/* ---- Omega of Magnus-3 against the defining integrals ----------------------------------------------------------- */

enum { M = 4, MM = M * M };

/* A(t) = P0 + P1 t + P2 t^2. */
static void quadratic(double poly[3][MM], double t, double *a)
{
    for (int i = 0; i < MM; i++) a[i] = poly[0][i] + t * (poly[1][i] + t * poly[2][i]);
}

static void bracket(const double *a, const double *b, double *c)
{
    double t[MM];
    geodec_blas_mul_small(M, a, b, c);
    geodec_blas_mul_small(M, b, a, t);
    for (int i = 0; i < MM; i++) c[i] -= t[i];
}

/* Omega_1 + Omega_2 + Omega_3 by nested 5-point Gauss quadrature, exact for a quadratic A. */
static void omega_by_quadrature(double poly[3][MM], double h, double *omega)
{
    static const double node[5] = {-0.90617984593866399280, -0.53846931010568309104, 0, 0.53846931010568309104,
                                   0.90617984593866399280};
    static const double weight[5] = {0.23692688505618908751, 0.47862867049936646804, 0.56888888888888888889,
                                     0.47862867049936646804, 0.23692688505618908751};
    double a1[MM], a2[MM], a3[MM], c[MM], d[MM], e[MM];
    memset(omega, 0, MM * sizeof *omega);
    for (int i = 0; i < 5; i++) {
        const double t1 = h / 2 * (1 + node[i]), w1 = h / 2 * weight[i];
        quadratic(poly, t1, a1);
        for (int x = 0; x < MM; x++) omega[x] += w1 * a1[x];
        for (int j = 0; j < 5; j++) {
            const double t2 = t1 / 2 * (1 + node[j]), w2 = t1 / 2 * weight[j];
            quadratic(poly, t2, a2);
            bracket(a1, a2, c);
            for (int x = 0; x < MM; x++) omega[x] += 0.5 * w1 * w2 * c[x];
            for (int k = 0; k < 5; k++) {
                const double t3 = t2 / 2 * (1 + node[k]), w3 = t2 / 2 * weight[k];
                quadratic(poly, t3, a3);
                bracket(a2, a3, c);
                bracket(a1, c, d);
                bracket(a2, a1, c);
                bracket(a3, c, e);
                for (int x = 0; x < MM; x++) omega[x] += w1 * w2 * w3 / 6 * (d[x] + e[x]);
            }
        }
    }
}

Test(magnus, three_terms_equal_the_integrals_for_a_quadratic_generator)
{
    geodec_rng r = geodec_rng_stream(5, geodec_rng_id("magnus", 0));
    double poly[3][MM], omega[MM], want[MM], got[MM], a[3 * MM], c[3];
    const double h = 0.9;
    geodec_err err = {0};
    for (int q = 0; q < 3; q++)
        for (int i = 0; i < MM; i++) poly[q][i] = geodec_rng_normal(&r);
    omega_by_quadrature(poly, h, omega);
    test_ok(geodec_expm(M, omega, want, NULL, &err), &err);
    const int nodes = geodec_magnus_nodes(GEODEC_MAGNUS_MAGNUS3, c);
    cr_assert_eq(nodes, 3);
    for (int k = 0; k < nodes; k++) quadratic(poly, c[k] * h, a + k * MM);
    double *scratch = geodec_mem_new(geodec_magnus_scratch(M), sizeof *scratch);
    test_ok(geodec_magnus_step(GEODEC_MAGNUS_MAGNUS3, M, a, h, got, scratch, &err), &err);
    geodec_mem_free(scratch);
    cr_assert_lt(test_max_abs_diff(got, want, MM), 1e-13 * fmax(1, test_max_abs(want, MM)));
}

static geodec_status constant(void *ctx, double t, double *a, geodec_err *err)
{
    (void)t;
    (void)err;
    memcpy(a, ctx, MM * sizeof *a);
    return GEODEC_OK;
}

Test(magnus, zero_generator_gives_the_identity_and_a_constant_one_its_exponential)
{
    geodec_rng r = geodec_rng_stream(6, geodec_rng_id("magnus", 1));
    double zero[MM] = {0}, a[MM], y[8 * MM], want[MM], b[MM];
    for (int i = 0; i < MM; i++) a[i] = geodec_rng_normal(&r);
    for (int s = 0; s < GEODEC_MAGNUS_SCHEMES; s++) {
        const geodec_magnus_scheme scheme = (geodec_magnus_scheme)s;
        geodec_err err = {0};
        test_ok(propagate(scheme, M, constant, zero, 0, 2, 8, true, y, &err), &err);
        for (int i = 0; i < 8 * MM; i++) cr_assert_eq(y[i], i % MM % (M + 1) == 0 ? 1 : 0);
        if (scheme == GEODEC_MAGNUS_TAYLOR3) continue;
        test_ok(propagate(scheme, M, constant, a, 0, 0.8, 8, true, y, &err), &err);
        for (int k = 0; k < 8; k++) {
            for (int i = 0; i < MM; i++) b[i] = a[i] * 0.1 * (k + 1);
            test_ok(geodec_expm(M, b, want, NULL, &err), &err);
            cr_assert_lt(test_max_abs_diff(y + k * MM, want, MM), 1e-13 * test_max_abs(want, MM), "scheme %d", s);
        }
    }
}

/* The determinant by elimination with row pivoting; a is used up. */
static double determinant(int64_t m, double *a)
{
    double det = 1;
    for (int64_t k = 0; k < m; k++) {
        int64_t best = k;
        for (int64_t i = k; i < m; i++)
            if (fabs(a[i * m + k]) > fabs(a[best * m + k])) best = i;
        for (int64_t j = 0; best != k && j < m; j++) {
            const double t = a[k * m + j];
            a[k * m + j] = a[best * m + j];
            a[best * m + j] = t;
        }
        det *= (best != k ? -1 : 1) * a[k * m + k];
        for (int64_t i = k + 1; i < m; i++) {
            const double f = a[i * m + k] / a[k * m + k];
            for (int64_t j = k; j < m; j++) a[i * m + j] -= f * a[k * m + j];
        }
    }
    return det;
}

/* The propagator of a trace-free generator keeps volume for every exponential scheme; the cubic cut does not. */
Test(magnus, exponential_schemes_are_unimodular)
{
    static char groups[ANALYTIC_MAX][TEST_H5_NAME];
    int count;
    const char *file = problems(groups, &count);
    problem p = load(file, groups[0]);
    const int64_t n = p.n, m = 2 * n;
    double *y = geodec_mem_new(m * m, sizeof *y);
    memset(p.g0, 0, (size_t)(n * n) * sizeof *p.g0);
    memset(p.g1, 0, (size_t)(n * n) * sizeof *p.g1);
    for (int s = 0; s < GEODEC_MAGNUS_SCHEMES; s++) {
        geodec_err err = {0};
        test_ok(propagate((geodec_magnus_scheme)s, m, generator, &p, 0, 1.6, 4, false, y, &err), &err);
        const double defect = fabs(determinant((int)m, y) - 1);
        if (s == GEODEC_MAGNUS_TAYLOR3)
            cr_assert_gt(defect, 1e-4, "%g", defect);
        else
            cr_assert_lt(defect, 1e-12, "%s: %g", geodec_magnus_name((geodec_magnus_scheme)s), defect);
    }
    geodec_mem_free(y);
    release(&p);
}

Test(magnus, names_and_refusals)
{
    geodec_magnus_scheme back;
    double bad[MM] = {NAN}, y[MM];
    for (int s = 0; s < GEODEC_MAGNUS_SCHEMES; s++) {
        const geodec_magnus_scheme scheme = (geodec_magnus_scheme)s;
        cr_assert_eq(geodec_magnus_find(geodec_magnus_name(scheme), &back, NULL), GEODEC_OK);
        cr_assert_eq((int)back, s);
        cr_assert_eq(propagate(scheme, M, constant, bad, 0, 1, 2, false, y, NULL), GEODEC_NUMERIC);
    }
    cr_assert_eq(geodec_magnus_find("magnus5", &back, NULL), GEODEC_NOTFOUND);
}
