#include "base/mem.h"
#include "base/rng.h"
#include "geometry/curvature.h"
#include "geometry/quadratic.h"
#include "linalg/knn.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A point of a set of dimension n in m dimensions from random numbers, and its scalar curvature. */
typedef double (*set_fn)(geodec_rng *r, double *y);

static double uniform(geodec_rng *r, double a, double b) { return a + (b - a) * geodec_rng_uniform(r); }

/* The unit sphere within 60 degrees of a pole: curvature n (n - 1) */
static double cap(geodec_rng *r, int n, double *y)
{
    for (;;) {
        double s = 0;
        for (int i = 0; i <= n; i++) y[i] = geodec_rng_normal(r), s += y[i] * y[i];
        for (int i = 0; i <= n; i++) y[i] /= sqrt(s);
        if (y[0] >= 0.5) return n * (n - 1);
    }
}
static double cap5(geodec_rng *r, double *y) { return cap(r, 5, y); }
static double cap2(geodec_rng *r, double *y) { return cap(r, 2, y); }
static double cylinder(geodec_rng *r, double *y) /* S^3 x R */
{
    y[4] = uniform(r, -1, 1);
    return cap(r, 3, y);
}
/* A piece of H^3 in R^5: dr^2 + e^-2r (dx^2 + dz^2), circles of radius a e^-r; the height is an elementary integral. */
static double hyperbolic(geodec_rng *r, double *y)
{
    const double a = 0.6, k = 2 * a * a, low = exp(-2 * 1.2);
    const double w2 = uniform(r, low, 1); /* e^-2r by volume */
    const double w = sqrt(w2), root = sqrt(1 - k * w2), x = uniform(r, -1, 1), z = uniform(r, -1, 1);
    y[0] = a * w * cos(x / a), y[1] = a * w * sin(x / a);
    y[2] = a * w * cos(z / a), y[3] = a * w * sin(z / a);
    y[4] = atanh(root) - root; /* h'(r) = sqrt(1 - k e^-2r) */
    return -6;
}
static double torus(geodec_rng *r, double *y)
{
    const double big = 1, small = 0.4;
    double v;
    do v = uniform(r, 0, 2 * M_PI);
    while (uniform(r, 0, 1) * (big + small) > big + small * cos(v));
    const double ring = big + small * cos(v), u = uniform(r, 0, 2 * M_PI);
    y[0] = ring * cos(u), y[1] = ring * sin(u), y[2] = small * sin(v);
    return 2 * cos(v) / (small * ring);
}

enum { POINTS = 3000, AMBIENT = 40, CENTRES = 150 };

