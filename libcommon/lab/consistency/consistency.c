#include "lab/consistency/consistency.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/harness/three_metrics.h"
#include "linalg/expm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS = GEODEC_CONSISTENT_METRICS };

const char *const geodec_consistency_names[] = {"fitted", "shuffled", "random", "constant", NULL};

geodec_consistency_options geodec_consistency_defaults(void)
{
    return (geodec_consistency_options){.tau = 0.25, .metric = geodec_metric_defaults(), .replicates = 1000, .seed = 1};
}

/* The two halves, their metrics, and the fields that predict. */
typedef struct halves {
    int64_t n, count[2];
    int64_t *row[2]; /* [count] of the points */
    double *x[2];    /* [count][n] */
    geodec_metric metric[2];
    geodec_three_metrics fields;
    geodec_rbf *constant;
    double *g[METRICS]; /* [count[1]][n][n] predicted at the second half */
} halves;

static void halves_clear(halves *h)
{
    for (int i = 0; i < 2; i++) {
        GEODEC_FREE(h->row[i], h->x[i]);
        geodec_metric_clear(&h->metric[i]);
    }
    geodec_three_metrics_clear(&h->fields);
    geodec_rbf_destroy(h->constant);
    for (int m = 0; m < METRICS; m++) geodec_mem_free(h->g[m]);
}

static geodec_status divide(halves *h, int64_t points, const double *x, const int32_t *unit, uint64_t seed,
                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_split half = geodec_harness_split_defaults(); /* exactly one of two texts in turn is held out */
    half.seed = seed;
    for (int side = 0; side < 2; side++) {
        GEODEC_NEW(h->row[side], points);
        GEODEC_NEW(h->x[side], points * h->n);
        for (int64_t i = 0; i < points; i++) {
            if (!geodec_harness_split_on(&half, unit[i], side == 1)) continue;
            memcpy(h->x[side] + h->count[side] * h->n, x + i * h->n, (size_t)h->n * sizeof *x);
            h->row[side][h->count[side]++] = i;
        }
    }
done:
    return st;
}

/* One matrix for all places: the mean of the logarithms. */
static geodec_status mean_field(const geodec_metric *m, geodec_rbf **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t packed = geodec_sym_packed(m->n);
    double *mean = NULL;
    GEODEC_NEW(mean, packed);
    for (int64_t p = 0; p < m->points; p++)
        for (int64_t i = 0; i < packed; i++) mean[i] += m->log_g[p * packed + i] / (double)m->points;
    GEODEC_TRY(geodec_rbf_create(1, m->n, m->point, mean, m->sigma, out, err));
done:
    geodec_mem_free(mean);
    return st;
}

static geodec_status predict(halves *h, const geodec_consistency_options *o, geodec_pool *pool,
                             const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_split sites = geodec_harness_split_defaults();
    for (int side = 0; side < 2; side++)
        GEODEC_TRY_MSG(
            geodec_metric_fit(h->count[side], h->n, h->x[side], &o->metric, pool, hooks, &h->metric[side], err),
            "%s half of the texts", side == 0 ? "first" : "second");
    const geodec_metric *m = &h->metric[0];
    const geodec_harness_sites field = {
        .sites = m->points, .site = m->point, .log_g = m->log_g, .sigma = m->sigma, .whole = true};
    sites.seed = o->seed;
    GEODEC_TRY(geodec_three_metrics_make(&field, h->n, &sites, &h->fields, err));
    GEODEC_TRY(mean_field(m, &h->constant, err));
    const geodec_rbf *by[METRICS] = {h->fields.field[0], h->fields.field[1], h->fields.field[2], h->constant};
    for (int k = 0; k < METRICS; k++) {
        GEODEC_NEW(h->g[k], h->count[1] * h->n * h->n);
        GEODEC_TRY(geodec_rbf_eval(by[k], h->count[1], h->x[1], h->g[k], NULL, NULL, pool, hooks, err));
    }
done:
    return st;
}

