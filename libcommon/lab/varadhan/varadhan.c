#include "lab/varadhan/varadhan.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geodec/geodesic.h"
#include "lab/harness/three_metrics.h"
#include "linalg/chol.h"

#include <math.h>
#include <string.h>

enum {
    MAX_N = GEODEC_RBF_MAX_N,
    FORMS = GEODEC_VARADHAN_FORMS,
    KEYS = GEODEC_VARADHAN_KEYS,
    DIRECTIONS = GEODEC_VARADHAN_DIRECTIONS,
    METRICS = 3
};
static const double none = 2; /* no cosine */

const char *const geodec_varadhan_names[] = {"log",          "chord",  "euclid",    "stream",
                                             "shuffled",     "random", "wrong_log", "wrong_euclid",
                                             "wrong_stream", "noise",  NULL};

geodec_varadhan_options geodec_varadhan_defaults(void)
{
    return (geodec_varadhan_options){.planted = 8, .rtol = 1e-3, .drift_max = 1e-2, .replicates = 400, .kernel = -1};
}

void geodec_varadhan_clear(geodec_varadhan *v)
{
    geodec_mem_free(v->head);
    memset(v, 0, sizeof *v);
}

typedef struct work {
    const geodec_varadhan_queries *q;
    const geodec_varadhan_options *o;
    const geodec_space *metric[METRICS]; /* own, shuffled, random */
    double *cosine;                      /* [queries][columns][FORMS][DIRECTIONS], none = there is none */
    double *planted;                     /* [queries], none = there is none */
} work;

/* A metric at a point, g and its Cholesky factor; a direction with its length, !there = it does not exist. */
typedef struct frame {
    double g[MAX_N * MAX_N], l[MAX_N * MAX_N];
} frame;
typedef struct direction {
    bool there;
    double v[MAX_N], norm;
} direction;

static geodec_status frame_at(const geodec_space *s, const double *x, frame *f, geodec_err *err)
{
    const int64_t n = s->n;
    GEODEC_PASS(s->at(s, x, f->g, NULL, NULL, err));
    memcpy(f->l, f->g, (size_t)(n * n) * sizeof *f->g);
    GEODEC_PASS(geodec_chol_factor(n, f->l, err));
    return GEODEC_OK;
}

static void set_norm(int64_t n, const double *g, direction *d)
{
    d->norm = g ? sqrt(fmax(0, geodec__norm2(n, g, d->v))) : sqrt(geodec__dot(n, d->v, d->v));
}

static double cosine_of(int64_t n, const double *w, double w_norm, const direction *d)
{
    if (!d->there || !(w_norm > 0) || !(d->norm > 0)) return none;
    return geodec__dot(n, w, d->v) / (w_norm * d->norm);
}

/* sqrt(w g^-1 w) */
static double covector_norm(int64_t n, const frame *f, const double *w)
{
    double y[MAX_N];
    memcpy(y, w, (size_t)n * sizeof *w);
    geodec_chol_solve_lower(n, f->l, 1, y);
    return sqrt(geodec__dot(n, y, y));
}

/* d = a - b, where both are there. */
static direction minus(int64_t n, const direction *a, const direction *b, const double *g)
{
    direction d = {.there = a->there && b->there};
    for (int64_t i = 0; d.there && i < n; i++) d.v[i] = a->v[i] - b->v[i];
    if (d.there) set_norm(n, g, &d);
    return d;
}

static geodec_status logarithm(const work *w, const geodec_space *s, const double *g, const double *x, const double *y,
                               direction *d, geodec_err *err)
{
    geodec_logmap_options o = geodec_logmap_defaults();
    o.rtol = w->o->rtol;
    o.drift_max = w->o->drift_max;
    const geodec_status st = geodec_logmap(s, &o, x, y, d->v, &d->there, err);
    if (st == GEODEC_OK && d->there) set_norm(w->q->n, g, d);
    return st;
}

/* The directions of one query, for a single key (0) and for a pair (1). */
typedef struct directions {
    direction own[2], wrong[2], chord[2], wrong_chord[2], shuffled[2], random[2];
} directions;

