#include "lab/geodesicity/set.h"

#include "base/choose.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/atlas.h"
#include "linalg/regression.h"
#include "linalg/surrogate.h"

#include <math.h>
#include <string.h>

enum {
    P = GEODEC_SET_PREDICTORS,
    AHEAD = GEODEC_GEODESICITY_AHEAD,
    PLANTED = GEODEC_SET_PLANTED,
    MAX_N = GEODEC_QUADRATIC_MAX_N
};
enum { SET, SHUFFLED, GAUSSIAN, ATLASES };
enum { EDGE = 200 /* charts from which the edge of the points is known */ };
/* Planted steps are shorter than true ones, so that a path of several stays within the points. */
static const double planted_share = 0.25;

const char *const geodec_geodesicity_set_names[] = {"stay",         "line",         "linear_xv",  "set",
                                                    "set_shuffled", "set_gaussian", "set_fitted", NULL};

geodec_geodesicity_set_options geodec_geodesicity_set_defaults(void)
{
    const geodec_geodesicity_options o = geodec_geodesicity_defaults();
    return (geodec_geodesicity_set_options){.n = 6,
                                            .points = 4000,
                                            .training = 1000,
                                            .starts = o.starts,
                                            .ahead = o.ahead,
                                            .planted = 60,
                                            .ridge = o.ridge,
                                            .replicates = o.replicates,
                                            .split = o.split};
}

typedef struct work {
    const geodec_trajectories *t;
    const geodec_geodesicity_set_options *o;
    int64_t d, ahead, points;
    double *x[2];   /* [points][d] the points; the Gaussian cloud */
    int32_t *text;  /* [points] */
    int64_t *other; /* [points] */
    geodec_atlas atlas[ATLASES];
    int64_t training, starts;
    geodec__harness_starts_row *row, *start; /* training, held out */
    double *fixed;                           /* [training][ahead][d] c_m */
    int64_t *good;                           /* [training] */
    double *map[2][AHEAD];                   /* linear_xv, what set leaves */
    double *error;                           /* [starts][P][AHEAD], -1 = none */
    double *step, *radius;                   /* [starts] */
    /* planted */
    double *place, *residual; /* [points][d] p_j; x_j - p_j */
    double *moved;            /* [points][d] */
    geodec_atlas again[2];    /* through moved; with permuted second fundamental forms */
    int64_t paths;
    double *planted; /* [paths][PLANTED][AHEAD], -1 = none */
} work;

/* One start on the set: chart, places and velocity. */
typedef struct start_on {
    geodec_atlas_chart chart;
    double t[MAX_N], w[MAX_N];
    double *p, *q; /* [d] */
} start_on;

static void leave(start_on *s)
{
    geodec_atlas_chart_clear(&s->chart);
    GEODEC_FREE(s->p, s->q);
    s->p = s->q = NULL;
}

/* *found = false where there are no charts. */
static geodec_status enter(const geodec_atlas *a, int32_t text, const double *before, const double *x, start_on *s,
                           bool *found, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_atlas_chart there = {0};
    double from[MAX_N];
    *s = (start_on){0};
    *found = false;
    GEODEC_NEW_EACH(a->d, s->p, s->q);
    const geodec_status c = geodec_atlas_chart_at(a, x, text, NULL, &s->chart, NULL);
    if (c == GEODEC_SCARCE) goto done;
    if (c != GEODEC_OK) GEODEC_THROW(c, "a chart");
    geodec_quadratic_coordinates(&s->chart.q, x, s->t);
    geodec_quadratic_point(&s->chart.q, s->t, NULL, s->p, NULL);
    geodec_quadratic_coordinates(&s->chart.q, before, from);
    if (sqrt(geodec__gap2(a->n, from, s->t)) <= a->reach * s->chart.extent) {
        geodec_quadratic_point(&s->chart.q, from, NULL, s->q, NULL);
    } else {
        const geodec_status b = geodec_atlas_chart_at(a, before, text, NULL, &there, NULL);
        if (b == GEODEC_SCARCE) goto done;
        if (b != GEODEC_OK) GEODEC_THROW(b, "a chart");
        geodec_quadratic_coordinates(&there.q, before, from);
        geodec_quadratic_point(&there.q, from, NULL, s->q, NULL);
        geodec_quadratic_coordinates(&s->chart.q, s->q, from);
    }
    geodec_atlas_arrival(&s->chart, from, s->t, s->w);
    *found = true;
done:
    geodec_atlas_chart_clear(&there);
    return st;
}

