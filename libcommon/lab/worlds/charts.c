/* Sets in a chart: a piece of hyperbolic space, the torus of revolution, graphs of quadratic forms. */
#include "base/mem.h"
#include "base/vec_internal.h"
#include "geometry/geodesic.h"
#include "lab/worlds/worlds_internal.h"
#include "linalg/chol.h"

#include <gsl/gsl_sf_ellint.h>
#include <string.h>

enum { N = GEODEC__WORLD_N, FORMS = GEODEC__WORLD_FORMS };

/* ---- hyperbolic: parameters (r, x_1 .. x_(n-1)), metric R^2 (dr^2 + e^-2r dx^2) ------------------------------------
 */

#define RIM 0.5 /* the least r of the piece; the surface ends at r = 0 */

static double winding(const geodec__world_shape *s) { return 1 / sqrt((double)(s->n - 1)); } /* a */

double geodec__world_girth(int32_t n, double radius)
{
    return 2 * GEODEC__WORLD_PI * radius * exp(-RIM) / sqrt((double)(n - 1));
}

/* The height of the profile, h' = w. */
static double profile(double r)
{
    const double w = sqrt(-expm1(-2 * r));
    return atanh(w) - w;
}

static void hyperbolic_draw(const geodec__world_shape *s, geodec_rng *rng, double *u)
{
    const double d = s->n - 1;
    u[0] = RIM - log1p(geodec_rng_uniform(rng) * expm1(-d * s->size / s->radius)) / d; /* density e^(-(n-1) r) */
    for (int i = 1; i < s->n; i++)
        u[i] = GEODEC__WORLD_PI * winding(s) * sqrt(s->strength) * (2 * geodec_rng_uniform(rng) - 1);
}

static bool hyperbolic_inside(const geodec__world_shape *s, const double *u)
{
    if (!(u[0] >= RIM && u[0] <= RIM + s->size / s->radius)) return false;
    for (int i = 1; s->strength < 1 && i < s->n; i++)
        if (fabs(u[i]) > GEODEC__WORLD_PI * winding(s) * sqrt(s->strength)) return false;
    return true; /* strength 1: the circles are whole, no edge */
}

/* From the point (RIM, 0, .. 0). */
static void hyperbolic_embed(const geodec__world_shape *s, const double *u, double *y)
{
    const double a = winding(s), w = s->radius * a, f = w * exp(-u[0]), f0 = w * exp(-RIM);
    for (int i = 1; i < s->n; i++) {
        y[2 * i - 2] = f * cos(u[i] / a) - f0;
        y[2 * i - 1] = f * sin(u[i] / a);
    }
    y[2 * s->n - 2] = s->radius * (profile(u[0]) - profile(RIM));
}

static void hyperbolic_push(const geodec__world_shape *s, const double *u, const double *du, double *dy)
{
    const double a = winding(s), f = s->radius * exp(-u[0]);
    for (int i = 1; i < s->n; i++) {
        const double c = cos(u[i] / a), sn = sin(u[i] / a);
        dy[2 * i - 2] = f * (-a * c * du[0] - sn * du[i]);
        dy[2 * i - 1] = f * (-a * sn * du[0] + c * du[i]);
    }
    dy[2 * s->n - 2] = s->radius * sqrt(-expm1(-2 * u[0])) * du[0];
}

static geodec_status hyperbolic_frame(const geodec__world_shape *s, const double *u, double *e, geodec_err *err)
{
    (void)err;
    memset(e, 0, (size_t)s->n * (size_t)s->n * sizeof *e);
    e[0] = 1 / s->radius;
    for (int i = 1; i < s->n; i++) e[i * s->n + i] = exp(u[0]) / s->radius;
    return GEODEC_OK;
}

static void hyperbolic_curvature(const geodec__world_shape *s, const double *u, const double *e, double k[3])
{
    (void)u;
    (void)e;
    k[1] = k[2] = -1 / (s->radius * s->radius);
    k[0] = s->n * (s->n - 1) * k[1];
}

/* On the hyperboloid -A B + |X|^2 = -1 in the light-cone coordinates A = e^-r, B = e^r + |x|^2 e^-r, X = x e^-r, where
 * geodesics are cosh(t) P + sinh(t) V. x is measured from the start. */
