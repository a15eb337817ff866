#include "lab/velocity/velocity.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geodec/geodesic.h"
#include "lab/harness/three_metrics.h"
#include "linalg/regression.h"

#include <math.h>
#include <string.h>

enum {
    MAX_N = GEODEC_RBF_MAX_N,
    SURROGATES = GEODEC_INITIAL_SURROGATES,
    NORMS = 2,
    FIGURES = 4 /* of a start */,
    PERMUTATIONS = 16
};
static const double none = 4; /* no cosine */

const char *const geodec_velocity_initial_names[] = {
    "mean",      "centre",   "previous",   "neighbour", "ridge_x",        "ridge_xv",   "layer_delta", "depth",
    "embedding", "centroid", "token_mean", "random",    "ridge_shuffled", "next_token", "target",      NULL};

geodec_velocity_initial_options geodec_velocity_initial_defaults(void)
{
    return (geodec_velocity_initial_options){
        .starts = 100, .ridge = 1e-3, .close = 0.82, .rtol = 1e-3, .drift_max = 1e-2, .replicates = 400};
}

/* Starts of one part of the texts; of the held-out ones, a choice. */
static geodec_status starts_of(const geodec_trajectories *t, const geodec_harness_split *split, bool held_out,
                               const geodec_velocity_initial_options *o, int64_t *count,
                               geodec__harness_starts_row **out, geodec_err *err)
{
    GEODEC_PASS(geodec__harness_starts_gather(t, split, -1, held_out, count, out, err));
    if (*count < 2)
        GEODEC_FAIL(GEODEC_SCARCE, "%lld starts in %s texts; at least 2 are needed", (long long)*count,
                    held_out ? "held-out" : "training");
    geodec__harness_starts_choose(*out, count, held_out ? o->starts : 0, o->seed, -1);
    return GEODEC_OK;
}

geodec_status geodec_velocity_initial_starts(const geodec_trajectories *t, const geodec_harness_split *split,
                                             const geodec_velocity_initial_options *o, int64_t *count, int64_t **row,
                                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__harness_starts_row *s = NULL;
    GEODEC_TRY(starts_of(t, split, true, o, count, &s, err));
    GEODEC_NEW(*row, *count);
    for (int64_t i = 0; i < *count; i++) (*row)[i] = s[i].row;
done:
    geodec_mem_free(s);
    return st;
}

typedef struct work {
    const geodec_trajectories *t;
    const geodec_velocity_initial_ends *ends;
    const geodec_velocity_initial_options *o;
    const geodec_space *metric;
    int64_t n, starts, training;
    geodec__harness_starts_row *start, *trained;
    int64_t *other;                                    /* [starts] whose future replaces the own */
    double *mean, *centre, *map_x, *map_xv, *permuted; /* step, regressions */
    double *figure; /* [starts][SURROGATES][FIGURES] cosines: chart, metric, other future, unrelated */
} work;

static bool from_caller(int s)
{
    return (s >= GEODEC_INITIAL_LAYER_DELTA && s <= GEODEC_INITIAL_TOKEN_MEAN) || s == GEODEC_INITIAL_NEXT_TOKEN;
}

/* x, then x - previous. */
static void features(int64_t n, const double *x, double *z)
{
    for (int64_t i = 0; i < n; i++) {
        z[i] = x[i];
        z[n + i] = x[i] - x[i - n];
    }
}

/* Step of the training state nearest to x. */
static void neighbour(const work *w, const double *x, double *step)
{
    const int64_t n = w->n;
    const double *best = NULL;
    double least = INFINITY;
    for (int64_t i = 0; i < w->training; i++) {
        const double *y = w->t->x + w->trained[i].row * n;
        const double d2 = geodec__gap2(n, y, x);
        if (d2 < least) {
            least = d2;
            best = y;
        }
    }
    for (int64_t k = 0; k < n; k++) step[k] = best[n + k] - best[k];
}

