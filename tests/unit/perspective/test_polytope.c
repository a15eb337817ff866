/* The nearest point of a polytope, compared with closed forms, with all active sets in the plane, and with the
 * conditions of an optimum; half-spaces fitted to data. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "lab/perspective/polytope/fit.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { D = 64, M = 160 };
static geodec_err err;
static void begin(void) { geodec_linalg_init(); }
TestSuite(polytope, .init = begin);

static double norm(geodec_rng *r) { return geodec_rng_normal(r); }

/* Half-spaces at random around the origin, which lies at least 0.1 inside. */
static geodec_polytope random_one(int64_t d, int64_t m, uint64_t seed)
{
    double normal[M * D], bound[M];
    geodec_rng r = geodec_rng_stream(seed, 1);
    geodec_polytope p = {0};
    for (int64_t i = 0; i < m * d; i++) normal[i] = norm(&r);
    for (int64_t j = 0; j < m; j++) {
        const double *n = normal + j * d;
        bound[j] = (0.1 + geodec_rng_uniform(&r)) * sqrt(geodec__dot(d, n, n));
    }
    test_ok(geodec_polytope_make(d, m, normal, bound, &p, &err), &err);
    return p;
}

static void random_point(int64_t d, uint64_t seed, double size, double *x)
{
    geodec_rng r = geodec_rng_stream(seed, 2);
    for (int64_t i = 0; i < d; i++) x[i] = size * norm(&r);
}

static geodec_polytope_report project(const geodec_polytope *p, geodec_polytope_method method, double tolerance,
                                      int64_t sweeps, const double *x, double *out)
{
    const geodec_polytope_options o = {.method = method, .tolerance = tolerance, .sweeps = sweeps};
    geodec_polytope_report r = {0};
    test_ok(geodec_polytope_project(p, &o, x, out, &r, &err), &err);
    return r;
}

static double gap(int64_t d, const double *a, const double *b) { return sqrt(geodec__gap2(d, a, b)); }

/* Nearest point in the plane from all sets of at most two half-spaces: the best feasible candidate. */
static void brute(const geodec_polytope *p, const double *x, double *out)
{
    double best = INFINITY;
    for (int64_t i = -1; i < p->m; i++)
        for (int64_t j = i < 0 ? -1 : 0; j < (i < 0 ? 0 : p->m); j++) {
            double c[2] = {x[0], x[1]};
            const double *a = p->normal + 2 * (i < 0 ? 0 : i), *b = p->normal + 2 * (j < 0 ? 0 : j);
            const double det = a[0] * b[1] - a[1] * b[0];
            if (i >= 0 && i == j) {
                const double excess = geodec__dot(2, a, x) - p->bound[i];
                for (int k = 0; k < 2; k++) c[k] -= excess * a[k];
            } else if (i >= 0) {
                if (fabs(det) < 1e-12) continue;
                c[0] = (p->bound[i] * b[1] - p->bound[j] * a[1]) / det;
                c[1] = (a[0] * p->bound[j] - b[0] * p->bound[i]) / det;
            }
            if (geodec_polytope_violation(p, c) > 1e-9 || gap(2, c, x) >= best) continue;
            best = gap(2, c, x);
            memcpy(out, c, sizeof c);
        }
}

Test(polytope, exact_is_the_best_of_all_active_sets_in_the_plane)
{
    double worst = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        geodec_polytope p = random_one(2, 1 + (int64_t)(seed % 12), seed);
        double x[2], best[2], out[2];
        random_point(2, seed, 3, x);
        brute(&p, x, best);
        const geodec_polytope_report r = project(&p, GEODEC_POLYTOPE_EXACT, 1e-6, 200, x, out);
        worst = fmax(worst, gap(2, best, out));
        cr_assert(r.converged && r.active <= 2);
        geodec_polytope_clear(&p);
    }
    printf("exact against all active sets: %.2g\n", worst);
    cr_assert_lt(worst, 1e-9); /* the slack of the feasible candidates */
}

