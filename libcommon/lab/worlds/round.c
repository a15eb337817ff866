/* Sets whose geodesics are closed forms in the space they lie in: sphere, product, ball of a plane. */
#include "base/vec_internal.h"
#include "lab/worlds/worlds_internal.h"

#include <string.h>

enum { N = GEODEC__WORLD_N };

void geodec__world_normals(geodec_rng *r, int64_t n, double *v)
{
    for (int64_t i = 0; i < n; i++) v[i] = geodec_rng_normal(r);
}

void geodec__world_unit(geodec_rng *r, int64_t n, double *v)
{
    double length = 0;
    while (!(length > 0)) {
        geodec__world_normals(r, n, v);
        length = sqrt(geodec__dot(n, v, v));
    }
    for (int64_t i = 0; i < n; i++) v[i] /= length;
}

void geodec__world_ball(geodec_rng *r, int64_t n, double a, double *v)
{
    const double rho = a * pow(geodec_rng_uniform(r), 1 / (double)n);
    geodec__world_unit(r, n, v);
    for (int64_t i = 0; i < n; i++) v[i] *= rho;
}

/* ---- the unit sphere of R^k, with its pole at the last axis ------------------------------------------------------ */

/* Uniform in the cap of half-angle a of S^(k-1): the polar angle has the density sin^(k-2). */
static void cap_draw(geodec_rng *r, int k, double a, double *e)
{
    if (a > GEODEC__WORLD_PI / 2) { /* more than half of the sphere */
        do geodec__world_unit(r, k, e);
        while (acos(fmin(1, fmax(-1, e[k - 1]))) > a);
        return;
    }
    /* proposals with the density t^(k-2) on [0, a] */
    double t, keep;
    do {
        t = a * pow(geodec_rng_uniform(r), 1 / (double)(k - 1));
        keep = t > 0 ? pow(sin(t) / t, k - 2) : 1;
    } while (geodec_rng_uniform(r) >= keep);
    geodec__world_unit(r, k - 1, e);
    for (int i = 0; i < k - 1; i++) e[i] *= sin(t);
    e[k - 1] = cos(t);
}

static bool cap_inside(int k, double a, const double *e)
{
    return a >= GEODEC__WORLD_PI || atan2(sqrt(geodec__dot(k - 1, e, e)), e[k - 1]) <= a;
}

/* The k - 1 columns of the reflection of the pole to -+e that are tangent at e, times `scale`; rows of f are `row`
 * long. */
static void cap_frame(int k, const double *e, double scale, int row, double *f)
{
    double v[N + 1];
    memcpy(v, e, (size_t)k * sizeof *v);
    v[k - 1] += v[k - 1] < 0 ? -1 : 1;
    const double norm2 = geodec__dot(k, v, v);
    for (int i = 0; i < k - 1; i++)
        for (int j = 0; j < k; j++) f[i * row + j] = scale * ((i == j) - 2 * v[i] * v[j] / norm2);
}

/* Along the great circle with the velocity de. */
static void cap_go(int k, double *e, double *de, double t)
{
    const double speed = sqrt(geodec__dot(k, de, de)), c = cos(speed * t), s = sin(speed * t);
    if (!(speed > 0)) return;
    for (int i = 0; i < k; i++) {
        const double at = c * e[i] + s * de[i] / speed;
        de[i] = c * de[i] - s * speed * e[i];
        e[i] = at;
    }
    /* rounding: |e| = 1, de tangent */
    const double length = sqrt(geodec__dot(k, e, e));
    for (int i = 0; i < k; i++) e[i] /= length;
    const double along = geodec__dot(k, e, de);
    for (int i = 0; i < k; i++) de[i] -= along * e[i];
}

/* y = radius (e - pole) */
static void cap_embed(int k, double radius, const double *e, double *y)
{
    for (int i = 0; i < k - 1; i++) y[i] = radius * e[i];
    /* cos - 1 without cancellation near the pole */
    y[k - 1] = e[k - 1] > 0 ? -radius * geodec__dot(k - 1, e, e) / (1 + e[k - 1]) : radius * (e[k - 1] - 1);
}

/* ---- sphere ------------------------------------------------------------------------------------------------------ */

static void sphere_draw(const geodec__world_shape *s, geodec_rng *r, double *u)
{
    cap_draw(r, s->n + 1, s->size / s->radius, u);
}
static bool sphere_inside(const geodec__world_shape *s, const double *u)
{
    return cap_inside(s->n + 1, s->size / s->radius, u);
}
static void sphere_embed(const geodec__world_shape *s, const double *u, double *y)
{
    cap_embed(s->n + 1, s->radius, u, y);
}
static void sphere_push(const geodec__world_shape *s, const double *u, const double *du, double *dy)
{
    (void)u;
    for (int i = 0; i <= s->n; i++) dy[i] = s->radius * du[i];
}
static geodec_status sphere_frame(const geodec__world_shape *s, const double *u, double *e, geodec_err *err)
{
    (void)err;
    cap_frame(s->n + 1, u, 1 / s->radius, s->parameters, e);
    return GEODEC_OK;
}
static void sphere_curvature(const geodec__world_shape *s, const double *u, const double *e, double k[3])
{
    (void)u;
    (void)e;
    k[1] = k[2] = 1 / (s->radius * s->radius);
    k[0] = s->n * (s->n - 1) * k[1];
}
static geodec_status sphere_go(const geodec__world_shape *s, double *u, double *du, double t, geodec_err *err)
{
    (void)err;
    cap_go(s->n + 1, u, du, t);
    return GEODEC_OK;
}
const geodec__world_ops geodec__world_sphere = {sphere_draw,  sphere_inside,    sphere_embed, sphere_push,
                                                sphere_frame, sphere_curvature, sphere_go};

