#include "fisher/fisher_field.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

enum { MAX = GEODEC_FISHER_FIELD_MAX, SIDES = 4, NODES = 8, PANELS = 8 };

/* The sides of the central difference, in steps, and their weights. */
static const double side[SIDES] = {-2, -1, 1, 2}, weight[SIDES] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};

/* A point's distribution; vectors are in L2(p), written as sqrt(p) f, so that E a b is a plain product. */
typedef struct point {
    int64_t n, v;
    double *root; /* [v] sqrt(p) */
    double *s;    /* [n][v] s_i */
    double *w;    /* [n][n][v] w_ij; NULL */
    double *g;    /* [n][n] */
} point;

static void clear_point(point *p) { GEODEC_FREE(p->root, p->s, p->w, p->g); }

/* logits [v] become sqrt(softmax). */
static geodec_status roots(int64_t v, double *l, geodec_err *err)
{
    double most = l[0], sum = 0;
    for (int64_t i = 1; i < v; i++) most = l[i] > most ? l[i] : most;
    for (int64_t i = 0; i < v; i++) sum += l[i] = exp(l[i] - most);
    if (!isfinite(sum)) GEODEC_FAIL(GEODEC_NUMERIC, "the logits are not finite");
    for (int64_t i = 0; i < v; i++) l[i] = sqrt(l[i] / sum);
    return GEODEC_OK;
}

/* f [v] = sqrt(p) (f - E f) */
static void centre(int64_t v, const double *root, double *f)
{
    double mean = 0;
    for (int64_t i = 0; i < v; i++) mean += root[i] * root[i] * f[i];
    for (int64_t i = 0; i < v; i++) f[i] = root[i] * (f[i] - mean);
}

/* Distribution, scores s_i along dir [k][n], and their products g [k][k]. */
static geodec_status first_order(const geodec_fisher_field *f, const double *z, int64_t k, const double *dir, point *p,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    p->n = k;
    p->v = f->map.outcomes;
    GEODEC_NEW(p->root, p->v);
    GEODEC_NEW(p->s, k * p->v);
    GEODEC_NEW(p->g, k * k);
    GEODEC_TRY(f->map.at(f->map.ctx, 1, z, k, dir, p->root, p->s, err));
    GEODEC_TRY(roots(p->v, p->root, err));
    for (int64_t i = 0; i < k; i++) {
        centre(p->v, p->root, p->s + i * p->v);
        for (int64_t j = 0; j <= i; j++)
            p->g[i * k + j] = p->g[j * k + i] = geodec_blas_dot(p->v, p->s + i * p->v, p->s + j * p->v);
    }
    if (!geodec__finite(k * k, p->g)) GEODEC_THROW(GEODEC_NUMERIC, "the Fisher metric is not finite");
done:
    return st;
}

/* second [k][v] = derivatives along v0 [n] of those along dir [k][n], at z; v0 has length 1. */
static geodec_status differentiate(const geodec_fisher_field *f, const double *z, const double *v0, int64_t k,
                                   const double *dir, double *second, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = f->map.n, v = f->map.outcomes;
    double *tangent = NULL, x[SIDES * MAX];
    GEODEC_NEW(tangent, k * SIDES * v);
    for (int a = 0; a < SIDES; a++)
        for (int64_t i = 0; i < n; i++) x[a * n + i] = z[i] + side[a] * f->step * v0[i];
    GEODEC_TRY(f->map.at(f->map.ctx, SIDES, x, k, dir, NULL, tangent, err));
    for (int64_t j = 0; j < k; j++)
        for (int64_t t = 0; t < v; t++) {
            double sum = 0;
            for (int a = 0; a < SIDES; a++) sum += weight[a] * tangent[(j * SIDES + a) * v + t];
            second[j * v + t] = sum / f->step;
        }
done:
    geodec_mem_free(tangent);
    return st;
}

/* w [v] from centred second derivatives, sqrt(p) (l_ij - E l_ij), with the scores a and b and g = E a b: s_ij = l_ij -
 * E l_ij - g_ij. */
static void bend(int64_t v, const double *root, const double *a, const double *b, double g, double *w)
{
    for (int64_t t = 0; t < v; t++) w[t] += root[t] > 0 ? 0.5 * a[t] * b[t] / root[t] - root[t] * g : 0;
}