static geodec_status hyperbolic_go(const geodec__world_shape *s, double *u, double *du, double t, geodec_err *err)
{
    const double t1 = t / s->radius, c = cosh(t1), sh = sinh(t1), a0 = exp(-u[0]);
    const double da0 = -a0 * du[0] * s->radius; /* du is of unit length on the set, R du on the hyperboloid */
    const double a = c * a0 + sh * da0, da = sh * a0 + c * da0;
    if (!(a > 0) || !(a <= 1)) GEODEC_FAIL(GEODEC_NUMERIC, "the geodesic leaves the hyperbolic surface at r = 0");
    for (int i = 1; i < s->n; i++) {
        const double dx0 = a0 * du[i] * s->radius, x = sh * dx0, dx = c * dx0;
        u[i] += x / a;
        du[i] = (dx / a - x * da / (a * a)) / s->radius;
    }
    u[0] = -log(a);
    du[0] = -da / a / s->radius;
    return GEODEC_OK;
}

static void hyperbolic_metric(const geodec__world_shape *s, const double *u, double *g, double *dg)
{
    const int n = s->n;
    const double r2 = s->radius * s->radius, e = exp(-2 * u[0]);
    memset(g, 0, (size_t)(n * n) * sizeof *g);
    memset(dg, 0, (size_t)(n * n * n) * sizeof *dg);
    g[0] = r2;
    for (int i = 1; i < n; i++) {
        g[i * n + i] = r2 * e;
        dg[i * n + i] = -2 * r2 * e; /* d_r */
    }
}

/* ---- torus: parameters (u, v), metric (R + s r cos v)^2 du^2 + r^2 dv^2, s the strength ---------------------------
 */

static double axis(const geodec__world_shape *s, double v) { return s->radius + s->strength * s->tube * cos(v); }

static void torus_draw(const geodec__world_shape *s, geodec_rng *r, double *u)
{
    u[0] = GEODEC__WORLD_PI * (2 * geodec_rng_uniform(r) - 1);
    do u[1] = GEODEC__WORLD_PI * (2 * geodec_rng_uniform(r) - 1);
    while (geodec_rng_uniform(r) * (s->radius + s->strength * s->tube) >= axis(s, u[1]));
}
static bool torus_inside(const geodec__world_shape *s, const double *u)
{
    (void)s;
    return isfinite(u[0]) && isfinite(u[1]);
}

double geodec__world_quarter(double k) { return k < 1 ? gsl_sf_ellint_Ecomp(k, GSL_PREC_DOUBLE) : 1; }

/* Angle of the wrapped height at v, and its derivative times the radius of that circle: r sqrt(1 - s^2 sin^2 v). */
static double wrapped(const geodec__world_shape *s, double v)
{
    const double turn = nearbyint(v / (2 * GEODEC__WORLD_PI)), rest = v - 2 * GEODEC__WORLD_PI * turn;
    return 2 * GEODEC__WORLD_PI * s->tube * gsl_sf_ellint_E(rest, s->strength, GSL_PREC_DOUBLE) / s->height;
}
static void torus_embed(const geodec__world_shape *s, const double *u, double *y)
{
    const double rho = axis(s, u[1]), circle = s->height / (2 * GEODEC__WORLD_PI);
    y[0] = rho * cos(u[0]);
    y[1] = rho * sin(u[0]);
    if (s->strength >= 1) {
        y[2] = s->tube * sin(u[1]);
    } else {
        y[2] = circle * cos(wrapped(s, u[1]));
        y[3] = circle * sin(wrapped(s, u[1]));
    }
}
static void torus_push(const geodec__world_shape *s, const double *u, const double *du, double *dy)
{
    const double rho = axis(s, u[1]), drho = -s->strength * s->tube * sin(u[1]) * du[1];
    dy[0] = drho * cos(u[0]) - rho * sin(u[0]) * du[0];
    dy[1] = drho * sin(u[0]) + rho * cos(u[0]) * du[0];
    if (s->strength >= 1) {
        dy[2] = s->tube * cos(u[1]) * du[1];
    } else {
        const double k = s->strength * sin(u[1]), dz = s->tube * sqrt(1 - k * k) * du[1], at = wrapped(s, u[1]);
        dy[2] = -sin(at) * dz;
        dy[3] = cos(at) * dz;
    }
}
static geodec_status torus_frame(const geodec__world_shape *s, const double *u, double *e, geodec_err *err)
{
    (void)err;
    e[0] = 1 / axis(s, u[1]);
    e[1] = e[2] = 0;
    e[3] = 1 / s->tube;
    return GEODEC_OK;
}
static void torus_curvature(const geodec__world_shape *s, const double *u, const double *e, double k[3])
{
    (void)e;
    k[1] = k[2] = s->strength * cos(u[1]) / (s->tube * axis(s, u[1]));
    k[0] = 2 * k[1];
}
static void torus_metric(const geodec__world_shape *s, const double *u, double *g, double *dg)
{
    const double rho = axis(s, u[1]);
    memset(g, 0, 4 * sizeof *g);
    memset(dg, 0, 8 * sizeof *dg);
    g[0] = rho * rho;
    g[3] = s->tube * s->tube;
    dg[4] = -2 * rho * s->strength * s->tube * sin(u[1]); /* d_v g_uu */
}