/* Places m = 1.. along the start's geodesic with `sign` of its velocity, y [count][d]. */
static geodec_status follow(const geodec_atlas *a, const start_on *s, int32_t text, double sign, int64_t count,
                            double *y, int64_t *good, geodec_err *err)
{
    double v[MAX_N], at[AHEAD];
    geodec_atlas_report report;
    for (int64_t i = 0; i < a->n; i++) v[i] = sign * s->w[i];
    for (int64_t m = 0; m < count; m++) at[m] = (double)(m + 1);
    GEODEC_PASS(geodec_atlas_exp(a, &s->chart, text, s->t, v, count, at, y, NULL, &report, err));
    *good = report.good;
    return GEODEC_OK;
}

/* c [ahead][d] of which *good are there; *radius of the chart, or NULL. */
static geodec_status correct(const geodec_atlas *a, int32_t text, const double *before, const double *x, int64_t ahead,
                             double *c, int64_t *good, double *radius, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    start_on s = {0};
    bool found = false;
    *good = 0;
    GEODEC_TRY(enter(a, text, before, x, &s, &found, err));
    if (!found) goto done;
    if (radius) *radius = s.chart.extent;
    GEODEC_TRY(follow(a, &s, text, 1, ahead, c, good, err));
    const double share = geodec_atlas_certain(&s.chart, s.w);
    for (int64_t m = 0; m < *good; m++)
        for (int64_t j = 0; j < a->d; j++)
            c[m * a->d + j] = share * (c[m * a->d + j] - s.p[j] - (double)(m + 1) * (s.p[j] - s.q[j]));
done:
    leave(&s);
    return st;
}

static int64_t ahead_of(const work *w, const geodec__harness_starts_row *s)
{
    return geodec__min(s->end - s->row - 1, w->ahead);
}

/* ---- real paths -------------------------------------------------------------------------------------------------- */

static geodec_status correct_training(void *ctx, int64_t task, geodec_err *err)
{
    const work *w = ctx;
    const geodec__harness_starts_row *s = w->row + task;
    const double *x = w->t->x + s->row * w->d;
    return correct(&w->atlas[SET], s->text, x - w->d, x, ahead_of(w, s), w->fixed + task * w->ahead * w->d,
                   w->good + task, NULL, err);
}

static void features(int64_t d, const double *x, double *z)
{
    for (int64_t j = 0; j < d; j++) {
        z[j] = x[j];
        z[d + j] = x[j] - x[j - d];
    }
}

/* Both regressions of each m, on the rows where `set` has a prediction. */
static geodec_status fit_maps(work *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = w->d;
    double *z = NULL, *y = NULL, *left = NULL;
    GEODEC_NEW(z, w->training * 2 * d);
    GEODEC_NEW_EACH(w->training * d, y, left);
    for (int64_t m = 0; m < w->ahead; m++) {
        int64_t rows = 0;
        for (int64_t i = 0; i < w->training; i++) {
            if (w->good[i] <= m) continue;
            const double *x = w->t->x + w->row[i].row * d, *c = w->fixed + (i * w->ahead + m) * d;
            features(d, x, z + rows * 2 * d);
            for (int64_t j = 0; j < d; j++) {
                y[rows * d + j] = x[(m + 1) * d + j] - x[j];
                left[rows * d + j] = y[rows * d + j] - (double)(m + 1) * (x[j] - x[j - d]) - c[j];
            }
            rows++;
        }
        if (rows < 2) continue; /* no map */
        for (int which = 0; which < 2; which++) {
            GEODEC_NEW(w->map[which][m], (2 * d + 1) * d);
            GEODEC_TRY_MSG(
                geodec_regression_fit(rows, 2 * d, d, z, which ? left : y, w->o->ridge, w->map[which][m], err),
                "regression of step %lld", (long long)m + 1);
        }
    }
done:
    GEODEC_FREE(z, y, left);
    return st;
}

