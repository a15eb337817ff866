/* Worlds against their closed forms: points, curvature, geodesics, sampling. */
#include "artifact/binding.h"
#include "base/choose.h"
#include "base/mem.h"
#include "base/vec_internal.h"
#include "chain/coverage.h"
#include "geodec/curvature.h"
#include "geometry/geodesic.h"
#include "lab/worlds/carry.h"
#include "lab/worlds/field.h"
#include "lab/worlds/truth.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { D = 24, MAX = 8 };
static const double pi = 3.14159265358979323846;

static geodec_world made(const geodec_world_options *o)
{
    geodec_world w = {0};
    geodec_err err = {0};
    test_ok(geodec_world_make(o, &w, &err), &err);
    return w;
}

/* The worlds of the tests: every set that has a shape, at strength 1 and below. */
static int cases(geodec_world_options *list)
{
    static const struct {
        geodec_world_set set;
        int32_t n;
        double radius, cap, strength;
    } all[] = {
        {GEODEC_WORLD_SPHERE, 2, 2, 0, 1},        {GEODEC_WORLD_SPHERE, 4, 1.5, 1.2, 1},
        {GEODEC_WORLD_SPHERE, 3, 1.5, 0, 0.3},    {GEODEC_WORLD_SPHERE, 3, 1.5, 1, 0},
        {GEODEC_WORLD_HYPERBOLIC, 2, 1, 0, 1},    {GEODEC_WORLD_HYPERBOLIC, 4, 2, 0, 1},
        {GEODEC_WORLD_HYPERBOLIC, 3, 2, 1, 0.5},  {GEODEC_WORLD_HYPERBOLIC, 3, 2, 1, 0},
        {GEODEC_WORLD_PRODUCT, 3, 1, 0, 1},       {GEODEC_WORLD_PRODUCT, 4, 2, 1, 0.25},
        {GEODEC_WORLD_TORUS, 2, 2, 0, 1},         {GEODEC_WORLD_TORUS, 2, 2, 0, 0.6},
        {GEODEC_WORLD_TORUS, 2, 2, 0, 0},         {GEODEC_WORLD_QUADRATIC, 2, 1, 0.8, 1},
        {GEODEC_WORLD_QUADRATIC, 4, 2, 0.7, 0.5}, {GEODEC_WORLD_FLAT, 3, 1, 0, 1},
        {GEODEC_WORLD_FIELD, 2, 1, 0, 1},         {GEODEC_WORLD_FIELD, 4, 2, 0, 0.5},
        {GEODEC_WORLD_FIELD, 3, 2, 0, 0},         {GEODEC_WORLD_WARP, 3, 2, 0, 1},
    };
    const int count = sizeof all / sizeof *all;
    for (int i = 0; i < count; i++) {
        geodec_world_options o = geodec_world_defaults();
        o.set = all[i].set;
        o.n = all[i].n;
        o.radius = all[i].radius;
        o.cap = all[i].cap;
        o.strength = all[i].strength;
        o.ambient = D;
        o.points = 40;
        list[i] = o;
    }
    return count;
}
enum { CASES = 32 };

/* The equation that a point of the set's own space fulfils, as a residual. */
static double off_the_set(const geodec_world *w, int64_t i)
{
    const double *y = w->y + i * w->natural, r = w->radius / sqrt(w->strength);
    const int64_t n = w->n;
    double sum = 0, off = 0;
    if (w->strength == 0 && w->set != GEODEC_WORLD_TORUS && w->set != GEODEC_WORLD_QUADRATIC) {
        for (int64_t a = n; a < w->natural; a++) off += fabs(y[a]);
        return off;
    }
    switch (w->set) {
    case GEODEC_WORLD_SPHERE:
    case GEODEC_WORLD_PRODUCT: {
        const int64_t k = w->set == GEODEC_WORLD_SPHERE ? n : n - 1; /* centre at (0, .. 0, -r) */
        for (int64_t a = 0; a <= k; a++) sum += (y[a] + (a == k) * r) * (y[a] + (a == k) * r);
        return fabs(sqrt(sum) - r);
    }
    case GEODEC_WORLD_HYPERBOLIC: { /* every circle has the radius r a e^-t of the profile at the height h(t) */
        const double a = 1 / sqrt((double)(n - 1)), t0 = 0.5, t = w->parameter[i * n], w0 = sqrt(1 - exp(-2 * t0)),
                     w1 = sqrt(1 - exp(-2 * t));
        for (int64_t k = 1; k < n; k++)
            off += fabs(hypot(y[2 * k - 2] + r * a * exp(-t0), y[2 * k - 1]) - r * a * exp(-t));
        return off + fabs(y[2 * n - 2] - r * (atanh(w1) - w1 - atanh(w0) + w0));
    }
    case GEODEC_WORLD_TORUS:
        if (w->strength == 1) return fabs(hypot(hypot(y[0], y[1]) - w->radius, y[2]) - w->tube);
        /* its circle of the height is of one radius, and the distance from the axis is that of the metric */
        return fabs(hypot(y[0], y[1]) - w->radius - w->strength * w->tube * cos(w->parameter[2 * i + 1])) +
               fabs(hypot(y[2], y[3]) - hypot(w->y[2], w->y[3]));
    default:
        return 0; /* a graph and a plane: no equation beside the definition */
    }
}