static geodec_status find_directions(const work *w, int64_t task, const frame *f, directions *d, geodec_err *err)
{
    const int64_t n = w->q->n;
    const double *x = w->q->state + task * (1 + KEYS) * n, *key = x + n;
    direction log[KEYS] = {{0}}, other[METRICS][2] = {{{0}}}, chord[KEYS] = {{0}};
    for (int k = 0; k < KEYS; k++) {
        GEODEC_PASS(logarithm(w, w->metric[0], f[0].g, x, key + k * n, &log[k], err));
        chord[k].there = true;
        for (int64_t i = 0; i < n; i++) chord[k].v[i] = key[k * n + i] - x[i];
    }
    for (int m = 1; m < METRICS; m++)
        for (int k = 0; k < 2; k++) GEODEC_PASS(logarithm(w, w->metric[m], f[m].g, x, key + k * n, &other[m][k], err));
    d->own[0] = log[0];
    d->own[1] = minus(n, &log[0], &log[1], f[0].g);
    d->wrong[0] = log[2];
    d->wrong[1] = minus(n, &log[2], &log[3], f[0].g);
    d->chord[0] = chord[0];
    d->chord[1] = minus(n, &chord[0], &chord[1], NULL);
    d->wrong_chord[0] = chord[2];
    d->wrong_chord[1] = minus(n, &chord[2], &chord[3], NULL);
    d->shuffled[0] = other[1][0];
    d->shuffled[1] = minus(n, &other[1][0], &other[1][1], f[1].g);
    d->random[0] = other[2][0];
    d->random[1] = minus(n, &other[2][0], &other[2][1], f[2].g);
    return GEODEC_OK;
}

/* A random direction, isotropic in g: L^-T z, one for each column. */
static direction noise_of(const work *w, int64_t column, const frame *f)
{
    const int64_t n = w->q->n;
    direction d = {.there = true};
    geodec_rng r = geodec_rng_stream(w->o->seed, geodec_rng_id("varadhan noise", (uint64_t)column));
    for (int64_t i = 0; i < n; i++) d.v[i] = geodec_rng_normal(&r);
    for (int64_t i = n; i-- > 0;) {
        for (int64_t j = i + 1; j < n; j++) d.v[i] -= f->l[j * n + i] * d.v[j];
        d.v[i] /= f->l[i * n + i];
    }
    set_norm(n, f->g, &d);
    return d;
}

/* The covector of a share of a heat kernel's gradient, g v of the direction v to the key, and the rest of a random one;
 * both have the length 1 in g^-1. Zero where there is no such direction. */
static void plant_kernel(const work *w, int64_t at, const frame *f, const direction *own, double *covector)
{
    const int64_t n = w->q->n;
    const double share = w->o->kernel;
    geodec_rng r = geodec_rng_stream(w->o->seed, geodec_rng_id("varadhan kernel", (uint64_t)at));
    double z[MAX_N], size = 0;
    memset(covector, 0, (size_t)n * sizeof *covector);
    if (!own->there || !(own->norm > 0)) return;
    for (int64_t i = 0; i < n; i++) z[i] = geodec_rng_normal(&r);
    for (int64_t i = 0; i < n; i++) size += z[i] * z[i];
    for (int64_t i = 0; i < n; i++) /* L z has the length |z| in g^-1 */
        for (int64_t j = 0; j < n; j++)
            covector[i] += share * f->g[i * n + j] * own->v[j] / own->norm +
                           (j <= i ? (1 - share) * f->l[i * n + j] * z[j] / sqrt(size) : 0);
}

static geodec_status one_query(void *ctx, int64_t task, geodec_err *err)
{
    const work *w = ctx;
    const geodec_varadhan_queries *q = w->q;
    const int64_t n = q->n;
    const bool along = q->along && w->o->kernel < 0;
    frame f[METRICS];
    directions d = {0};
    for (int m = 0; m < METRICS; m++) GEODEC_PASS(frame_at(w->metric[m], q->state + task * (1 + KEYS) * n, &f[m], err));
    GEODEC_PASS(find_directions(w, task, f, &d, err));
    for (int64_t c = 0; c < q->columns; c++)
        for (int form = 0; form < FORMS; form++) {
            const int64_t at = (task * q->columns + c) * FORMS + form;
            double kernel[MAX_N];
            const int pair = form == 2;
            if (w->o->kernel >= 0) plant_kernel(w, at, &f[0], &d.own[pair], kernel);
            const double *g = w->o->kernel >= 0 ? kernel : q->gradient + at * n, flat = sqrt(geodec__dot(n, g, g));
            const double norm[METRICS] = {covector_norm(n, &f[0], g), covector_norm(n, &f[1], g),
                                          covector_norm(n, &f[2], g)};
            double *out = w->cosine + at * DIRECTIONS;
            const direction noise = noise_of(w, at, &f[0]);
            direction in_g = d.chord[pair];
            set_norm(n, f[0].g, &in_g);
            set_norm(n, NULL, &d.chord[pair]);
            set_norm(n, NULL, &d.wrong_chord[pair]);
            out[GEODEC_VARADHAN_LOG] = cosine_of(n, g, norm[0], &d.own[pair]);
            out[GEODEC_VARADHAN_CHORD] = cosine_of(n, g, norm[0], &in_g);
            out[GEODEC_VARADHAN_EUCLID] = cosine_of(n, g, flat, &d.chord[pair]);
            out[GEODEC_VARADHAN_SHUFFLED] = cosine_of(n, g, norm[1], &d.shuffled[pair]);
            out[GEODEC_VARADHAN_RANDOM] = cosine_of(n, g, norm[2], &d.random[pair]);
            out[GEODEC_VARADHAN_WRONG_LOG] = cosine_of(n, g, norm[0], &d.wrong[pair]);
            out[GEODEC_VARADHAN_WRONG_EUCLID] = cosine_of(n, g, flat, &d.wrong_chord[pair]);
            out[GEODEC_VARADHAN_NOISE] = cosine_of(n, g, norm[0], &noise);
            out[GEODEC_VARADHAN_STREAM] = along && flat > 0 ? q->along[at * 2] : none;
            out[GEODEC_VARADHAN_WRONG_STREAM] = along && flat > 0 ? q->along[at * 2 + 1] : none;
        }
    return GEODEC_OK;
}