static geodec_status predict(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const work *w = ctx;
    const int64_t d = w->d, ahead = ahead_of(w, w->start + task);
    const double *x = w->t->x + w->start[task].row * d;
    double *error = w->error + task * P * AHEAD, *z = NULL, *y = NULL, *line = NULL, *c = NULL;
    int64_t good[ATLASES];
    GEODEC_NEW(z, 2 * d);
    GEODEC_NEW_EACH(d, y, line);
    GEODEC_NEW(c, ATLASES * ahead * d);
    for (int k = 0; k < P * AHEAD; k++) error[k] = -1;
    w->step[task] = sqrt(geodec__gap2(d, x + d, x));
    features(d, x, z);
    for (int k = 0; k < ATLASES; k++)
        GEODEC_TRY(correct(&w->atlas[k], GEODEC_ATLAS_NONE, x - d, x, ahead, c + k * ahead * d, good + k,
                           k == SET ? w->radius + task : NULL, err));
    for (int64_t m = 0; m < ahead; m++) {
        const double *target = x + (m + 1) * d;
#define RECORD(which, at) error[(which)*AHEAD + m] = sqrt(geodec__gap2(d, at, target))
        RECORD(GEODEC_SET_STAY, x);
        for (int64_t j = 0; j < d; j++) line[j] = x[j] + (double)(m + 1) * z[d + j];
        RECORD(GEODEC_SET_LINE, line);
        if (w->map[0][m]) {
            geodec_regression_at(2 * d, d, w->map[0][m], z, y);
            for (int64_t j = 0; j < d; j++) y[j] += x[j];
            RECORD(GEODEC_SET_LINEAR_XV, y);
        }
        static const int predictor[] = {GEODEC_SET_SET, GEODEC_SET_SHUFFLED, GEODEC_SET_GAUSSIAN};
        for (int k = 0; k < ATLASES; k++) {
            if (good[k] <= m) continue;
            for (int64_t j = 0; j < d; j++) y[j] = line[j] + c[(k * ahead + m) * d + j];
            RECORD(predictor[k], y);
        }
        if (good[SET] > m && w->map[1][m]) {
            geodec_regression_at(2 * d, d, w->map[1][m], z, y);
            for (int64_t j = 0; j < d; j++) y[j] += line[j] + c[m * d + j];
            RECORD(GEODEC_SET_FITTED, y);
        }
#undef RECORD
    }
done:
    GEODEC_FREE(z, y, line, c);
    return st;
}

/* ---- planted paths ----------------------------------------------------------------------------------------------- */

/* The place of a point on the set through the points of other texts. */
static geodec_status settle(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const work *w = ctx;
    const int64_t d = w->d;
    const double *x = w->x[0] + task * d;
    double *p = w->place + task * d, *r = w->residual + task * d, t[MAX_N];
    geodec_atlas_chart c = {0};
    const geodec_status s = geodec_atlas_chart_at(&w->atlas[SET], x, w->text[task], NULL, &c, NULL);
    memcpy(p, x, (size_t)d * sizeof *p);
    if (s != GEODEC_OK && s != GEODEC_SCARCE) GEODEC_THROW(s, "a chart");
    if (s == GEODEC_OK) {
        GEODEC_TRY(geodec_atlas_project(&c, x, t, err));
        geodec_quadratic_point(&c.q, t, NULL, p, NULL);
    }
    for (int64_t j = 0; j < d; j++) r[j] = x[j] - p[j];
done:
    geodec_atlas_chart_clear(&c);
    return st;
}