Test(worlds, points_lie_on_the_set_and_the_map_is_isometric)
{
    geodec_world_options list[CASES];
    const int count = cases(list);
    for (int c = 0; c < count; c++) {
        geodec_world w = made(&list[c]);
        for (int64_t i = 0; i < w.points; i++) {
            cr_assert_lt(off_the_set(&w, i), 1e-12 * (1 + w.radius / sqrt(w.strength + 1e-3)), "case %d row %d: %g", c,
                         (int)i, off_the_set(&w, i));
            /* the orthogonal map keeps distances; without noise x is the clean point */
            cr_assert_lt(fabs(sqrt(geodec__gap2(D, w.clean, w.clean + i * D)) -
                              sqrt(geodec__gap2(w.natural, w.y, w.y + i * w.natural))),
                         1e-12);
            cr_assert_eq(memcmp(w.x, w.clean, (size_t)(w.points * D) * sizeof *w.x), 0);
        }
        for (int64_t a = 0; a < w.natural; a++)
            for (int64_t b = 0; b <= a; b++)
                cr_assert_float_eq(geodec__dot(D, w.basis + a * D, w.basis + b * D), a == b, 1e-13);
        geodec_world_clear(&w);
    }
}

/* f(z) = exp of the tangent vector z at row i, in R^D: a chart, whatever the set. */
typedef struct normal_chart {
    geodec_space space;
    const geodec_world *w;
    int64_t row;
} normal_chart;

static void at_normal(const normal_chart *c, const double *z, double *y)
{
    geodec_err err = {0};
    double unit[MAX] = {1};
    const double s = sqrt(geodec__dot(c->space.n, z, z));
    for (int i = 0; s > 0 && i < c->space.n; i++) unit[i] = z[i] / s;
    test_ok(geodec_world_geodesic(c->w, c->row, unit, s, y, NULL, &err), &err);
}

/* g by differences of the map of order 6; dg by differences of g of order 4. */
static void pulled_g(const normal_chart *c, const double *z, double *g)
{
    static const double weight[] = {45. / 60, -9. / 60, 1. / 60};
    const int n = c->space.n;
    const double h = 0.04;
    double j[MAX][D], p[D], m[D], q[MAX];
    for (int a = 0; a < n; a++) {
        memset(j[a], 0, sizeof j[a]);
        for (int k = 1; k <= 3; k++) {
            memcpy(q, z, sizeof q);
            q[a] += k * h;
            at_normal(c, q, p);
            q[a] -= 2 * k * h;
            at_normal(c, q, m);
            for (int d = 0; d < D; d++) j[a][d] += weight[k - 1] * (p[d] - m[d]) / h;
        }
    }
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) g[a * n + b] = geodec__dot(D, j[a], j[b]);
}

static geodec_status pulled_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                               geodec_err *err)
{
    const normal_chart *c = (const normal_chart *)s;
    const int n = s->n;
    const double h = 0.05;
    double z[MAX], p1[MAX * MAX], m1[MAX * MAX], p2[MAX * MAX], m2[MAX * MAX], g0[MAX * MAX], d0[MAX * MAX * MAX];
    memset(z, 0, sizeof z);
    memcpy(z, x, (size_t)n * sizeof *x);
    pulled_g(c, z, g0);
    for (int a = 0; a < n; a++) {
        z[a] = x[a] + h;
        pulled_g(c, z, p1);
        z[a] = x[a] - h;
        pulled_g(c, z, m1);
        z[a] = x[a] + 2 * h;
        pulled_g(c, z, p2);
        z[a] = x[a] - 2 * h;
        pulled_g(c, z, m2);
        z[a] = x[a];
        for (int k = 0; k < n * n; k++) d0[a * n * n + k] = (8 * (p1[k] - m1[k]) - (p2[k] - m2[k])) / (12 * h);
    }
    if (g) memcpy(g, g0, (size_t)(n * n) * sizeof *g);
    if (dg) memcpy(dg, d0, (size_t)(n * n * n) * sizeof *dg);
    return gamma ? geodec_space_christoffel(n, g0, d0, gamma, err) : GEODEC_OK;
}

/* The embedded set alone, by differences of geodesics in R^D, has the curvature of the closed form. Errors of the three
 * differences: h^6 = 4e-9, h^4 = 6e-6 and, of the last, 0.02^2 = 4e-4, each times derivatives of the metric near 1. */
Test(worlds, curvature_of_the_embedded_set_is_the_closed_form)
{
    geodec_world_options list[CASES];
    const int count = cases(list);
    for (int c = 0; c < count; c++) {
        geodec_world_options o = list[c];
        if (o.n > 3 || o.set == GEODEC_WORLD_FIELD || o.set == GEODEC_WORLD_WARP) continue; /* cost; not isometric */
        o.points = 2;
        geodec_world w = made(&o);
        for (int64_t i = 0; i < 2; i++) {
            const double zero[MAX] = {0};
            geodec_err err = {0};
            geodec_curvature_invariants k;
            const normal_chart chart = {{.n = w.n, .name = "normal chart", .at = pulled_at, .fd_step = 0.02}, &w, i};
            test_ok(geodec_curvature_at(&chart.space, zero, NULL, NULL, &k, &err), &err);
            cr_assert_float_eq(k.scalar, w.scalar[i], 3e-3 * (1 + fabs(w.scalar[i])), "case %d row %d: %.8g, not %.8g",
                               c, (int)i, k.scalar, w.scalar[i]);
        }
        geodec_world_clear(&w);
    }
}

/* The exact induced metric in the chart: derivatives of Gamma by differences of step 1e-4 are right to 1e-7. */
Test(worlds, curvature_of_the_chart_is_the_closed_form)
{
    geodec_world_options list[CASES];
    const int count = cases(list);
    int charts = 0;
    for (int c = 0; c < count; c++) {
        geodec_world w = made(&list[c]);
        const geodec_space *s = geodec_world_space(&w);
        for (int64_t i = 0; s && i < w.points; i++) {
            geodec_err err = {0};
            geodec_curvature_invariants k;
            double g[MAX * MAX], t[MAX * D];
            const double *u = w.parameter + i * w.parameters;
            test_ok(geodec_curvature_at(s, u, NULL, NULL, &k, &err), &err);
            cr_assert_float_eq(k.scalar, w.scalar[i], 1e-6 * (1 + fabs(w.scalar[i])), "case %d: %.10g, not %.10g", c,
                               k.scalar, w.scalar[i]);
            cr_assert_float_eq(k.sectional_min, w.sectional_min[i], 1e-6 * (1 + fabs(w.scalar[i])));
            cr_assert_float_eq(k.sectional_max, w.sectional_max[i], 1e-6 * (1 + fabs(w.scalar[i])));
            test_ok(s->at(s, u, g, NULL, NULL, &err), &err);
            geodec_world_tangent(&w, i, t);
            for (int a = 0; a < w.n; a++)
                for (int b = 0; b < w.n; b++) cr_assert_float_eq(geodec__dot(D, t + a * D, t + b * D), a == b, 1e-12);
            charts++;
        }
        geodec_world_clear(&w);
    }
    cr_assert_eq(charts, 12 * 40);
}

