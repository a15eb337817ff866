#include "lab/geodesicity/geodesicity.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geodec/geodesic.h"
#include "geometry/geodesic.h"
#include "lab/harness/three_metrics.h"
#include "linalg/expm.h"
#include "linalg/regression.h"

#include <math.h>
#include <string.h>

enum { MAX_N = GEODEC_RBF_MAX_N, AHEAD = GEODEC_GEODESICITY_AHEAD, PLANTED = 3, NORMS = 2, SUBSTEPS_MAX = 64 };
/* Planted steps are shorter than true ones. At the length of true ones, over which the metric itself varies, several
 * geodesics often connect two states, and the ends do not identify one. */
static const double planted_share = 0.25;

const char *const geodec_geodesicity_predictor_names[] = {
    "stay",   "line",         "linear_x",    "linear_xv",       "geodesic", "shuffled",
    "random", "geodesic_log", "line_fitted", "geodesic_fitted", NULL};

geodec_geodesicity_options geodec_geodesicity_defaults(void)
{
    return (geodec_geodesicity_options){.starts = 100,
                                        .ahead = 4,
                                        .ridge = 1e-3,
                                        .planted = 16,
                                        .rtol = 1e-3,
                                        .drift_max = 1e-2,
                                        .replicates = 400,
                                        .split = geodec_harness_split_defaults()};
}

typedef struct place {
    const geodec_trajectories *t;
    const geodec_geodesicity_options *o;
    const geodec_three_metrics *f;
    int64_t n, ahead;
    double *map_x[AHEAD], *map_xv[AHEAD]; /* regressions (regression.h) of s_(k+m) - s_k */
    int64_t starts, planted_starts;
    geodec__harness_starts_row *start;
    double *error;   /* [starts][P][AHEAD][NORMS], -1 = none */
    double *step;    /* [starts][NORMS] */
    double *planted; /* [starts][PLANTED][AHEAD], -1 = none */
} place;

/* x, then v with `both`, into z. */
static void features(int64_t n, const double *x, bool both, double *z)
{
    for (int64_t i = 0; i < n; i++) {
        z[i] = x[i];
        if (both) z[n + i] = x[i] - x[i - n];
    }
}

static geodec_status fit_maps(place *p, int64_t count, const geodec__harness_starts_row *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = p->n;
    double *z = NULL, *y = NULL;
    GEODEC_NEW(z, count * 2 * n);
    GEODEC_NEW(y, count * n);
    for (int64_t m = 1; m <= p->ahead; m++) {
        for (int both = 0; both <= 1; both++) {
            const int64_t width = both ? 2 * n : n;
            double *map = NULL;
            int64_t rows = 0;
            for (int64_t i = 0; i < count; i++) {
                if (s[i].row + m >= s[i].end) continue;
                const double *x = p->t->x + s[i].row * n;
                features(n, x, both, z + rows * width);
                for (int64_t a = 0; a < n; a++) y[rows * n + a] = x[m * n + a] - x[a];
                rows++;
            }
            GEODEC_NEW(map, (width + 1) * n);
            *(both ? &p->map_xv[m - 1] : &p->map_x[m - 1]) = map;
            GEODEC_TRY_MSG(geodec_regression_fit(rows, width, n, z, y, p->o->ridge, map, err),
                           "regression of step %lld", (long long)m);
        }
    }
done:
    GEODEC_FREE(z, y);
    return st;
}

/* Nodes at m = 1..ahead of the geodesic from (x, v) into xs [ahead + 1][n]; the first *good of them are valid. */
static geodec_status shoot(const place *p, const geodec_space *space, const double *x, const double *v, int64_t ahead,
                           double *xs, int64_t *good, geodec_err *err)
{
    double vs[(AHEAD + 1) * MAX_N];
    const geodec_geodesic_options o = {
        .steps = ahead, .dl = 1, .method = GEODEC_GEODESIC_ADAPTIVE, .rtol = p->o->rtol, .drift_max = p->o->drift_max};
    geodec_path_report report;
    GEODEC_PASS(geodec_geodesic_path(space, &o, x, v, xs, vs, NULL, &report, err));
    *good = report.status == GEODEC_PATH_DRIFT ? 0 : report.good;
    return GEODEC_OK;
}

