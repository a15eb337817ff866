#include "geometry/geodesic.h"

#include "base/mem.h"
#include "base/names_internal.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/space_closed.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>
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
    static const char *const names[] = {GEODEC_GEODESIC_TABLE(GEODEC__NAMES_TEXT)};
    const int i = geodec__names_find(names, GEODEC_GEODESIC_METHODS, name);
    if (i == GEODEC_GEODESIC_METHODS) GEODEC_FAIL(GEODEC_NOTFOUND, "no method is called '%s'", name);
    *method = (geodec_geodesic_method)i;
    return GEODEC_OK;
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

/* ---- the adaptive integrator ------------------------------------------------------------------------------------- */

enum { STEPS_PER_OUTPUT = 20000 }; /* a path that needs more has reached a singularity of the metric */

typedef struct problem {
    const geodec_space *s;
    double *gamma;        /* [n][n][n] */
    geodec_status failed; /* of the space, when the reason is not the path itself */
} problem;

/* y = (x, v), y' = (v, -Gamma(v, v)). */
static int right_side(double t, const double y[], double dydt[], void *params)
{
    (void)t;
    problem *p = params;
    const int64_t n = p->s->n;
    const geodec_status st = p->s->at(p->s, y, NULL, NULL, p->gamma, NULL);
    if (st != GEODEC_OK && st != GEODEC_NUMERIC) p->failed = st;
    if (st != GEODEC_OK) return GSL_EBADFUNC;
    memcpy(dydt, y + n, (size_t)n * sizeof *dydt);
    geodec_geodesic_accel(n, p->gamma, y + n, dydt + n);
    for (int64_t i = 0; i < 2 * n; i++)
        if (!isfinite(dydt[i])) return GSL_EBADFUNC;
    return GSL_SUCCESS;
}

geodec_status geodec_geodesic_at(const geodec_space *s, double rtol, const double *x0, const double *v0, int64_t n_out,
                                 const double *t, double *xs, double *vs, int64_t *reached, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    gsl_odeiv2_driver *driver = NULL;
    gsl_odeiv2_system system;
    problem p = {.s = s};
    const int64_t n = s->n;
    double y[2 * GEODEC_SPACE_DIM_MAX], scale[2 * GEODEC_SPACE_DIM_MAX], speed = 0, now = 0;
    int64_t count = 0;
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX)
        GEODEC_THROW(GEODEC_RANGE, "dimension %lld is outside 1..%d", (long long)n, GEODEC_SPACE_DIM_MAX);
    GEODEC_NEW(p.gamma, n * n * n);
    memcpy(y, x0, (size_t)n * sizeof *y);
    memcpy(y + n, v0, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) speed = fmax(speed, fabs(v0[i]));
    const double span = n_out > 0 ? t[n_out - 1] : 0;
    if (speed > 0 && span > 0) {
        /* Errors are measured against the path's own length, so that moving the origin changes nothing. */
        for (int64_t i = 0; i < n; i++) {
            scale[i] = speed * span;
            scale[n + i] = speed;
        }
        system = (gsl_odeiv2_system){.function = right_side, .dimension = (size_t)(2 * n), .params = &p};
        driver = gsl_odeiv2_driver_alloc_scaled_new(&system, gsl_odeiv2_step_rk8pd, span / 16, rtol, 0, 1, 0, scale);
        if (!driver) GEODEC_THROW(GEODEC_NOMEM, "no memory for the integrator");
        (void)gsl_odeiv2_driver_set_nmax(driver, STEPS_PER_OUTPUT);
    } /* else: a point at rest stays */
    for (; count < n_out; count++) {
        if (driver && t[count] > now && gsl_odeiv2_driver_apply(driver, &now, t[count], y) != GSL_SUCCESS) break;
        memcpy(xs + count * n, y, (size_t)n * sizeof *xs);
        memcpy(vs + count * n, y + n, (size_t)n * sizeof *vs);
    }
    if (p.failed != GEODEC_OK) GEODEC_THROW(p.failed, "%s", geodec_status_text(p.failed));
    *reached = count;
