#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "geometry/analytic.h"
#include "geometry/bumps.h"
#include "geometry/curvature.h"
#include "geometry/field.h"
#include "geometry/propagate.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The coordinate form of the equation equals the covariant one: for any J and W, with DJ = W + Gamma(v, J), the
 * covariant derivative of DJ along the geodesic is -R^a_bcd v^b J^c v^d. Needs nothing but the tensors at a point. */
Test(propagate, generator_is_the_jacobi_equation)
{
    enum { N = BUMPS_N, M = 2 * N };
    for (uint64_t seed = 1; seed <= 4; seed++) {
        const bumps b = bumps_make(seed);
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("vectors", 0));
        geodec_curvature_invariants inv;
        geodec_err err = {0};
        double x[N], v[N], j[N], w[N], a[M * M], gamma[N * N * N], dgamma[N * N * N * N], riem[N * N * N * N], acc[N];
        for (int i = 0; i < N; i++) {
            x[i] = 0.3 * geodec_rng_normal(&r);
            v[i] = geodec_rng_normal(&r);
            j[i] = geodec_rng_normal(&r);
            w[i] = geodec_rng_normal(&r);
        }
        double *scratch = geodec_mem_new(geodec_propagate_generators_scratch(N), sizeof *scratch);
        test_ok(geodec_propagate_generators(&b.base, 1, x, v, a, scratch, &err), &err);
        geodec_mem_free(scratch);
        test_ok(b.base.at(&b.base, x, NULL, NULL, gamma, &err), &err);
        test_ok(geodec_space_dgamma(&b.base, x, dgamma, &err), &err);
        test_ok(geodec_curvature_at(&b.base, x, riem, NULL, &inv, &err), &err);
        geodec_geodesic_accel(N, gamma, v, acc);
        double dj[N], second[N], scale = 0;
        for (int k = 0; k < N; k++) { /* W' from the generator */
            cr_assert_eq(a[k * M + N + k], 1);
            second[k] = 0;
            for (int c = 0; c < N; c++) second[k] += a[(N + k) * M + c] * j[c] + a[(N + k) * M + N + c] * w[c];
            dj[k] = w[k];
            for (int i = 0; i < N; i++)
                for (int c = 0; c < N; c++) dj[k] += gamma[(i * N + c) * N + k] * v[i] * j[c];
        }
        for (int k = 0; k < N; k++) {
            /* d/dt (W + Gamma(v, J)) + Gamma(v, DJ) */
            double lhs = second[k], rhs = 0;
            for (int i = 0; i < N; i++) {
                for (int c = 0; c < N; c++) {
                    const double g = gamma[(i * N + c) * N + k];
                    lhs += g * (acc[i] * j[c] + v[i] * w[c]) + g * v[i] * dj[c];
                    for (int m = 0; m < N; m++) {
                        lhs += dgamma[((m * N + i) * N + c) * N + k] * v[m] * v[i] * j[c];
                        rhs -= riem[((k * N + i) * N + c) * N + m] * v[i] * j[c] * v[m];
                    }
                }
            }
            scale = fmax(scale, fabs(rhs));
            cr_assert_float_eq(lhs, rhs, 1e-11 * (1 + scale), "%g against %g", lhs, rhs);
        }
        cr_assert_gt(scale, 1e-3);
    }
}

typedef struct setup {
    analytic_space a;
    const geodec_space *s;
    int64_t paths;
    double *x0, *v0, *exact;
} setup;

static setup load(const char *file, const analytic_space *a)
{
    setup t = {.a = *a};
    int64_t shape[8];
    t.x0 = analytic_read(file, t.a.group, "geo_x0", shape);
    t.v0 = analytic_read(file, t.a.group, "geo_v0", NULL);
    t.exact = analytic_read(file, t.a.group, "flow_jacobian_T", NULL);
    t.paths = shape[0];
    return t;
}

static void release(setup *t)
{
    geodec_mem_free(t->x0);
    geodec_mem_free(t->v0);
    geodec_mem_free(t->exact);
}