static int rising(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Medians over centres of the estimate and of its relative error to the truth; the share of right signs. */
static void medians(set_fn set, int n, int m, int64_t k, double *scalar, double *error, double *signs)
{
    double *y = geodec_mem_new(POINTS * AMBIENT, sizeof *y), *truth = geodec_mem_new(POINTS, sizeof *truth);
    double *near = geodec_mem_new(k * AMBIENT, sizeof *near), *d2 = geodec_mem_new(CENTRES * (k + 1), sizeof *d2);
    int32_t *index = geodec_mem_new(CENTRES * (k + 1), sizeof *index);
    double value[CENTRES], off[CENTRES], turn[AMBIENT][AMBIENT];
    geodec_quadratic q;
    geodec_err err = {0};
    geodec_rng r = geodec_rng_stream(7, (uint64_t)n);
    for (int a = 0; a < m; a++) { /* orthonormal rows: an isometric embedding */
        for (int j = 0; j < AMBIENT; j++) turn[a][j] = geodec_rng_normal(&r);
        for (int b = 0; b <= a; b++) {
            double s = 0;
            for (int j = 0; j < AMBIENT; j++) s += turn[a][j] * turn[b][j];
            for (int j = 0; j < AMBIENT; j++) turn[a][j] = b < a ? turn[a][j] - s * turn[b][j] : turn[a][j] / sqrt(s);
        }
    }
    for (int i = 0; i < POINTS; i++) {
        double x[8];
        truth[i] = set(&r, x);
        for (int j = 0; j < AMBIENT; j++) {
            y[i * AMBIENT + j] = 1e-3 * geodec_rng_normal(&r);
            for (int a = 0; a < m; a++) y[i * AMBIENT + j] += x[a] * turn[a][j];
        }
    }
    /* the first points are the centres; each is its own nearest neighbour */
    test_ok(geodec_knn_search(POINTS, AMBIENT, y, CENTRES, y, k + 1, index, d2, NULL, NULL, &err), &err);
    test_ok(geodec_quadratic_init(&q, n, AMBIENT, &err), &err);
    *signs = 0;
    for (int c = 0; c < CENTRES; c++) {
        for (int64_t i = 0; i < k; i++)
            memcpy(near + i * AMBIENT, y + index[c * (k + 1) + i] * (int64_t)AMBIENT, AMBIENT * sizeof *y);
        test_ok(geodec_quadratic_fit(&q, k, near, y + c * AMBIENT, sqrt(d2[c * (k + 1) + k]), NULL, NULL, &err), &err);
        value[c] = geodec_quadratic_curvature_of(&q, NULL).scalar;
        off[c] = fabs(value[c] - truth[c]) / fabs(truth[c]);
        *signs += (value[c] > 0) == (truth[c] > 0);
    }
    *signs /= CENTRES;
    qsort(value, CENTRES, sizeof *value, rising);
    qsort(off, CENTRES, sizeof *off, rising);
    *scalar = value[CENTRES / 2];
    *error = off[CENTRES / 2];
    geodec_quadratic_clear(&q);
    GEODEC_FREE(y, truth, near, d2, index);
}

/* Curved sets of both signs with noise 1e-3 in 40 dimensions: the closed form within 15 % at the median point. */
Test(quadratic, closed_forms)
{
    const struct {
        const char *name;
        set_fn set;
        int n, m;
        int64_t k;
    } sets[] = {{"S^5", cap5, 5, 6, 60},
                {"S^2", cap2, 2, 3, 90},
                {"S^3 x R", cylinder, 4, 5, 45},
                {"H^3", hyperbolic, 3, 5, 60},
                {"torus", torus, 2, 3, 50}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        double scalar, error, signs;
        medians(sets[i].set, sets[i].n, sets[i].m, sets[i].k, &scalar, &error, &signs);
        cr_assert_lt(error, 0.15, "%s: %g, error %g", sets[i].name, scalar, error);
        cr_assert_gt(signs, 0.95, "%s: %g", sets[i].name, signs);
    }
}

/* Points on a quadratic graph, without noise: A, the tangent space and the origin are those of the graph where the
 * chord is the tangential length (small points), and the noise is zero. */
static void graph(geodec_rng *r, int count, double size, double noise, double *y)
{
    for (int i = 0; i < count; i++) {
        double *x = y + 6 * i, a = uniform(r, -size, size), b = uniform(r, -size, size);
        const double v[6] = {a, b, 0, a * a - 0.5 * b * b, 2 * a * b, 0.25 * b * b};
        for (int j = 0; j < 6; j++) x[j] = v[j] + noise * geodec_rng_normal(r);
    }
}

Test(quadratic, second_fundamental_form_of_a_graph)
{
    enum { COUNT = 60 };
    double y[COUNT * 6], zero[6] = {0}, riem[16];
    geodec_rng r = geodec_rng_stream(3, 1);
    geodec_quadratic q;
    geodec_err err = {0};
    graph(&r, COUNT, 1e-3, 0, y);
    test_ok(geodec_quadratic_init(&q, 2, 6, &err), &err);
    test_ok(geodec_quadratic_fit(&q, COUNT, y, zero, 2e-3, NULL, NULL, &err), &err);
    /* A_11 = 2 e3, A_12 = 2 e4, A_22 = -e3 + e5/2: K = <A_11, A_22> - |A_12|^2 = -2 - 4 */
    const geodec_quadratic_curvature k = geodec_quadratic_curvature_of(&q, riem);
    cr_assert_float_eq(k.scalar, -12, 1e-4, "%g", k.scalar);
    cr_assert_float_eq(k.sectional_min, -6, 1e-4);
    cr_assert_float_eq(k.mean_squared, (1 + 0.25) / 4, 1e-4, "%g", k.mean_squared); /* |tr A|^2 = |e3 + e5/2|^2 */
    cr_assert_float_eq(riem[0 * 8 + 1 * 4 + 0 * 2 + 1], -6, 1e-4);
    cr_assert_float_eq(riem[1 * 8 + 0 * 4 + 0 * 2 + 1], 6, 1e-4);
    cr_assert_lt(q.noise, 1e-18);
    cr_assert_lt(fabs(q.origin[3]) + fabs(q.origin[0]), 1e-9);
    geodec_quadratic_clear(&q);
}

/* The induced metric of the fitted graph: symbols from differences of g, curvature at t = 0 by Gauss. */
Test(quadratic, the_graph_is_a_space)
{
    enum { COUNT = 60 };
    double y[COUNT * 6], zero[6] = {0}, riem[16], gauss[16], t[2] = {0}, at[2] = {0.03, -0.05}, g[4], dg[8], gamma[8];
    geodec_rng r = geodec_rng_stream(3, 2);
    geodec_quadratic q;
    static geodec_quadratic_space s;
    geodec_err err = {0};
    graph(&r, COUNT, 0.1, 1e-5, y);
    test_ok(geodec_quadratic_init(&q, 2, 6, &err), &err);
    test_ok(geodec_quadratic_fit(&q, COUNT, y, zero, 0.2, NULL, NULL, &err), &err);
    geodec_quadratic_space_init(&s, &q);
    test_ok(geodec_curvature_at(&s.base, t, riem, NULL, NULL, &err), &err);
    (void)geodec_quadratic_curvature_of(&q, gauss);
    for (int i = 0; i < 16; i++) cr_assert_float_eq(riem[i], gauss[i], 1e-2, "%d: %g %g", i, riem[i], gauss[i]);
    test_ok(s.base.at(&s.base, at, g, dg, gamma, &err), &err);
    /* g is that of the embedding: |w|^2 of the direction of v */
    const double v[2] = {0.3, -1.1};
    double p[6], w[6], length = 0;
    geodec_quadratic_point(&q, at, v, p, w);
    for (int j = 0; j < 6; j++) length += w[j] * w[j];
    cr_assert_float_eq(length, g[0] * v[0] * v[0] + 2 * g[1] * v[0] * v[1] + g[3] * v[1] * v[1], 1e-12);
    double back[2], christoffel[8];
    geodec_quadratic_coordinates(&q, p, back);
    cr_assert_float_eq(back[0], at[0], 1e-12);
    test_ok(geodec_space_christoffel(2, g, dg, christoffel, &err), &err);
    for (int i = 0; i < 8; i++) cr_assert_float_eq(gamma[i], christoffel[i], 1e-12);
    for (int a = 0; a < 2; a++) {
        double up[2] = {at[0], at[1]}, down[2] = {at[0], at[1]}, gu[4], gd[4];
        up[a] += 1e-4, down[a] -= 1e-4;
        test_ok(s.base.at(&s.base, up, gu, NULL, NULL, &err), &err);
        test_ok(s.base.at(&s.base, down, gd, NULL, NULL, &err), &err);
        for (int i = 0; i < 4; i++) cr_assert_float_eq(dg[a * 4 + i], (gu[i] - gd[i]) / 2e-4, 1e-7);
    }
    geodec_quadratic_clear(&q);
}

/* Flat points with noise: without the correction the scalar curvature of noise is not zero in the mean. */
Test(quadratic, noise_has_no_curvature_in_the_mean)
{
    enum { COUNT = 80, RUNS = 400 };
    double y[COUNT * 6], zero[6] = {0}, mean = 0, square = 0, raw = 0;
    geodec_rng r = geodec_rng_stream(5, 1);
    geodec_quadratic q;
    geodec_err err = {0};
    test_ok(geodec_quadratic_init(&q, 2, 6, &err), &err);
    for (int run = 0; run < RUNS; run++) {
        for (int i = 0; i < COUNT; i++)
            for (int j = 0; j < 6; j++) y[6 * i + j] = j < 2 ? uniform(&r, -0.7, 0.7) : 0.05 * geodec_rng_normal(&r);
        test_ok(geodec_quadratic_fit(&q, COUNT, y, zero, 1, NULL, NULL, &err), &err);
        const double s = geodec_quadratic_curvature_of(&q, NULL).scalar;
        mean += s / RUNS;
        square += s * s / RUNS;
        raw += geodec_quadratic_curvature_of(&q, NULL).mean_squared / RUNS;
        cr_assert_gt(q.noise, 0.5 * 4 * 0.0025);
        cr_assert_lt(q.noise, 2.0 * 4 * 0.0025);
    }
    const double se = sqrt((square - mean * mean) / RUNS);
    cr_assert_lt(fabs(mean), 4 * se, "%g, standard error %g", mean, se);
    cr_assert_lt(fabs(raw), 0.01, "%g", raw); /* the mean curvature's square as well */
    geodec_quadratic_clear(&q);
}

/* The neighbours of a place in Gaussian noise of one dimension more than the set: the ball leaves the errors less room
 * towards its rim, and the curvature is zero all the same. */
Test(quadratic, a_ball_of_noise_has_no_curvature_in_the_mean)
{
    enum { COUNT = 120, RUNS = 400, D = 3 };
    double y[COUNT * D], zero[D] = {0}, mean = 0, square = 0;
    geodec_rng r = geodec_rng_stream(6, 1);
    geodec_quadratic q;
    geodec_err err = {0};
    test_ok(geodec_quadratic_init(&q, 2, D, &err), &err);
    for (int run = 0; run < RUNS; run++) {
        for (int i = 0; i < COUNT; i++) {
            double *x = y + D * i;
            do {
                x[0] = uniform(&r, -1, 1), x[1] = uniform(&r, -1, 1), x[2] = 0.4 * geodec_rng_normal(&r);
            } while (x[0] * x[0] + x[1] * x[1] + x[2] * x[2] > 1);
        }
        test_ok(geodec_quadratic_fit(&q, COUNT, y, zero, 1, NULL, NULL, &err), &err);
        const double s = geodec_quadratic_curvature_of(&q, NULL).scalar;
        mean += s / RUNS;
        square += s * s / RUNS;
    }
    const double se = sqrt((square - mean * mean) / RUNS);
    cr_assert_lt(fabs(mean), 4 * se, "%g, standard error %g", mean, se);
    geodec_quadratic_clear(&q);
}

Test(quadratic, reduced_coordinates_give_the_same_fit)
{
    enum { COUNT = 30, D = 100 };
    static double y[COUNT * D], z[COUNT * COUNT], basis[COUNT * D];
    double centre[D] = {0}, zero[COUNT] = {0};
    int64_t rank;
    geodec_rng r = geodec_rng_stream(9, 1);
    geodec_quadratic a, b;
    geodec_err err = {0};
    for (int i = 0; i < COUNT; i++) {
        const double u = uniform(&r, -1, 1), v = uniform(&r, -1, 1);
        for (int j = 0; j < D; j++) y[i * D + j] = 0.01 * geodec_rng_normal(&r);
        y[i * D] += u, y[i * D + 50] += v, y[i * D + 99] += u * v;
    }
    test_ok(geodec_quadratic_reduce(COUNT, D, y, centre, z, basis, &rank, &err), &err);
    cr_assert_eq(rank, COUNT);
    test_ok(geodec_quadratic_init(&a, 2, D, &err), &err);
    test_ok(geodec_quadratic_init(&b, 2, rank, &err), &err);
    test_ok(geodec_quadratic_fit(&a, COUNT, y, centre, 2, NULL, NULL, &err), &err);
    test_ok(geodec_quadratic_fit(&b, COUNT, z, zero, 2, NULL, NULL, &err), &err);
    cr_assert_float_eq(a.noise, b.noise, 1e-10 * a.noise);
    cr_assert_float_eq(geodec_quadratic_curvature_of(&a, NULL).scalar, geodec_quadratic_curvature_of(&b, NULL).scalar,
                       1e-8);
    geodec_quadratic_clear(&a);
    geodec_quadratic_clear(&b);
}

Test(quadratic, too_few_points_and_bad_points)
{
    double y[8 * 3] = {0}, centre[3] = {0};
    geodec_quadratic q;
    geodec_err err = {0};
    cr_assert_eq(geodec_quadratic_init(&q, 4, 3, &err), GEODEC_RANGE);
    test_ok(geodec_quadratic_init(&q, 2, 3, &err), &err);
    cr_assert_eq(geodec_quadratic_fit(&q, 6, y, centre, 1, NULL, NULL, &err), GEODEC_SCARCE);
    cr_assert_eq(geodec_quadratic_fit(&q, 8, y, centre, 1, NULL, NULL, &err), GEODEC_SCARCE); /* all at one place */
    y[5] = NAN;
    cr_assert_eq(geodec_quadratic_fit(&q, 8, y, centre, 1, NULL, NULL, &err), GEODEC_NUMERIC);
    geodec_quadratic_clear(&q);
}