/* x - out = sum of y_j n_j over the planes that out lies on, y >= 0: by least squares on the dual, one coordinate after
 * the other, from nothing that the method computed. */
static double dual_residual(const geodec_polytope *p, const double *x, const double *out)
{
    double rest[D], y[M] = {0};
    for (int64_t i = 0; i < p->d; i++) rest[i] = x[i] - out[i];
    for (int round = 0; round < 200000; round++) {
        double change = 0;
        for (int64_t j = 0; j < p->m; j++) {
            const double *n = p->normal + j * p->d;
            if (geodec__dot(p->d, n, out) < p->bound[j] - 1e-8) continue;
            const double to = fmax(0, y[j] + geodec__dot(p->d, n, rest)), by = to - y[j];
            for (int64_t i = 0; i < p->d; i++) rest[i] -= by * n[i];
            y[j] = to;
            change = fmax(change, fabs(by));
        }
        if (change < 1e-12) break;
    }
    return sqrt(geodec__dot(p->d, rest, rest));
}

/* In 2 to 64 dimensions: the exact point meets the conditions of an optimum, and Dykstra's with the default limits is
 * within 1e-5 of it where the report says that it converged. */
Test(polytope, dykstra_is_the_exact_point)
{
    static const int64_t dims[] = {2, 3, 5, 8, 16, 32, 64};
    double worst = 0, tight = 0, optimum = 0, cyclic = 0;
    int converged = 0, all = 0, differs = 0;
    int64_t most = 0;
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++)
        for (uint64_t seed = 0; seed < 30; seed++, all++) {
            const int64_t d = dims[k];
            geodec_polytope p = random_one(d, 2 * d + 4, 1000 * seed + k);
            double x[D], out[D], exact[D];
            random_point(d, seed, 1, x);
            project(&p, GEODEC_POLYTOPE_EXACT, 1e-6, 200, x, exact);
            cr_assert_leq(geodec_polytope_violation(&p, exact), 1e-11);
            optimum = fmax(optimum, dual_residual(&p, x, exact));
            const geodec_polytope_report r = project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-6, 200, x, out);
            cr_assert(r.converged == (r.violation < 1e-6 && r.step < 1e-6) && r.sweeps <= 200);
            cr_assert_float_eq(r.moved, gap(d, x, out), 1e-12);
            if (r.converged) worst = fmax(worst, gap(d, out, exact));
            converged += r.converged;
            most = r.sweeps > most ? r.sweeps : most;
            cr_assert(project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-10, 100000, x, out).converged);
            tight = fmax(tight, gap(d, out, exact));
            project(&p, GEODEC_POLYTOPE_CYCLIC, 1e-10, 100000, x, out);
            cr_assert_leq(geodec_polytope_violation(&p, out), 1e-9); /* feasible, but another point */
            differs += gap(d, out, exact) > 1e-3;
            cyclic = fmax(cyclic, gap(d, out, exact));
            geodec_polytope_clear(&p);
        }
    printf("%d of %d converge in 200 sweeps (most %lld), within %.2g of the exact point; all of them at 1e-10: %.2g; "
           "cyclic projection differs in %d, by up to %.2g; the exact point's dual residual %.2g\n",
           converged, all, (long long)most, worst, tight, differs, cyclic, optimum);
    cr_assert_lt(worst, 1e-5);
    cr_assert_lt(tight, 1e-5);
    cr_assert_lt(optimum, 1e-7);
    cr_assert_gt(converged, all * 9 / 10);
    cr_assert_gt(differs, all / 4);
}

/* Wedges |x_1| <= -x_2 tan(a): the nearest point of (0.3, 1) is the apex. Dykstra's error shrinks by cos^2 (2a) a
 * sweep, so 200 sweeps are too few for narrow ones: the report must say so. */
