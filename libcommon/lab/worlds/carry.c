#include "lab/worlds/carry.h"

#include "base/mem.h"
#include "base/vec_internal.h"

#include <math.h>
#include <string.h>

enum { N = GEODEC_SPACE_DIM_MAX };

/* b at y; db [n] its gradient, h: factors of its Hessian, h[0] I + h[1] (y - e)(y - e)^T; may be NULL. */
static double bump(const geodec_world_carry *c, const double *y, double *db, double h[2])
{
    double d[N];
    for (int i = 0; i < c->n; i++) d[i] = y[i] - c->end[i];
    const double rho2 = c->rho * c->rho, left = fmax(0, 1 - geodec__dot(c->n, d, d) / rho2), cube = left * left * left;
    for (int i = 0; db && i < c->n; i++) db[i] = -8 / rho2 * cube * d[i];
    if (h) {
        h[0] = -8 / rho2 * cube;
        h[1] = 48 / (rho2 * rho2) * left * left;
    }
    return cube * left;
}

void geodec_world_carry_unwarp(const geodec_world_carry *c, const double *x, const double *v, double *y, double *dy)
{
    /* y = x - beta w, where beta = b(y) in 0..1; beta - b rises with beta */
    double low = 0, high = 1, beta = 0, db[N];
    for (int k = 0; k < 100; k++) {
        for (int i = 0; i < c->n; i++) y[i] = x[i] - beta * c->w[i];
        const double off = beta - bump(c, y, db, NULL), slope = 1 + geodec__dot(c->n, db, c->w);
        if (off == 0) break;
        if (off > 0)
            high = beta;
        else
            low = beta;
        double next = beta - off / slope;
        if (!(next >= low && next <= high)) next = (low + high) / 2;
        if (fabs(next - beta) < 1e-16) break;
        beta = next;
    }
    if (!v) return;
    (void)bump(c, y, db, NULL);
    const double along = geodec__dot(c->n, db, v) / (1 + geodec__dot(c->n, db, c->w));
    for (int i = 0; i < c->n; i++) dy[i] = v[i] - along * c->w[i];
}

void geodec_world_carry_warp(const geodec_world_carry *c, const double *y, const double *dy, double *x, double *v)
{
    double db[N];
    const double b = bump(c, y, db, NULL), along = geodec__dot(c->n, db, dy);
    for (int i = 0; i < c->n; i++) {
        x[i] = y[i] + b * c->w[i];
        v[i] = dy[i] + along * c->w[i];
    }
}

static geodec_status carry_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                              geodec_err *err)
{
    const geodec_world_carry *k = (const geodec_world_carry *)s;
    const int n = s->n;
    geodec_status st = GEODEC_OK;
    double y[N], db[N], c[N], hw[N], h[2], *work = NULL, *dc, *g1, *dg1;
    if (!geodec__finite(n, x)) GEODEC_THROW(GEODEC_NUMERIC, "%s: the point is not finite", s->name);
    GEODEC_NEW(work, 2 * n * n + n * n * n);
    dc = work;
    g1 = dc + n * n;
    dg1 = g1 + n * n;
    geodec_world_carry_unwarp(k, x, NULL, y, NULL);
    (void)bump(k, y, db, h);
    const double p = 1 + geodec__dot(n, db, k->w), w2 = geodec__dot(n, k->w, k->w);
    double dw = 0;
    for (int i = 0; i < n; i++) dw += (y[i] - k->end[i]) * k->w[i];
    for (int i = 0; i < n; i++) {
        c[i] = db[i] / p;
        hw[i] = h[0] * k->w[i] + h[1] * dw * (y[i] - k->end[i]);
    }
    /* dc/dy = H / p - db (H w)^T / p^2, then dc/dx = dc/dy M */
    for (int i = 0; i < n; i++) {
        double along = 0;
        for (int j = 0; j < n; j++) {
            dc[i * n + j] =
                ((i == j) * h[0] + h[1] * (y[i] - k->end[i]) * (y[j] - k->end[j])) / p - db[i] * hw[j] / (p * p);
            along += dc[i * n + j] * k->w[j];
        }
        for (int j = 0; j < n; j++) dc[i * n + j] -= along * c[j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) g1[i * n + j] = (i == j) - k->w[i] * c[j] - c[i] * k->w[j] + w2 * c[i] * c[j];
    for (int a = 0; a < n; a++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                const double ia = dc[i * n + a], ja = dc[j * n + a];
                dg1[(a * n + i) * n + j] = -k->w[i] * ja - ia * k->w[j] + w2 * (ia * c[j] + c[i] * ja);
            }
    if (gamma) GEODEC_TRY(geodec_space_christoffel(n, g1, dg1, gamma, err));
    if (g) memcpy(g, g1, (size_t)n * (size_t)n * sizeof *g);
    if (dg) memcpy(dg, dg1, (size_t)n * (size_t)n * (size_t)n * sizeof *dg);
done:
    geodec_mem_free(work);
    return st;
}

geodec_status geodec_world_carry_init(geodec_world_carry *c, int32_t n, double length, double strength, geodec_err *err)
{
    const double angle = 0.3;
    if (n < 2 || n > N || !(length > 0) || !isfinite(length) || !(strength >= 0 && strength <= 1))
        GEODEC_FAIL(GEODEC_RANGE, "a warp of dimension %d, length %g and strength %g", (int)n, length, strength);
    *c = (geodec_world_carry){.space = {.n = n, .name = "warp", .at = carry_at, .fd_step = 2e-5 * length},
                              .n = n,
                              .length = length,
                              .rho = 0.8 * length};
    c->query[0] = -length / 2;
    c->end[0] = length / 2;
    c->target[0] = c->query[0] + length * cos(angle);
    c->target[1] = length * sin(angle);
    for (int i = 0; i < n; i++) c->w[i] = strength * (c->target[i] - c->end[i]);
    return GEODEC_OK;
}