/* |y - x| by g. */
static double length(int64_t n, const double *g, const double *x, const double *y)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) s += (y[i] - x[i]) * g[i * n + j] * (y[j] - x[j]);
    return sqrt(s > 0 ? s : 0);
}

/* The share of pairs that a and b order differently; a tie in only one of the two counts as half a pair. */
static double discordance(int64_t k, const double *a, const double *b)
{
    double other = 0;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = i + 1; j < k; j++) {
            const int by_a = (a[i] > a[j]) - (a[i] < a[j]), by_b = (b[i] > b[j]) - (b[i] < b[j]);
            other += 0.5 * abs(by_a - by_b);
        }
    return k > 1 ? other / (0.5 * (double)(k * (k - 1))) : 0;
}

/* All figures of held-out state i. */
static geodec_status compare(const halves *h, int64_t i, int64_t next, const double *x, double *own, double *work,
                             geodec_consistency *c, geodec_err *err)
{
    const geodec_metric *m = &h->metric[1];
    const double *here = h->x[1] + i * h->n;
    double *true_length = work, *predicted = work + m->k;
    GEODEC_PASS(geodec_metric_at_point(m, i, own, err));
    for (int64_t j = 0; j < m->k; j++)
        true_length[j] = length(h->n, own, here, h->x[1] + (int64_t)m->knn_index[i * m->k + j] * h->n);
    const double step = next >= 0 ? length(h->n, own, here, x + next * h->n) : 0;
    for (int k = 0; k < METRICS; k++) {
        const double *g = h->g[k] + i * h->n * h->n;
        for (int64_t j = 0; j < m->k; j++)
            predicted[j] = length(h->n, g, here, h->x[1] + (int64_t)m->knn_index[i * m->k + j] * h->n);
        c->discordance[k * c->held_out + i] = discordance(m->k, predicted, true_length);
        c->step_ratio[k * c->held_out + i] = step > 0 ? length(h->n, g, here, x + next * h->n) / step : 0;
    }
    c->steps += step > 0;
    return GEODEC_OK;
}