/* ---- quadratic: parameters u, metric I + sum_a q_a q_a^T, q_a = Q_a u ---------------------------------------------
 */

static const double *form(const geodec__world_shape *s, int a) { return s->form + (int64_t)a * s->n * s->n; }
static void slope(const geodec__world_shape *s, const double *u, double *q)
{
    for (int a = 0; a < s->forms; a++)
        for (int i = 0; i < s->n; i++) q[a * s->n + i] = geodec__dot(s->n, form(s, a) + i * s->n, u);
}
static void quadratic_draw(const geodec__world_shape *s, geodec_rng *r, double *u)
{
    geodec__world_ball(r, s->n, s->size, u);
}
static bool quadratic_inside(const geodec__world_shape *s, const double *u)
{
    return geodec__dot(s->n, u, u) <= s->size * s->size;
}
static void quadratic_embed(const geodec__world_shape *s, const double *u, double *y)
{
    memcpy(y, u, (size_t)s->n * sizeof *y);
    for (int a = 0; a < s->forms; a++) y[s->n + a] = geodec__norm2(s->n, form(s, a), u) / 2;
}
static void quadratic_push(const geodec__world_shape *s, const double *u, const double *du, double *dy)
{
    memcpy(dy, du, (size_t)s->n * sizeof *dy);
    for (int a = 0; a < s->forms; a++) {
        double sum = 0;
        for (int i = 0; i < s->n; i++) sum += du[i] * geodec__dot(s->n, form(s, a) + i * s->n, u);
        dy[s->n + a] = sum;
    }
}
static void quadratic_metric(const geodec__world_shape *s, const double *u, double *g, double *dg)
{
    const int n = s->n;
    double q[FORMS * N];
    slope(s, u, q);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            g[i * n + j] = i == j;
            for (int a = 0; a < s->forms; a++) g[i * n + j] += q[a * n + i] * q[a * n + j];
        }
    if (!dg) return;
    for (int c = 0; c < n; c++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int a = 0; a < s->forms; a++)
                    sum += form(s, a)[c * n + i] * q[a * n + j] + q[a * n + i] * form(s, a)[c * n + j];
                dg[(c * n + i) * n + j] = sum;
            }
}
/* Rows of L^-1, g = L L^T. */
static geodec_status quadratic_frame(const geodec__world_shape *s, const double *u, double *e, geodec_err *err)
{
    const int n = s->n;
    double l[N * N];
    quadratic_metric(s, u, l, NULL);
    GEODEC_PASS(geodec_chol_factor(n, l, err));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) e[i * n + j] = i == j;
    geodec_chol_solve_lower(n, l, n, e); /* row j: column j of L^-1 */
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            const double t = e[i * n + j];
            e[i * n + j] = e[j * n + i];
            e[j * n + i] = t;
        }
    return GEODEC_OK;
}
/* Gauss: K(i, j) = <II_ii, II_jj> - |II_ij|^2. The normals (-q_a, e_a) have the Gram matrix I + q_a . q_b, and the
 * inner product of the normal part of two vectors (0, A), (0, B) is A^T (Gram matrix)^-1 B. */
