#include "lab/substitution/substitution.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/geodesic.h"
#include "geometry/pca.h"
#include "geometry/propagate.h"
#include "lab/harness/split.h"
#include "linalg/regression.h"

#include <math.h>
#include <string.h>

enum { MAX_N = GEODEC_RBF_MAX_N, STEPS = 8 };

static const double phi_norm_max = 100; /* |Phi|_F above which the propagator counts as broken */

static const double shares[GEODEC_SUBSTITUTION_SHARES] = {0.05, 0.1, 0.25, 0.5, 1};

static const char *const names[] = {"stay",  "linear",     "copy",  "copy_near", "copy_whole",
                                    "shift", "propagator", "other", NULL};

typedef struct work {
    const geodec_substitution_data *s;
    geodec_substitution_predictions *p;
    double *from, *to, *query; /* in the chart, [..][n] */
    double *map;               /* [d + 1][d] */
    uint64_t seed;
    uint8_t *broken; /* [queries] */
} work;

/* Index of the nearest of `count` rows, the first of equal ones; g NULL: Euclidean. */
static int64_t nearest(int64_t count, int64_t n, const double *rows, const double *x, const double *g, double *distance)
{
    double best = INFINITY, e[MAX_N];
    int64_t which = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t a = 0; g && a < n; a++) e[a] = x[a] - rows[i * n + a];
        const double d = g ? geodec__norm2(n, g, e) : geodec__gap2(n, x, rows + i * n);
        if (d < best) {
            best = d;
            which = i;
        }
    }
    *distance = sqrt(fmax(0, best));
    return which;
}

/* Phi [n][n] along the geodesic from record r to its successor's side; *good = it is valid. */
static geodec_status propagator(const work *w, int64_t r, double *phi, bool *good, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = w->s->n;
    const geodec_space *space = geodec_rbf_space(w->s->field);
    geodec_geodesic_options o = geodec_geodesic_defaults();
    const geodec_propagate_options po = geodec_propagate_defaults();
    geodec_path_report report;
    geodec_propagate_report checks;
    double *nodes = NULL, *all = NULL, v[MAX_N];
    GEODEC_NEW(nodes, 2 * (STEPS + 1) * n);
    GEODEC_NEW(all, (STEPS + 1) * n * n);
    o.steps = STEPS;
    o.dl = 1.0 / STEPS;
    o.method = GEODEC_GEODESIC_ADAPTIVE;
    o.rtol = 1e-6;
    for (int64_t a = 0; a < n; a++) v[a] = w->to[r * n + a] - w->from[r * n + a];
    double *xs = nodes, *vs = nodes + (STEPS + 1) * n;
    GEODEC_TRY(geodec_geodesic_path(space, &o, w->from + r * n, v, xs, vs, NULL, &report, err));
    *good = report.status == GEODEC_PATH_OK;
    if (!*good) goto done;
    GEODEC_TRY(geodec_propagate_path(space, &po, STEPS, o.dl, report.good, xs, vs, all, NULL, &checks, err));
    *good = !checks.broken;
    if (!*good) goto done;
    memcpy(phi, all + STEPS * n * n, (size_t)(n * n) * sizeof *phi);
    *good = geodec__finite(n * n, phi) && geodec__dot(n * n, phi, phi) <= phi_norm_max * phi_norm_max;
done:
    GEODEC_FREE(nodes, all);
    return st;
}