/* The step a surrogate predicts at start i when the future is that of start `future`; false = none. */
static bool predict(const work *w, int which, int64_t i, int64_t future, int permutation, double *step)
{
    const int64_t n = w->n;
    const double *x = w->t->x + w->start[i].row * n, *next = w->t->x + (w->start[future].row + 1) * n;
    double z[2 * MAX_N];
    if (from_caller(which)) {
        const int64_t from = which == GEODEC_INITIAL_NEXT_TOKEN ? future : i;
        if (!w->ends->end[which]) return false;
        const double *end = w->ends->end[which] + from * n;
        for (int64_t k = 0; k < n; k++) step[k] = end[k] - x[k];
        return geodec__finite(n, step);
    }
    features(n, x, z);
    geodec_rng r = geodec_rng_stream(w->o->seed, geodec_rng_id("velocity random", (uint64_t)i));
    switch (which) {
    case GEODEC_INITIAL_MEAN:
        memcpy(step, w->mean, (size_t)n * sizeof *step);
        break;
    case GEODEC_INITIAL_CENTRE:
        for (int64_t k = 0; k < n; k++) step[k] = w->centre[k] - x[k];
        break;
    case GEODEC_INITIAL_PREVIOUS:
        memcpy(step, z + n, (size_t)n * sizeof *step);
        break;
    case GEODEC_INITIAL_NEIGHBOUR:
        neighbour(w, x, step);
        break;
    case GEODEC_INITIAL_RIDGE_X:
        geodec_regression_at(n, n, w->map_x, z, step);
        break;
    case GEODEC_INITIAL_RIDGE_XV:
        geodec_regression_at(2 * n, n, w->map_xv, z, step);
        break;
    case GEODEC_INITIAL_RIDGE_SHUFFLED:
        geodec_regression_at(2 * n, n, w->permuted + permutation * (2 * n + 1) * n, z, step);
        break;
    case GEODEC_INITIAL_RANDOM:
        for (int64_t k = 0; k < n; k++) step[k] = geodec_rng_normal(&r);
        break;
    case GEODEC_INITIAL_TARGET:
        for (int64_t k = 0; k < n; k++) step[k] = next[k] - x[k];
        break;
    default:
        return false;
    }
    return true;
}

static double cosine(int64_t n, const double *g, const double *a, const double *b)
{
    double dot = 0, aa = 0, bb = 0;
    for (int64_t i = 0; i < n; i++) {
        const double ga = g ? geodec__dot(n, g + i * n, a) : a[i], gb = g ? geodec__dot(n, g + i * n, b) : b[i];
        dot += a[i] * gb;
        aa += a[i] * ga;
        bb += b[i] * gb;
    }
    return aa > 0 && bb > 0 ? dot / sqrt(aa * bb) : none;
}

