#include "geometry/propagate.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/space_closed.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/expm.h"

#include <math.h>
#include <string.h>

geodec_propagate_options geodec_propagate_defaults(void)
{
    return (geodec_propagate_options){.scheme = GEODEC_MAGNUS_MAGNUS4, .dense = GEODEC_DENSE_HERMITE, .rtol = 1e-12};
}

/* ---- the generator ---------------------------------------------------------------------------------------------- */

/* Points, or nodes of as many steps, that are computed at once. */
enum { SLICE = GEODEC_SPACE_TOGETHER, SLICE_NODES = SLICE * GEODEC_MAGNUS_NODES_MAX };

int64_t geodec_propagate_generators_scratch(int64_t n) { return n * n * n * (n + 1) + 2 * SLICE * n * n; }

geodec_status geodec_propagate_generators(const geodec_space *s, int64_t points, const double *x, const double *v,
                                          double *a, double *scratch, geodec_err *err)
{
    const int64_t n = s->n, nn = n * n, m = 2 * n;
    double *gv = scratch, *dgvv = gv + SLICE * nn, *work = dgvv + SLICE * nn;
    for (int64_t first = 0; first < points; first += SLICE) {
        const int64_t now = points - first < SLICE ? points - first : SLICE;
        GEODEC_PASS(geodec_space_variation(s, now, x + first * n, v + first * n, gv, dgvv, work, err));
        for (int64_t p = 0; p < now; p++) {
            double *to = a + (first + p) * m * m;
            for (int64_t i = 0; i < n * m; i++) to[i] = 0;
            for (int64_t k = 0; k < n; k++) to[k * m + n + k] = 1;
            for (int64_t k = 0; k < n; k++) {
                for (int64_t j = 0; j < n; j++) {
                    to[(n + k) * m + j] = -dgvv[p * nn + k * n + j];
                    to[(n + k) * m + n + j] = -2 * gv[p * nn + k * n + j];
                }
            }
        }
    }
    return GEODEC_OK;
}

/* ---- inner nodes of a step -------------------------------------------------------------------------------------- */

/* Cubic Hermite at fraction c of a step h: values f0, f1, derivatives d0, d1. */
static void hermite(int64_t n, double h, double c, const double *f0, const double *d0, const double *f1,
                    const double *d1, double *out)
{
    const double u = 1 - c;
    const double h00 = (1 + 2 * c) * u * u, h10 = c * u * u * h, h01 = c * c * (3 - 2 * c), h11 = -c * c * u * h;
    for (int64_t i = 0; i < n; i++) out[i] = h00 * f0[i] + h10 * d0[i] + h01 * f1[i] + h11 * d1[i];
}

typedef struct path {
    const geodec_space *s;
    const geodec_propagate_options *o;
    double h;
    int nodes;
    double c[GEODEC_MAGNUS_NODES_MAX];
    double *accel; /* [SLICE + 1][n] -Gamma(v,v) at the ends of the steps, unless they are given */
    double *space; /* n^3 + n^2, of geodec_space_path */
    double *x, *v; /* [SLICE][nodes][n] */
} path;

/* x, v of the scheme's nodes in `steps` steps from (x0, v0) on, both [steps + 1][n], as a0 (NULL: the last acceleration
 * is that at x0). */