/* Largest relative error of Phi_T against the exact Jacobian, with nodes of the path good to 1e-13. */
static double phi_error(const setup *t, geodec_propagate_options o, int64_t steps, geodec_propagate_report *top)
{
    const int64_t n = t->a.n;
    geodec_geodesic_options g = geodec_geodesic_defaults();
    g.method = GEODEC_GEODESIC_ADAPTIVE;
    g.rtol = 1e-13;
    g.steps = steps;
    g.dl = 1.6 / (double)steps;
    double *xs = geodec_mem_new((steps + 1) * n * (2 + n), sizeof *xs), *vs = xs + (steps + 1) * n,
           *phi = vs + (steps + 1) * n, worst = 0;
    *top = (geodec_propagate_report){0};
    for (int64_t p = 0; p < t->paths; p++) {
        const double *want = t->exact + p * n * n;
        geodec_path_report path;
        geodec_propagate_report r;
        geodec_err err = {0};
        test_ok(geodec_geodesic_path(&t->a.space.base, &g, t->x0 + p * n, t->v0 + p * n, xs, vs, NULL, &path, &err),
                &err);
        test_ok(geodec_propagate_path(&t->a.space.base, &o, steps, g.dl, steps, xs, vs, phi, NULL, &r, &err), &err);
        worst = fmax(worst, test_max_abs_diff(phi + steps * n * n, want, n * n) / fmax(1, test_max_abs(want, n * n)));
        top->symplectic = fmax(top->symplectic, r.symplectic);
        top->volume = fmax(top->volume, r.volume);
        top->norm = fmax(top->norm, r.norm);
    }
    geodec_mem_free(xs);
    return worst;
}

/* Phi_T against the exact Jacobian of the exponential map: accuracy and order of every scheme with both sources of
 * inner nodes; the flow keeps the symplectic form and the volume to the same order. */
Test(propagate, order_against_the_exact_jacobian)
{
    static analytic_space list[ANALYTIC_MAX];
    int count;
    const char *file = analytic_load(list, &count);
    static const struct {
        geodec_propagate_options options;
        int64_t steps;
        double order, error; /* at `steps` */
    } cases[] = {
        {{GEODEC_MAGNUS_MIDPOINT, GEODEC_DENSE_HERMITE, 0}, 64, 2, 1e-3},
        {{GEODEC_MAGNUS_MAGNUS4, GEODEC_DENSE_HERMITE, 0}, 64, 4, 3e-7},
        {{GEODEC_MAGNUS_CF4, GEODEC_DENSE_HERMITE, 0}, 64, 4, 3e-7},
        {{GEODEC_MAGNUS_MAGNUS3, GEODEC_DENSE_HERMITE, 0}, 64, 4, 3e-7},
        {{GEODEC_MAGNUS_MAGNUS4, GEODEC_DENSE_INTEGRATE, 1e-13}, 64, 4, 3e-7},
        {{GEODEC_MAGNUS_MAGNUS6, GEODEC_DENSE_INTEGRATE, 1e-13}, 32, 6, 1e-8},
    };
    for (int c = 0; c < count; c++) {
        if (!list[c].curved) continue;
        setup t = load(file, &list[c]);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            const int64_t steps = cases[k].steps;
            geodec_propagate_report r1, r2;
            const double e1 = phi_error(&t, cases[k].options, steps / 2, &r1),
                         e2 = phi_error(&t, cases[k].options, steps, &r2), order = log2(e1 / e2);
            const char *name = geodec_magnus_name(cases[k].options.scheme);
            cr_assert(fabs(order - cases[k].order) < 0.15, "%s %s: order %g", t.a.group, name, order);
            cr_assert_lt(e2, cases[k].error, "%s %s: %g", t.a.group, name, e2);
            cr_assert_lt(r2.symplectic, r1.symplectic * pow(0.5, cases[k].order - 0.5));
            cr_assert_lt(r2.volume, r1.volume * pow(0.5, cases[k].order - 0.5));
            cr_assert_lt(r1.norm, 3.14);
        }
        release(&t);
    }
}

/* Straight lines in a flat chart: Phi = I exactly, and F = [[I, t I], [0, I]]. */
Test(propagate, flat_space_moves_all_points_alike)
{
    geodec_space_torus torus;
    geodec_err err = {0};
    test_ok(geodec_space_torus_init(&torus, 3, (double[]){1, 2, 3}, &err), &err);
    const geodec_geodesic_options o = geodec_geodesic_defaults();
    double xs[17 * 3], vs[17 * 3], phi[17 * 9], flow[17 * 36];
    geodec_path_report path;
    test_ok(
        geodec_geodesic_path(&torus.base, &o, (double[]){0, 0, 0}, (double[]){1, 0.5, -1}, xs, vs, NULL, &path, &err),
        &err);
    for (int s = 0; s < GEODEC_MAGNUS_SCHEMES; s++) {
        const geodec_propagate_options p = {(geodec_magnus_scheme)s, GEODEC_DENSE_HERMITE, 1e-12};
        geodec_propagate_report r;
        test_ok(geodec_propagate_path(&torus.base, &p, 16, 0.1, 16, xs, vs, phi, flow, &r, &err), &err);
        for (int k = 0; k <= 16; k++) {
            for (int i = 0; i < 9; i++) cr_assert_eq(phi[k * 9 + i], i % 4 == 0 ? 1 : 0);
            for (int i = 0; i < 6; i++)
                for (int j = 0; j < 6; j++)
                    cr_assert_float_eq(flow[k * 36 + i * 6 + j], i == j ? 1 : j == i + 3 ? 0.1 * k : 0, 1e-14);
        }
        cr_assert_lt(r.symplectic, 1e-14);
        cr_assert_lt(r.volume, 1e-14);
    }
}