static void units(int64_t n, double *dir)
{
    memset(dir, 0, (size_t)(n * n) * sizeof *dir);
    for (int64_t i = 0; i < n; i++) dir[i * n + i] = 1;
}

/* Everything at a point to second order. *asymmetry may be NULL. */
static geodec_status second_order(const geodec_fisher_field *f, const double *z, point *p, double *asymmetry,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = f->map.n, v = f->map.outcomes;
    double dir[MAX * MAX], gap = 0, most = 0;
    units(n, dir);
    GEODEC_TRY(first_order(f, z, n, dir, p, err));
    GEODEC_NEW(p->w, n * n * v);
    for (int64_t i = 0; i < n; i++) GEODEC_TRY(differentiate(f, z, dir + i * n, n, dir, p->w + i * n * v, err));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double *a = p->w + (i * n + j) * v, *b = p->w + (j * n + i) * v;
            centre(v, p->root, a);
            if (i != j) {
                centre(v, p->root, b);
                gap = fmax(gap, geodec__gap2(v, a, b));
                for (int64_t t = 0; t < v; t++) a[t] = 0.5 * (a[t] + b[t]);
            }
            bend(v, p->root, p->s + i * v, p->s + j * v, p->g[i * n + j], a);
            most = fmax(most, geodec__dot(v, a, a));
            if (i != j) memcpy(b, a, (size_t)v * sizeof *b);
        }
    }
    if (asymmetry) *asymmetry = most > 0 ? sqrt(gap / most) : 0;
    if (!geodec__finite(n * n * v, p->w)) GEODEC_THROW(GEODEC_NUMERIC, "the second derivatives are not finite");
done:
    return st;
}

/* ---- the space --------------------------------------------------------------------------------------------------- */

/* b [count][n] = g^-1 b. */
static geodec_status raise(int64_t n, const double *g, int64_t count, double *b, geodec_err *err)
{
    double l[MAX * MAX];
    memcpy(l, g, (size_t)(n * n) * sizeof *l);
    if (geodec_chol_factor(n, l, NULL) != GEODEC_OK)
        GEODEC_FAIL(GEODEC_NUMERIC, "the Fisher metric is not positive definite");
    geodec_chol_solve(n, l, count, b);
    return GEODEC_OK;
}

static geodec_status field_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_fisher_field *f = (const geodec_fisher_field *)s;
    const int64_t n = s->n, v = f->map.outcomes;
    double dir[MAX * MAX], low[MAX * MAX * MAX];
    point p = {0};
    units(n, dir);
    if (dg || gamma)
        GEODEC_TRY(second_order(f, x, &p, NULL, err));
    else
        GEODEC_TRY(first_order(f, x, n, dir, &p, err));
    if (g) memcpy(g, p.g, (size_t)(n * n) * sizeof *g);
    if (!dg && !gamma) goto done;
    for (int64_t ij = 0; ij < n * n; ij++)
        for (int64_t k = 0; k < n; k++) low[ij * n + k] = geodec_blas_dot(v, p.w + ij * v, p.s + k * v);
    for (int64_t a = 0; dg && a < n; a++) /* the connection keeps the metric */
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                dg[(a * n + i) * n + j] = low[(a * n + i) * n + j] + low[(a * n + j) * n + i];
    if (!gamma) goto done;
    GEODEC_TRY(raise(n, p.g, n * n, low, err));
    memcpy(gamma, low, (size_t)(n * n * n) * sizeof *gamma);
done:
    clear_point(&p);
    return st;
}

static geodec_status path_of_one(const geodec_fisher_field *f, const double *x, const double *u, double *speed2,
                                 double *accel, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = f->map.n, v = f->map.outcomes;
    double dir[MAX * MAX], unit[MAX], *a = NULL, q = 0;
    const double length = sqrt(geodec__dot(n, u, u));
    point p = {0};
    if (!accel || length == 0) {
        GEODEC_TRY(first_order(f, x, 1, u, &p, err));
        if (speed2) *speed2 = p.g[0];
        if (accel) memset(accel, 0, (size_t)n * sizeof *accel);
        goto done;
    }
    units(n, dir);
    for (int64_t i = 0; i < n; i++) unit[i] = u[i] / length;
    GEODEC_TRY(first_order(f, x, n, dir, &p, err));
    GEODEC_NEW(a, 2 * v);
    GEODEC_TRY(differentiate(f, x, unit, 1, unit, a, err));
    centre(v, p.root, a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < v; t++) a[v + t] += unit[i] * p.s[i * v + t];
    q = geodec__norm2(n, p.g, unit);
    bend(v, p.root, a + v, a + v, q, a);
    for (int64_t k = 0; k < n; k++) accel[k] = -length * length * geodec_blas_dot(v, a, p.s + k * v);
    GEODEC_TRY(raise(n, p.g, 1, accel, err));
    if (!geodec__finite(n, accel)) GEODEC_THROW(GEODEC_NUMERIC, "the acceleration is not finite");
    if (speed2) *speed2 = length * length * q;
done:
    clear_point(&p);
    geodec_mem_free(a);
    return st;
}