/* ---- product of a sphere of one dimension less and an interval --------------------------------------------------- */

static void product_draw(const geodec__world_shape *s, geodec_rng *r, double *u)
{
    cap_draw(r, s->n, s->size / s->radius, u);
    u[s->n] = s->length * (geodec_rng_uniform(r) - 0.5);
}
static bool product_inside(const geodec__world_shape *s, const double *u)
{
    return cap_inside(s->n, s->size / s->radius, u) && fabs(u[s->n]) <= s->length / 2;
}
static void product_embed(const geodec__world_shape *s, const double *u, double *y)
{
    cap_embed(s->n, s->radius, u, y);
    y[s->n] = u[s->n];
}
static void product_push(const geodec__world_shape *s, const double *u, const double *du, double *dy)
{
    (void)u;
    for (int i = 0; i < s->n; i++) dy[i] = s->radius * du[i];
    dy[s->n] = du[s->n];
}
static geodec_status product_frame(const geodec__world_shape *s, const double *u, double *e, geodec_err *err)
{
    (void)err;
    memset(e, 0, (size_t)s->n * (size_t)s->parameters * sizeof *e);
    cap_frame(s->n, u, 1 / s->radius, s->parameters, e);
    e[(s->n - 1) * s->parameters + s->n] = 1;
    return GEODEC_OK;
}
static void product_curvature(const geodec__world_shape *s, const double *u, const double *e, double k[3])
{
    (void)u;
    (void)e;
    k[1] = 0;
    k[2] = 1 / (s->radius * s->radius);
    k[0] = (s->n - 1) * (s->n - 2) * k[2];
}
static geodec_status product_go(const geodec__world_shape *s, double *u, double *du, double t, geodec_err *err)
{
    (void)err;
    cap_go(s->n, u, du, t);
    u[s->n] += t * du[s->n];
    return GEODEC_OK;
}
const geodec__world_ops geodec__world_product = {product_draw,  product_inside,    product_embed, product_push,
                                                 product_frame, product_curvature, product_go};

/* ---- pieces of a plane: a ball; at strength 0 of the other sets the same geodesic sizes ---------------------------
 */

/* Components of the ball, half-sizes of the box after them. */
static int flat_ball(const geodec__world_shape *s)
{
    return s->set == GEODEC_WORLD_HYPERBOLIC ? 0 : s->set == GEODEC_WORLD_PRODUCT ? s->n - 1 : s->n;
}
static double flat_half(const geodec__world_shape *s, int i)
{
    return s->set == GEODEC_WORLD_HYPERBOLIC && i == 0 ? s->size / 2 : s->length / 2;
}
static void flat_draw(const geodec__world_shape *s, geodec_rng *r, double *u)
{
    const int ball = flat_ball(s);
    if (ball > 0) geodec__world_ball(r, ball, s->size, u);
    for (int i = ball; i < s->n; i++) u[i] = flat_half(s, i) * (2 * geodec_rng_uniform(r) - 1);
}
static bool flat_inside(const geodec__world_shape *s, const double *u)
{
    const int ball = flat_ball(s);
    if (geodec__dot(ball, u, u) > s->size * s->size) return false;
    for (int i = ball; i < s->n; i++)
        if (fabs(u[i]) > flat_half(s, i)) return false;
    return true;
}
static void flat_push(const geodec__world_shape *s, const double *u, const double *du, double *dy)
{
    (void)u;
    memset(dy, 0, (size_t)s->natural * sizeof *dy);
    memcpy(dy, du, (size_t)s->n * sizeof *dy);
}
static void flat_embed(const geodec__world_shape *s, const double *u, double *y) { flat_push(s, NULL, u, y); }
static geodec_status flat_frame(const geodec__world_shape *s, const double *u, double *e, geodec_err *err)
{
    (void)u;
    (void)err;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++) e[i * s->n + j] = i == j;
    return GEODEC_OK;
}
static void flat_curvature(const geodec__world_shape *s, const double *u, const double *e, double k[3])
{
    (void)s;
    (void)u;
    (void)e;
    k[0] = k[1] = k[2] = 0;
}
static geodec_status flat_go(const geodec__world_shape *s, double *u, double *du, double t, geodec_err *err)
{
    (void)err;
    for (int i = 0; i < s->n; i++) u[i] += t * du[i];
    return GEODEC_OK;
}
const geodec__world_ops geodec__world_flat = {flat_draw,  flat_inside,    flat_embed, flat_push,
                                              flat_frame, flat_curvature, flat_go};