static geodec_status predict(void *ctx, int64_t q, geodec_err *err)
{
    const work *w = ctx;
    const geodec_substitution_data *s = w->s;
    const int64_t n = s->n, d = s->d;
    const geodec_space *space = geodec_rbf_space(s->field);
    const double *x = s->query + q * d, *y = w->query + q * n;
    double g[MAX_N * MAX_N], phi[MAX_N * MAX_N], e[MAX_N], unused;
    double *out[GEODEC_SUBSTITUTES];
    for (int k = 0; k < GEODEC_SUBSTITUTES; k++) out[k] = w->p->state + (k * s->queries + q) * d;
    GEODEC_PASS(space->at(space, y, g, NULL, NULL, err));
    const int64_t r = nearest(s->records, n, w->from, y, g, w->p->distance + q);
    const int64_t near = nearest(s->records, n, w->from, y, NULL, &unused);
    const int64_t whole = nearest(s->records, d, s->from, x, NULL, &unused);
    const int64_t other =
        (int64_t)(geodec_rng_uniform_at(w->seed, geodec_rng_id("other record", 0), (uint64_t)q) * (double)s->records);
    w->p->record[q] = r;
    const double *from = s->from + r * d, *to = s->to + r * d;
    const size_t row = (size_t)d * sizeof *x;
    memcpy(out[GEODEC_SUBSTITUTE_STAY], x, row);
    geodec_regression_at(d, d, w->map, x, out[GEODEC_SUBSTITUTE_LINEAR]);
    for (int64_t i = 0; i < d; i++) out[GEODEC_SUBSTITUTE_LINEAR][i] += x[i];
    memcpy(out[GEODEC_SUBSTITUTE_COPY], to, row);
    memcpy(out[GEODEC_SUBSTITUTE_COPY_NEAR], s->to + near * d, row);
    memcpy(out[GEODEC_SUBSTITUTE_COPY_WHOLE], s->to + whole * d, row);
    memcpy(out[GEODEC_SUBSTITUTE_PROPAGATOR], to, row);
    memcpy(out[GEODEC_SUBSTITUTE_OTHER], s->to + other * d, row);
    for (int64_t i = 0; i < d; i++) out[GEODEC_SUBSTITUTE_SHIFT][i] = to[i] + x[i] - from[i];
    bool good = false;
    GEODEC_PASS(propagator(w, r, phi, &good, err));
    w->broken[q] = !good;
    for (int64_t a = 0; good && a < n; a++) {
        e[a] = 0;
        for (int64_t b = 0; b < n; b++) e[a] += phi[a * n + b] * (y[b] - w->from[r * n + b]);
        for (int64_t i = 0; i < d; i++) out[GEODEC_SUBSTITUTE_PROPAGATOR][i] += e[a] * s->basis[a * d + i];
    }
    return GEODEC_OK;
}

static geodec_status fit_linear(work *w, double ridge, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_substitution_data *s = w->s;
    double *step = NULL;
    GEODEC_NEW(step, s->records * s->d);
    GEODEC_NEW(w->map, (s->d + 1) * s->d);
    for (int64_t i = 0; i < s->records * s->d; i++) step[i] = s->to[i] - s->from[i];
    GEODEC_TRY(geodec_regression_fit(s->records, s->d, s->d, s->from, step, ridge, w->map, err));
done:
    geodec_mem_free(step);
    return st;
}

geodec_status geodec_substitution_predict(const geodec_substitution_data *s, double ridge, uint64_t seed,
                                          geodec_pool *pool, const geodec_hooks *hooks,
                                          geodec_substitution_predictions *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_substitution_predictions p = {0};
    work w = {.s = s, .p = &p, .seed = seed};
    if (s->records < 2 || s->queries < 1)
        GEODEC_THROW(GEODEC_SCARCE, "%lld records and %lld queries; at least 2 and 1 are needed", (long long)s->records,
                     (long long)s->queries);
    if (s->n < 1 || s->n > MAX_N || s->n != geodec_rbf_dim(s->field))
        GEODEC_THROW(GEODEC_RANGE, "%lld records, %lld queries, dimension %lld", (long long)s->records,
                     (long long)s->queries, (long long)s->n);
    if (!geodec__finite(s->records * s->d, s->from) || !geodec__finite(s->records * s->d, s->to) ||
        !geodec__finite(s->queries * s->d, s->query) || !geodec__finite(s->queries * s->d, s->truth))
        GEODEC_THROW(GEODEC_NUMERIC, "a state is not finite");
    GEODEC_NEW(p.state, GEODEC_SUBSTITUTES * s->queries * s->d);
    GEODEC_NEW_EACH(s->queries, p.distance, p.record, w.broken);
    GEODEC_NEW_EACH(s->records * s->n, w.from, w.to);
    GEODEC_NEW(w.query, s->queries * s->n);
    GEODEC_TRY(geodec_pca_project(s->d, s->n, s->basis, s->mean, s->records, s->from, w.from, pool, err));
    GEODEC_TRY(geodec_pca_project(s->d, s->n, s->basis, s->mean, s->records, s->to, w.to, pool, err));
    GEODEC_TRY(geodec_pca_project(s->d, s->n, s->basis, s->mean, s->queries, s->query, w.query, pool, err));
    GEODEC_TRY(fit_linear(&w, ridge, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "substituting", s->queries, predict, &w, err));
    for (int64_t q = 0; q < s->queries; q++) p.broken += w.broken[q];
    GEODEC_MOVE(*out, p);
done:
    geodec_substitution_clear(&p);
    GEODEC_FREE(w.from, w.to, w.query, w.map, w.broken);
    return st;
}