static geodec_status field_path(const geodec_space *s, int64_t points, const double *x, const double *v, double *speed2,
                                double *accel, bool *done_here, geodec_err *err)
{
    const int64_t n = s->n;
    for (int64_t i = 0; i < points; i++)
        GEODEC_PASS(path_of_one((const geodec_fisher_field *)s, x + i * n, v + i * n, speed2 ? speed2 + i : NULL,
                                accel ? accel + i * n : NULL, err));
    *done_here = true;
    return GEODEC_OK;
}

geodec_status geodec_fisher_field_init(geodec_fisher_field *f, const geodec_fisher_map *map, double step,
                                       geodec_err *err)
{
    if (map->n < 1 || map->n > MAX)
        GEODEC_FAIL(GEODEC_RANGE, "a Fisher field of %d dimensions is outside 1..%d", map->n, (int)MAX);
    if (map->outcomes < 2) GEODEC_FAIL(GEODEC_RANGE, "%lld outcomes", (long long)map->outcomes);
    if (!(step > 0) || !isfinite(step)) GEODEC_FAIL(GEODEC_RANGE, "a step of %g", step);
    *f = (geodec_fisher_field){
        .base = {.n = map->n, .name = "Fisher field", .at = field_at, .path = field_path, .fd_step = step},
        .map = *map,
        .step = step};
    return GEODEC_OK;
}

/* ---- curvature --------------------------------------------------------------------------------------------------- */

/* x [n][stride] = L^-1 x, over its first axis: from the chart to the orthonormal frame. */
static void to_frame(int64_t n, int64_t stride, const double *l, double *x)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = x + i * stride;
        for (int64_t j = 0; j < i; j++)
            for (int64_t t = 0; t < stride; t++) row[t] -= l[i * n + j] * x[j * stride + t];
        for (int64_t t = 0; t < stride; t++) row[t] /= l[i * n + i];
    }
}

geodec_status geodec_fisher_field_curvature(const geodec_fisher_field *f, const double *z, geodec_fisher_curvature *out,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = f->map.n, v = f->map.outcomes;
    geodec_fisher_curvature c = {.sectional_min = INFINITY, .sectional_max = -INFINITY};
    double value[MAX], l[MAX * MAX];
    point p = {0};
    if (n < 2) GEODEC_THROW(GEODEC_RANGE, "a curve has no curvature of its own");
    GEODEC_TRY(second_order(f, z, &p, &c.asymmetry, err));
    GEODEC_TRY(geodec_eig_values(n, p.g, value, err));
    memcpy(l, p.g, sizeof *l * (size_t)(n * n));
    if (geodec_chol_factor(n, l, NULL) != GEODEC_OK)
        GEODEC_THROW(GEODEC_NUMERIC, "the Fisher metric is not positive definite");
    c.condition = value[n - 1] / value[0];
    for (int64_t i = 0; i < n; i++) c.trace += value[i];
    for (int64_t t = 0; t < v; t++) c.entropy -= p.root[t] > 0 ? 2 * p.root[t] * p.root[t] * log(p.root[t]) : 0;
    to_frame(n, v, l, p.s);
    to_frame(n, n * v, l, p.w);
    for (int64_t i = 0; i < n; i++) to_frame(n, v, l, p.w + i * n * v);
    for (int64_t ij = 0; ij < n * n; ij++) { /* the part that is orthogonal to the scores */
        double *w = p.w + ij * v;
        for (int64_t k = 0; k < n; k++) {
            const double along = geodec_blas_dot(v, w, p.s + k * v);
            for (int64_t t = 0; t < v; t++) w[t] -= along * p.s[k * v + t];
        }
        const double radial = geodec_blas_dot(v, w, p.root);
        c.second += (geodec_blas_dot(v, w, w) - radial * radial) / (double)(n * n);
    }
    c.second = sqrt(fmax(c.second, 0));
#define N(i, j) (p.w + ((i)*n + (j)) * v)
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            const double k = geodec_blas_dot(v, N(i, i), N(j, j)) - geodec_blas_dot(v, N(i, j), N(i, j));
            c.scalar += 2 * k;
            c.sectional_min = fmin(c.sectional_min, k);
            c.sectional_max = fmax(c.sectional_max, k);
        }
    }