static geodec_status one_start(void *ctx, int64_t i, geodec_err *err)
{
    const work *w = ctx;
    const int64_t n = w->n, j = w->other[i];
    const double *x = w->t->x + w->start[i].row * n, *theirs = w->t->x + w->start[j].row * n;
    double g[MAX_N * MAX_N], step[MAX_N], truth[MAX_N], unrelated[MAX_N], log[MAX_N], own[MAX_N], end[MAX_N];
    geodec_logmap_options o = geodec_logmap_defaults();
    bool known, found;
    o.rtol = w->o->rtol;
    o.drift_max = w->o->drift_max;
    for (int64_t k = 0; k < n; k++) {
        truth[k] = x[n + k] - x[k];
        unrelated[k] = theirs[n + k] - theirs[k];
    }
    GEODEC_PASS(w->metric->at(w->metric, x, g, NULL, NULL, err));
    GEODEC_PASS(geodec_logmap(w->metric, &o, x, x + n, log, &known, err));
    for (int which = 0; which < SURROGATES; which++) {
        double *f = w->figure + (i * SURROGATES + which) * FIGURES;
        for (int k = 0; k < FIGURES; k++) f[k] = none;
        if (!predict(w, which, i, i, 0, step)) continue;
        f[0] = cosine(n, NULL, step, truth);
        f[3] = cosine(n, NULL, step, unrelated);
        if (known && which != GEODEC_INITIAL_RIDGE_SHUFFLED) {
            for (int64_t k = 0; k < n; k++) end[k] = x[k] + step[k];
            GEODEC_PASS(geodec_logmap(w->metric, &o, x, end, own, &found, err));
            if (found) f[1] = cosine(n, g, own, log);
        }
        if (predict(w, which, i, j, 0, step)) f[2] = cosine(n, NULL, step, truth);
        if (which != GEODEC_INITIAL_RIDGE_SHUFFLED) continue;
        f[0] = f[3] = 0;
        for (int permutation = 0; permutation < PERMUTATIONS; permutation++) {
            (void)predict(w, which, i, i, permutation, step);
            f[0] += cosine(n, NULL, step, truth) / PERMUTATIONS;
            f[3] += cosine(n, NULL, step, unrelated) / PERMUTATIONS;
        }
        f[2] = f[0];
    }
    return GEODEC_OK;
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

static geodec_status fit(work *w, uint64_t seed, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = w->n, N = w->training;
    double *z = NULL, *x = NULL, *y = NULL, *mixed = NULL;
    int64_t *order = NULL;
    GEODEC_NEW(z, N * 2 * n);
    GEODEC_NEW_EACH(N * n, x, y, mixed);
    GEODEC_NEW(order, N);
    GEODEC_NEW(w->mean, n);
    GEODEC_NEW(w->map_x, (n + 1) * n);
    GEODEC_NEW(w->map_xv, (2 * n + 1) * n);
    GEODEC_NEW(w->centre, n);
    GEODEC_NEW(w->permuted, PERMUTATIONS * (2 * n + 1) * n);
    for (int64_t i = 0; i < N; i++) {
        const double *s = w->t->x + w->trained[i].row * n;
        features(n, s, z + i * 2 * n);
        memcpy(x + i * n, s, (size_t)n * sizeof *x);
        for (int64_t k = 0; k < n; k++) {
            y[i * n + k] = s[n + k] - s[k];
            w->mean[k] += y[i * n + k] / (double)N;
            w->centre[k] += s[k] / (double)N;
        }
    }
    GEODEC_TRY(geodec_regression_fit(N, n, n, x, y, w->o->ridge, w->map_x, err));
    GEODEC_TRY(geodec_regression_fit(N, 2 * n, n, z, y, w->o->ridge, w->map_xv, err));
    for (int permutation = 0; permutation < PERMUTATIONS; permutation++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("velocity dealt", (uint64_t)permutation));
        for (int64_t i = 0; i < N; i++) order[i] = i;
        for (int64_t i = N; i-- > 1;) {
            const int64_t j = (int64_t)geodec_rng_below(&r, (uint64_t)i + 1), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
        for (int64_t i = 0; i < N; i++) memcpy(mixed + i * n, y + order[i] * n, (size_t)n * sizeof *y);
        GEODEC_TRY(geodec_regression_fit(N, 2 * n, n, z, mixed, w->o->ridge,
                                         w->permuted + permutation * (2 * n + 1) * n, err));
    }
done:
    GEODEC_FREE(z, x, y, mixed, order);
    return st;
}

/* For each start one of another text, about half of the starts away: the future of its own text is not used. */
static geodec_status exchange(work *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(w->other, w->starts);
    for (int64_t i = 0; i < w->starts; i++) {
        int64_t j = (i + w->starts / 2) % w->starts, tried = 0;
        for (; w->start[j].text == w->start[i].text && tried < w->starts; tried++) j = (j + 1) % w->starts;
        if (tried == w->starts) GEODEC_THROW(GEODEC_SCARCE, "all starts are of one text; two are needed");
        w->other[i] = j;
    }
done:
    return st;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

typedef enum quantity { COSINE, GAIN, LEAK, UNRELATED, CLOSE } quantity;

static double value_of(const work *w, const double *start, int which, quantity q, int norm)
{
    const double *f = start + which * FIGURES;
    const double centre = start[GEODEC_INITIAL_CENTRE * FIGURES + norm];
    switch (q) {
    case COSINE:
        return f[norm];
    case GAIN:
        return f[norm] == none || centre == none ? none : f[norm] - centre;
    case LEAK:
        return f[0] == none || f[2] == none ? none : f[0] - f[2];
    case UNRELATED:
        return f[3];
    default:
        return f[0] == none ? none : f[0] > w->o->close;
    }
}

static geodec_status average(const work *w, geodec_harness_text_sums *sums, int which, quantity q, int norm,
                             geodec_estimate *out, int64_t *counted, geodec_err *err)
{
    for (int64_t i = 0; i < w->starts; i++) {
        const double v = value_of(w, w->figure + i * SURROGATES * FIGURES, which, q, norm);
        if (v != none) geodec_harness_text_sums_add(sums, w->start[i].text, v, 1);
    }
    return geodec_harness_text_sums_ratio(sums, w->o->replicates, w->o->seed,
                                          geodec_rng_id("velocity", (uint64_t)((which * 5 + (int)q) * NORMS + norm)),
                                          out, counted, err);
}

static geodec_status figures(const work *w, geodec_velocity_initial *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_text_sums sums = {0};
    GEODEC_TRY(geodec_harness_text_sums_reserve(&sums, w->starts, err));
    for (int s = 0; s < SURROGATES; s++) {
        for (int norm = 0; norm < NORMS; norm++) {
            GEODEC_TRY(average(w, &sums, s, COSINE, norm, &v->cosine[s][norm], &v->counted[s][norm], err));
            GEODEC_TRY(average(w, &sums, s, GAIN, norm, &v->gain[s][norm], NULL, err));
        }
        GEODEC_TRY(average(w, &sums, s, LEAK, 0, &v->leak[s], NULL, err));
        GEODEC_TRY(average(w, &sums, s, UNRELATED, 0, &v->unrelated[s], NULL, err));
        GEODEC_TRY(average(w, &sums, s, CLOSE, 0, &v->close[s], NULL, err));
    }
done:
    geodec_harness_text_sums_clear(&sums);
    return st;
}

geodec_status geodec_velocity_initial_run(const geodec_trajectories *t, const geodec_harness_sites *f,
                                          const geodec_velocity_initial_ends *ends, const geodec_harness_split *split,
                                          const geodec_velocity_initial_options *o, geodec_pool *pool,
                                          const geodec_hooks *hooks, geodec_velocity_initial *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_three_metrics three = {0};
    geodec_velocity_initial v = {0};
    work w = {.t = t, .ends = ends, .o = o, .n = t->n};
    if (t->n < 1 || t->n > MAX_N || t->places || !(o->ridge >= 0) || !(o->rtol > 0 && o->rtol < 1) ||
        !(o->drift_max > 0) || o->replicates < 0)
        GEODEC_THROW(GEODEC_RANGE, "velocities in %lld dimensions, ridge %g, tolerance %g", (long long)t->n, o->ridge,
                     o->rtol);
    if (!geodec__finite(t->offset[t->paths] * t->n, t->x)) GEODEC_THROW(GEODEC_NUMERIC, "a state is not finite");
    GEODEC_TRY(geodec_three_metrics_make(f, t->n, split, &three, err));
    w.metric = three.own;
    GEODEC_TRY(starts_of(t, split, false, o, &w.training, &w.trained, err));
    GEODEC_TRY(starts_of(t, split, true, o, &w.starts, &w.start, err));
    GEODEC_TRY(exchange(&w, err));
    GEODEC_TRY(fit(&w, o->seed, err));
    GEODEC_NEW(w.figure, w.starts * SURROGATES * FIGURES);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "velocities", w.starts, one_start, &w, err));
    v.starts = w.starts;
    v.training = w.training;
    for (int64_t i = 0; i < w.starts; i++) v.texts += i == 0 || w.start[i].text != w.start[i - 1].text;
    GEODEC_TRY(figures(&w, &v, err));
    *out = v;
done:
    geodec_three_metrics_clear(&three);
    GEODEC_FREE(w.start, w.trained, w.other, w.mean, w.centre, w.map_x, w.map_xv, w.permuted, w.figure);
    return st;
}