/* w [n] with exp_x(-w) = from. */
static geodec_status log_velocity(const place *p, const double *x, const double *from, double *w, bool *found,
                                  geodec_err *err)
{
    geodec_logmap_options o = geodec_logmap_defaults();
    o.rtol = p->o->rtol;
    o.drift_max = p->o->drift_max;
    const geodec_status st = geodec_logmap(p->f->own, &o, x, from, w, found, err);
    for (int64_t i = 0; i < p->n; i++) w[i] = -w[i];
    return st;
}

static void record(const place *p, double *error, geodec_geodesicity_predictor which, int64_t m, const double *g,
                   const double *x, const double *target)
{
    double e[MAX_N];
    for (int64_t i = 0; i < p->n; i++) e[i] = x[i] - target[i];
    double *out = error + (which * AHEAD + m) * NORMS;
    out[0] = sqrt(geodec__dot(p->n, e, e));
    out[1] = sqrt(fmax(0, geodec__norm2(p->n, g, e)));
}

/* Errors of every predictor at one start. */
static geodec_status predict(void *ctx, int64_t task, geodec_err *err)
{
    const place *p = ctx;
    const int64_t n = p->n;
    const geodec__harness_starts_row *s = p->start + task;
    const double *x = p->t->x + s->row * n;
    double g[MAX_N * MAX_N * AHEAD], xs[(AHEAD + 1) * MAX_N], v[MAX_N], w[MAX_N], fitted[MAX_N], z[2 * MAX_N], y[MAX_N];
    double *error = p->error + task * GEODEC_PREDICTORS * AHEAD * NORMS, *step = p->step + task * NORMS;
    const int64_t ahead = s->end - s->row - 1 < p->ahead ? s->end - s->row - 1 : p->ahead;
    const geodec_space *space = p->f->own;
    for (int64_t i = 0; i < GEODEC_PREDICTORS * AHEAD * NORMS; i++) error[i] = -1;
    for (int64_t i = 0; i < n; i++) v[i] = x[i] - x[i - n];
    for (int64_t m = 0; m < ahead; m++) GEODEC_PASS(space->at(space, x + (m + 1) * n, g + m * n * n, NULL, NULL, err));
    features(n, x, true, z);
    geodec_regression_at(2 * n, n, p->map_xv[0], z, fitted);
    double d[MAX_N];
    for (int64_t i = 0; i < n; i++) d[i] = x[n + i] - x[i];
    step[0] = sqrt(geodec__dot(n, d, d));
    step[1] = sqrt(fmax(0, geodec__norm2(n, g, d)));
    for (int64_t m = 0; m < ahead; m++) {
        const double *target = x + (m + 1) * n, *gm = g + m * n * n, t = (double)(m + 1);
        record(p, error, GEODEC_PREDICT_STAY, m, gm, x, target);
        for (int64_t i = 0; i < n; i++) y[i] = x[i] + t * v[i];
        record(p, error, GEODEC_PREDICT_LINE, m, gm, y, target);
        for (int64_t i = 0; i < n; i++) y[i] = x[i] + t * fitted[i];
        record(p, error, GEODEC_PREDICT_LINE_FITTED, m, gm, y, target);
        geodec_regression_at(n, n, p->map_x[m], z, y);
        for (int64_t i = 0; i < n; i++) y[i] += x[i];
        record(p, error, GEODEC_PREDICT_LINEAR_X, m, gm, y, target);
        geodec_regression_at(2 * n, n, p->map_xv[m], z, y);
        for (int64_t i = 0; i < n; i++) y[i] += x[i];
        record(p, error, GEODEC_PREDICT_LINEAR_XV, m, gm, y, target);
    }
    bool found;
    GEODEC_PASS(log_velocity(p, x, x - n, w, &found, err));
    const struct {
        geodec_geodesicity_predictor which;
        const geodec_space *space;
        const double *v;
    } runs[] = {{GEODEC_PREDICT_GEODESIC, p->f->own, v},
                {GEODEC_PREDICT_SHUFFLED, p->f->shuffled, v},
                {GEODEC_PREDICT_RANDOM, p->f->random, v},
                {GEODEC_PREDICT_GEODESIC_FITTED, p->f->own, fitted},
                {GEODEC_PREDICT_GEODESIC_LOG, p->f->own, found ? w : NULL}};
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        int64_t good = 0;
        if (runs[r].v) GEODEC_PASS(shoot(p, runs[r].space, x, runs[r].v, ahead, xs, &good, err));
        for (int64_t m = 0; m < good && m < ahead; m++)
            record(p, error, runs[r].which, m, g + m * n * n, xs + (m + 1) * n, x + (m + 1) * n);
    }
    return GEODEC_OK;
}