static geodec_status plant(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const work *w = ctx;
    const int64_t d = w->d, ahead = w->ahead;
    const double *real = w->t->x + w->start[task].row * d;
    geodec_rng r = geodec_rng_stream(w->o->split.seed, geodec_rng_id("planted on the set", (uint64_t)task));
    double *out = w->planted + task * PLANTED * AHEAD, *y = NULL, *c = NULL, *back, *x, *before, *guess;
    int64_t good = 0, behind = 0, reached[2];
    bool found = false;
    start_on s = {0};
    for (int k = 0; k < PLANTED * AHEAD; k++) out[k] = -1;
    GEODEC_TRY(enter(&w->atlas[SET], GEODEC_ATLAS_NONE, real - d, real, &s, &found, err));
    GEODEC_NEW(y, (ahead + 4) * d);
    GEODEC_NEW(c, 2 * ahead * d);
    back = y + ahead * d, x = back + d, before = x + d, guess = before + d;
    if (!found) goto done;
    for (int64_t j = 0; j < d; j++) x[j] = planted_share * (real[j] - real[j - d]);
    GEODEC_TRY(geodec_atlas_velocity(&s.chart, s.t, x, s.w, err));
    GEODEC_TRY(follow(&w->atlas[SET], &s, GEODEC_ATLAS_NONE, 1, ahead, y, &good, err));
    GEODEC_TRY(follow(&w->atlas[SET], &s, GEODEC_ATLAS_NONE, -1, 1, back, &behind, err));
    if (good < 1 || behind < 1) goto done;
#define NOISE (w->residual + (int64_t)geodec_rng_below(&r, (uint64_t)w->points) * d)
    const double *a = NOISE, *b = NOISE, unit = sqrt(geodec__gap2(d, y, s.p));
    for (int64_t j = 0; j < d; j++) {
        x[j] = s.p[j] + a[j];
        before[j] = back[j] + b[j];
    }
    for (int k = 0; k < 2; k++)
        GEODEC_TRY(
            correct(&w->again[k], GEODEC_ATLAS_NONE, before, x, ahead, c + k * ahead * d, reached + k, NULL, err));
    if (!(unit > 0)) goto done;
    for (int64_t m = 0; m < good && m < reached[0]; m++) {
        const double *e = NOISE, steps = (double)(m + 1);
        for (int which = 0; which < PLANTED; which++) {
            if (which == 2 && reached[1] <= m) continue;
            for (int64_t j = 0; j < d; j++) {
                const double line = x[j] + steps * (x[j] - before[j]), target = y[m * d + j] + e[j];
                const double more[] = {0, c[m * d + j], c[(ahead + m) * d + j],
                                       y[m * d + j] - s.p[j] - steps * (s.p[j] - back[j])};
                guess[j] = line + more[which] - target;
            }
            out[which * AHEAD + m] = sqrt(geodec__dot(d, guess, guess)) / unit;
        }
    }
#undef NOISE
done:
    leave(&s);
    GEODEC_FREE(y, c);
    return st;
}

static geodec_status plant_all(work *w, geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = w->d, n = w->points;
    int64_t *order = NULL;
    GEODEC_NEW_EACH(n * d, w->place, w->residual, w->moved);
    GEODEC_NEW(order, n);
    GEODEC_NEW(w->planted, w->paths * PLANTED * AHEAD);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "places on the set", n, settle, w, err));
    geodec__choose_order(w->o->split.seed, geodec_rng_id("residuals", 0), n, order);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) w->moved[i * d + j] = w->place[i * d + j] + w->residual[order[i] * d + j];
    for (int k = 0; k < 2; k++) {
        GEODEC_TRY(geodec_atlas_init(&w->again[k], w->o->n, n, d, w->moved, w->text, w->o->neighbours, err));
        w->again[k].edge = w->atlas[SET].edge;
        if (k == 1) w->again[k].other = w->other;
    }
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "planted paths on the set", w->paths, plant, w, err));
done:
    geodec_mem_free(order);
    return st;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

/* One ratio over the starts whose `own` is there: sum (own - less) / sum unit; less, unit: with a stride, or NULL. */
typedef struct ratio {
    int64_t starts, stride;
    const double *own, *less, *unit, *unit_less, *needed;
} ratio;

static geodec_status estimate(const work *w, geodec_harness_text_sums *sums, const ratio *r, uint64_t stream,
                              geodec_estimate *out, int64_t *counted, geodec_err *err)
{
    for (int64_t i = 0; i < r->starts; i++) {
        const int64_t k = i * r->stride;
        if (r->own[k] < 0 || (r->less && r->less[k] < 0) || (r->needed && r->needed[k] < 0)) continue;
        const double unit = r->unit_less ? r->unit[k] - r->unit_less[k] : r->unit ? r->unit[i] : 1;
        geodec_harness_text_sums_add(sums, w->start[i].text, r->own[k] - (r->less ? r->less[k] : 0), unit);
    }
    return geodec_harness_text_sums_ratio(sums, w->o->replicates, w->o->split.seed,
                                          geodec_rng_id("geodesicity set", stream), out, counted, err);
}

