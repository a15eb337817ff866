#include "geometry/geodesic.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/space_closed.h"

#include <math.h>
#include <string.h>

enum { STEPS_MAX = 1 << 20 };

const geodec_geodesic_row *geodec_geodesic_row_of(geodec_geodesic_method method)
{
#define ROW(NAME, name, order, text) {#name, order, text},
    static const geodec_geodesic_row table[] = {GEODEC_GEODESIC_TABLE(ROW)};
    return (unsigned)method < GEODEC_GEODESIC_METHODS ? &table[method] : NULL;
}

geodec_status geodec_geodesic_method_find(const char *name, geodec_geodesic_method *method, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int i = 0; i < GEODEC_GEODESIC_METHODS; i++)
        if (strcmp(name, geodec_geodesic_row_of((geodec_geodesic_method)i)->name) == 0) {
            *method = (geodec_geodesic_method)i;
            goto done;
        }
    GEODEC_THROW(GEODEC_NOTFOUND, "no method is called '%s'", name);
done:
    return st;
}

geodec_geodesic_options geodec_geodesic_defaults(void)
{
    return (geodec_geodesic_options){
        .steps = 16, .dl = 0.1, .method = GEODEC_GEODESIC_RK4, .rtol = 1e-9, .drift_max = 1e-3};
}

geodec_status geodec_geodesic_unit(const geodec_space *s, const double *x, double *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *g = NULL;
    const int64_t n = s->n;
    GEODEC_NEW(g, n * n);
    GEODEC_TRY(s->at(s, x, g, NULL, NULL, err));
    const double q = geodec__norm2(n, g, v);
    if (!(q > 0) || !isfinite(q)) GEODEC_THROW(GEODEC_NUMERIC, "a velocity of squared length %g has no direction", q);
    const double scale = 1 / sqrt(q);
    for (int64_t i = 0; i < n; i++) v[i] *= scale;
done:
    geodec_mem_free(g);
    return st;
}

void geodec_geodesic_accel(int64_t n, const double *gamma, const double *v, double *accel)
{
    for (int64_t k = 0; k < n; k++) accel[k] = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) { /* symmetric in i, j */
            const double w = (i == j ? -1 : -2) * v[i] * v[j];
            const double *row = gamma + (i * n + j) * n;
            for (int64_t k = 0; k < n; k++) accel[k] += w * row[k];
        }
    }
}

/* ---- paths ----------------------------------------------------------------------------------------------------- */

enum { TOGETHER = GEODEC_SPACE_TOGETHER, STAGE_ARRAYS = 10 };

/* Up to TOGETHER paths that step together. Arrays [paths][n] of the stages hold the live ones, side by side. */
typedef struct march {
    const geodec_space *s;
    const geodec_geodesic_options *o;
    int64_t live, path[TOGETHER]; /* number of each live path */
    bool broken[TOGETHER];        /* in the current step, of the live ones */
    double first[TOGETHER];       /* g(v0, v0), of all */
    bool outside[TOGETHER];
    double *space;             /* n^3 + n^2, of geodec_space_path */
    double *x, *y;             /* positions of a node and of a stage */
    double *v, *u2, *u3, *u4;  /* velocities of the stages */
    double *k1, *k2, *k3, *k4; /* accelerations of the stages */
} march;

/* Speeds and accelerations; a path that breaks down here is marked. */
static geodec_status stage(march *m, const double *x, const double *v, double *speed2, double *accel, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->s->n;
    st = geodec_space_path(m->s, m->live, x, v, speed2, accel, m->space, err);
    if (st != GEODEC_NUMERIC) goto done;
    for (int64_t i = 0; i < m->live; i++) { /* which? */
        geodec_err_clear(err);
        st = geodec_space_path(m->s, 1, x + i * n, v + i * n, speed2 ? speed2 + i : NULL, accel ? accel + i * n : NULL,
                               m->space, err);
        if (st == GEODEC_NUMERIC) {
            m->broken[i] = true;
            if (speed2) speed2[i] = NAN;
            if (accel) memset(accel + i * n, 0, (size_t)n * sizeof *accel);
            st = GEODEC_OK;
        }
        GEODEC_TRY(st);
    }
    geodec_err_clear(err); /* a path that breaks down is a result, not an error */
done:
    return st;
}

/* to = from + h * slope for every live path. */
static void advance(const march *m, double h, const double *from, const double *slope, double *to)
{
    for (int64_t i = 0; i < m->live * m->s->n; i++) to[i] = from[i] + h * slope[i];
}