/* Shares of the held-out states with their intervals over units; unit of state i is unit[row[i]]. */
static geodec_status shares(geodec_consistency *c, const int32_t *unit, const geodec_consistency_options *o,
                            geodec_err *err)
{
    enum { ORDER, STEP, SCORE, GAIN, SHARES };
    geodec_status st = GEODEC_OK;
    geodec_harness_text_sums sums[SHARES] = {{0}};
    c->units = 0;
    for (int64_t i = 0; i < c->held_out; i++) c->units += i == 0 || unit[c->row[i]] != unit[c->row[i - 1]];
    if (c->units < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld texts in the second half; at least 2 are needed", (long long)c->units);
    for (int s = 0; s < SHARES; s++) GEODEC_TRY(geodec_harness_text_sums_reserve(&sums[s], c->held_out, err));
    for (int k = 0; k < METRICS; k++) {
        geodec_estimate *to[SHARES] = {&c->order[k], &c->step[k], &c->score[k], &c->gain[k]};
        for (int64_t i = 0; i < c->held_out; i++) {
            bool order[2], step[2], both[2]; /* of the fitted metric, of this one */
            const int32_t text = unit[c->row[i]];
            const double ratio = c->step_ratio[k * c->held_out + i];
            for (int own = 0; own < 2; own++) {
                const int64_t at = own * k * c->held_out + i;
                order[own] = c->discordance[at] <= o->tau;
                step[own] = fabs(c->step_ratio[at] - 1) <= o->tau;
                both[own] = order[own] && (step[own] || !(c->step_ratio[at] > 0));
            }
            geodec_harness_text_sums_add(&sums[ORDER], text, order[1], 1);
            geodec_harness_text_sums_add(&sums[STEP], text, ratio > 0 && step[1], c->step_ratio[i] > 0);
            geodec_harness_text_sums_add(&sums[SCORE], text, both[1], 1);
            geodec_harness_text_sums_add(&sums[GAIN], text, both[0] - both[1], 1);
        }
        for (int s = 0; s < SHARES; s++)
            GEODEC_TRY(geodec_harness_text_sums_ratio(&sums[s], o->replicates, o->seed, geodec_rng_id("consistency", 0),
                                                      to[s], NULL, err));
    }
done:
    for (int s = 0; s < SHARES; s++) geodec_harness_text_sums_clear(&sums[s]);
    return st;
}

geodec_status geodec_consistency_run(int64_t points, int64_t n, const double *x, const int32_t *text,
                                     const int32_t *unit, const geodec_consistency_options *o, geodec_pool *pool,
                                     const geodec_hooks *hooks, geodec_consistency *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_consistency c = {.points = points, .n = n, .tau = o->tau};
    halves h = {.n = n};
    double *own = NULL, *work = NULL;
    if (points < 1 || n < 1 || n > GEODEC_RBF_MAX_N || !(o->tau > 0) || !(o->tau < 1) || o->replicates < 0)
        GEODEC_THROW(GEODEC_RANGE, "consistency of %lld points in %lld dimensions (at most %d) within %g",
                     (long long)points, (long long)n, GEODEC_RBF_MAX_N, o->tau);
    GEODEC_TRY(divide(&h, points, x, unit, o->seed, err));
    for (int side = 0; side < 2; side++)
        if (h.count[side] < n + 2)
            GEODEC_THROW(GEODEC_SCARCE, "%lld states in one half of the texts; a metric of %lld dimensions needs %lld",
                         (long long)h.count[side], (long long)n, (long long)n + 2);
    GEODEC_TRY(predict(&h, o, pool, hooks, err));
    c.k = h.metric[1].k;
    c.fitted = h.count[0];
    c.held_out = h.count[1];
    GEODEC_NEW_EACH(METRICS * c.held_out, c.discordance, c.step_ratio);
    GEODEC_NEW(own, n * n);
    GEODEC_NEW(work, 2 * c.k);
    c.row = h.row[1];
    h.row[1] = NULL;
    for (int64_t i = 0; i < c.held_out; i++) {
        const int64_t at = c.row[i], next = at + 1 < points && text[at + 1] == text[at] ? at + 1 : -1;
        if (i % 256 == 0) GEODEC_TRY(geodec_hooks_progress(hooks, "held-out states", i, c.held_out, err));
        GEODEC_TRY(compare(&h, i, next, x, own, work, &c, err));
    }
    if (c.steps == 0) GEODEC_THROW(GEODEC_SCARCE, "no held-out state has a next one");
    GEODEC_TRY(shares(&c, unit, o, err));
    GEODEC_MOVE(*out, c);
done:
    geodec_consistency_clear(&c);
    halves_clear(&h);
    GEODEC_FREE(own, work);
    return st;
}

void geodec_consistency_clear(geodec_consistency *c)
{
    GEODEC_FREE(c->row, c->discordance, c->step_ratio);
    *c = (geodec_consistency){0};
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

typedef struct report {
    geodec_consistency c;
    int32_t *row; /* [held_out] of the cloud's file */
    int64_t layer, k_int;
    const char *split;
} report;
#define AT(m) GEODEC_AT(report, m)
#define IN(m) GEODEC_IN(report, m)
#define BY_METRIC(m) GEODEC_ARRAY(report, c.m, [0].value)

static const geodec_field fields[] = {
    {"/cloud_row", GEODEC_I32, "H", 0, "1", "row of the cloud of each held-out state", 0, AT(row)},
    {"/discordance", GEODEC_F64, "K,H", 0, "1",
     "share of the pairs of its neighbours whose order of length differs from that by its own neighbours' metric", 0,
     AT(c.discordance)},
    {"/step_ratio", GEODEC_F64, "K,H", 0, "1",
     "length of the step to the next state over that by its own neighbours' metric; 0 = there is no next state", 0,
     AT(c.step_ratio)},
    {"/order", GEODEC_F64, "K,3", 0, "1", "share of states with a discordance of at most tau, 95 % interval over texts",
     0, BY_METRIC(order)},
    {"/step", GEODEC_F64, "K,3", 0, "1", "share of steps with |ratio - 1| <= tau, 95 % interval", 0, BY_METRIC(step)},
    {"/score", GEODEC_F64, "K,3", 0, "1", "consistency: share of states for which both hold, 95 % interval", 0,
     BY_METRIC(score)},
    {"/gain", GEODEC_F64, "K,3", 0, "1",
     "consistency of the fitted metric less that of each, paired by text, 95 % interval", 0, BY_METRIC(gain)},
};

static const geodec_attr attrs[] = {
    {"metrics", GEODEC_ATTR_STR, 0, "names along K: the fitted metric and its controls",
     GEODEC_LIST(geodec_consistency_names)},
    {"tau", GEODEC_ATTR_F64, 0, "tolerance of order and step", IN(c.tau)},
    {"consistency", GEODEC_ATTR_F64, 0, "of the fitted metric", IN(c.score[GEODEC_CONSISTENT_FITTED].value)},
    {"consistency_shuffled", GEODEC_ATTR_F64, 0, "control: with its matrices permuted",
     IN(c.score[GEODEC_CONSISTENT_SHUFFLED].value)},
    {"layer", GEODEC_ATTR_I64, 0, "of the states", IN(layer)},
    {"n", GEODEC_ATTR_I64, 0, "dimension of the chart", IN(c.n)},
    {"k_int", GEODEC_ATTR_I64, 0, "integer intrinsic dimension of the cloud", IN(k_int)},
    {"k", GEODEC_ATTR_I64, 0, "neighbours of a state", IN(c.k)},
    {"fitted", GEODEC_ATTR_I64, 0, "states of the first half of the texts", IN(c.fitted)},
    {"held_out", GEODEC_ATTR_I64, 0, "states of the second half", IN(c.held_out)},
    {"steps", GEODEC_ATTR_I64, 0, "of these, with a next state", IN(c.steps)},
    {"units", GEODEC_ATTR_I64, 0, "texts or blocks of the second half", IN(c.units)},
    {"split", GEODEC_ATTR_STR, 0, "units of the halves: document or block", IN(split)},
};

static const geodec_extent extents[] = {{"H", IN(c.held_out)}, {"K", .plus = GEODEC_CONSISTENT_METRICS}};

const geodec_kind geodec_consistency_kind = {
    GEODEC_ABOUT("consistency", 1, 0, "geodec-consistency",
                 "how far the metric of one half of the texts holds for the states of the other half"),
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_consistency_write(const geodec_consistency *c, const geodec_cloud *source,
                                       const geodec_split *split, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    report r = {*c, NULL, source->layer, source->k_int, geodec_split_name(split->by_document)};
    GEODEC_NEW(r.row, c->held_out);
    for (int64_t i = 0; i < c->held_out; i++) r.row[i] = source->cloud_row[c->row[i]];
    GEODEC_TRY(geodec_artifact_save(a, &r, err));
done:
    geodec_mem_free(r.row);
    return st;
}

void geodec_consistency_say(const geodec_hooks *hooks, const geodec_consistency *r)
{
    for (int m = 0; m < GEODEC_CONSISTENT_METRICS; m++) {
        const geodec_estimate *s = &r->score[m], *g = &r->gain[m];
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%-8s consistency %.3f [%.3f, %.3f]: order %.3f, step %.3f; fitted less this %.3f [%.3f, %.3f]",
            geodec_consistency_names[m], s->value, s->low, s->high, r->order[m].value, r->step[m].value, g->value,
            g->low, g->high);
    }
    geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                     "%lld held-out states, %lld steps, %lld neighbours in %lld dimensions; the field from %lld states",
                     (long long)r->held_out, (long long)r->steps, (long long)r->k, (long long)r->n,
                     (long long)r->fitted);
}