static geodec_status figures(const work *w, geodec_geodesicity_set *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_text_sums sums = {0};
    double square = 0, spread = 0;
    GEODEC_TRY(geodec_harness_text_sums_reserve(&sums, w->starts, err));
    for (int64_t i = 0; i < w->starts; i++) {
        square += w->step[i] * w->step[i];
        out->radius += w->radius[i] / (double)w->starts;
        out->texts += i == 0 || w->start[i].text != w->start[i - 1].text;
    }
    for (int64_t i = 0; i < w->points * w->d; i++) spread += w->residual[i] * w->residual[i];
    out->step = sqrt(square / (double)w->starts);
    out->residual = sqrt(spread / (double)w->points);
    for (int64_t m = 0; m < w->ahead; m++) {
        ratio r = {.starts = w->starts, .stride = P * AHEAD, .unit = w->step};
        for (int which = 0; which < P; which++) {
            const uint64_t stream = (uint64_t)(which * AHEAD + m);
            r.own = w->error + which * AHEAD + m;
            r.less = NULL;
            GEODEC_TRY(estimate(w, &sums, &r, stream, &out->error[which][m], &out->counted[which][m], err));
            r.less = w->error + (which == GEODEC_SET_FITTED ? GEODEC_SET_LINEAR_XV : GEODEC_SET_LINE) * AHEAD + m;
            GEODEC_TRY(estimate(w, &sums, &r, stream, &out->difference[which][m], NULL, err));
            if (m == 0) out->broken[which] = w->starts - out->counted[which][0];
        }
        const bool still = out->error[GEODEC_SET_STAY][m].value < out->error[GEODEC_SET_LINE][m].value;
        r.own = w->error + (still ? GEODEC_SET_STAY : GEODEC_SET_LINE) * AHEAD + m;
        r.less = w->error + GEODEC_SET_SET * AHEAD + m;
        GEODEC_TRY(estimate(w, &sums, &r, (uint64_t)(P * AHEAD + m), &out->gain[m], NULL, err));
        ratio planted = {.starts = w->paths, .stride = PLANTED * AHEAD, .needed = w->planted + AHEAD + m};
        const double *line = w->planted + m, *truth = w->planted + (PLANTED - 1) * AHEAD + m;
        for (int which = 0; which < PLANTED; which++) {
            planted.own = w->planted + which * AHEAD + m;
            GEODEC_TRY(estimate(w, &sums, &planted, (uint64_t)((P + 1 + which) * AHEAD + m),
                                &out->planted_error[which][m], which == 0 ? &out->planted : NULL, err));
        }
        planted.own = line;
        planted.less = truth;
        GEODEC_TRY(estimate(w, &sums, &planted, (uint64_t)((P + 5) * AHEAD + m), &out->correctable[m], NULL, err));
        planted.less = w->planted + AHEAD + m;
        planted.unit = line;
        planted.unit_less = truth;
        GEODEC_TRY(estimate(w, &sums, &planted, (uint64_t)((P + 6) * AHEAD + m), &out->recovered[m], NULL, err));
    }
done:
    geodec_harness_text_sums_clear(&sums);
    return st;
}

/* ---- */

/* States of training texts on paths of two or more, a seeded choice. */
static geodec_status gather(work *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_trajectories *t = w->t;
    const int64_t d = w->d, all = t->offset[t->paths];
    int64_t *list = NULL, count = 0;
    int32_t *text = NULL;
    GEODEC_NEW(list, all);
    GEODEC_NEW(text, all);
    for (int64_t p = 0; p < t->paths; p++) {
        if (!geodec_harness_split_on(&w->o->split, t->text[p], false) || t->offset[p + 1] - t->offset[p] < 2) continue;
        for (int64_t i = t->offset[p]; i < t->offset[p + 1]; i++) {
            text[i] = t->text[p];
            list[count++] = i;
        }
    }
    geodec_harness_thin(list, &count, w->o->points,
                        geodec_rng_stream(w->o->split.seed, geodec_rng_id("points of the set", 0)));
    w->points = count;
    GEODEC_NEW_EACH(count * d, w->x[0], w->x[1]);
    GEODEC_NEW(w->text, count);
    GEODEC_NEW(w->other, count);
    for (int64_t i = 0; i < count; i++) {
        memcpy(w->x[0] + i * d, t->x + list[i] * d, (size_t)d * sizeof **w->x);
        w->text[i] = text[list[i]];
    }
    for (int k = 0; k < ATLASES; k++)
        GEODEC_TRY(geodec_atlas_init(&w->atlas[k], w->o->n, count, d, w->x[k == GAUSSIAN],
                                     k == GAUSSIAN ? NULL : w->text, w->o->neighbours, err));
    GEODEC_TRY(geodec_surrogate_draw(GEODEC_SURROGATE_GAUSSIAN, count, d, w->x[0], w->o->split.seed,
                                     geodec_rng_id("gaussian set", 0), w->x[1], err));
    geodec__choose_order(w->o->split.seed, geodec_rng_id("shuffled set", 0), count, w->other);
    for (int k = 0; k < ATLASES; k++) GEODEC_TRY(geodec_atlas_edge(&w->atlas[k], geodec__min(EDGE, count), err));
    w->atlas[SHUFFLED].other = w->other;
done:
    GEODEC_FREE(list, text);
    return st;
}