Test(polytope, acute_wedges)
{
    for (int degrees = 1; degrees <= 40; degrees += 3) {
        const double a = degrees * M_PI / 180, normal[] = {cos(a), sin(a), -cos(a), sin(a)}, bound[] = {0, 0};
        geodec_polytope p = {0};
        double out[2], exact[2];
        const double x[] = {0.3, 1};
        const bool apex = x[0] * sin(a) < x[1] * cos(a); /* in the cone of the normals */
        test_ok(geodec_polytope_make(2, 2, normal, bound, &p, &err), &err);
        project(&p, GEODEC_POLYTOPE_EXACT, 1e-6, 200, x, exact);
        cr_assert(apex && gap(2, exact, (double[]){0, 0}) < 1e-12);
        const geodec_polytope_report few = project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-6, 200, x, out);
        const double error = gap(2, out, exact);
        const geodec_polytope_report many = project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-9, 1000000, x, out);
        printf("wedge of %d degrees: 200 sweeps %s, error %.2g; to 1e-9 in %lld sweeps, error %.2g\n", 2 * degrees,
               few.converged ? "converge" : "do not converge", error, (long long)many.sweeps, gap(2, out, exact));
        cr_assert(many.converged && gap(2, out, exact) < 1e-5);
        if (few.converged) cr_assert_lt(error, 1e-5);
        if (degrees == 1) cr_assert(!few.converged && error > 1e-2 && few.sweeps == 200);
        if (degrees >= 22) cr_assert(few.converged);
        geodec_polytope_clear(&p);
    }
    /* where the normals are at 60 degrees, the cyclic loop ends at (-0.087, 0.05) on the second plane, not at the apex
     */
    const double normal[] = {1, 0, 0.5, sqrt(0.75)}, bound[] = {0, 0}, x[] = {1, 0.2};
    geodec_polytope p = {0};
    double out[2];
    test_ok(geodec_polytope_make(2, 2, normal, bound, &p, &err), &err);
    project(&p, GEODEC_POLYTOPE_CYCLIC, 1e-6, 200, x, out);
    cr_assert(gap(2, out, (double[]){-0.05 * sqrt(3), 0.05}) < 1e-12);
    project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-9, 10000, x, out);
    cr_assert_lt(gap(2, out, (double[]){0, 0}), 1e-8);
    geodec_polytope_clear(&p);
}

Test(polytope, a_point_inside_keeps_its_bits)
{
    geodec_polytope p = random_one(16, 40, 5);
    double x[16], out[16];
    for (uint64_t seed = 0; seed < 50; seed++) {
        random_point(16, seed, 0.02, x);
        cr_assert_lt(geodec_polytope_violation(&p, x), 0);
        for (int method = 0; method < GEODEC_POLYTOPE_PUBLISHED; method++) {
            memset(out, 255, sizeof out);
            const geodec_polytope_report r = project(&p, (geodec_polytope_method)method, 1e-6, 200, x, out);
            cr_assert(memcmp(x, out, sizeof x) == 0 && r.converged && r.sweeps == 0 && r.moved <= 0);
        }
    }
    geodec_polytope_clear(&p);
}

/* Feasible to 1e-6, idempotent to 1e-6, non-expansive to the tolerance of the exact method. */
Test(polytope, feasible_idempotent_non_expansive)
{
    double twice = 0, stretch = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const int64_t d = 2 + (int64_t)(seed % 31);
        geodec_polytope p = random_one(d, 2 * d, seed);
        double x[D], y[D], px[D], py[D], again[D];
        random_point(d, seed, 2, x);
        random_point(d, seed + 5000, seed % 2 ? 2 : 0.01, y);
        for (int64_t i = 0; seed % 3 == 0 && i < d; i++) y[i] = x[i] + 0.01 * y[i]; /* near ones, too */
        const geodec_polytope_report r = project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-6, 100000, x, px);
        cr_assert(r.converged && geodec_polytope_violation(&p, px) < 1e-6);
        project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-6, 100000, px, again);
        twice = fmax(twice, gap(d, px, again));
        project(&p, GEODEC_POLYTOPE_EXACT, 1e-6, 200, x, px);
        project(&p, GEODEC_POLYTOPE_EXACT, 1e-6, 200, y, py);
        stretch = fmax(stretch, gap(d, px, py) - gap(d, x, y));
        geodec_polytope_clear(&p);
    }
    printf("idempotent to %.2g, largest |Px - Py| - |x - y| %.2g\n", twice, stretch);
    cr_assert_lt(twice, 1e-6);
    cr_assert_lt(stretch, 1e-10);
}