/* Curvature of both signs, and its scale. */
Test(worlds, curvature_in_numbers)
{
    geodec_world_options o = geodec_world_defaults();
    o.n = 5;
    o.radius = 2;
    geodec_world w = made(&o);
    cr_assert_float_eq(w.scalar[3], 5 * 4 / 4.0, 1e-14);
    geodec_world_clear(&w);
    o.strength = 0.25;
    w = made(&o);
    cr_assert_float_eq(w.scalar[3], 5 * 4 / 16.0, 1e-14);
    geodec_world_clear(&w);
    o = geodec_world_defaults();
    o.set = GEODEC_WORLD_TORUS;
    o.radius = 3;
    o.tube = 1;
    w = made(&o);
    double least = 1, most = -1;
    for (int64_t i = 0; i < w.points; i++) least = fmin(least, w.scalar[i]), most = fmax(most, w.scalar[i]);
    cr_assert_float_eq(least, 2 * -1 / 2.0, 0.01);
    cr_assert_float_eq(most, 2 * 1 / 4.0, 0.01);
    geodec_world_clear(&w);
    /* a saddle: K = -1 at its centre */
    const double saddle[] = {1, 0, 0, -1};
    o.set = GEODEC_WORLD_QUADRATIC;
    o.forms = 1;
    o.form = saddle;
    o.cap = 1e-4 / 3;
    w = made(&o);
    for (int64_t i = 0; i < w.points; i++) cr_assert_float_eq(w.scalar[i], -2, 1e-7);
    geodec_world_clear(&w);
    o.set = GEODEC_WORLD_GAUSSIAN;
    w = made(&o);
    cr_assert(isnan(w.scalar[0]) && !w.frame);
    geodec_world_clear(&w);
}

/* Of a geodesic in R^D: unit speed, no acceleration in the tangent space, by differences of step h. */
Test(worlds, geodesics_have_unit_speed_and_no_tangential_acceleration)
{
    geodec_world_options list[CASES];
    const int count = cases(list);
    const double h = 1e-3;
    for (int c = 0; c < count; c++) {
        if (list[c].set == GEODEC_WORLD_FIELD || list[c].set == GEODEC_WORLD_WARP) continue;
        geodec_world w = made(&list[c]);
        for (int64_t i = 0; i < 6; i++) {
            geodec_err err = {0};
            double y[5][D], v[D], t[MAX * D], unit[MAX] = {0};
            unit[0] = cos(0.7 + (double)i);
            unit[1] = sin(0.7 + (double)i);
            geodec_world_tangent(&w, i, t);
            for (int k = 0; k < 5; k++) test_ok(geodec_world_geodesic(&w, i, unit, (k - 2) * h, y[k], v, &err), &err);
            cr_assert_lt(test_max_abs_diff(y[2], w.clean + i * D, D), 1e-12);
            cr_assert_float_eq(geodec__dot(D, v, v), 1, 1e-10);
            for (int a = 0; a < w.n; a++) {
                double speed = 0, acceleration = 0;
                for (int d = 0; d < D; d++) {
                    speed += t[a * D + d] * (8 * (y[3][d] - y[1][d]) - (y[4][d] - y[0][d])) / (12 * h);
                    acceleration +=
                        t[a * D + d] * (16 * (y[3][d] + y[1][d]) - (y[4][d] + y[0][d]) - 30 * y[2][d]) / (12 * h * h);
                }
                cr_assert_float_eq(speed, unit[a], 1e-9, "case %d: %g", c, speed - unit[a]);
                cr_assert_lt(fabs(acceleration), 1e-7, "case %d: %g", c, acceleration);
            }
        }
        geodec_world_clear(&w);
    }
}

/* A closed form and the integrator of the chart agree; and a geodesic in pieces is the whole. */
Test(worlds, hyperbolic_geodesics_are_those_of_the_chart)
{
    geodec_world_options o = geodec_world_defaults();
    o.set = GEODEC_WORLD_HYPERBOLIC;
    o.n = 3;
    o.radius = 2;
    o.points = 12;
    geodec_world w = made(&o);
    const geodec_space *s = geodec_world_space(&w);
    for (int64_t i = 0; i < w.points; i++) {
        geodec_err err = {0};
        geodec_geodesic_options g = geodec_geodesic_defaults();
        geodec_path_report report;
        const double c[3] = {0.6, 0.48, 0.64}, r = w.parameter[3 * i];
        const double v0[3] = {0.6 / 2, 0.48 * exp(r) / 2, 0.64 * exp(r) / 2};
        double xs[6], vs[6], y[16], a = 1 / sqrt(2.0);
        g.steps = 1;
        g.dl = 1;
        g.method = GEODEC_GEODESIC_ADAPTIVE;
        g.rtol = 1e-13;
        test_ok(geodec_geodesic_path(s, &g, w.parameter + 3 * i, v0, xs, vs, NULL, &report, &err), &err);
        test_ok(geodec_world_geodesic(&w, i, c, 1, y, NULL, &err), &err);
        const double first = geodec__dot(16, y, w.basis) + 2 * a * exp(-0.5);
        cr_assert_float_eq(first, 2 * a * exp(-xs[3]) * cos(xs[4] / a), 1e-10);
    }
    geodec_world_clear(&w);
}