static geodec_status inner_nodes(path *p, int64_t steps, const double *x0, const double *v0, const double *a0,
                                 geodec_err *err)
{
    const int64_t n = p->s->n;
    if (p->o->dense == GEODEC_DENSE_INTEGRATE) {
        double t[GEODEC_MAGNUS_NODES_MAX];
        for (int i = 0; i < p->nodes; i++) t[i] = p->c[i] * p->h;
        for (int64_t k = 0; k < steps; k++) {
            int64_t reached = 0;
            GEODEC_PASS(geodec_geodesic_at(p->s, p->o->rtol, x0 + k * n, v0 + k * n, p->nodes, t,
                                           p->x + k * p->nodes * n, p->v + k * p->nodes * n, &reached, err));
            if (reached < p->nodes) GEODEC_FAIL(GEODEC_NUMERIC, "the geodesic breaks down inside a step");
        }
        return GEODEC_OK;
    }
    if (!a0) {
        memmove(p->accel, p->accel + SLICE * n, (size_t)n * sizeof *p->accel);
        GEODEC_PASS(geodec_space_path(p->s, steps, x0 + n, v0 + n, NULL, p->accel + n, p->space, err));
        a0 = p->accel;
    }
    for (int64_t k = 0; k < steps; k++) {
        const double *x = x0 + k * n, *v = v0 + k * n, *a = a0 + k * n;
        for (int i = 0; i < p->nodes; i++) {
            const int64_t at = (k * p->nodes + i) * n;
            hermite(n, p->h, p->c[i], x, v, x + n, v + n, p->x + at);
            hermite(n, p->h, p->c[i], v, a, v + n, a + n, p->v + at);
        }
    }
    return GEODEC_OK;
}

/* ---- what the exact flow preserves ------------------------------------------------------------------------------ */

/* ln |det a| by elimination with row pivoting; a is used up. -inf when singular. */
static double log_det(int64_t m, double *a)
{
    double sum = 0;
    for (int64_t k = 0; k < m; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < m; i++)
            if (fabs(a[i * m + k]) > fabs(a[best * m + k])) best = i;
        for (int64_t j = k; best != k && j < m; j++) {
            const double t = a[k * m + j];
            a[k * m + j] = a[best * m + j];
            a[best * m + j] = t;
        }
        if (a[k * m + k] == 0) return -INFINITY;
        sum += log(fabs(a[k * m + k]));
        for (int64_t i = k + 1; i < m; i++) {
            const double f = a[i * m + k] / a[k * m + k];
            for (int64_t j = k; j < m; j++) a[i * m + j] -= f * a[k * m + j];
        }
    }
    return sum;
}

/* The symplectic form in (x, v) and ln det g. dg [n][n][n] and g [n][n] are scratch. */
static geodec_status form_at(const geodec_space *s, const double *x, const double *v, double *g, double *dg,
                             double *form, double *log_det_g, geodec_err *err)
{
    const int64_t n = s->n, m = 2 * n;
    GEODEC_PASS(s->at(s, x, g, dg, NULL, err));
    memset(form, 0, (size_t)(m * m) * sizeof *form);
    for (int64_t k = 0; k < n; k++) {
        for (int64_t c = 0; c < n; c++) {
            const double derivative = geodec__dot(n, dg + (c * n + k) * n, v); /* C_kc */
            form[k * m + c] += derivative;
            form[c * m + k] -= derivative;
            form[k * m + n + c] = g[k * n + c];
            form[(n + k) * m + c] = -g[k * n + c];
        }
    }
    GEODEC_PASS(geodec_chol_factor(n, g, err));
    *log_det_g = geodec_chol_logdet(n, g);
    return GEODEC_OK;
}

/* residuals of the flow f [2n][2n] from (x0, v0) to (x1, v1). */
static geodec_status check_flow(const geodec_space *s, const double *x0, const double *v0, const double *x1,
                                const double *v1, const double *f, geodec_propagate_report *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, m = 2 * n, mm = m * m;
    double *block = NULL, log0 = 0, log1 = 0;
    GEODEC_NEW(block, n * n + n * n * n + 3 * mm);
    double *g = block, *dg = g + n * n, *before = dg + n * n * n, *after = before + mm, *tmp = after + mm;
    GEODEC_TRY(form_at(s, x0, v0, g, dg, before, &log0, err));
    GEODEC_TRY(form_at(s, x1, v1, g, dg, after, &log1, err));
    const double unit = geodec__largest(mm, before);
    geodec_blas_gemm(false, false, m, m, m, 1, after, m, f, m, 0, tmp, m);
    geodec_blas_gemm(true, false, m, m, m, 1, f, m, tmp, m, -1, before, m);
    memcpy(tmp, f, (size_t)mm * sizeof *tmp);
    const double volume = fabs(log_det(m, tmp) + log1 - log0);
    if (!geodec__finite(mm, before) || !isfinite(volume)) GEODEC_THROW(GEODEC_NUMERIC, "the flow is singular");
    r->symplectic = geodec__largest(mm, before) / unit;
    r->volume = volume;
done:
    geodec_mem_free(block);
    return st;
}