/* The Jacobian by central differences is the projector onto the face: symmetric, idempotent, of rank d - active. */
Test(polytope, jacobian_is_a_projector)
{
    enum { N = 7 };
    int smooth = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        geodec_polytope p = random_one(N, 18, seed + 300);
        double x[N], base[N], j[N][N], symmetric = 0, idempotent = 0, trace = 0, h = 1e-5;
        random_point(N, seed, 1.5, x);
        const geodec_polytope_report r = project(&p, GEODEC_POLYTOPE_EXACT, 1e-6, 200, x, base);
        bool same = r.active > 0;
        for (int c = 0; c < N; c++) {
            double up[N], down[N], moved[N];
            memcpy(moved, x, sizeof x);
            moved[c] = x[c] + h;
            same &= project(&p, GEODEC_POLYTOPE_EXACT, 1e-6, 200, moved, up).active == r.active;
            moved[c] = x[c] - h;
            same &= project(&p, GEODEC_POLYTOPE_EXACT, 1e-6, 200, moved, down).active == r.active;
            for (int i = 0; i < N; i++) j[i][c] = (up[i] - down[i]) / (2 * h);
        }
        geodec_polytope_clear(&p);
        if (!same) continue; /* a change of the face within h */
        smooth++;
        for (int i = 0; i < N; i++) {
            trace += j[i][i];
            for (int k = 0; k < N; k++) {
                double s = 0;
                for (int l = 0; l < N; l++) s += j[i][l] * j[l][k];
                idempotent = fmax(idempotent, fabs(s - j[i][k]));
                symmetric = fmax(symmetric, fabs(j[i][k] - j[k][i]));
            }
        }
        cr_assert_lt(symmetric, 1e-8); /* rounding of 1e-13 over 2e-5 */
        cr_assert_lt(idempotent, 1e-8);
        cr_assert_float_eq(trace, N - (double)r.active, 1e-7);
        cr_assert_gt(trace, 0.5); /* not zero */
    }
    cr_assert_gt(smooth, 10);
}

/* What the published program returns is neither feasible nor a projection. */
Test(polytope, the_published_blend_is_no_projection)
{
    enum { N = 12, A = 30 };
    geodec_polytope p = random_one(N, 30, 8);
    double x[N], once[N], twice[N], anchor[A * N], fixed = 0, outside = 0;
    for (uint64_t a = 0; a < A; a++) random_point(N, a + 70, 1, anchor + a * N);
    geodec_polytope_options o = geodec_polytope_defaults();
    o.method = GEODEC_POLYTOPE_PUBLISHED;
    o.anchors = A;
    o.anchor = anchor;
    o.blend = 0.3;
    for (uint64_t seed = 0; seed < 20; seed++) {
        geodec_polytope_report r;
        random_point(N, seed, 2, x);
        test_ok(geodec_polytope_project(&p, &o, x, once, &r, &err), &err);
        test_ok(geodec_polytope_project(&p, &o, once, twice, NULL, &err), &err);
        fixed = fmax(fixed, gap(N, once, twice));
        outside = fmax(outside, r.violation);
    }
    printf("published: moves again by %.2g, lies outside by up to %.2g\n", fixed, outside);
    cr_assert(fixed > 1e-2 && outside > 1e-2);
    o.blend = 0; /* without the blend it is Dykstra's */
    test_ok(geodec_polytope_project(&p, &o, x, once, NULL, &err), &err);
    project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-6, 200, x, twice);
    cr_assert_eq(memcmp(once, twice, sizeof once), 0);
    geodec_polytope_clear(&p);
}