/* Moments of uniform points. 20000 points: standard errors near 0.007 of a standard deviation; 4 of them. */
Test(worlds, sampling_is_uniform_by_volume)
{
    enum { POINTS = 20000 };
    geodec_world_options o = geodec_world_defaults();
    o.points = POINTS;
    o.n = 3;
    geodec_world w = made(&o);
    double sum[3] = {0};
    for (int64_t i = 0; i < POINTS; i++) { /* S^3: E z = 0, E z^2 = 1/4, and each coordinate alike */
        const double z = w.y[4 * i + 3] + 1, x = w.y[4 * i];
        sum[0] += z / POINTS;
        sum[1] += z * z / POINTS;
        sum[2] += x * x / POINTS;
    }
    cr_assert(fabs(sum[0]) < 0.015 && fabs(sum[1] - 0.25) < 0.007 && fabs(sum[2] - 0.25) < 0.007);
    cr_assert_float_eq(w.set_variance, 1, 0.005);
    geodec_world_clear(&w);
    o.n = 2; /* a cap of S^2: z uniform in [cos cap, 1] (Archimedes) */
    o.cap = 1.1;
    w = made(&o);
    memset(sum, 0, sizeof sum);
    for (int64_t i = 0; i < POINTS; i++) sum[0] += (w.y[3 * i + 2] + 1 - cos(1.1)) / (1 - cos(1.1)) / POINTS;
    cr_assert_float_eq(sum[0], 0.5, 4 * 0.2887 / sqrt(POINTS));
    geodec_world_clear(&w);
    o.cap = 0;
    o.set = GEODEC_WORLD_TORUS; /* E cos v = r / 2R */
    o.radius = 1;
    o.tube = 0.6;
    w = made(&o);
    memset(sum, 0, sizeof sum);
    for (int64_t i = 0; i < POINTS; i++) sum[0] += cos(w.parameter[2 * i + 1]) / POINTS;
    cr_assert_float_eq(sum[0], 0.3, 0.02);
    geodec_world_clear(&w);
    o.set = GEODEC_WORLD_HYPERBOLIC; /* n = 2: e^-r uniform */
    w = made(&o);
    memset(sum, 0, sizeof sum);
    for (int64_t i = 0; i < POINTS; i++)
        sum[0] += (exp(-w.parameter[2 * i]) - exp(-1.5)) / (exp(-0.5) - exp(-1.5)) / POINTS;
    cr_assert_float_eq(sum[0], 0.5, 4 * 0.2887 / sqrt(POINTS));
    geodec_world_clear(&w);
}

/* Texts that recur have the same state at the same position as the others of their orbit, to the last bit; the others
 * of the world, and all at recur 0, have their own. */
Test(worlds, texts_that_recur_share_their_states)
{
    enum { TEXTS = 8, LENGTH = 25, AMBIENT = 16 };
    geodec_world_options o = geodec_world_defaults();
    o.n = 3;
    o.points = (int64_t)TEXTS * LENGTH;
    o.text_length = LENGTH;
    o.sampling = GEODEC_WORLD_WALK;
    o.orbits = 2;
    for (int k = 0; k < 3; k++) { /* recur 0.5: texts 1, 3, 5, 7, of the orbits 0, 1, 0, 1 */
        o.recur = k / 2.0;
        geodec_world w = made(&o);
        cr_assert_eq(w.recurring, TEXTS * k / 2);
        for (int64_t a = 0; a < TEXTS; a++)
            for (int64_t b = 0; b < a; b++) {
                const bool same = (k == 2 && (a - b) % 2 == 0) || (k == 1 && a % 2 && b % 2 && (a - b) % 4 == 0);
                for (int64_t i = 0; i < LENGTH; i++) {
                    const double *x = w.clean + (a * LENGTH + i) * AMBIENT, *y = w.clean + (b * LENGTH + i) * AMBIENT;
                    cr_assert_eq(memcmp(x, y, AMBIENT * sizeof *x) == 0, same, "texts %d, %d at %d", (int)a, (int)b,
                                 (int)i);
                }
            }
        geodec_world_clear(&w);
    }
    geodec_err err = {0};
    geodec_world w;
    o.recur = 1.5;
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
    o.recur = 1;
    o.orbits = 0;
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
}