#undef N
    c.sectional = c.scalar / (double)(n * (n - 1));
    if (!isfinite(c.scalar)) GEODEC_THROW(GEODEC_NUMERIC, "the curvature is not finite");
    *out = c;
done:
    clear_point(&p);
    return st;
}

geodec_status geodec_fisher_field_tune(geodec_fisher_field *f, const double *z, double widest, int rungs,
                                       geodec_fisher_curvature *out, double *error, geodec_err *err)
{
    geodec_fisher_curvature before = {0}, now;
    double least = INFINITY, best = 0;
    if (!(widest > 0) || !isfinite(widest) || rungs < 2)
        GEODEC_FAIL(GEODEC_RANGE, "%d steps, the widest %g", rungs, widest);
    for (int i = 0; i < rungs; i++, before = now) {
        f->step = ldexp(widest, -i);
        GEODEC_PASS(geodec_fisher_field_curvature(f, z, &now, err));
        const double gap = fabs(now.sectional - before.sectional);
        if (i == 0 || !(gap < least)) continue;
        least = gap;
        best = f->step;
        *out = now;
    }
    f->step = f->base.fd_step = best;
    *error = least;
    return GEODEC_OK;
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

/* Nodes and weights of Gauss and Legendre on (0, 1), order 8. */
static const double node[NODES] = {0.019855071751231884, 0.10166676129318664, 0.23723379504183550, 0.40828267875217510,
                                   0.59171732124782490,  0.76276620495816450, 0.89833323870681336, 0.98014492824876812};
static const double share[NODES] = {0.050614268145188130, 0.11119051722668724, 0.15685332293894364,
                                    0.18134189168918100,  0.18134189168918100, 0.15685332293894364,
                                    0.11119051722668724,  0.050614268145188130};

static geodec_status panels(const geodec_fisher_field *f, const double *z0, const double *u, int count, double *length,
                            geodec_err *err)
{
    const int64_t n = f->map.n;
    double z[MAX], q;
    *length = 0;
    for (int a = 0; a < count * NODES; a++) {
        const double t = (a / NODES + node[a % NODES]) / count;
        for (int64_t i = 0; i < n; i++) z[i] = z0[i] + t * u[i];
        GEODEC_PASS(path_of_one(f, z, u, &q, NULL, err));
        *length += share[a % NODES] / count * sqrt(q);
    }
    return GEODEC_OK;
}

geodec_status geodec_fisher_field_chord(const geodec_fisher_field *f, const double *z0, const double *z1,
                                        double *length, double *error, geodec_err *err)
{
    double u[MAX], coarse, fine;
    for (int64_t i = 0; i < f->map.n; i++) u[i] = z1[i] - z0[i];
    GEODEC_PASS(panels(f, z0, u, PANELS / 2, &coarse, err));
    GEODEC_PASS(panels(f, z0, u, PANELS, &fine, err));
    *length = fine;
    *error = fabs(fine - coarse);
    return GEODEC_OK;
}

geodec_status geodec_fisher_field_bound(const geodec_fisher_field *f, const double *z0, const double *z1,
                                        double *distance, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t v = f->map.outcomes;
    double *a = NULL, gap = 0;
    GEODEC_NEW(a, 2 * v);
    GEODEC_TRY(f->map.at(f->map.ctx, 1, z0, 0, NULL, a, NULL, err));
    GEODEC_TRY(f->map.at(f->map.ctx, 1, z1, 0, NULL, a + v, NULL, err));
    GEODEC_TRY(roots(v, a, err));
    GEODEC_TRY(roots(v, a + v, err));
    gap = geodec__gap2(v, a, a + v);              /* of unit vectors: 2 - 2 cos, without cancellation */
    *distance = 4 * asin(fmin(1, sqrt(gap) / 2)); /* 2 times the angle */
done:
    geodec_mem_free(a);
    return st;
}