static geodec_status check(const geodec_trajectories *t, const geodec_geodesicity_set_options *o, geodec_err *err)
{
    if (o->ahead < 1 || o->ahead > AHEAD || !(o->split.held_out > 0 && o->split.held_out < 1) || !(o->ridge >= 0) ||
        o->replicates < 0 || o->planted < 0)
        GEODEC_FAIL(GEODEC_RANGE, "geodesics of the set: %lld steps ahead, %g held out, ridge %g", (long long)o->ahead,
                    o->split.held_out, o->ridge);
    if (!geodec__finite(t->offset[t->paths] * t->n, t->x)) GEODEC_FAIL(GEODEC_NUMERIC, "a state is not finite");
    return GEODEC_OK;
}

geodec_status geodec_geodesicity_set_run(const geodec_trajectories *t, const geodec_geodesicity_set_options *o,
                                         geodec_pool *pool, const geodec_hooks *hooks, geodec_geodesicity_set *out,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    work w = {.t = t, .o = o, .d = t->n};
    geodec_geodesicity_set figure = {0};
    GEODEC_TRY(check(t, o, err));
    GEODEC_TRY(geodec__harness_starts_gather(t, &o->split, -1, false, &w.training, &w.row, err));
    GEODEC_TRY(geodec__harness_starts_gather(t, &o->split, -1, true, &w.starts, &w.start, err));
    if (w.training < 2 || w.starts < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld starts in training texts and %lld in the others; at least 2 each are needed",
                     (long long)w.training, (long long)w.starts);
    geodec__harness_starts_choose(w.row, &w.training, o->training, o->split.seed, 0);
    geodec__harness_starts_choose(w.start, &w.starts, o->starts, o->split.seed, -1);
    for (int64_t i = 0; i < w.starts; i++) w.ahead = geodec__max(w.ahead, w.start[i].end - w.start[i].row - 1);
    w.ahead = geodec__min(w.ahead, o->ahead);
    w.paths = geodec__min(o->planted, w.starts);
    GEODEC_TRY(gather(&w, err));
    GEODEC_NEW(w.fixed, w.training * w.ahead * w.d);
    GEODEC_NEW(w.good, w.training);
    GEODEC_NEW(w.error, w.starts * P * AHEAD);
    GEODEC_NEW_EACH(w.starts, w.step, w.radius);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "fitting the set", w.training, correct_training, &w, err));
    GEODEC_TRY(fit_maps(&w, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "predicting by the set", w.starts, predict, &w, err));
    GEODEC_TRY(plant_all(&w, pool, hooks, err));
    figure = (geodec_geodesicity_set){.n = o->n,
                                      .d = w.d,
                                      .neighbours = w.atlas[SET].neighbours,
                                      .points = w.points,
                                      .starts = w.starts,
                                      .training = w.training,
                                      .ahead = w.ahead};
    GEODEC_TRY(figures(&w, &figure, err));
    *out = figure;
done:
    GEODEC_FREE(w.x[0], w.x[1], w.text, w.other, w.row, w.start, w.fixed, w.good);
    GEODEC_FREE(w.error, w.step, w.radius, w.place, w.residual, w.moved, w.planted);
    for (int m = 0; m < AHEAD; m++) GEODEC_FREE(w.map[0][m], w.map[1][m]);
    return st;
}