/* Steps have their length, and the continuation its share. */
Test(worlds, texts_walk_along_geodesics)
{
    static const double shares[] = {0, 0.5, 1, -0.33};
    geodec_world_options o = geodec_world_defaults();
    geodec_err err = {0};
    double y[16];
    o.n = 3;
    o.points = 4000;
    o.step = 0.2;
    o.sampling = GEODEC_WORLD_GEODESIC;
    for (int k = 0; k < 4; k++) {
        double along = 0, square = 0, most = 0;
        int64_t steps = 0;
        o.share = shares[k];
        geodec_world w = made(&o);
        cr_assert_eq(w.turns, 0); /* a whole sphere has no edge */
        cr_assert_eq(w.texts, 125);
        for (int64_t i = 1; i < w.points; i++) {
            if (w.sequence[i] != w.sequence[i - 1]) continue;
            /* the step in the tangent space: the great circle's angle and the direction of the next point */
            double t[3 * 16], d[3], length = 0;
            geodec_world_tangent(&w, i - 1, t);
            for (int a = 0; a < 3; a++) {
                d[a] = 0;
                for (int c = 0; c < 16; c++) d[a] += t[a * 16 + c] * (w.clean[i * 16 + c] - w.clean[(i - 1) * 16 + c]);
                length += d[a] * d[a];
            }
            length = sqrt(length);
            const double chord = sqrt(geodec__gap2(16, w.clean + i * 16, w.clean + (i - 1) * 16));
            const double angle = 2 * asin(chord / 2);
            along += angle * geodec__dot(3, d, w.heading + (i - 1) * 3) / length;
            square += angle * angle;
            test_ok(geodec_world_geodesic(&w, i - 1, NULL, o.step, y, NULL, &err), &err);
            most = fmax(most, test_max_abs_diff(y, w.clean + i * 16, 16));
            /* the recorded vector of the step leads to the row */
            const double *v = w.advance + i * 3, size = sqrt(geodec__dot(3, v, v));
            for (int a = 0; a < 3; a++) d[a] = v[a] / size;
            test_ok(geodec_world_geodesic(&w, i - 1, d, o.step * size, y, NULL, &err), &err);
            cr_assert_lt(test_max_abs_diff(y, w.clean + i * 16, 16), 1e-12);
            steps++;
        }
        along /= o.step * (double)steps;
        square /= o.step * o.step * (double)steps;
        /* 3875 steps: the standard error of the coefficient is at most 0.01, of the square 0.02 */
        cr_assert_float_eq(along, shares[k], shares[k] == 1 ? 1e-9 : 0.04, "share %g: %g", shares[k], along);
        cr_assert_float_eq(square, 1, shares[k] == 1 ? 1e-9 : 0.06, "share %g: %g", shares[k], square);
        if (shares[k] == 1)
            cr_assert_lt(most, 1e-11);
        else
            cr_assert_gt(most, 0.1);
        geodec_world_clear(&w);
    }
    /* a walk's steps are all of one length, and its direction changes slowly */
    o.sampling = GEODEC_WORLD_WALK;
    o.turn = 0.02;
    geodec_world w = made(&o);
    double near = 0;
    for (int64_t i = 1; i < 32; i++) {
        const double chord = sqrt(geodec__gap2(16, w.clean + i * 16, w.clean + (i - 1) * 16));
        cr_assert_float_eq(2 * asin(chord / 2), o.step, 1e-12);
        test_ok(geodec_world_geodesic(&w, i - 1, NULL, o.step, y, NULL, &err), &err);
        near = fmax(near, sqrt(geodec__gap2(16, y, w.clean + i * 16)));
    }
    cr_assert(near > 0.01 && near < 0.2, "%g", near);
    geodec_world_clear(&w);
}

Test(worlds, edges_turn_steps_back_and_say_so)
{
    geodec_world_options list[CASES], o;
    const int count = cases(list);
    geodec_err err = {0};
    for (int c = 0; c < count; c++) {
        o = list[c];
        o.sampling = GEODEC_WORLD_GEODESIC;
        o.points = 200;
        o.step = 0.3;
        geodec_world w = made(&o);
        int64_t marked = 0;
        for (int64_t i = 0; i < w.points; i++) marked += w.turned[i];
        const bool edge = !(w.set == GEODEC_WORLD_TORUS || (w.set == GEODEC_WORLD_SPHERE && w.strength == 1 && !o.cap));
        cr_assert_eq(marked, w.turns);
        cr_assert_eq(w.turns > 0, edge, "case %d: %d turns", c, (int)w.turns);
        geodec_world_clear(&w);
    }
    o = geodec_world_defaults();
    o.set = GEODEC_WORLD_FLAT;
    o.sampling = GEODEC_WORLD_WALK;
    o.step = 3;
    geodec_world w = {0};
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
}

/* The same options give the same bytes; the first points do not depend on how many there are; seeds differ. */
Test(worlds, deterministic_and_noise_has_its_variance)
{
    geodec_world_options o = geodec_world_defaults();
    const double spectrum[16] = {0, 0, 0, 0, 4, 1, 0.25};
    o.noise = 0.1;
    o.sampling = GEODEC_WORLD_WALK;
    geodec_world a = made(&o), b = made(&o);
    cr_assert_eq(memcmp(a.x, b.x, (size_t)(a.points * a.ambient) * sizeof *a.x), 0);
    geodec_world_clear(&b);
    o.points = 100;
    b = made(&o);
    cr_assert_eq(memcmp(a.x, b.x, 100 * 16 * sizeof *a.x), 0);
    geodec_world_clear(&b);
    double square = 0;
    for (int64_t i = 0; i < 16000; i++) square += (a.x[i] - a.clean[i]) * (a.x[i] - a.clean[i]) / 16000;
    cr_assert_float_eq(square, 0.01, 0.0005); /* 16000 squares: standard error 0.0001 */
    cr_assert_float_eq(a.noise_variance, 0.16, 1e-15);
    o.seed = 2;
    b = made(&o);
    cr_assert_neq(b.parameter[0], a.parameter[0]);
    geodec_world_clear(&a);
    geodec_world_clear(&b);
    /* noise by a spectrum leaves the space of the set alone */
    o.points = 4000;
    o.spectrum = spectrum;
    a = made(&o);
    double out = 0, in = 0;
    for (int64_t i = 0; i < a.points; i++) {
        double gap[16];
        for (int k = 0; k < 16; k++) gap[k] = a.x[i * 16 + k] - a.clean[i * 16 + k];
        out += geodec__dot(16, gap, gap) / (double)a.points;
        for (int k = 0; k < 3; k++) in = fmax(in, fabs(geodec__dot(16, gap, a.basis + k * 16)));
    }
    cr_assert_float_eq(out, 5.25, 0.4); /* its variance is 2 (16 + 1 + 1/16) / 4000, standard error 0.09 */
    cr_assert_lt(in, 1e-12);
    geodec_world_clear(&a);
}

/* The null has the covariance of its set and nothing else. */
Test(worlds, the_null_has_the_spectrum)
{
    geodec_world_options o = geodec_world_defaults();
    const double variance[4] = {4, 1, 0.25, 0};
    o.set = GEODEC_WORLD_GAUSSIAN;
    o.n = 3;
    o.points = 5000;
    geodec_world w = made(&o);
    double square = 0, fourth = 0;
    cr_assert_eq(w.natural, 4);
    for (int64_t i = 0; i < w.points; i++) {
        square += w.y[4 * i] * w.y[4 * i] / (double)w.points;
        fourth += pow(w.y[4 * i], 4) / (double)w.points;
    }
    cr_assert_float_eq(square, 0.25, 0.02);
    cr_assert_float_eq(fourth / (square * square), 3, 0.3); /* a sphere's is 2 */
    geodec_world_clear(&w);
    o.ambient = 4;
    o.variance = variance;
    w = made(&o);
    cr_assert_float_eq(w.set_variance, 5.25, 0.3);
    cr_assert_eq(w.y[3], 0);
    geodec_world_clear(&w);
}