/* ---- a path ----------------------------------------------------------------------------------------------------- */

static void store(int64_t n, const double *y, int64_t k, double *phi, double *flow)
{
    const int64_t m = 2 * n;
    for (int64_t i = 0; i < n; i++) memcpy(phi + (k * n + i) * n, y + i * m, (size_t)n * sizeof *phi);
    if (flow) memcpy(flow + k * m * m, y, (size_t)(m * m) * sizeof *flow);
}

/* Paths as in geodec_propagate_batch. */
typedef struct batch {
    const geodec_space *s;
    const geodec_propagate_options *o;
    int64_t steps;
    double dl;
    const int64_t *good;
    const double *xs, *vs, *accel;
    double *phi, *flow;
    geodec_propagate_report *report;
} batch;

static geodec_status compute(const batch *b, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL;
    const geodec_space *s = b->s;
    const geodec_propagate_options *o = b->o;
    const int64_t n = s->n, m = 2 * n, mm = m * m, steps = b->steps, good = b->good[i], nodes = steps + 1;
    const double dl = b->dl, *xs = b->xs + i * nodes * n, *vs = b->vs + i * nodes * n;
    const double *accel = b->accel ? b->accel + i * nodes * n : NULL;
    double *phi = b->phi + i * nodes * n * n, *flow = b->flow ? b->flow + i * nodes * mm : NULL;
    geodec_propagate_report r = {0};
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX || steps < 1 || good < 0 || good > steps || !(dl > 0))
        GEODEC_THROW(GEODEC_RANGE, "%lld good of %lld steps of %g in dimension %lld", (long long)good, (long long)steps,
                     dl, (long long)n);
    path p = {.s = s, .o = o, .h = dl};
    p.nodes = geodec_magnus_nodes(o->scheme, p.c); /* not inside the initialiser, which may zero p.c after the call */
    const int64_t inner = SLICE_NODES * n;
    GEODEC_NEW(block, (SLICE + 1) * n + n * n * n + n * n + 2 * inner + (SLICE_NODES + 3) * mm +
                          geodec_propagate_generators_scratch(n) + geodec_magnus_scratch(m));
    p.accel = block, p.space = p.accel + (SLICE + 1) * n;
    p.x = p.space + n * n * n + n * n, p.v = p.x + inner;
    double *a = p.v + inner, *e = a + SLICE_NODES * mm, *y = e + mm, *next = y + mm;
    double *generators_scratch = next + mm,
           *magnus_scratch = generators_scratch + geodec_propagate_generators_scratch(n);

    for (int64_t j = 0; j < m; j++) y[j * m + j] = 1;
    store(n, y, 0, phi, flow);
    if (o->dense == GEODEC_DENSE_HERMITE && good > 0 && !accel)
        GEODEC_TRY(geodec_space_path(s, 1, xs, vs, NULL, p.accel + SLICE * n, p.space, err));
    for (int64_t k0 = 0; k0 < good; k0 += SLICE) {
        const int64_t now = good - k0 < SLICE ? good - k0 : SLICE;
        GEODEC_TRY_MSG(inner_nodes(&p, now, xs + k0 * n, vs + k0 * n, accel ? accel + k0 * n : NULL, err),
                       "in %lld steps from step %lld on", (long long)now, (long long)k0);
        GEODEC_TRY_MSG(geodec_propagate_generators(s, now * p.nodes, p.x, p.v, a, generators_scratch, err),
                       "in %lld steps from step %lld on", (long long)now, (long long)k0);
        for (int64_t j = 0; j < now * p.nodes; j++)
            r.norm = fmax(r.norm, dl * sqrt(geodec__dot(mm, a + j * mm, a + j * mm)));
        for (int64_t k = k0; k < k0 + now; k++) {
            GEODEC_TRY_MSG(geodec_magnus_step(o->scheme, m, a + (k - k0) * p.nodes * mm, dl, e, magnus_scratch, err),
                           "step %lld", (long long)k);
            geodec_expm_product(m, e, y, next);
            double *swap = y;
            y = next;
            next = swap;
            store(n, y, k + 1, phi, flow);
        }
    }
    for (int64_t k = good + 1; k <= steps; k++) store(n, y, k, phi, flow);
    GEODEC_TRY(check_flow(s, xs, vs, xs + good * n, vs + good * n, y, &r, err));
    b->report[i] = r;