/* The stored paths, propagators and differences of the flow of the smooth field on a measured cloud. */
static void smooth_field(const char *file)
{
    int64_t shape[8];
    double *points = test_h5(file, "/cloud/points", NULL, NULL), *x0 = test_h5(file, "/geodesic/x0", NULL, NULL),
           *v0 = test_h5(file, "/geodesic_smooth/v0", shape, NULL);
    geodec_rbf *field = field_make(file, 0);
    const geodec_space *s = geodec_rbf_space(field);
    geodec_geodesic_options o = geodec_geodesic_defaults();
    o.steps = (int64_t)test_h5_attr(file, "/geodesic_smooth", "T");
    o.dl = test_h5_attr(file, "/geodesic_smooth", "dl");
    const int64_t paths = shape[0], nodes = o.steps + 1, n = shape[1], nn = n * n;
    double *xs = geodec_mem_new(paths * nodes * (2 * n + nn + 1) + paths * nn, sizeof *xs);
    double *vs = xs + paths * nodes * n, *phi = vs + paths * nodes * n, *q = phi + paths * nodes * nn,
           *ends = q + paths * nodes;
    geodec_path_report *report = geodec_mem_new(paths, sizeof *report);
    geodec_propagate_report *check = geodec_mem_new(paths, sizeof *check);
    int64_t *good = geodec_mem_new(paths, sizeof *good);
    geodec_err err = {0};
    test_ok(geodec_geodesic_batch(s, &o, NULL, NULL, paths, x0, v0, xs, vs, q, NULL, report, &err), &err);
    goldens_compare(file, "/geodesic_smooth/xs", paths * nodes * n, xs, 1e-8);
    goldens_compare(file, "/geodesic_smooth/vs", paths * nodes * n, vs, 1e-8);
    goldens_compare(file, "/geodesic_smooth/speed2", paths * nodes, q, 1e-8);
    for (int64_t p = 0; p < paths; p++) {
        cr_assert_eq(report[p].status, GEODEC_PATH_OK);
        cr_assert_lt(report[p].drift, 1e-5);
        good[p] = report[p].good;
    }
    const geodec_propagate_options po = geodec_propagate_defaults();
    test_ok(
        geodec_propagate_batch(s, &po, NULL, NULL, paths, o.steps, o.dl, good, xs, vs, NULL, phi, NULL, check, &err),
        &err);
    goldens_compare(file, "/geodesic_smooth/phi_variational", paths * nodes * nn, phi,
                    1e-6 / fmax(1, test_max_abs(phi, paths * nodes * nn))); /* absolute in the goldens' README */
    for (int64_t p = 0; p < paths; p++) {
        cr_assert_lt(check[p].symplectic, 1e-4);
        cr_assert_lt(check[p].volume, 1e-5);
    }
    for (int64_t p = 0; p < paths;
         p++) { /* differences of the flow itself: the stored ones, and Phi but for its steps */
        geodec_geodesic_options fine = o;
        fine.method = GEODEC_GEODESIC_ADAPTIVE;
        fine.rtol = 1e-13;
        test_ok(geodec_propagate_by_differences(s, &fine, x0 + p * n, v0 + p * n, 0, ends + p * nn, &err), &err);
        const double *end = phi + (p * nodes + o.steps) * nn;
        cr_assert_lt(test_max_abs_diff(end, ends + p * nn, nn), 1e-5 * fmax(1, test_max_abs(end, nn)));
    }
    goldens_compare(file, "/geodesic_smooth/phi_T_by_differences", paths * nn, ends,
                    1e-6 / fmax(1, test_max_abs(ends, paths * nn)));
    /* adaptive paths agree with the stored refinement (step dl/8) */
    o.method = GEODEC_GEODESIC_ADAPTIVE;
    test_ok(geodec_geodesic_batch(s, &o, NULL, NULL, paths, x0, v0, xs, vs, q, NULL, report, &err), &err);
    goldens_compare(file, "/geodesic_smooth/xs_fine", paths * nodes * n, xs, 1e-7);
    geodec_mem_free(xs);
    geodec_mem_free(report);
    geodec_mem_free(check);
    geodec_mem_free(good);
    geodec_mem_free(x0);
    geodec_mem_free(v0);
    geodec_mem_free(points);
    geodec_rbf_destroy(field);
}