Test(worlds, given_texts_and_refusals)
{
    enum { ROWS = 6 };
    static const int32_t sequence[ROWS] = {7, 7, 7, 3, 3, 9}, position[ROWS] = {0, 1, 5, 2, 4, 0}, wrong[ROWS] = {0};
    geodec_world_options o = geodec_world_defaults();
    geodec_err err = {0};
    geodec_world w;
    double y[16];
    o.points = ROWS;
    o.sequence = sequence;
    o.position = position;
    o.sampling = GEODEC_WORLD_GEODESIC;
    w = made(&o);
    cr_assert_eq(w.texts, 3);
    /* a gap of four positions is four steps */
    test_ok(geodec_world_geodesic(&w, 1, NULL, 4 * o.step, y, NULL, &err), &err);
    cr_assert_lt(test_max_abs_diff(y, w.clean + 32, 16), 1e-12);
    geodec_world_clear(&w);
    o.position = wrong;
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
    o = geodec_world_defaults();
    o.ambient = 2;
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
    o = geodec_world_defaults();
    o.strength = 1.5;
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
    o.strength = 1;
    o.share = NAN;
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
    o.share = 1;
    o.cap = 2 * pi;
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
    o.cap = 0;
    o.set = GEODEC_WORLD_PRODUCT; /* S^1 x R is flat */
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
    for (int64_t k = 1; k < 14; k++) {
        geodec_mem_fail_after(k);
        o = geodec_world_defaults();
        cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_NOMEM);
        geodec_mem_fail_after(0);
    }
}

/* The field: geodesics have unit speed in it, strength scales log g, and the matrices are those of the space. */
Test(worlds, a_field_has_its_strength)
{
    enum { POINTS = 400 };
    geodec_world_options o = geodec_world_defaults();
    geodec_err err = {0};
    geodec_world_field f, half, turning;
    static double g[POINTS * 9], h[POINTS * 9], e[9];
    double square = 0;
    o.set = GEODEC_WORLD_FIELD;
    o.n = 3;
    o.points = POINTS;
    o.cap = 4;
    o.scale = 0.7;
    geodec_world w = made(&o);
    for (int64_t i = 0; i < 20; i++) {
        double y[2][16], d[3], k[3];
        test_ok(geodec_world_geodesic(&w, i, (const double[]){0.6, 0, 0.8}, 1e-4, y[0], NULL, &err), &err);
        test_ok(geodec_world_geodesic(&w, i, (const double[]){0.6, 0, 0.8}, -1e-4, y[1], NULL, &err), &err);
        test_ok(geodec_world_space(&w)->at(geodec_world_space(&w), w.parameter + 3 * i, e, NULL, NULL, &err), &err);
        for (int a = 0; a < 3; a++) d[a] = k[a] = 0;
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 16; c++) d[a] += w.basis[a * 16 + c] * (y[0][c] - y[1][c]) / 2e-4;
        for (int a = 0; a < 3; a++) k[a] = sqrt(e[0]) * d[a];
        cr_assert_float_eq(geodec__dot(3, k, k), 1, 1e-6);
    }
    test_ok(geodec_world_field_init(&f, 3, true, 0.5, 0.7, 1, o.seed, &err), &err);
    test_ok(geodec_world_field_init(&half, 3, true, 0.5, 0.7, 0.5, o.seed, &err), &err);
    test_ok(geodec_world_field_init(&turning, 3, false, 0.5, 0.7, 1, o.seed, &err), &err);
    test_ok(geodec_world_field_matrices(&f, POINTS, w.y, g, &err), &err);
    test_ok(geodec_world_field_matrices(&half, POINTS, w.y, h, &err), &err);
    for (int i = 0; i < POINTS; i++) {
        cr_assert_float_eq(log(g[9 * i]), 2 * log(h[9 * i]), 1e-12);
        square += log(g[9 * i]) * log(g[9 * i]) / POINTS;
    }
    test_ok(f.space.at(&f.space, w.y, e, NULL, NULL, &err), &err);
    cr_assert_lt(test_max_abs_diff(e, g, 9), 1e-13);
    cr_assert(square > 0.1 && square < 0.5, "%g", square); /* 0.25 over phases; eight modes */
    test_ok(geodec_world_field_matrices(&turning, POINTS, w.y, h, &err), &err);
    cr_assert(fabs(h[1]) > 1e-3 && h[1] == h[3] && h[0] > 0);
    cr_assert_eq(geodec_world_field_init(&half, 3, true, 0.5, 0, 1, 1, &err), GEODEC_RANGE);
    geodec_world_field_clear(&f);
    geodec_world_field_clear(&turning);
    geodec_world_clear(&w);
}

/* The warp leads the query to the target by its strength, leaves lines outside of its ball alone, and its exact
 * derivative is that of its matrices. */