void geodec_substitution_clear(geodec_substitution_predictions *p)
{
    GEODEC_FREE(p->state, p->distance, p->record);
    memset(p, 0, sizeof *p);
}

geodec_status geodec_substitution_figures(const geodec_substitution_data *s, const geodec_substitution_predictions *p,
                                          const int32_t *token, const int32_t *wanted, const int32_t *text,
                                          int64_t replicates, uint64_t seed, geodec_substitution *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_substitution f = {.records = s->records, .queries = s->queries, .n = s->n, .broken = p->broken};
    const int64_t Q = s->queries;
    geodec_harness_text_sums error = {0}, agree = {0};
    double *sorted = NULL, *step = NULL;
    GEODEC_NEW_EACH(Q, sorted, step);
    GEODEC_TRY(geodec_harness_text_sums_reserve(&error, Q, err));
    GEODEC_TRY(geodec_harness_text_sums_reserve(&agree, Q, err));
    memcpy(sorted, p->distance, (size_t)Q * sizeof *sorted);
    geodec_stats_sort(Q, sorted);
    for (int64_t q = 0; q < Q; q++) step[q] = sqrt(geodec__gap2(s->d, s->truth + q * s->d, s->query + q * s->d));
    for (int c = 0; c < GEODEC_SUBSTITUTION_SHARES; c++) {
        const int64_t count = (int64_t)fmax(1, ceil(shares[c] * (double)Q));
        f.radius[c] = sorted[count - 1];
        for (int k = 0; k < GEODEC_SUBSTITUTES; k++) {
            const uint64_t stream = geodec_rng_id("substitution", (uint64_t)(k * GEODEC_SUBSTITUTION_SHARES + c));
            for (int64_t q = 0; q < Q; q++) {
                if (!(p->distance[q] <= f.radius[c])) continue;
                const double gap2 = geodec__gap2(s->d, p->state + (k * Q + q) * s->d, s->truth + q * s->d);
                geodec_harness_text_sums_add(&error, text[q], sqrt(gap2), step[q]);
                geodec_harness_text_sums_add(&agree, text[q], token[k * Q + q] == wanted[q], 1);
            }
            GEODEC_TRY(geodec_harness_text_sums_ratio(&error, replicates, seed, stream, &f.error[k][c], NULL, err));
            GEODEC_TRY(geodec_harness_text_sums_ratio(&agree, replicates, seed, stream, &f.agree[k][c], NULL, err));
        }
    }
    *out = f;
done:
    geodec_harness_text_sums_clear(&error);
    geodec_harness_text_sums_clear(&agree);
    GEODEC_FREE(sorted, step);
    return st;
}