/* Paths, propagators and differences of the flow of the smooth field on every measured cloud there is. */
Test(propagate, golden_smooth_field) { goldens_each(smooth_field); }

static void smooth_curvature(const char *file)
{
    static const struct {
        const char *name;
        double sigma, tol;
    } cases[] = {{"/riemann/smooth_sigma_med", 0, 1e-4}, {"/riemann/smooth_sigma_0.6", 0.6, 1e-2}};
    int64_t shape[8];
    double *points = test_h5(file, "/riemann/points", shape, NULL);
    const int64_t n = shape[1], n4 = n * n * n * n;
    double *riem = geodec_mem_new(shape[0] * n4, sizeof *riem);
    for (size_t c = 0; c < 2; c++) {
        geodec_rbf *field = field_make(file, cases[c].sigma);
        for (int64_t p = 0; p < shape[0]; p++) {
            geodec_curvature_invariants inv;
            geodec_err err = {0};
            test_ok(geodec_curvature_at(geodec_rbf_space(field), points + p * n, riem + p * n4, NULL, &inv, &err),
                    &err);
            cr_assert_lt(inv.check.first_pair, 1e-8, "%g", inv.check.first_pair);
            cr_assert_lt(inv.check.exchange, 1e-8);
            cr_assert_lt(inv.check.bianchi, 1e-8);
        }
        goldens_compare(file, cases[c].name, shape[0] * n4, riem, cases[c].tol);
        geodec_rbf_destroy(field);
    }
    geodec_mem_free(points);
    geodec_mem_free(riem);
}

/* Curvature of the smooth field at samples, edge midpoints and offset points: the stored tensors come from differences
 * of the analytic Gamma (1e-4 of the largest entry at the wide sigma, 1e-2 at the narrow one). */
Test(riemann, golden_smooth_field) { goldens_each(smooth_curvature); }

/* A vector perpendicular to v at x, of unit length in g [n][n]. */
static void perpendicular(int64_t n, const double *g, const double *v, double *u)
{
    int64_t least = 0;
    for (int64_t i = 1; i < n; i++)
        if (fabs(v[i]) < fabs(v[least])) least = i;
    double vv = geodec__norm2(n, g, v), uv = geodec__dot(n, g + least * n, v);
    for (int64_t i = 0; i < n; i++) u[i] = (i == least) - uv / vv * v[i];
    const double length = sqrt(geodec__norm2(n, g, u));
    for (int64_t i = 0; i < n; i++) u[i] /= length;
}

/* Lengths of the two Jacobi fields perpendicular to every stored geodesic (stored with a sign), from the flow: J(0) = u
 * with DJ(0) = 0, that is J' = -Gamma(v, u) in coordinates, and J(0) = 0 with DJ(0) = u. */