Test(worlds, a_warp_carries_its_fact)
{
    static const double strengths[] = {0, 0.5, 1};
    geodec_world_options o = geodec_world_defaults();
    geodec_err err = {0};
    o.set = GEODEC_WORLD_WARP;
    o.n = 3;
    o.points = 50;
    for (int k = 0; k < 3; k++) {
        geodec_world_check c;
        geodec_world_carry warp;
        o.strength = strengths[k];
        geodec_world w = made(&o);
        test_ok(geodec_world_check_rows(&w, 50, &c, &err), &err);
        cr_assert_float_eq(c.before, 2 * sin(0.15), 1e-14);
        cr_assert_float_eq(c.after, (1 - o.strength) * c.before, 1e-9, "strength %g: %g", o.strength, c.after);
        cr_assert_lt(c.curvature, 1e-5);
        cr_assert_float_eq(sqrt(geodec__gap2(16, w.fact, w.fact + 32)), 1, 1e-14);
        test_ok(geodec_world_carry_init(&warp, 3, 1, o.strength, &err), &err);
        for (int64_t i = 0; i < w.points; i++) {
            const double *x = w.parameter + 3 * i, v[3] = {0.1, -0.7, 0.4};
            double y[3], dy[3], back[3], v1[3], p[9], m[9], dg[27], q[3];
            geodec_world_carry_unwarp(&warp, x, v, y, dy);
            geodec_world_carry_warp(&warp, y, dy, back, v1);
            cr_assert(test_max_abs_diff(back, x, 3) < 1e-14 && test_max_abs_diff(v1, v, 3) < 1e-13);
            test_ok(warp.space.at(&warp.space, x, NULL, dg, NULL, &err), &err);
            for (int a = 0; a < 3; a++) {
                memcpy(q, x, sizeof q);
                q[a] = x[a] + 1e-5;
                test_ok(warp.space.at(&warp.space, q, p, NULL, NULL, &err), &err);
                q[a] = x[a] - 1e-5;
                test_ok(warp.space.at(&warp.space, q, m, NULL, NULL, &err), &err);
                for (int e = 0; e < 9; e++) cr_assert_float_eq((p[e] - m[e]) / 2e-5, dg[9 * a + e], 1e-6);
            }
        }
        const double outside[3] = {-0.5, 0.9, 0};
        double g[9];
        test_ok(warp.space.at(&warp.space, outside, g, NULL, NULL, &err), &err);
        for (int a = 0; a < 9; a++) cr_assert_eq(g[a], a % 4 == 0);
        geodec_world_clear(&w);
    }
}

/* Families: who has a near one, exactly; and the mean share of hits with random caches, by the closed form. */
Test(worlds, families_are_covered_as_given)
{
    enum { POINTS = 300, CACHED = 120, ROUNDS = 200 };
    geodec_world_options o = geodec_world_defaults();
    o.set = GEODEC_WORLD_FAMILIES;
    o.n = 5;
    o.points = POINTS;
    o.strength = 0.6;
    o.family = 4;
    o.radius = 2;
    o.noise = 0;
    geodec_world w = made(&o);
    static bool near[POINTS][POINTS];
    cr_assert_eq(w.families, 45);
    for (int i = 0; i < POINTS; i++) {
        int others = 0;
        for (int j = 0; j < POINTS; j++) {
            const double d = sqrt(geodec__gap2(16, w.x + i * 16, w.x + j * 16));
            near[i][j] = i != j && d <= w.tube;
            others += near[i][j];
            cr_assert(i == j || d <= w.tube || d >= 0.75 * 2 - w.tube);
        }
        cr_assert_eq(others, w.covered[i] ? 3 : 0);
    }
    double hits = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        int64_t order[POINTS];
        geodec__choose_order(3, round, POINTS, order);
        for (int q = CACHED; q < POINTS; q++) {
            bool hit = false;
            for (int c = 0; c < CACHED; c++) hit |= near[order[q]][order[c]];
            hits += hit / (double)(ROUNDS * (POINTS - CACHED));
        }
    }
    /* 36000 queries, correlated within a family: standard error below 0.005 */
    cr_assert_float_eq(hits, 0.6 * geodec_coverage_closed_form(POINTS, 3, CACHED), 0.015, "%g", hits);
    geodec_world_clear(&w);
    o.strength = 0;
    w = made(&o);
    cr_assert_eq(w.families, 0);
    geodec_world_clear(&w);
}

/* Worlds of the sizes of a cloud: a world's own spectrum and noise come back. */
Test(worlds, like_a_cloud)
{
    enum { POINTS = 60, K = 5, WIDTH = 12 };
    static double coordinate[POINTS * K], eigenvalue[WIDTH];
    static int32_t sequence[POINTS], position[POINTS];
    geodec_cloud cloud = {.points = POINTS,
                          .k = K,
                          .d = WIDTH,
                          .k_int = 3,
                          .values = WIDTH,
                          .coordinate = coordinate,
                          .eigenvalue = eigenvalue,
                          .sequence = sequence,
                          .position = position};
    geodec_world_options o = geodec_world_defaults();
    geodec_world_like like;
    geodec_world_like_options take = geodec_world_like_defaults();
    geodec_err err = {0};
    for (int i = 0; i < WIDTH; i++) eigenvalue[i] = i < K ? 10 - i : 0.01;
    for (int i = 0; i < POINTS; i++) {
        sequence[i] = i / 20;
        position[i] = 1 + i % 20;
        coordinate[i * K + 2] = 0.3 * (i % 20);
    }
    o.sampling = GEODEC_WORLD_GEODESIC;
    test_ok(geodec_world_like_cloud(&cloud, &take, &o, &like, &err), &err);
    cr_assert(o.n == 3 && o.points == POINTS && o.ambient == WIDTH);
    cr_assert_float_eq(like.noise, 0.1, 1e-14);
    cr_assert_float_eq(like.span, 34, 1e-12);
    cr_assert_float_eq(o.step, sqrt(0.09 - 8 * 0.01), 1e-12);
    cr_assert_float_eq(o.radius, sqrt(34 - 4 * 0.01),
                       0.05); /* a uniform sphere of 4096 points: R^2, error 1/64 of it at most */
    geodec_world w = made(&o);
    cr_assert_eq(w.texts, 3);
    cr_assert_eq(memcmp(w.position, position, sizeof position), 0);
    cr_assert_float_eq(w.noise_variance, 4 * 0.01 + 6 + 7 * 0.01, 1e-12);
    geodec_world_clear(&w);
    geodec_world_like_clear(&like);
    /* the null has the whole spectrum; a set that does not fit is refused; steps longer than the piece are cut */
    o = geodec_world_defaults();
    o.set = GEODEC_WORLD_GAUSSIAN;
    test_ok(geodec_world_like_cloud(&cloud, &take, &o, &like, &err), &err);
    w = made(&o);
    cr_assert_eq(w.natural, WIDTH);
    cr_assert_float_eq(w.set_variance, 40.07, 12); /* 60 points: standard error 3 */
    geodec_world_clear(&w);
    geodec_world_like_clear(&like);
    o = geodec_world_defaults();
    o.n = 12;
    take.keep_n = true;
    cr_assert_eq(geodec_world_like_cloud(&cloud, &take, &o, &like, &err), GEODEC_RANGE);
    take.keep_n = false;
    /* without the rest, with another noise */
    o = geodec_world_defaults();
    take.rest = false;
    take.noise = 0.2;
    test_ok(geodec_world_like_cloud(&cloud, &take, &o, &like, &err), &err);
    w = made(&o);
    cr_assert_float_eq(w.noise_variance, WIDTH * 0.04, 1e-12);
    cr_assert_float_eq(o.radius, sqrt(34 - 4 * 0.04), 0.05);
    geodec_world_clear(&w);
    geodec_world_like_clear(&like);
    take = geodec_world_like_defaults();
    for (int i = 0; i < POINTS; i++) coordinate[i * K + 2] = 100 * (i % 2);
    o = geodec_world_defaults();
    test_ok(geodec_world_like_cloud(&cloud, &take, &o, &like, &err), &err);
    cr_assert(like.limited);
    cr_assert_float_eq(o.step, o.radius * pi / 2, 1e-12);
    geodec_world_like_clear(&like);
}