/* One step of Runge and Kutta's from (x, v), with the accelerations there in k1, to (y, u2). */
static geodec_status rk4_step(march *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const double h = m->o->dl;
    const int64_t n = m->s->n;
    advance(m, h / 2, m->x, m->v, m->y);
    advance(m, h / 2, m->v, m->k1, m->u2);
    GEODEC_TRY(stage(m, m->y, m->u2, NULL, m->k2, err));
    advance(m, h / 2, m->x, m->u2, m->y);
    advance(m, h / 2, m->v, m->k2, m->u3);
    GEODEC_TRY(stage(m, m->y, m->u3, NULL, m->k3, err));
    advance(m, h, m->x, m->u3, m->y);
    advance(m, h, m->v, m->k3, m->u4);
    GEODEC_TRY(stage(m, m->y, m->u4, NULL, m->k4, err));
    for (int64_t i = 0; i < m->live * n; i++) {
        m->y[i] = m->x[i] + h / 6 * (m->v[i] + 2 * m->u2[i] + 2 * m->u3[i] + m->u4[i]);
        m->u2[i] = m->v[i] + h / 6 * (m->k1[i] + 2 * m->k2[i] + 2 * m->k3[i] + m->k4[i]);
    }
    for (int64_t i = 0; i < m->live; i++)
        m->broken[i] = m->broken[i] || !geodec__finite(n, m->y + i * n) || !geodec__finite(n, m->u2 + i * n);
done:
    return st;
}

static geodec_status watch(march *m, int64_t p, const double *x, double q, double *drift, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const double d = m->first[p] > 0 ? fabs(q / m->first[p] - 1) : fabs(q);
    bool inside = true;
    if (d > *drift) *drift = d;
    if (m->o->inside) GEODEC_TRY(m->o->inside(m->o->inside_ctx, x, &inside, err));
    m->outside[p] = m->outside[p] || !inside;
done:
    return st;
}

static geodec_status options_ok(const geodec_space *s, const geodec_geodesic_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (s->n < 1 || s->n > GEODEC_SPACE_DIM_MAX)
        GEODEC_THROW(GEODEC_RANGE, "dimension %d is outside 1..%d", (int)s->n, GEODEC_SPACE_DIM_MAX);
    if (o->steps < 1 || o->steps > STEPS_MAX)
        GEODEC_THROW(GEODEC_RANGE, "%lld steps are outside 1..%d", (long long)o->steps, STEPS_MAX);
    if (!(o->dl > 0) || !isfinite(o->dl)) GEODEC_THROW(GEODEC_RANGE, "step length %g is not positive", o->dl);
    if (!(o->drift_max > 0)) GEODEC_THROW(GEODEC_RANGE, "drift limit %g is not positive", o->drift_max);
    if (o->method == GEODEC_GEODESIC_ADAPTIVE && !(o->rtol > 0 && o->rtol < 1))
        GEODEC_THROW(GEODEC_RANGE, "tolerance %g is outside (0, 1)", o->rtol);
done:
    return st;
}

/* Nodes 1..T by the adaptive integrator; *good = last node reached. */
static geodec_status adaptive_nodes(const geodec_space *s, const geodec_geodesic_options *o, double *xs, double *vs,
                                    int64_t *good, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n;
    double *t = NULL;
    GEODEC_NEW(t, o->steps);
    for (int64_t k = 0; k < o->steps; k++) t[k] = o->dl * (double)(k + 1);
    GEODEC_TRY(geodec_geodesic_at(s, o->rtol, xs, vs, o->steps, t, xs + n, vs + n, good, err));
done:
    geodec_mem_free(t);
    return st;
}

/* Rows good + 1 .. last of a [last + 1][n] become copies of row good. */
static void repeat_last(int64_t good, int64_t last, int64_t n, double *a)
{
    for (int64_t k = good + 1; k <= last; k++) memcpy(a + k * n, a + good * n, (size_t)n * sizeof *a);
}

