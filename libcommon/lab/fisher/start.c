#include "lab/fisher/start.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "geometry/curvature.h"
#include "geometry/geodesic.h"

#include <math.h>

enum { MAX = GEODEC_FISHER_FIELD_MAX, NODES = GEODEC_LOGMAP_STEPS + 1 };

const char *const geodec_fisher_predictor_names[GEODEC_FISHER_PREDICTORS + 1] = {"stay", "line", "geodesic",
                                                                                 "geodesic_log"};
static const double planted_share = 0.25;

geodec_fisher_start_options geodec_fisher_start_defaults(void)
{
    return (geodec_fisher_start_options){
        .steps = 16, .drift_max = 1e-2, .tolerance = 1e-4, .rounds = 10, .widest = 0.01, .rungs = 6};
}

typedef struct work {
    const geodec_space *s;
    const geodec_fisher_start_options *o;
    geodec_geodesic_options geodesic;
} work;

/* A point where there is no metric is a result, not an error. */
static geodec_status forgive(geodec_status st, bool *ok, geodec_err *err)
{
    *ok = st == GEODEC_OK;
    if (st != GEODEC_NUMERIC) return st;
    geodec_err_clear(err);
    return GEODEC_OK;
}

/* end [n] = exp(v) at z = 0. */
static geodec_status shoot(const work *w, const double *v, double *end, bool *ok, geodec_err *err)
{
    const double origin[MAX] = {0};
    double xs[NODES * MAX], vs[NODES * MAX];
    geodec_path_report report;
    const int64_t n = w->s->n, last = w->o->steps;
    GEODEC_PASS(forgive(geodec_geodesic_path(w->s, &w->geodesic, origin, v, xs, vs, NULL, &report, err), ok, err));
    *ok = *ok && report.status == GEODEC_PATH_OK && report.good == last;
    for (int64_t i = 0; *ok && i < n; i++) end[i] = xs[last * n + i];
    return GEODEC_OK;
}

/* exp(v) = to at z = 0. */
static geodec_status find(const work *w, const double *to, double *v, bool *ok, geodec_err *err)
{
    const double origin[MAX] = {0};
    bool found = false;
    GEODEC_PASS(forgive(geodec_logmap_by(w->s, &w->geodesic, w->o->tolerance, w->o->rounds, origin, to, v, &found, err),
                        ok, err));
    *ok = *ok && found;
    return GEODEC_OK;
}

static void negate(int64_t n, const double *a, double factor, double *b)
{
    for (int64_t i = 0; i < n; i++) b[i] = -factor * a[i];
}

/* |a - b| in the chart and in g (NULL: not there). */
static void gap(int64_t n, const double *g, const double *a, const double *b, double out[2])
{
    double d[MAX];
    for (int64_t i = 0; i < n; i++) d[i] = a[i] - b[i];
    out[0] = sqrt(geodec__dot(n, d, d));
    out[1] = g ? sqrt(geodec__norm2(n, g, d)) : NAN;
}

/* Mean sectional curvature through dGamma, by differences of second order with the field's step. */
static geodec_status by_differences(const geodec_fisher_field *f, double *out, geodec_err *err)
{
    const double origin[MAX] = {0};
    const int64_t n = f->map.n;
    geodec_curvature_invariants inv;
    GEODEC_PASS(geodec_curvature_at(&f->base, origin, NULL, NULL, &inv, err));
    *out = inv.scalar / (double)(n * (n - 1));
    return GEODEC_OK;
}

static geodec_status planted(const work *w, const double *before, geodec_fisher_start *out, geodec_err *err)
{
    const int64_t n = w->s->n;
    double u[MAX], from[MAX], to[MAX], back[MAX], end[MAX], at[2];
    const double origin[MAX] = {0};
    bool ok;
    negate(n, before, planted_share, u);
    GEODEC_PASS(shoot(w, u, to, &ok, err));
    if (!ok) return GEODEC_OK;
    negate(n, u, 1, u);
    GEODEC_PASS(shoot(w, u, from, &ok, err));
    if (ok) GEODEC_PASS(find(w, from, back, &ok, err));
    if (!ok) return GEODEC_OK;
    negate(n, back, 1, back);
    GEODEC_PASS(shoot(w, back, end, &ok, err));
    if (!ok) return GEODEC_OK;
    gap(n, NULL, to, origin, at);
    out->planted_length = at[0];
    gap(n, NULL, end, to, at);
    out->planted[1] = at[0];
    negate(n, from, 1, from);
    gap(n, NULL, from, to, at);
    out->planted[0] = at[0];
    return GEODEC_OK;
}