Test(polytope, refusals)
{
    geodec_polytope p = {0};
    double x[2] = {1, 2}, out[2] = {7, 7};
    cr_assert_eq(geodec_polytope_make(0, 1, x, x, &p, &err), GEODEC_LIMIT);
    cr_assert_eq(geodec_polytope_make(2, 1, (double[]){0, 0}, x, &p, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_polytope_make(2, 1, (double[]){0, NAN}, x, &p, &err), GEODEC_NUMERIC);
    cr_assert_null(p.normal);
    /* x_1 <= -1 and x_1 >= 1 */
    test_ok(geodec_polytope_make(2, 2, (double[]){2, 0, -3, 0}, (double[]){-2, -3}, &p, &err), &err);
    cr_assert_float_eq(p.bound[1], -1, 1e-15);
    geodec_polytope_options o = geodec_polytope_defaults();
    geodec_polytope_report r = {0};
    test_ok(geodec_polytope_project(&p, &o, x, out, &r, &err), &err);
    cr_assert(!r.converged && r.violation >= 1 - 1e-12);
    o.method = GEODEC_POLYTOPE_EXACT;
    cr_assert_eq(geodec_polytope_project(&p, &o, x, out, &r, &err), GEODEC_NOCONV);
    o.method = GEODEC_POLYTOPE_PUBLISHED;
    cr_assert_eq(geodec_polytope_project(&p, &o, x, out, &r, &err), GEODEC_RANGE);
    o = geodec_polytope_defaults();
    o.tolerance = NAN;
    cr_assert_eq(geodec_polytope_project(&p, &o, x, out, &r, &err), GEODEC_RANGE);
    o.tolerance = 1e-6;
    x[1] = INFINITY;
    cr_assert_eq(geodec_polytope_project(&p, &o, x, out, &r, &err), GEODEC_NUMERIC);
    geodec_polytope_clear(&p);
}

/* ---- fitting ----------------------------------------------------------------------------------------------------- */

Test(polytope, supporting_planes_hold_their_states)
{
    enum { N = 200, K = 6, PLANES = 40 };
    static double z[N * K];
    geodec_polytope p = {0};
    double worst = -INFINITY, out[K];
    random_point(N * K, 3, 1, z);
    test_ok(geodec_polytope_support(N, K, z, PLANES, 0.05, 9, &p, &err), &err);
    cr_assert(p.m == PLANES && p.d == K);
    for (int i = 0; i < N; i++) worst = fmax(worst, geodec_polytope_violation(&p, z + i * K));
    cr_assert_float_eq(worst, -0.05, 1e-12); /* each plane is the margin away from a state */
    for (int j = 0; j < PLANES; j++) {
        double most = -INFINITY;
        for (int i = 0; i < N; i++) most = fmax(most, geodec__dot(K, p.normal + j * K, z + i * K) - p.bound[j]);
        cr_assert_float_eq(most, -0.05, 1e-12);
        cr_assert_float_eq(geodec__dot(K, p.normal + j * K, p.normal + j * K), 1, 1e-14);
    }
    for (int i = 0; i < 2 * K; i++) cr_assert_float_eq(p.normal[i * K + i / 2], i % 2 ? -1 : 1, 0);
    /* from far away, 200 sweeps are too few: the report says so */
    double far[K] = {50, 50, 50, 50, 50, 50}, exact[K];
    const geodec_polytope_report few = project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-6, 200, far, out);
    project(&p, GEODEC_POLYTOPE_EXACT, 1e-6, 200, far, exact);
    const geodec_polytope_report many = project(&p, GEODEC_POLYTOPE_DYKSTRA, 1e-9, 1000000, far, far); /* in place */
    printf("from far: 200 sweeps leave a violation of %.2g, 1e-9 takes %lld\n", few.violation, (long long)many.sweeps);
    cr_assert(!few.converged && few.violation > 1e-6 && many.converged);
    cr_assert_lt(gap(K, far, exact), 1e-5);
    cr_assert_lt(geodec_polytope_violation(&p, exact), 1e-11);
    geodec_polytope_clear(&p);
    cr_assert_eq(geodec_polytope_support(N, K, z, 2 * K - 1, 0, 9, &p, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_polytope_support(N, K, z, PLANES, NAN, 9, &p, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_polytope_support(N, 65, z, PLANES, 0, 9, &p, &err), GEODEC_RANGE);
}

/* In the span of a basis: inside keeps its bits; outside moves by the basis alone. */
Test(polytope, within_a_span)
{
    enum { WIDTH = 9, K = 2 };
    const double basis[K * WIDTH] = {0.6, 0.8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
    const double mean[WIDTH] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    geodec_polytope p = {0};
    geodec_polytope_options o = geodec_polytope_defaults();
    geodec_polytope_report r;
    double x[WIDTH], out[WIDTH];
    test_ok(geodec_polytope_make(K, 1, (double[]){1, 0}, (double[]){0.5}, &p, &err), &err);
    for (int i = 0; i < WIDTH; i++) x[i] = 1 + 0.1 * i;
    test_ok(geodec_polytope_project_span(&p, WIDTH, basis, mean, &o, x, out, &r, &err), &err);
    cr_assert_eq(memcmp(x, out, sizeof x), 0);
    x[0] = 3; /* z_0 = 0.6 2 + 0.8 0.1 = 1.28 */
    test_ok(geodec_polytope_project_span(&p, WIDTH, basis, mean, &o, x, out, &r, &err), &err);
    cr_assert_float_eq(out[0], 3 - 0.78 * 0.6, 1e-14);
    cr_assert_float_eq(out[1], 1.1 - 0.78 * 0.8, 1e-14);
    cr_assert_eq(memcmp(x + 2, out + 2, sizeof x - 2 * sizeof *x), 0);
    cr_assert_float_eq(r.moved, 0.78, 1e-14);
    geodec_polytope_clear(&p);
}

/* Two normal clouds with one covariance: the best plane is known, and its rates are Phi(half the Mahalanobis distance).
 */
Test(polytope, discriminative_plane)
{
    enum { N = 4000, K = 3 };
    static double safe[N * K], unsafe[N * K];
    geodec_polytope_plane plane = {0};
    const double shift[K] = {1, 0.5, 0}, sd[K] = {1, 0.25, 2};
    random_point(N * K, 1, 1, safe);
    random_point(N * K, 2, 1, unsafe);
    for (int i = 0; i < N * K; i++) {
        safe[i] *= sd[i % K];
        unsafe[i] = unsafe[i] * sd[i % K] + shift[i % K];
    }
    test_ok(geodec_polytope_separate(N, safe, N, unsafe, K, 0, &plane, &err), &err);
    const double want[K] = {1, 8, 0}, length = sqrt(65); /* shift / variance */
    double cosine = 0;
    for (int i = 0; i < K; i++) cosine += plane.normal[i] * want[i] / length;
    const double rate = 0.5 * erfc(-sqrt(1 + 4) / 2 / sqrt(2));
    printf("plane: cosine %.5f, safe inside %.4f, unsafe outside %.4f, expected %.4f\n", cosine, plane.safe_inside,
           plane.unsafe_outside, rate);
    cr_assert_gt(cosine, 0.999);
    cr_assert_float_eq(plane.safe_inside, rate, 0.02); /* four standard errors of 4,000 */
    cr_assert_float_eq(plane.unsafe_outside, rate, 0.02);
    cr_assert_eq(geodec_polytope_separate(N, safe, N, safe, K, 0, &plane, &err), GEODEC_SINGULAR);
    cr_assert_eq(geodec_polytope_separate(1, safe, N, safe, K, 0, &plane, &err), GEODEC_RANGE);
    safe[5] = NAN;
    cr_assert_eq(geodec_polytope_separate(N, safe, N, unsafe, K, 0, &plane, &err), GEODEC_NUMERIC);
}