/* count <= TOGETHER paths; *failed: the one of an error. */
static geodec_status together(const geodec_space *s, const geodec_geodesic_options *o, int64_t count, const double *x0,
                              const double *v0, double *xs, double *vs, double *speed2, double *accel,
                              geodec_path_report *report, int64_t *failed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL;
    const int64_t n = s->n, nodes = o->steps + 1;
    const size_t row = (size_t)n * sizeof *xs;
    const bool rk4 = o->method == GEODEC_GEODESIC_RK4;
    march m = {.s = s, .o = o};
    int64_t reached[TOGETHER]; /* last good node */
    *failed = 0;
    GEODEC_TRY(options_ok(s, o, err));
    GEODEC_NEW(block, n * n * n + n * n + STAGE_ARRAYS * TOGETHER * n);
    m.space = block;
    double **part[] = {&m.x, &m.y, &m.v, &m.u2, &m.u3, &m.u4, &m.k1, &m.k2, &m.k3, &m.k4};
    for (int i = 0; i < STAGE_ARRAYS; i++) *part[i] = block + n * n * n + n * n + i * TOGETHER * n;
    for (int64_t p = 0; p < count; p++) {
        *failed = p;
        if (!geodec__finite(n, x0 + p * n) || !geodec__finite(n, v0 + p * n))
            GEODEC_THROW(GEODEC_NUMERIC, "the start of the path is not finite");
        memmove(xs + p * nodes * n, x0 + p * n, row);
        memmove(vs + p * nodes * n, v0 + p * n, row);
        report[p] = (geodec_path_report){0};
        reached[p] = o->steps;
        if (!rk4) GEODEC_TRY(adaptive_nodes(s, o, xs + p * nodes * n, vs + p * nodes * n, &reached[p], err));
    }
    for (int64_t k = 0; k <= o->steps; k++) {
        const bool step = rk4 && k < o->steps;
        double q[TOGETHER];
        m.live = 0;
        for (int64_t p = 0; p < count; p++) {
            if (reached[p] < k) continue;
            memcpy(m.x + m.live * n, xs + (p * nodes + k) * n, row);
            memcpy(m.v + m.live * n, vs + (p * nodes + k) * n, row);
            m.broken[m.live] = false;
            m.path[m.live++] = p;
        }
        if (m.live == 0) break;
        GEODEC_TRY(stage(&m, m.x, m.v, q, step || accel ? m.k1 : NULL, err));
        for (int64_t i = 0; i < m.live; i++) {
            const int64_t p = *failed = m.path[i];
            m.broken[i] = m.broken[i] || !isfinite(q[i]);
            if (k == 0 && m.broken[i]) { /* once more, for its error message */
                GEODEC_TRY_MSG(geodec_space_path(s, 1, m.x + i * n, m.v + i * n, q, m.k2, m.space, err),
                               "at the start of the path");
                GEODEC_THROW(GEODEC_NUMERIC, "the speed at the start of the path is not finite");
            }
            if (k == 0) m.first[p] = q[i];
            if (m.broken[i]) {
                reached[p] = k - 1;
                continue;
            }
            GEODEC_TRY(watch(&m, p, m.x + i * n, q[i], &report[p].drift, err));
            if (speed2) speed2[p * nodes + k] = q[i];
            if (accel) memcpy(accel + (p * nodes + k) * n, m.k1 + i * n, row);
        }
        if (!step) continue;
        GEODEC_TRY(rk4_step(&m, err));
        for (int64_t i = 0; i < m.live; i++) {
            const int64_t p = m.path[i];
            if (m.broken[i]) {
                if (reached[p] > k) reached[p] = k;
                continue;
            }
            memcpy(xs + (p * nodes + k + 1) * n, m.y + i * n, row);
            memcpy(vs + (p * nodes + k + 1) * n, m.u2 + i * n, row);
        }
    }
    for (int64_t p = 0; p < count; p++) {
        repeat_last(reached[p], o->steps, n, xs + p * nodes * n);
        repeat_last(reached[p], o->steps, n, vs + p * nodes * n);
        if (speed2) repeat_last(reached[p], o->steps, 1, speed2 + p * nodes);
        if (accel) repeat_last(reached[p], o->steps, n, accel + p * nodes * n);
        report[p].good = reached[p];
        report[p].status = reached[p] < o->steps            ? GEODEC_PATH_NONFINITE
                           : m.outside[p]                   ? GEODEC_PATH_LEFT_HULL
                           : report[p].drift > o->drift_max ? GEODEC_PATH_DRIFT
                                                            : GEODEC_PATH_OK;
    }
done:
    geodec_mem_free(block);
    return st;
}

geodec_status geodec_geodesic_path(const geodec_space *s, const geodec_geodesic_options *o, const double *x0,
                                   const double *v0, double *xs, double *vs, double *speed2, geodec_path_report *report,
                                   geodec_err *err)
{
    int64_t failed;
    return together(s, o, 1, x0, v0, xs, vs, speed2, NULL, report, &failed, err);
}

typedef struct batch {
    const geodec_space *s;
    const geodec_geodesic_options *o;
    const double *x0, *v0;
    double *xs, *vs, *speed2, *accel;
    geodec_path_report *report;
} batch;

static geodec_status batch_group(void *ctx, int64_t first, int64_t count, int64_t *failed, geodec_err *err)
{
    batch *b = ctx;
    const int64_t n = b->s->n, nodes = b->o->steps + 1;
    int64_t at;
    const geodec_status st =
        together(b->s, b->o, count, b->x0 + first * n, b->v0 + first * n, b->xs + first * nodes * n,
                 b->vs + first * nodes * n, b->speed2 ? b->speed2 + first * nodes : NULL,
                 b->accel ? b->accel + first * nodes * n : NULL, b->report + first, &at, err);
    *failed = first + at;
    return st;
}

geodec_status geodec_geodesic_batch(const geodec_space *s, const geodec_geodesic_options *o, geodec_pool *pool,
                                    const geodec_hooks *hooks, int64_t n_paths, const double *x0, const double *v0,
                                    double *xs, double *vs, double *speed2, double *accel, geodec_path_report *report,
                                    geodec_err *err)
{
    batch b = {s, o, x0, v0, xs, vs, speed2, accel, report};
    return geodec__tasks_run_groups(pool, hooks, "geodesics", n_paths, TOGETHER, batch_group, &b, err);
}