done:
    geodec_mem_free(block);
    return st;
}

/* Computes path i of a batch; a flow that leaves the range of numbers is a report, not an error. */
static geodec_status one_path(void *ctx, int64_t i, geodec_err *err)
{
    const batch *b = ctx;
    const geodec_status st = compute(b, i, err);
    if (st != GEODEC_NUMERIC || b->good[i] == 0) return st;
    const int64_t n = b->s->n, m = 2 * n, nodes = b->steps + 1;
    geodec_err_clear(err);
    b->report[i] = (geodec_propagate_report){.broken = true};
    double *phi = b->phi + i * nodes * n * n, *flow = b->flow ? b->flow + i * nodes * m * m : NULL;
    for (int64_t j = 0; j < nodes * n * n; j++) phi[j] = j % (n * n) % (n + 1) == 0;
    for (int64_t j = 0; flow && j < nodes * m * m; j++) flow[j] = j % (m * m) % (m + 1) == 0;
    return GEODEC_OK;
}

geodec_status geodec_propagate_path(const geodec_space *s, const geodec_propagate_options *o, int64_t steps, double dl,
                                    int64_t good, const double *xs, const double *vs, double *phi, double *flow,
                                    geodec_propagate_report *report, geodec_err *err)
{
    batch b = {s, o, steps, dl, &good, xs, vs, NULL, phi, flow, report};
    return one_path(&b, 0, err);
}

geodec_status geodec_propagate_batch(const geodec_space *s, const geodec_propagate_options *o, geodec_pool *pool,
                                     const geodec_hooks *hooks, int64_t n_paths, int64_t steps, double dl,
                                     const int64_t *good, const double *xs, const double *vs, const double *accel,
                                     double *phi, double *flow, geodec_propagate_report *report, geodec_err *err)
{
    batch b = {s, o, steps, dl, good, xs, vs, accel, phi, flow, report};
    return geodec__tasks_run(pool, hooks, "propagators", n_paths, one_path, &b, err);
}

geodec_status geodec_propagate_by_differences(const geodec_space *s, const geodec_geodesic_options *o, const double *x0,
                                              const double *v0, double h, double *phi_T, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, T = o->steps;
    double *block = NULL;
    if (h == 0) h = s->fd_step / 100;
    if (!(h > 0)) GEODEC_THROW(GEODEC_RANGE, "difference step %g is not positive", h);
    GEODEC_NEW(block, n + 3 * (T + 1) * n + n * n);
    double *x = block, *up = x + n, *down = up + (T + 1) * n, *vs = down + (T + 1) * n, *out = vs + (T + 1) * n;
    memcpy(x, x0, (size_t)n * sizeof *x);
    for (int64_t j = 0; j < n; j++) {
        geodec_path_report plus, minus;
        x[j] = x0[j] + h;
        const double hi = x[j];
        GEODEC_TRY(geodec_geodesic_path(s, o, x, v0, up, vs, NULL, &plus, err));
        x[j] = x0[j] - h;
        const double span = hi - x[j];
        GEODEC_TRY(geodec_geodesic_path(s, o, x, v0, down, vs, NULL, &minus, err));
        x[j] = x0[j];
        if (plus.good < T || minus.good < T) GEODEC_THROW(GEODEC_NUMERIC, "a neighbouring path breaks down");
        for (int64_t i = 0; i < n; i++) out[i * n + j] = (up[T * n + i] - down[T * n + i]) / span;
    }
    memcpy(phi_T, out, (size_t)(n * n) * sizeof *phi_T);
done:
    geodec_mem_free(block);
    return st;
}