double geodec_substitution_speedup(const geodec_substitution *s, double share)
{
    const double step = share * (s->lookup_us + s->head_us) + (1 - share) * (s->lookup_us + s->full_us);
    return step > 0 ? s->full_us / step : 0;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

typedef struct report {
    geodec_substitution s;
    double share[GEODEC_SUBSTITUTION_SHARES], speedup[GEODEC_SUBSTITUTION_SHARES], assumed[GEODEC_SUBSTITUTION_SHARES];
    const char *split;
} report;
#define IN(m) GEODEC_IN(report, m)
#define ARRAY(m) GEODEC_ARRAY(report, m, [0])

static const geodec_field fields[] = {
    {"/share", GEODEC_F64, "S", 0, "1", "share of the queries, those nearest to their record", 0, ARRAY(share)},
    {"/radius", GEODEC_F64, "S", 0, "1", "their largest g-distance", 0, ARRAY(s.radius)},
    {"/error", GEODEC_F64, "K,S,3", 0, "1",
     "sum |predicted - true next state| / sum |step|: value and 95 % bootstrap interval over texts", 0,
     GEODEC_ARRAY(report, s.error, [0][0].value)},
    {"/agree", GEODEC_F64, "K,S,3", 0, "1",
     "share of queries where the head's argmax of the prediction equals that of the true next state", 0,
     GEODEC_ARRAY(report, s.agree, [0][0].value)},
    {"/speedup", GEODEC_F64, "S", 0, "1",
     "full / (share (lookup + head) + (1 - share)(lookup + full)) of measured times; the tokens are only as right as "
     "agree says",
     0, ARRAY(speedup)},
    {"/assumed_speedup", GEODEC_F64, "S", 0, "1",
     "control: the published projection, 1 / (share / 2 + 1 - share), which no measurement enters", 0, ARRAY(assumed)},
};

static const geodec_attr attrs[] = {
    {"kinds", GEODEC_ATTR_STR, 0, "names along K, separated by commas", GEODEC_LIST(names)},
    {"records", GEODEC_ATTR_I64, 0, "pairs of consecutive states, of training texts", IN(s.records)},
    {"queries", GEODEC_ATTR_I64, 0, "states of held-out texts", IN(s.queries)},
    {"n", GEODEC_ATTR_I64, 0, "dimension of the chart", IN(s.n)},
    {"broken", GEODEC_ATTR_I64, 0, "queries whose record's propagator broke down (copy is used instead)", IN(s.broken)},
    {"full_us", GEODEC_ATTR_F64, 0, "measured: one decoding step of the model, microseconds", IN(s.full_us)},
    {"head_us", GEODEC_ATTR_F64, 0, "measured: its output matrix alone, which a substituted state needs too",
     IN(s.head_us)},
    {"lookup_us", GEODEC_ATTR_F64, 0, "measured: metric and lookup of one query", IN(s.lookup_us)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};

static const geodec_extent extents[] = {{"K", .plus = GEODEC_SUBSTITUTES}, {"S", .plus = GEODEC_SUBSTITUTION_SHARES}};

const geodec_kind geodec_substitution_kind = {
    GEODEC_ABOUT("substitution", 1, 1, "geodec-substitution",
                 "next hidden states from records of earlier steps, compared with predictors that need no record"),
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_substitution_write(const geodec_substitution *s, const char *split, geodec_artifact *a,
                                        geodec_err *err)
{
    report r = {.s = *s, .split = split};
    for (int c = 0; c < GEODEC_SUBSTITUTION_SHARES; c++) {
        r.share[c] = shares[c];
        r.speedup[c] = geodec_substitution_speedup(s, r.share[c]);
        r.assumed[c] = 1 / (1 - 0.5 * r.share[c]);
    }
    return geodec_artifact_save(a, &r, err);
}

void geodec_substitution_say(const geodec_hooks *hooks, const geodec_substitution *s)
{
    enum { ALL = GEODEC_SUBSTITUTION_SHARES - 1 };
    geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                     "%lld records, %lld queries, chart of %lld dimensions; %lld propagators broke down",
                     (long long)s->records, (long long)s->queries, (long long)s->n, (long long)s->broken);
    for (int k = 0; k < GEODEC_SUBSTITUTES; k++)
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%-10s error %.3f [%.3f, %.3f] steps, same token %4.1f %% [%.1f, %.1f]; of the nearest 10 %%: %.3f, "
            "%4.1f %%",
            names[k], s->error[k][ALL].value, s->error[k][ALL].low, s->error[k][ALL].high, 100 * s->agree[k][ALL].value,
            100 * s->agree[k][ALL].low, 100 * s->agree[k][ALL].high, s->error[k][1].value, 100 * s->agree[k][1].value);
    if (s->full_us > 0)
        geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                         "a step %.0f us, its head %.0f us, a lookup %.1f us: substituting all %.1f x, a tenth %.2f x",
                         s->full_us, s->head_us, s->lookup_us, geodec_substitution_speedup(s, 1),
                         geodec_substitution_speedup(s, 0.1));
}