done:
    if (driver) gsl_odeiv2_driver_free(driver);
    geodec_mem_free(p.gamma);
    return st;
}

/* ---- paths ----------------------------------------------------------------------------------------------------- */

enum { TOGETHER = GEODEC_SPACE_TOGETHER, STAGE_ARRAYS = 10 };

/* Paths as in geodec_geodesic_batch. */
typedef struct batch {
    const geodec_space *s;
    const geodec_geodesic_options *o;
    const double *x0, *v0;
    double *xs, *vs, *speed2, *accel;
    geodec_path_report *report;
} batch;

/* Up to TOGETHER paths that step together. Arrays [paths][n] of the stages hold the live ones, side by side. */
typedef struct march {
    batch b; /* the arrays begin with these paths */
    int64_t count;
    int64_t live, path[TOGETHER]; /* number of each live path */
    bool broken[TOGETHER];        /* in the current step, of the live ones */
    int64_t reached[TOGETHER];    /* last good node, of all */
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
    const int64_t n = m->b.s->n;
    st = geodec_space_path(m->b.s, m->live, x, v, speed2, accel, m->space, err);
    if (st != GEODEC_NUMERIC) goto done;
    for (int64_t i = 0; i < m->live; i++) { /* finds the paths that break down */
        geodec_err_clear(err);
        st = geodec_space_path(m->b.s, 1, x + i * n, v + i * n, speed2 ? speed2 + i : NULL,
                               accel ? accel + i * n : NULL, m->space, err);
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
    for (int64_t i = 0; i < m->live * m->b.s->n; i++) to[i] = from[i] + h * slope[i];
}

/* One Runge-Kutta step from (x, v), with the accelerations there in k1, to (y, u2). */
static geodec_status rk4_step(march *m, geodec_err *err)
{
    const double h = m->b.o->dl;
    const int64_t n = m->b.s->n;
    advance(m, h / 2, m->x, m->v, m->y);
    advance(m, h / 2, m->v, m->k1, m->u2);
    GEODEC_PASS(stage(m, m->y, m->u2, NULL, m->k2, err));
    advance(m, h / 2, m->x, m->u2, m->y);
    advance(m, h / 2, m->v, m->k2, m->u3);
    GEODEC_PASS(stage(m, m->y, m->u3, NULL, m->k3, err));
    advance(m, h, m->x, m->u3, m->y);
    advance(m, h, m->v, m->k3, m->u4);
    GEODEC_PASS(stage(m, m->y, m->u4, NULL, m->k4, err));
    for (int64_t i = 0; i < m->live * n; i++) {
        m->y[i] = m->x[i] + h / 6 * (m->v[i] + 2 * m->u2[i] + 2 * m->u3[i] + m->u4[i]);
        m->u2[i] = m->v[i] + h / 6 * (m->k1[i] + 2 * m->k2[i] + 2 * m->k3[i] + m->k4[i]);
    }
    for (int64_t i = 0; i < m->live; i++)
        m->broken[i] = m->broken[i] || !geodec__finite(n, m->y + i * n) || !geodec__finite(n, m->u2 + i * n);
    return GEODEC_OK;
}

static geodec_status options_ok(const geodec_space *s, const geodec_geodesic_options *o, geodec_err *err)
{
    if (s->n < 1 || s->n > GEODEC_SPACE_DIM_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "dimension %d is outside 1..%d", (int)s->n, GEODEC_SPACE_DIM_MAX);
    if (o->steps < 1 || o->steps > STEPS_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "%lld steps are outside 1..%d", (long long)o->steps, STEPS_MAX);
    if (!(o->dl > 0) || !isfinite(o->dl)) GEODEC_FAIL(GEODEC_RANGE, "step length %g is not positive", o->dl);
    if (!(o->drift_max > 0)) GEODEC_FAIL(GEODEC_RANGE, "drift limit %g is not positive", o->drift_max);
    if (o->method == GEODEC_GEODESIC_ADAPTIVE && !(o->rtol > 0 && o->rtol < 1))
        GEODEC_FAIL(GEODEC_RANGE, "tolerance %g is outside (0, 1)", o->rtol);
    return GEODEC_OK;
}

/* Node 0 of every path, and all nodes by the adaptive integrator. */
static geodec_status begin(march *m, int64_t *failed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const batch *b = &m->b;
    const int64_t n = b->s->n, steps = b->o->steps;
    double *t = NULL;
    GEODEC_NEW(t, steps);
    for (int64_t k = 0; k < steps; k++) t[k] = b->o->dl * (double)(k + 1);
    for (int64_t p = 0; p < m->count; p++) {
        double *xs = b->xs + p * (steps + 1) * n, *vs = b->vs + p * (steps + 1) * n;
        *failed = p;
        if (!geodec__finite(n, b->x0 + p * n) || !geodec__finite(n, b->v0 + p * n))
            GEODEC_THROW(GEODEC_NUMERIC, "the start of the path is not finite");
        memmove(xs, b->x0 + p * n, (size_t)n * sizeof *xs);
        memmove(vs, b->v0 + p * n, (size_t)n * sizeof *vs);
        b->report[p] = (geodec_path_report){0};
        m->reached[p] = steps;
        if (b->o->method == GEODEC_GEODESIC_ADAPTIVE)
            GEODEC_TRY(geodec_geodesic_at(b->s, b->o->rtol, xs, vs, steps, t, xs + n, vs + n, &m->reached[p], err));
    }
done:
    geodec_mem_free(t);
    return st;
}

/* Speed, acceleration and drift of live path i at node k; a path that breaks down there ends at the node before. */
static geodec_status record_node(march *m, int64_t i, int64_t k, double q, geodec_err *err)
{
    const batch *b = &m->b;
    const int64_t n = b->s->n, nodes = b->o->steps + 1, p = m->path[i];
    bool inside = true;
    m->broken[i] = m->broken[i] || !isfinite(q);
    if (k == 0 && m->broken[i]) { /* once more, for its error message */
        GEODEC_PASS_MSG(geodec_space_path(b->s, 1, m->x + i * n, m->v + i * n, &q, m->k2, m->space, err),
                        "at the start of the path");
        GEODEC_FAIL(GEODEC_NUMERIC, "the speed at the start of the path is not finite");
    }
    if (k == 0) m->first[p] = q;
    if (m->broken[i]) {
        m->reached[p] = k - 1;
        return GEODEC_OK;
    }
    const double drift = m->first[p] > 0 ? fabs(q / m->first[p] - 1) : fabs(q);
    if (drift > b->report[p].drift) b->report[p].drift = drift;
    if (b->o->inside) GEODEC_PASS(b->o->inside(b->o->inside_ctx, m->x + i * n, &inside, err));
    m->outside[p] = m->outside[p] || !inside;
    if (b->speed2) b->speed2[p * nodes + k] = q;
    if (b->accel) memcpy(b->accel + (p * nodes + k) * n, m->k1 + i * n, (size_t)n * sizeof *b->accel);
    return GEODEC_OK;
}

/* Node k of the paths that reach it, then the step to the next by Runge and Kutta. */
static geodec_status pass_node(march *m, int64_t k, int64_t *failed, geodec_err *err)
{
    const batch *b = &m->b;
    const int64_t n = b->s->n, nodes = b->o->steps + 1;
    const size_t row = (size_t)n * sizeof *b->xs;
    const bool step = b->o->method == GEODEC_GEODESIC_RK4 && k < b->o->steps;
    double q[TOGETHER];
    m->live = 0;
    for (int64_t p = 0; p < m->count; p++) {
        if (m->reached[p] < k) continue;
        memcpy(m->x + m->live * n, b->xs + (p * nodes + k) * n, row);
        memcpy(m->v + m->live * n, b->vs + (p * nodes + k) * n, row);
        m->broken[m->live] = false;
        m->path[m->live++] = p;
    }
    if (m->live == 0) return GEODEC_OK;
    GEODEC_PASS(stage(m, m->x, m->v, q, step || b->accel ? m->k1 : NULL, err));
    for (int64_t i = 0; i < m->live; i++) {
        *failed = m->path[i];
        GEODEC_PASS(record_node(m, i, k, q[i], err));
    }
    if (!step) return GEODEC_OK;
    GEODEC_PASS(rk4_step(m, err));
    for (int64_t i = 0; i < m->live; i++) {
        const int64_t p = m->path[i];
        if (m->broken[i]) {
            if (m->reached[p] > k) m->reached[p] = k;
            continue;
        }
        memcpy(b->xs + (p * nodes + k + 1) * n, m->y + i * n, row);
        memcpy(b->vs + (p * nodes + k + 1) * n, m->u2 + i * n, row);
    }
    return GEODEC_OK;
}

/* Rows good + 1 .. last of a [last + 1][n] become copies of row good. */
static void repeat_last(int64_t good, int64_t last, int64_t n, double *a)
{
    for (int64_t k = good + 1; k <= last; k++) memcpy(a + k * n, a + good * n, (size_t)n * sizeof *a);
}

/* Paths first .. first+count-1 of a batch, count <= TOGETHER: a geodec__group_fn. */
static geodec_status together(void *ctx, int64_t first, int64_t count, int64_t *failed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL;
    march m = {.b = *(const batch *)ctx, .count = count};
    batch *b = &m.b;
    const int64_t n = b->s->n, steps = b->o->steps, nodes = steps + 1, space = n * n * n + n * n;
    int64_t at = 0;
    GEODEC_TRY(options_ok(b->s, b->o, err));
    b->x0 += first * n, b->v0 += first * n, b->xs += first * nodes * n, b->vs += first * nodes * n;
    if (b->speed2) b->speed2 += first * nodes;
    if (b->accel) b->accel += first * nodes * n;
    b->report += first;
    GEODEC_NEW(block, space + STAGE_ARRAYS * TOGETHER * n);
    m.space = block;
    double **part[] = {&m.x, &m.y, &m.v, &m.u2, &m.u3, &m.u4, &m.k1, &m.k2, &m.k3, &m.k4};
    for (int i = 0; i < STAGE_ARRAYS; i++) *part[i] = block + space + i * TOGETHER * n;
    GEODEC_TRY(begin(&m, &at, err));
    for (int64_t k = 0; k <= steps; k++) GEODEC_TRY(pass_node(&m, k, &at, err));
    for (int64_t p = 0; p < count; p++) {
        geodec_path_report *r = &b->report[p];
        r->good = m.reached[p];
        repeat_last(r->good, steps, n, b->xs + p * nodes * n);
        repeat_last(r->good, steps, n, b->vs + p * nodes * n);
        if (b->speed2) repeat_last(r->good, steps, 1, b->speed2 + p * nodes);
        if (b->accel) repeat_last(r->good, steps, n, b->accel + p * nodes * n);
        r->status = r->good < steps              ? GEODEC_PATH_NONFINITE
                    : m.outside[p]               ? GEODEC_PATH_LEFT_HULL
                    : r->drift > b->o->drift_max ? GEODEC_PATH_DRIFT
                                                 : GEODEC_PATH_OK;
    }
done:
    *failed = first + at;
    geodec_mem_free(block);
    return st;
}

geodec_status geodec_geodesic_path(const geodec_space *s, const geodec_geodesic_options *o, const double *x0,
                                   const double *v0, double *xs, double *vs, double *speed2, geodec_path_report *report,
                                   geodec_err *err)
{
    batch b = {s, o, x0, v0, xs, vs, speed2, NULL, report};
    int64_t failed;
    return together(&b, 0, 1, &failed, err);
}

geodec_status geodec_geodesic_batch(const geodec_space *s, const geodec_geodesic_options *o, geodec_pool *pool,
                                    const geodec_hooks *hooks, int64_t n_paths, const double *x0, const double *v0,
                                    double *xs, double *vs, double *speed2, double *accel, geodec_path_report *report,
                                    geodec_err *err)
{
    batch b = {s, o, x0, v0, xs, vs, speed2, accel, report};
    return geodec__tasks_run_groups(pool, hooks, "geodesics", n_paths, TOGETHER, together, &b, err);
}