Test(propagate, golden_jacobi_fields)
{
    enum { N = GEODEC_SPACE_DIM_MAX, REFINE = 4 };
    static analytic_space list[ANALYTIC_MAX];
    static double g[N * N], gamma[N * N * N];
    int count;
    const char *file = analytic_load(list, &count);
    for (int c = 0; c < count; c++) {
        const geodec_space *s = &list[c].space.base;
        const int64_t n = list[c].n, m = 2 * n;
        if (!list[c].curved || n < 2) continue;
        int64_t shape[8];
        double *x0 = analytic_read(file, list[c].group, "geo_x0", shape),
               *v0 = analytic_read(file, list[c].group, "geo_v0", NULL),
               *t = analytic_read(file, list[c].group, "jacobi_t", NULL);
        const int64_t paths = shape[0];
        double *want[2] = {analytic_read(file, list[c].group, "jacobi_norm_DJ0_0", shape),
                           analytic_read(file, list[c].group, "jacobi_norm_J0_0", NULL)};
        const int64_t nodes = shape[0], steps = (nodes - 1) * REFINE;
        double *xs = geodec_mem_new((steps + 1) * (2 * n + n * n + m * m), sizeof *xs), *vs = xs + (steps + 1) * n,
               *phi = vs + (steps + 1) * n, *flow = phi + (steps + 1) * n * n, worst[2] = {0};
        double *ends = geodec_mem_new(paths * n * n, sizeof *ends);
        geodec_geodesic_options o = geodec_geodesic_defaults();
        o.method = GEODEC_GEODESIC_ADAPTIVE;
        o.rtol = 1e-13;
        o.steps = steps;
        o.dl = t[nodes - 1] / (double)steps;
        const geodec_propagate_options po = {GEODEC_MAGNUS_MAGNUS6, GEODEC_DENSE_INTEGRATE, 1e-13};
        for (int64_t p = 0; p < paths; p++) {
            double u[N], w[N], j[N];
            geodec_path_report path;
            geodec_propagate_report r;
            geodec_err err = {0};
            const double *x = x0 + p * n, *v = v0 + p * n;
            test_ok(geodec_geodesic_path(s, &o, x, v, xs, vs, NULL, &path, &err), &err);
            test_ok(geodec_propagate_path(s, &po, steps, o.dl, steps, xs, vs, phi, flow, &r, &err), &err);
            test_ok(s->at(s, x, g, NULL, gamma, &err), &err);
            memcpy(ends + p * n * n, phi + steps * n * n, (size_t)(n * n) * sizeof *ends);
            perpendicular(n, g, v, u);
            for (int64_t k = 0; k < n; k++) {
                w[k] = 0;
                for (int64_t a = 0; a < n; a++)
                    for (int64_t b = 0; b < n; b++) w[k] -= gamma[(a * n + b) * n + k] * v[a] * u[b];
            }
            for (int64_t k = 0; k < nodes; k++) {
                const double *f = flow + k * REFINE * m * m;
                test_ok(s->at(s, xs + k * REFINE * n, g, NULL, NULL, &err), &err);
                for (int field = 0; field < 2; field++) {
                    for (int64_t i = 0; i < n; i++)
                        j[i] = field == 0 ? geodec__dot(n, f + i * m, u) + geodec__dot(n, f + i * m + n, w)
                                          : geodec__dot(n, f + i * m + n, u);
                    const double length = sqrt(geodec__norm2(n, g, j));
                    worst[field] = fmax(worst[field], fabs(length - fabs(want[field][k])) /
                                                          fmax(1, test_max_abs(want[field], nodes)));
                }
            }
        }
        char whole[2 * TEST_H5_NAME];
        (void)snprintf(whole, sizeof whole, "/%.60s/flow_jacobian_T", list[c].group);
        goldens_compare(file, whole, paths * n * n, ends, 1e-9);
        geodec_mem_free(ends);
        for (int field = 0; field < 2; field++) {
            char dataset[2 * TEST_H5_NAME];
            (void)snprintf(dataset, sizeof dataset, "/%.60s/jacobi_norm_%s", list[c].group, field ? "J0_0" : "DJ0_0");
            goldens_report(file, dataset, worst[field], 1e-9);
            geodec_mem_free(want[field]);
        }
        geodec_mem_free(x0);
        geodec_mem_free(v0);
        geodec_mem_free(t);
        geodec_mem_free(xs);
    }
}

Test(propagate, one_and_three_threads_agree_bit_for_bit)
{
    enum { P = 20, N = BUMPS_N, T = 16 };
    static double x0[P * N], v0[P * N], xs[P * (T + 1) * N], vs[P * (T + 1) * N], phi[2][P * (T + 1) * N * N],
        flow[2][P * (T + 1) * 4 * N * N], accel[P * (T + 1) * N], work[N * N * (N + 1)];
    const bumps b = bumps_make(2);
    geodec_rng r = geodec_rng_stream(4, geodec_rng_id("starts", 0));
    geodec_path_report report[P];
    geodec_propagate_report check[2][P];
    int64_t good[P];
    geodec_err err = {0};
    geodec_pool *pool;
    const geodec_geodesic_options o = geodec_geodesic_defaults();
    const geodec_propagate_options po = geodec_propagate_defaults();
    for (int i = 0; i < P * N; i++) x0[i] = geodec_rng_normal(&r), v0[i] = 0.5 * geodec_rng_normal(&r);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_geodesic_batch(&b.base, &o, pool, NULL, P, x0, v0, xs, vs, NULL, accel, report, &err), &err);
    for (int p = 0; p < P; p++) good[p] = report[p].good;
    for (int i = 0; i < P * (T + 1); i++) { /* what the geodesics left is -Gamma(v,v) at every node */
        double a[N];
        test_ok(geodec_space_path(&b.base, 1, xs + i * N, vs + i * N, NULL, a, work, &err), &err);
        cr_assert_eq(memcmp(a, accel + i * N, sizeof a), 0);
    }
    for (int t = 0; t < 2; t++) /* on threads and with the geodesics' accelerations: the same bits */
        test_ok(geodec_propagate_batch(&b.base, &po, t ? pool : NULL, NULL, P, T, o.dl, good, xs, vs, t ? accel : NULL,
                                       phi[t], flow[t], check[t], &err),
                &err);
    geodec_pool_destroy(pool);
    cr_assert_eq(memcmp(phi[0], phi[1], sizeof phi[0]), 0);
    cr_assert_eq(memcmp(flow[0], flow[1], sizeof flow[0]), 0);
}