/* Errors of the predictions, and the lengths to the state before. */
static geodec_status follow(const work *w, const geodec_fisher_field *f, const double *before, const double *after,
                            geodec_fisher_start *out, geodec_err *err)
{
    const int64_t n = w->s->n;
    const double origin[MAX] = {0};
    double g0[MAX * MAX], g[MAX * MAX], straight[MAX], back[MAX], end[MAX];
    bool metric, ok;
    GEODEC_PASS(forgive(w->s->at(w->s, after, g, NULL, NULL, err), &metric, err));
    const double *at = metric ? g : NULL;
    negate(n, before, 1, straight);
    gap(n, at, origin, after, out->length);
    gap(n, at, origin, after, out->miss[GEODEC_FISHER_STAY]);
    gap(n, at, straight, after, out->miss[GEODEC_FISHER_LINE]);
    GEODEC_PASS(shoot(w, straight, end, &ok, err));
    if (ok) gap(n, at, end, after, out->miss[GEODEC_FISHER_GEODESIC]);
    GEODEC_PASS(geodec_fisher_field_chord(f, origin, before, &out->chord, &out->chord_error, err));
    GEODEC_PASS(geodec_fisher_field_bound(f, origin, before, &out->bound, err));
    GEODEC_PASS(find(w, before, back, &ok, err));
    if (!ok) return GEODEC_OK;
    GEODEC_PASS(w->s->at(w->s, origin, g0, NULL, NULL, err));
    out->geodesic = sqrt(geodec__norm2(n, g0, back));
    negate(n, back, 1, back);
    GEODEC_PASS(shoot(w, back, end, &ok, err));
    if (ok) gap(n, at, end, after, out->miss[GEODEC_FISHER_GEODESIC_LOG]);
    return GEODEC_OK;
}

static geodec_status all_figures(const work *w, geodec_fisher_field *f, double size, const double *before,
                                 const double *after, bool check, geodec_fisher_start *out, geodec_err *err)
{
    const double origin[MAX] = {0};
    GEODEC_PASS(
        geodec_fisher_field_tune(f, origin, w->o->widest * size, w->o->rungs, &out->curvature, &out->error, err));
    out->step = f->step / size;
    if (check) GEODEC_PASS(by_differences(f, &out->differences, err));
    GEODEC_PASS(follow(w, f, before, after, out, err));
    return planted(w, before, out, err);
}

geodec_status geodec_fisher_start_measure(geodec_fisher_field *f, double size, const double *before,
                                          const double *after, bool check, const geodec_fisher_start_options *o,
                                          geodec_fisher_start *out, geodec_err *err)
{
    const work w = {
        .s = &f->base,
        .o = o,
        .geodesic = {
            .steps = o->steps, .dl = 1 / (double)o->steps, .method = GEODEC_GEODESIC_RK4, .drift_max = o->drift_max}};
    bool ok;
    if (o->steps < 1 || o->steps > GEODEC_LOGMAP_STEPS || !(size > 0) || !isfinite(size))
        GEODEC_FAIL(GEODEC_RANGE, "geodesics of %lld steps at a state of length %g", (long long)o->steps, size);
    const double none = NAN;
    *out = (geodec_fisher_start){.curvature = {none, none, none, none, none, none, none, none, none},
                                 .error = none,
                                 .step = none,
                                 .differences = none,
                                 .chord = none,
                                 .chord_error = none,
                                 .geodesic = none,
                                 .bound = none,
                                 .length = {none, none},
                                 .planted_length = none,
                                 .planted = {none, none}};
    for (int p = 0; p < GEODEC_FISHER_PREDICTORS; p++) out->miss[p][0] = out->miss[p][1] = none;
    geodec_fisher_start filled = *out;
    GEODEC_PASS(forgive(all_figures(&w, f, size, before, after, check, &filled, err), &ok, err));
    if (ok) *out = filled;
    out->singular = !ok;
    return GEODEC_OK;
}
