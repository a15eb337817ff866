#include "geometry/geodesic.h"

#include "base/mem.h"
#include "geometry/spaces.h"
#include "geometry/tasks.h"
#include "geometry/vec.h"

#include <math.h>
#include <string.h>

enum { STEPS_MAX = 1 << 20 };

const char *geodec_path_status_text(geodec_path_status s)
{
    switch (s) {
    case GEODEC_PATH_OK:
        return "ok";
    case GEODEC_PATH_NONFINITE:
        return "non-finite";
    case GEODEC_PATH_DRIFT:
        return "speed drift";
    case GEODEC_PATH_LEFT_HULL:
        return "left hull";
    }
    return "?";
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

/* ---- Runge-Kutta ------------------------------------------------------------------------------------------------ */

typedef struct scratch {
    double *space;             /* n^3 + n^2, of geodec_space_path */
    double *y;                 /* position of a stage */
    double *k1, *k2, *k3, *k4; /* accelerations of the stages */
    double *u2, *u3, *u4;      /* velocities of the stages after the first */
} scratch;

/* One step from (x, v), with the acceleration there in w->k1, to (x1, v1). GEODEC_NUMERIC when the path breaks down in
 * it. */
static geodec_status rk4_step(const geodec_space *s, double h, const double *x, const double *v, scratch *w, double *x1,
                              double *v1, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n;
    for (int64_t i = 0; i < n; i++) {
        w->y[i] = x[i] + h / 2 * v[i];
        w->u2[i] = v[i] + h / 2 * w->k1[i];
    }
    GEODEC_TRY(geodec_space_path(s, w->y, w->u2, NULL, w->k2, w->space, err));
    for (int64_t i = 0; i < n; i++) {
        w->y[i] = x[i] + h / 2 * w->u2[i];
        w->u3[i] = v[i] + h / 2 * w->k2[i];
    }
    GEODEC_TRY(geodec_space_path(s, w->y, w->u3, NULL, w->k3, w->space, err));
    for (int64_t i = 0; i < n; i++) {
        w->y[i] = x[i] + h * w->u3[i];
        w->u4[i] = v[i] + h * w->k3[i];
    }
    GEODEC_TRY(geodec_space_path(s, w->y, w->u4, NULL, w->k4, w->space, err));
    for (int64_t i = 0; i < n; i++) {
        x1[i] = x[i] + h / 6 * (v[i] + 2 * w->u2[i] + 2 * w->u3[i] + w->u4[i]);
        v1[i] = v[i] + h / 6 * (w->k1[i] + 2 * w->k2[i] + 2 * w->k3[i] + w->k4[i]);
    }
    if (!geodec__finite(n, x1) || !geodec__finite(n, v1)) GEODEC_THROW(GEODEC_NUMERIC, "the path is not finite");
done:
    return st;
}

/* ---- a path ----------------------------------------------------------------------------------------------------- */

typedef struct monitor {
    double first; /* g(v0, v0) */
    double drift;
    bool outside;
} monitor;

static geodec_status watch(const geodec_geodesic_options *o, monitor *m, const double *x, double q, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const double d = m->first > 0 ? fabs(q / m->first - 1) : fabs(q);
    bool inside = true;
    if (d > m->drift) m->drift = d;
    if (o->inside) GEODEC_TRY(o->inside(o->inside_ctx, x, &inside, err));
    m->outside = m->outside || !inside;
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

geodec_status geodec_geodesic_path(const geodec_space *s, const geodec_geodesic_options *o, const double *x0,
                                   const double *v0, double *xs, double *vs, double *speed2, geodec_path_report *report,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL;
    const int64_t n = s->n;
    const size_t row = (size_t)n * sizeof *xs;
    const bool rk4 = o->method == GEODEC_GEODESIC_RK4;
    monitor m = {0};
    GEODEC_TRY(options_ok(s, o, err));
    GEODEC_NEW(block, n * n * n + n * n + 8 * n);
    scratch w = {.space = block, .y = block + n * n * n + n * n};
    w.k1 = w.y + n, w.k2 = w.k1 + n, w.k3 = w.k2 + n, w.k4 = w.k3 + n;
    w.u2 = w.k4 + n, w.u3 = w.u2 + n, w.u4 = w.u3 + n;

    if (!geodec__finite(n, x0) || !geodec__finite(n, v0))
        GEODEC_THROW(GEODEC_NUMERIC, "the start of the path is not finite");
    memmove(xs, x0, row);
    memmove(vs, v0, row);
    int64_t last = o->steps, k = 0;
    if (!rk4) GEODEC_TRY(adaptive_nodes(s, o, xs, vs, &last, err));
    for (; k <= last; k++) {
        double *x = xs + k * n, *v = vs + k * n;
        const bool step = rk4 && k < o->steps;
        double q;
        st = geodec_space_path(s, x, v, &q, step ? w.k1 : NULL, w.space, err);
        if (st != GEODEC_OK) q = NAN;
        if (k == 0) {
            GEODEC_TRY_MSG(st, "at the start of the path");
            if (!isfinite(q)) GEODEC_THROW(GEODEC_NUMERIC, "the speed at the start of the path is not finite");
            m.first = q;
        }
        if (st == GEODEC_NUMERIC || (st == GEODEC_OK && !isfinite(q))) break;
        GEODEC_TRY(st);
        GEODEC_TRY(watch(o, &m, x, q, err));
        if (speed2) speed2[k] = q;
        if (!step) continue;
        st = rk4_step(s, o->dl, x, v, &w, x + n, v + n, err);
        if (st == GEODEC_NUMERIC) { /* this node is the last good one */
            k++;
            break;
        }
        GEODEC_TRY(st);
    }
    if (st != GEODEC_OK) { /* a path that breaks down is a result, not an error */
        geodec_err_clear(err);
        st = GEODEC_OK;
    }
    const int64_t good = k - 1;
    const bool broken = good < o->steps;
    for (; k <= o->steps; k++) {
        memcpy(xs + k * n, xs + good * n, row);
        memcpy(vs + k * n, vs + good * n, row);
        if (speed2) speed2[k] = speed2[good];
    }
    report->good = good;
    report->drift = m.drift;
    report->status = broken                   ? GEODEC_PATH_NONFINITE
                     : m.outside              ? GEODEC_PATH_LEFT_HULL
                     : m.drift > o->drift_max ? GEODEC_PATH_DRIFT
                                              : GEODEC_PATH_OK;
done:
    geodec_mem_free(block);
    return st;
}

/* ---- many paths ------------------------------------------------------------------------------------------------- */

typedef struct batch {
    const geodec_space *s;
    const geodec_geodesic_options *o;
    const double *x0, *v0;
    double *xs, *vs, *speed2;
    geodec_path_report *report;
} batch;

static geodec_status batch_task(void *ctx, int64_t p, geodec_err *err)
{
    batch *b = ctx;
    const int64_t n = b->s->n, nodes = b->o->steps + 1;
    return geodec_geodesic_path(b->s, b->o, b->x0 + p * n, b->v0 + p * n, b->xs + p * nodes * n, b->vs + p * nodes * n,
                                b->speed2 ? b->speed2 + p * nodes : NULL, &b->report[p], err);
}

geodec_status geodec_geodesic_batch(const geodec_space *s, const geodec_geodesic_options *o, geodec_pool *pool,
                                    const geodec_hooks *hooks, int64_t n_paths, const double *x0, const double *v0,
                                    double *xs, double *vs, double *speed2, geodec_path_report *report, geodec_err *err)
{
    batch b = {s, o, x0, v0, xs, vs, speed2, report};
    return geodec__tasks_run(pool, hooks, "geodesics", n_paths, batch_task, &b, err);
}