/* Flat in g and gamma, with a dgamma of any size: straight paths, whose neighbours part as exp(sqrt(size) t). */
typedef struct explosive {
    geodec_space base;
    double size;
} explosive;

static geodec_status explosive_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                                  geodec_err *err)
{
    (void)x, (void)err;
    const int n = s->n;
    for (int i = 0; g && i < n * n; i++) g[i] = i % (n + 1) == 0;
    for (int i = 0; dg && i < n * n * n; i++) dg[i] = 0;
    for (int i = 0; gamma && i < n * n * n; i++) gamma[i] = 0;
    return GEODEC_OK;
}

static geodec_status explosive_dgamma(const geodec_space *s, const double *x, double *dgamma, geodec_err *err)
{
    (void)x, (void)err;
    const int n = s->n;
    for (int c = 0; c < n; c++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < n; k++)
                    dgamma[((c * n + i) * n + j) * n + k] = c == k ? -((const explosive *)(const void *)s)->size : 0;
    return GEODEC_OK;
}

Test(propagate, a_flow_beyond_the_range_of_numbers_is_a_broken_path)
{
    enum { N = 2, T = 4, GOOD = 3 };
    explosive e = {{.n = N, .name = "explosive", .at = explosive_at, .dgamma = explosive_dgamma, .fd_step = 1e-3}, 1};
    const geodec_geodesic_options o = {
        .steps = T, .dl = 0.25, .method = GEODEC_GEODESIC_RK4, .rtol = 1e-9, .drift_max = 1e-3};
    const geodec_propagate_options po = geodec_propagate_defaults();
    const double x0[N] = {0.5, -0.25}, v0[N] = {1, 0};
    double xs[(T + 1) * N], vs[(T + 1) * N], phi[(T + 1) * N * N], flow[(T + 1) * 4 * N * N];
    geodec_path_report path;
    geodec_propagate_report r;
    geodec_err err = {0};
    test_ok(geodec_geodesic_path(&e.base, &o, x0, v0, xs, vs, NULL, &path, &err), &err);
    cr_assert_eq(path.status, GEODEC_PATH_OK);
    test_ok(geodec_propagate_path(&e.base, &po, T, o.dl, GOOD, xs, vs, phi, flow, &r, &err), &err);
    cr_assert_not(r.broken); /* y'' = y */
    for (int k = 0; k <= T; k++)
        cr_assert_float_eq(phi[k * N * N], cosh(o.dl * fmin(k, GOOD)), 1e-9, "%d: %g", k, phi[k * N * N]);
    e.size = 1e9; /* exp(sqrt(size) t) > 1e308 */
    test_ok(geodec_propagate_path(&e.base, &po, T, o.dl, GOOD, xs, vs, phi, flow, &r, &err), &err);
    cr_assert(r.broken);
    cr_assert(r.symplectic == 0 && r.volume == 0 && r.norm == 0);
    for (int i = 0; i < (T + 1) * N * N; i++) cr_assert_eq(phi[i], i % (N * N) % (N + 1) == 0);
    for (int i = 0; i < (T + 1) * 4 * N * N; i++) cr_assert_eq(flow[i], i % (4 * N * N) % (2 * N + 1) == 0);
    cr_assert_eq(err.depth, 0);
    test_ok(geodec_propagate_path(&e.base, &po, T, o.dl, 0, xs, vs, phi, NULL, &r, &err), &err);
    cr_assert_not(r.broken);
}