/* Errors of the predictors on a planted geodesic: from = exp_x(-v), targets exp_x(m v); v itself is not given to
 * them. */
static geodec_status plant(void *ctx, int64_t task, geodec_err *err)
{
    const place *p = ctx;
    const int64_t n = p->n;
    const double *x = p->t->x + p->start[task].row * n;
    double *out = p->planted + task * PLANTED * AHEAD;
    double v[MAX_N], back[MAX_N], from[2 * MAX_N], target[(AHEAD + 1) * MAX_N], xs[(AHEAD + 1) * MAX_N], w[MAX_N];
    int64_t good, reached;
    for (int64_t i = 0; i < n; i++) back[i] = -(v[i] = planted_share * (x[i] - x[i - n]));
    GEODEC_PASS(shoot(p, p->f->own, x, back, 1, from, &good, err));
    if (good < 1) return GEODEC_OK;
    GEODEC_PASS(shoot(p, p->f->own, x, v, p->ahead, target, &reached, err));
    if (reached < p->ahead) return GEODEC_OK;
    double unit = 0;
    for (int64_t i = 0; i < n; i++) unit += (target[n + i] - x[i]) * (target[n + i] - x[i]);
    if (!(unit > 0)) return GEODEC_OK;
    bool found;
    for (int which = 0; which < PLANTED; which++) {
        for (int64_t i = 0; i < n; i++) w[i] = x[i] - from[n + i];
        good = p->ahead;
        if (which == 0) {
            for (int64_t m = 0; m <= p->ahead; m++)
                for (int64_t i = 0; i < n; i++) xs[m * n + i] = x[i] + (double)m * w[i];
        } else {
            if (which == 2) GEODEC_PASS(log_velocity(p, x, from + n, w, &found, err));
            if (which == 2 && !found) continue;
            GEODEC_PASS(shoot(p, p->f->own, x, w, p->ahead, xs, &good, err));
        }
        for (int64_t m = 0; m < good; m++) {
            double e = 0;
            for (int64_t i = 0; i < n; i++) {
                const double d = xs[(m + 1) * n + i] - target[(m + 1) * n + i];
                e += d * d;
            }
            out[which * AHEAD + m] = sqrt(e / unit);
        }
    }
    return GEODEC_OK;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static geodec_status figures(const place *p, geodec_geodesicity *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_text_sums sums = {0};
    const int64_t replicates = p->o->replicates;
    const uint64_t seed = p->o->split.seed;
    double square[NORMS] = {0};
    GEODEC_TRY(geodec_harness_text_sums_reserve(&sums, p->starts, err));
    for (int64_t i = 0; i < p->starts; i++) {
        for (int k = 0; k < NORMS; k++) square[k] += p->step[i * NORMS + k] * p->step[i * NORMS + k];
        out->texts += i == 0 || p->start[i].text != p->start[i - 1].text;
    }
    for (int k = 0; k < NORMS; k++) out->step[k] = sqrt(square[k] / (double)p->starts);
    for (int which = 0; which < GEODEC_PREDICTORS; which++) {
        const int partner = which == GEODEC_PREDICT_GEODESIC_FITTED ? GEODEC_PREDICT_LINE_FITTED : GEODEC_PREDICT_LINE;
        for (int64_t m = 0; m < p->ahead; m++)
            for (int k = 0; k < NORMS; k++) {
                const uint64_t stream = geodec_rng_id("geodesicity", (uint64_t)((which * AHEAD + m) * NORMS + k));
                geodec_estimate *to[] = {&out->error[which][m][k], &out->difference[which][m][k]};
                for (int less = 0; less < 2; less++) {
                    for (int64_t i = 0; i < p->starts; i++) {
                        const double *e = p->error + i * GEODEC_PREDICTORS * AHEAD * NORMS;
                        const double own = e[(which * AHEAD + m) * NORMS + k];
                        const double other = less ? e[(partner * AHEAD + m) * NORMS + k] : 0;
                        if (own >= 0)
                            geodec_harness_text_sums_add(&sums, p->start[i].text, own - other, p->step[i * NORMS + k]);
                        else if (!less && k == 0 && m == 0 && e[GEODEC_PREDICT_STAY * AHEAD * NORMS] >= 0)
                            out->broken[which]++;
                    }
                    GEODEC_TRY(geodec_harness_text_sums_ratio(&sums, replicates, seed, stream, to[less],
                                                              &out->counted[which][m], err));
                }
            }
    }
    for (int which = 0; which < PLANTED; which++)
        for (int64_t m = 0; m < p->ahead; m++) {
            int64_t counted;
            for (int64_t i = 0; i < p->starts; i++) {
                const double *e = p->planted + i * PLANTED * AHEAD + m;
                /* the same starts for all three: those whose velocity was recovered */
                if (e[(PLANTED - 1) * AHEAD] >= 0 && e[which * AHEAD] >= 0)
                    geodec_harness_text_sums_add(&sums, p->start[i].text, e[which * AHEAD], 1);
            }
            GEODEC_TRY(geodec_harness_text_sums_ratio(&sums, replicates, seed,
                                                      geodec_rng_id("planted", (uint64_t)(which * AHEAD + m)),
                                                      &out->planted_error[which][m], &counted, err));
            if (which == 0 && m == 0) out->planted = counted;
        }
done:
    geodec_harness_text_sums_clear(&sums);
    return st;
}

static geodec_status run_place(const geodec_trajectories *t, const geodec_three_metrics *f,
                               const geodec_geodesicity_options *o, int64_t number, geodec_pool *pool,
                               const geodec_hooks *hooks, geodec_geodesicity *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    place p = {.t = t, .o = o, .f = f, .n = t->n};
    geodec__harness_starts_row *training = NULL;
    int64_t count;
    GEODEC_TRY(geodec__harness_starts_gather(t, &o->split, number, false, &count, &training, err));
    GEODEC_TRY(geodec__harness_starts_gather(t, &o->split, number, true, &p.starts, &p.start, err));
    if (count < 2 || p.starts < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld starts in training texts and %lld in the others; at least 2 each are needed",
                     (long long)count, (long long)p.starts);
    geodec__harness_starts_choose(p.start, &p.starts, o->starts, o->split.seed, number);
    for (int64_t i = 0; i < p.starts; i++)
        if (p.start[i].end - p.start[i].row - 1 > p.ahead) p.ahead = p.start[i].end - p.start[i].row - 1;
    if (p.ahead > o->ahead) p.ahead = o->ahead;
    p.planted_starts = o->planted < p.starts ? o->planted : p.starts;
    GEODEC_NEW(p.error, p.starts * GEODEC_PREDICTORS * AHEAD * NORMS);
    GEODEC_NEW(p.step, p.starts * NORMS);
    GEODEC_NEW(p.planted, p.starts * PLANTED * AHEAD);
    for (int64_t i = 0; i < p.starts * PLANTED * AHEAD; i++) p.planted[i] = -1;
    GEODEC_TRY(fit_maps(&p, count, training, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "predicting", p.starts, predict, &p, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "planted paths", p.planted_starts, plant, &p, err));
    memset(out, 0, sizeof *out);
    out->place = number;
    out->starts = p.starts;
    out->training = count;
    out->ahead = p.ahead;
    GEODEC_TRY(figures(&p, out, err));
done:
    GEODEC_FREE(training, p.start, p.error, p.step, p.planted);
    for (int m = 0; m < AHEAD; m++) GEODEC_FREE(p.map_x[m], p.map_xv[m]);
    return st;
}

static geodec_status check(const geodec_trajectories *t, const geodec_harness_sites *f,
                           const geodec_geodesicity_options *o, int64_t *longest, geodec_err *err)
{
    *longest = 0;
    if (t->n < 1 || t->n > MAX_N) GEODEC_FAIL(GEODEC_RANGE, "dimension %lld", (long long)t->n);
    if (o->ahead < 1 || o->ahead > AHEAD || !(o->split.held_out > 0 && o->split.held_out < 1) || !(o->ridge >= 0) ||
        o->split.sites < 2 || !(o->rtol > 0 && o->rtol < 1) || !(o->drift_max > 0) || o->replicates < 0 ||
        o->planted < 0)
        GEODEC_FAIL(GEODEC_RANGE, "geodesicity: %lld steps ahead, %g held out, ridge %g, %lld points, tolerance %g",
                    (long long)o->ahead, o->split.held_out, o->ridge, (long long)o->split.sites, o->rtol);
    for (int64_t p = 0; p < t->paths; p++) {
        const int64_t length = t->offset[p + 1] - t->offset[p];
        if (t->offset[p] < 0 || length < 0) GEODEC_FAIL(GEODEC_RANGE, "path %lld", (long long)p);
        if (length > *longest) *longest = length;
    }
    if (*longest < 3)
        GEODEC_FAIL(GEODEC_SCARCE, "the longest trajectory has %lld states; at least 3 are needed",
                    (long long)*longest);
    if (!geodec__finite(t->offset[t->paths] * t->n, t->x)) GEODEC_FAIL(GEODEC_NUMERIC, "a state is not finite");
    if (!geodec__finite(f->sites * t->n, f->site) || !geodec__finite(f->sites * geodec_sym_packed(t->n), f->log_g))
        GEODEC_FAIL(GEODEC_NUMERIC, "the metric is not finite");
    return GEODEC_OK;
}

geodec_status geodec_geodesicity_run(const geodec_trajectories *t, const geodec_harness_sites *f,
                                     const geodec_geodesicity_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                     int64_t *count, geodec_geodesicity **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_three_metrics three = {0};
    geodec_geodesicity *all = NULL;
    int64_t longest;
    GEODEC_TRY(check(t, f, o, &longest, err));
    const int64_t places = t->places ? longest - 2 : 1;
    GEODEC_NEW(all, places);
    GEODEC_TRY(geodec_three_metrics_make(f, t->n, &o->split, &three, err));
    for (int64_t i = 0; i < places; i++)
        GEODEC_TRY_MSG(run_place(t, &three, o, t->places ? i + 1 : -1, pool, hooks, all + i, err), "place %lld",
                       (long long)(t->places ? i + 1 : -1));
    *count = places;
    GEODEC_MOVE(*out, all);
done:
    geodec_three_metrics_clear(&three);
    geodec_mem_free(all);
    return st;
}