/* d(x + h e_i, a)^2 by the logarithm there. */
static geodec_status squared_distance(const work *w, const double *x, const double *a, double *d2, bool *there,
                                      geodec_err *err)
{
    const int64_t n = w->q->n;
    geodec_logmap_options o = geodec_logmap_defaults();
    double v[MAX_N], g[MAX_N * MAX_N];
    o.rtol = 1e-8;
    o.drift_max = w->o->drift_max;
    o.tolerance = 1e-6;
    GEODEC_PASS(geodec_logmap(w->metric[0], &o, x, a, v, there, err));
    if (!*there) return GEODEC_OK;
    GEODEC_PASS(w->metric[0]->at(w->metric[0], x, g, NULL, NULL, err));
    *d2 = geodec__norm2(n, g, v);
    return GEODEC_OK;
}

static geodec_status plant(void *ctx, int64_t task, geodec_err *err)
{
    const work *w = ctx;
    const int64_t n = w->q->n;
    const double *x = w->q->state + task * (1 + KEYS) * n, *a = x + n;
    double moved[MAX_N], covector[MAX_N], side[2], h = 0;
    frame f;
    direction log = {0};
    GEODEC_PASS(frame_at(w->metric[0], x, &f, err));
    GEODEC_PASS(logarithm(w, w->metric[0], f.g, x, a, &log, err));
    if (!log.there) return GEODEC_OK;
    for (int64_t i = 0; i < n; i++) h += (a[i] - x[i]) * (a[i] - x[i]);
    h = 1e-3 * sqrt(h);
    for (int64_t i = 0; i < n; i++) {
        bool there = true;
        for (int s = 0; s < 2 && there; s++) {
            memcpy(moved, x, (size_t)n * sizeof *x);
            moved[i] += s ? h : -h;
            GEODEC_PASS(squared_distance(w, moved, a, &side[s], &there, err));
        }
        if (!there) return GEODEC_OK;
        covector[i] = -(side[1] - side[0]) / (4 * h);
    }
    w->planted[task] = cosine_of(n, covector, covector_norm(n, &f, covector), &log);
    return GEODEC_OK;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

/* Mean over queries and the columns first .. last-1 of column direction d (minus: log minus it), by text. */
static geodec_status average(const work *w, geodec_harness_text_sums *sums, int64_t first, int64_t last, int form,
                             int d, bool minus_it, geodec_estimate *out, int64_t *counted, geodec_err *err)
{
    const geodec_varadhan_queries *q = w->q;
    for (int64_t i = 0; i < q->queries; i++) {
        double s = 0, k = 0;
        for (int64_t c = first; c < last; c++) {
            const double *cosine = w->cosine + ((i * q->columns + c) * FORMS + form) * DIRECTIONS;
            if (cosine[d] == none || (minus_it && cosine[GEODEC_VARADHAN_LOG] == none)) continue;
            s += minus_it ? cosine[GEODEC_VARADHAN_LOG] - cosine[d] : cosine[d];
            k++;
        }
        if (k > 0) geodec_harness_text_sums_add(sums, q->text[i], s, k);
    }
    return geodec_harness_text_sums_ratio(
        sums, w->o->replicates, w->o->seed,
        geodec_rng_id("varadhan", (uint64_t)((first * FORMS + form) * DIRECTIONS + d)), out, counted, err);
}

static geodec_status figures(const work *w, geodec_varadhan *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_varadhan_queries *q = w->q;
    const int64_t heads = q->columns - 1;
    geodec_harness_text_sums sums = {0};
    double *one = NULL;
    GEODEC_TRY(geodec_harness_text_sums_reserve(&sums, q->queries, err));
    for (int form = 0; form < FORMS; form++)
        for (int d = 0; d < DIRECTIONS; d++) {
            for (int together = 0; together < 2; together++) {
                const int64_t first = together ? heads : 0, last = together ? heads + 1 : heads;
                GEODEC_TRY(average(w, &sums, first, last, form, d, true, &out->excess[together][form][d], NULL, err));
                GEODEC_TRY(average(w, &sums, first, last, form, d, false, &out->cosine[together][form][d],
                                   &out->counted[form][d], err));
            }
            for (int64_t h = 0; h < heads; h++) {
                double sum = 0;
                int64_t k = 0;
                for (int64_t i = 0; i < q->queries; i++) {
                    const double c = w->cosine[((i * q->columns + h) * FORMS + form) * DIRECTIONS + d];
                    sum += c == none ? 0 : c;
                    k += c != none;
                }
                out->head[(h * FORMS + form) * DIRECTIONS + d] = k ? sum / (double)k : 0;
            }
        }
    GEODEC_NEW(one, q->queries);
    for (int64_t i = 0; i < q->queries; i++)
        if (w->planted[i] != none) one[out->planted++] = w->planted[i];
    if (out->planted)
        GEODEC_TRY(geodec_stats_ratio(out->planted, one, NULL, w->o->replicates, w->o->seed,
                                      geodec_rng_id("varadhan planted", 0), &out->planted_cosine, err));
done:
    geodec_harness_text_sums_clear(&sums);
    geodec_mem_free(one);
    return st;
}

static geodec_status check(const geodec_varadhan_queries *q, const geodec_harness_sites *f,
                           const geodec_varadhan_options *o, geodec_err *err)
{
    if (q->n < 1 || q->n > MAX_N || q->queries < 1 || q->columns < 2)
        GEODEC_FAIL(GEODEC_RANGE, "%lld queries of %lld heads in %lld dimensions", (long long)q->queries,
                    (long long)q->columns - 1, (long long)q->n);
    if (!(o->rtol > 0 && o->rtol < 1) || !(o->drift_max > 0) || o->replicates < 0 || o->planted < 0 ||
        !(o->kernel <= 1))
        GEODEC_FAIL(GEODEC_RANGE, "tolerance %g, drift %g, %lld replicates, share %g of a heat kernel", o->rtol,
                    o->drift_max, (long long)o->replicates, o->kernel);
    if (!geodec__finite(q->queries * (1 + KEYS) * q->n, q->state) ||
        !geodec__finite(q->queries * q->columns * FORMS * q->n, q->gradient))
        GEODEC_FAIL(GEODEC_NUMERIC, "a state or gradient is not finite");
    if (!geodec__finite(f->sites * q->n, f->site)) GEODEC_FAIL(GEODEC_NUMERIC, "the metric is not finite");
    return GEODEC_OK;
}

geodec_status geodec_varadhan_run(const geodec_varadhan_queries *q, const geodec_harness_sites *f,
                                  const geodec_harness_split *split, const geodec_varadhan_options *o,
                                  geodec_pool *pool, const geodec_hooks *hooks, geodec_varadhan *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_three_metrics three = {0};
    geodec_varadhan v = {.queries = q->queries};
    work w = {.q = q, .o = o};
    GEODEC_TRY(check(q, f, o, err));
    GEODEC_TRY(geodec_three_metrics_make(f, q->n, split, &three, err));
    w.metric[0] = three.own;
    w.metric[1] = three.shuffled;
    w.metric[2] = three.random;
    GEODEC_NEW(w.cosine, q->queries * q->columns * FORMS * DIRECTIONS);
    GEODEC_NEW(w.planted, q->queries);
    GEODEC_NEW(v.head, (q->columns - 1) * FORMS * DIRECTIONS);
    for (int64_t i = 0; i < q->queries; i++) {
        w.planted[i] = none;
        v.texts += i == 0 || q->text[i] != q->text[i - 1];
    }
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "logarithms", q->queries, one_query, &w, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "planted gradients", o->planted < q->queries ? o->planted : q->queries,
                                 plant, &w, err));
    GEODEC_TRY(figures(&w, &v, err));
    GEODEC_MOVE(*out, v);
done:
    geodec_varadhan_clear(&v);
    geodec_three_metrics_clear(&three);
    GEODEC_FREE(w.cosine, w.planted);
    return st;
}