/* The measured share of a text is the given one, beside its control; what the file has is what was written. */
Test(worlds, steps_checks_and_the_file)
{
    geodec_world_options o = geodec_world_defaults();
    geodec_world_truth t = {0}, back = {0};
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = {.tool = "test"};
    const char *path = test_tmp("world.h5");
    o.set = GEODEC_WORLD_TORUS;
    o.points = 3000;
    o.share = 0.6;
    o.step = 0.05;
    o.sampling = GEODEC_WORLD_GEODESIC;
    t.world = made(&o);
    test_ok(geodec_world_steps_measure(&t.world, &t.steps, &err), &err);
    test_ok(geodec_world_check_rows(&t.world, 20, &t.check, &err), &err);
    /* 2906 steps: standard error of each coefficient 0.015 */
    cr_assert_eq(t.steps.counted, 2906);
    cr_assert(fabs(t.steps.share - 0.6) < 0.05 && fabs(t.steps.random) < 0.06 && t.steps.straight > t.steps.error,
              "%g %g", t.steps.share, t.steps.random);
    cr_assert_float_eq(t.steps.error, 2 - 2 * 0.6, 0.1); /* E |w - d|^2 = 2 - 2 share */
    cr_assert(t.check.rows == 20 && t.check.curved == 20 && t.check.acceleration < 1e-6 && t.check.curvature < 1e-5);
    cr_assert_gt(t.check.acceleration, 0);
    test_ok(geodec_artifact_save_as(&geodec_world_truth_kind, path, &p, &t, &err), &err);
    test_ok(geodec_artifact_open(&geodec_world_truth_kind, path, &a, &err), &err);
    test_ok(geodec_artifact_load(a, &back, &err), &err);
    geodec_artifact_close(a);
    cr_assert(back.world.set == o.set && back.world.n == 2 && back.world.points == 3000 && back.world.texts == 94);
    cr_assert_eq(memcmp(back.world.scalar, t.world.scalar, 3000 * sizeof(double)), 0);
    cr_assert_eq(memcmp(back.world.frame, t.world.frame, (size_t)(3000 * 2 * t.world.natural) * sizeof(double)), 0);
    cr_assert_eq(back.steps.share, t.steps.share);
    cr_assert_null(back.world.covered);
    geodec_artifact_clear(&geodec_world_truth_kind, &back);
    geodec_world_clear(&t.world);
}

/* A flow of share 1 turns the state by the angle step / R in the planes of the coordinates: linear, every text the same
 * map. At share 0 the steps have no direction of their own. A cap, an even dimension: refused. */
Test(worlds, a_flow_is_a_rotation_of_the_sphere)
{
    geodec_world_options o = geodec_world_defaults();
    geodec_err err = {0};
    geodec_world_steps steps;
    o.n = 5;
    o.radius = 3;
    o.step = 0.7;
    o.ambient = D;
    o.points = 400;
    o.sampling = GEODEC_WORLD_FLOW;
    geodec_world w = made(&o);
    const double c = cos(o.step / o.radius), d = sin(o.step / o.radius);
    for (int64_t i = 1; i < w.points; i++) {
        const double *x = w.parameter + (i - 1) * 6, *y = w.parameter + i * 6;
        if (w.sequence[i] != w.sequence[i - 1]) continue;
        for (int a = 0; a < 6; a += 2) {
            /* rounding of a text of 32 steps */
            cr_assert_float_eq(y[a], c * x[a] - d * x[a + 1], 1e-12);
            cr_assert_float_eq(y[a + 1], c * x[a + 1] + d * x[a], 1e-12);
        }
    }
    geodec_world_clear(&w);
    o.share = 0;
    w = made(&o);
    test_ok(geodec_world_steps_measure(&w, &steps, &err), &err);
    cr_assert_lt(fabs(steps.share), 0.1); /* its standard deviation is 1 / sqrt(5 388) = 0.023 */
    geodec_world_clear(&w);
    o.n = 4;
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
    o.n = 5;
    o.cap = 1;
    cr_assert_eq(geodec_world_make(&o, &w, &err), GEODEC_RANGE);
}