static void quadratic_curvature(const geodec__world_shape *s, const double *u, const double *e, double k[3])
{
    const int n = s->n, p = s->forms;
    double q[FORMS * N], gram[FORMS * FORMS], diagonal[N * FORMS], mixed[FORMS];
    slope(s, u, q);
    for (int a = 0; a < p; a++)
        for (int b = 0; b < p; b++) gram[a * p + b] = (a == b) + geodec__dot(n, q + a * n, q + b * n);
    k[0] = 0;
    k[1] = INFINITY;
    k[2] = -INFINITY;
    if (geodec_chol_factor(p, gram, NULL) != GEODEC_OK) { /* u is not finite */
        k[0] = k[1] = k[2] = NAN;
        return;
    }
    for (int i = 0; i < n; i++) {
        for (int a = 0; a < p; a++) /* q: Q_a e_i, from here on */
            for (int c = 0; c < n; c++) q[a * n + c] = geodec__dot(n, form(s, a) + c * n, e + i * n);
        for (int j = i; j >= 0; j--) { /* the diagonal first */
            double *second = j < i ? mixed : diagonal + i * p;
            for (int a = 0; a < p; a++) second[a] = geodec__dot(n, q + a * n, e + j * n);
            geodec_chol_solve_lower(p, gram, 1, second);
            if (j == i) continue;
            const double plane = geodec__dot(p, diagonal + i * p, diagonal + j * p) - geodec__dot(p, mixed, mixed);
            k[0] += 2 * plane;
            k[1] = fmin(k[1], plane);
            k[2] = fmax(k[2], plane);
        }
    }
}

/* ---- field: parameters u, metric e^(2 phi) I, laid flat ------------------------------------------------------------
 */

static double phi(const geodec__world_shape *s, const double *u)
{
    double d[N], h[N];
    return geodec_world_field_phi(&s->field, u, d, h);
}
static void field_embed(const geodec__world_shape *s, const double *u, double *y)
{
    memcpy(y, u, (size_t)s->n * sizeof *y);
}
/* Lengths are those of the field, directions those of the chart: the field is conformal. */
static void field_push(const geodec__world_shape *s, const double *u, const double *du, double *dy)
{
    const double e = exp(phi(s, u));
    for (int i = 0; i < s->n; i++) dy[i] = e * du[i];
}
static geodec_status field_frame(const geodec__world_shape *s, const double *u, double *e, geodec_err *err)
{
    const double unit = exp(-phi(s, u));
    (void)err;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++) e[i * s->n + j] = i == j ? unit : 0;
    return GEODEC_OK;
}
static void field_curvature(const geodec__world_shape *s, const double *u, const double *e, double k[3])
{
    (void)e;
    geodec_world_field_curvature(&s->field, u, k);
}

/* ---- warp: parameters u, laid flat; the flat coordinates are those of carry.h --------------------------------------
 */

static void warp_push(const geodec__world_shape *s, const double *u, const double *du, double *dy)
{
    double y[N];
    geodec_world_carry_unwarp(&s->carry, u, du, y, dy);
}
static geodec_status warp_frame(const geodec__world_shape *s, const double *u, double *e, geodec_err *err)
{
    double y[N], x[N];
    (void)err;
    geodec_world_carry_unwarp(&s->carry, u, NULL, y, NULL);
    for (int i = 0; i < s->n; i++) {
        double axis[N] = {0};
        axis[i] = 1;
        geodec_world_carry_warp(&s->carry, y, axis, x, e + i * s->n);
    }
    return GEODEC_OK;
}
static void warp_curvature(const geodec__world_shape *s, const double *u, const double *e, double k[3])
{
    (void)s;
    (void)u;
    (void)e;
    k[0] = k[1] = k[2] = 0;
}
static geodec_status warp_go(const geodec__world_shape *s, double *u, double *du, double t, geodec_err *err)
{
    double y[N], dy[N];
    (void)err;
    geodec_world_carry_unwarp(&s->carry, u, du, y, dy);
    for (int i = 0; i < s->n; i++) y[i] += t * dy[i];
    geodec_world_carry_warp(&s->carry, y, dy, u, du);
    return GEODEC_OK;
}

/* ---- the induced metric as a space, and its geodesics -------------------------------------------------------------
 */

/* The field's own space, or the shape. */
static const geodec_space *space_of(const geodec__world_shape *s)
{
    return s->set == GEODEC_WORLD_FIELD ? &s->field.space : &s->space;
}

static geodec_status chart_at(const geodec_space *space, const double *x, double *g, double *dg, double *gamma,
                              geodec_err *err)
{
    const geodec__world_shape *s = (const geodec__world_shape *)space;
    const int64_t n = s->n;
    geodec_status st = GEODEC_OK;
    double small[8 * 8 * 9], *work = small, *g1, *dg1;
    if (!geodec__finite(n, x) || (s->set == GEODEC_WORLD_HYPERBOLIC && x[0] < 0))
        GEODEC_FAIL(GEODEC_NUMERIC, "%s: the point is outside the chart", space->name);
    if (n > 8) GEODEC_NEW(work, n * n * (n + 1));
    g1 = work;
    dg1 = work + n * n;
    if (s->set == GEODEC_WORLD_HYPERBOLIC)
        hyperbolic_metric(s, x, g1, dg1);
    else if (s->set == GEODEC_WORLD_TORUS)
        torus_metric(s, x, g1, dg1);
    else
        quadratic_metric(s, x, g1, dg1);
    if (gamma) GEODEC_TRY(geodec_space_christoffel(s->n, g1, dg1, gamma, err));
    if (g) memcpy(g, g1, (size_t)(n * n) * sizeof *g);
    if (dg) memcpy(dg, dg1, (size_t)(n * n * n) * sizeof *dg);
done:
    if (work != small) geodec_mem_free(work);
    return st;
}

void geodec__world_chart_init(geodec__world_shape *s)
{
    s->space = (geodec_space){.n = s->n, .name = geodec_world_set_names[s->set], .at = chart_at, .fd_step = 1e-4};
    if (s->set == GEODEC_WORLD_QUADRATIC) s->space.fd_step = 1e-4 * s->size;
}

/* Integrated: Prince-Dormand 8(9), error 1e-13 of the length. */
static geodec_status chart_go(const geodec__world_shape *s, double *u, double *du, double t, geodec_err *err)
{
    geodec_geodesic_options o = geodec_geodesic_defaults();
    geodec_path_report report;
    const double sign = t < 0 ? -1 : 1;
    double v[N], xs[2 * N], vs[2 * N];
    if (t == 0) return GEODEC_OK;
    for (int i = 0; i < s->n; i++) v[i] = sign * du[i];
    o.steps = 1;
    o.dl = sign * t;
    o.method = GEODEC_GEODESIC_ADAPTIVE;
    o.rtol = 1e-13;
    GEODEC_PASS(geodec_geodesic_path(space_of(s), &o, u, v, xs, vs, NULL, &report, err));
    if (report.status == GEODEC_PATH_NONFINITE)
        GEODEC_FAIL(GEODEC_NUMERIC, "%s: the geodesic breaks down", space_of(s)->name);
    memcpy(u, xs + s->n, (size_t)s->n * sizeof *u);
    for (int i = 0; i < s->n; i++) du[i] = sign * vs[s->n + i];
    return GEODEC_OK;
}

const geodec__world_ops geodec__world_hyperbolic = {hyperbolic_draw, hyperbolic_inside, hyperbolic_embed,
                                                    hyperbolic_push, hyperbolic_frame,  hyperbolic_curvature,
                                                    hyperbolic_go};
const geodec__world_ops geodec__world_torus = {torus_draw,  torus_inside,    torus_embed, torus_push,
                                               torus_frame, torus_curvature, chart_go};
const geodec__world_ops geodec__world_quadratic = {
    quadratic_draw, quadratic_inside, quadratic_embed, quadratic_push, quadratic_frame, quadratic_curvature, chart_go};
/* Uniform in u, as a quadratic graph. */
const geodec__world_ops geodec__world_field = {quadratic_draw, quadratic_inside, field_embed, field_push,
                                               field_frame,    field_curvature,  chart_go};
const geodec__world_ops geodec__world_warp = {quadratic_draw, quadratic_inside, field_embed, warp_push,
                                              warp_frame,     warp_curvature,   warp_go};
