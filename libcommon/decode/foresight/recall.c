#include "foresight/recall.h"

#include "base/mem.h"
#include "base/rng.h"
#include "flowmap/route.h"
#include "linalg/stats.h"
#include "session/router.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BUDGETS = GEODEC_RECALL_BUDGETS, RUNS = GEODEC_RECALL_RUNS, SCALES = GEODEC_RECALL_SCALES };
enum { BINS = GEODEC_ROUTE_BINS, DRAWS = 400, PREDICTORS_MAX = 64, TABLE = 0, STATE = 1, MIX = 2 };

geodec_recall_options geodec_recall_defaults(void) { return (geodec_recall_options){.replicates = 1000}; }

/* Sums of one document. */
typedef struct document {
    int64_t positions;
    int64_t runs[RUNS];
    double distinct[RUNS]; /* sum over runs of the mean over layers */
} document;

typedef struct measuring {
    const geodec_model_config *c;
    const geodec_history *history;
    const geodec_mixture *mixture; /* NULL: not fitted */
    geodec_foresight *foresight;   /* NULL: no map */
    const geodec_predictor *predictor[PREDICTORS_MAX];
    int64_t n_predictors;
    bool *routed; /* [layers] */
    document *document;
    int64_t n_documents, documents_room;
    int64_t *hits; /* [documents][predictors][layers][BUDGETS] */
    int64_t hits_room;
    int16_t *expert; /* [positions][layers used] */
    int64_t n, expert_room;
    /* room for one position */
    float *score, *gate, *early, *table, *further;
    bool *used;
    int32_t *best;
    float *best_value;
    int64_t scale_seen[SCALES][BINS], scale_right[SCALES][BINS];
    double scale_sum[SCALES][BINS];
} measuring;

static int64_t cells_of(const measuring *m) { return (int64_t)m->c->n_layer * m->c->n_expert; }
static int64_t per_document(const measuring *m) { return m->n_predictors * m->c->n_layer * BUDGETS; }

/* ---- one position ----------------------------------------------------------------------------------------------- */

/* Experts used, of the row, in this layer and among the first m foretold. */
static void count_hits(measuring *m, int64_t p, const int32_t *expert, int64_t *hits)
{
    const geodec_model_config *c = m->c;
    const int32_t most = 4 * c->n_expert_used < c->n_expert ? 4 * c->n_expert_used : c->n_expert;
    for (int64_t l = m->predictor[p]->first_layer; l < c->n_layer; l++) {
        int64_t *of = hits + (p * c->n_layer + l) * BUDGETS;
        if (!m->routed[l]) continue;
        (void)geodec_largest(m->score + l * c->n_expert, c->n_expert, most, m->best, m->best_value);
        for (int32_t i = 0; i < most; i++)
            for (int32_t k = 0; k < c->n_expert_used; k++)
                if (m->best[i] == expert[l * c->n_expert_used + k])
                    for (int b = 0; b < BUDGETS; b++) of[b] += i < c->n_expert_used << b;
    }
}

static void scale_add(measuring *m, int scale, float probability, bool used)
{
    const int32_t bin = geodec_flowmap_route_bin(probability);
    m->scale_seen[scale][bin]++;
    m->scale_right[scale][bin] += used;
    m->scale_sum[scale][bin] += (double)probability;
}

/* What the calibrated probabilities of a token are worth. */
static void count_scales(measuring *m, const geodec_predictor_input *in, const int32_t *expert)
{
    const geodec_model_config *c = m->c;
    const int64_t k = c->n_expert_used;
    memset(m->used, 0, (size_t)cells_of(m) * sizeof *m->used);
    for (int64_t i = 0; i < c->n_layer * k; i++)
        if (expert[i] >= 0 && expert[i] < c->n_expert) m->used[i / k * c->n_expert + expert[i]] = true;
    for (int64_t l = 0; l < c->n_layer; l++) {
        if (!m->routed[l]) continue;
        const int64_t at = l * c->n_expert;
        if (m->mixture)
            geodec_foresight_mix(m->foresight, GEODEC_ROUTES_BLOCK, l, in->early + at,
                                 in->logit[GEODEC_ROUTES_BLOCK] + at, m->score + at);
        for (int64_t e = at; e < at + c->n_expert; e++) {
            scale_add(m, TABLE, in->table[e], m->used[e]);
            scale_add(m, STATE, in->early[e], m->used[e]);
            if (m->mixture) scale_add(m, MIX, m->score[e], m->used[e]);
        }
    }
}

static void foretell(measuring *m, const geodec_routes *w, int64_t i)
{
    const geodec_model_config *c = m->c;
    const int64_t k = (int64_t)c->n_layer * c->n_expert_used, cells = cells_of(m), d = c->d_model;
    int64_t *hits = m->hits + (m->n_documents - 1) * per_document(m);
    geodec_predictor_input in = {.config = c,
                                 .history = m->history,
                                 .mixture = m->mixture,
                                 .before = w->token[i - 1],
                                 .token = w->token[i],
                                 .last = w->expert + (i - 1) * k,
                                 .gate = m->gate,
                                 .state = w->state + (i - 1) * d,
                                 .embedding = w->embedding + i * d,
                                 .early = m->early,
                                 .table = m->table,
                                 .further = m->further};
    for (int s = 0; s < GEODEC_ROUTES_STREAMS; s++) in.logit[s] = w->logit[s] + i * cells;
    memcpy(m->gate, w->logit[GEODEC_ROUTES_NOW] + (i - 1) * cells, (size_t)cells * sizeof *m->gate);
    for (int64_t l = 0; l < c->n_layer; l++) geodec_router_softmax(m->gate + l * c->n_expert, c->n_expert);
    if (m->foresight) { /* the rows before the previous one are observed */
        if (i == 1)
            geodec_foresight_ask(m->foresight, -1, false, m->further);
        else
            geodec_foresight_further(m->foresight, in.before, m->further);
        geodec_foresight_observe(m->foresight, in.before, in.state);
        geodec_foresight_ask(m->foresight, in.token, true, m->early);
        geodec_foresight_ask(m->foresight, in.token, false, m->table);
    }
    for (int64_t p = 0; p < m->n_predictors; p++) {
        if (!m->predictor[p]->score) continue;
        m->predictor[p]->score(&in, m->score);
        count_hits(m, p, w->expert + i * k, hits);
    }
    m->document[m->n_documents - 1].positions++;
    if (m->foresight) count_scales(m, &in, w->expert + i * k);
}

/* ---- distinct experts ------------------------------------------------------------------------------------------- */

/* Mean over layers of the distinct experts of n positions; at [n]. */
static double distinct(const measuring *m, int64_t n, const int64_t *at)
{
    const geodec_model_config *c = m->c;
    int64_t all = 0, layers = 0;
    for (int64_t l = 0; l < c->n_layer; l++) {
        if (!m->routed[l]) continue;
        memset(m->used, 0, (size_t)c->n_expert * sizeof *m->used);
        layers++;
        for (int64_t i = 0; i < n * c->n_expert_used; i++) {
            const int16_t e =
                m->expert[(at[i / c->n_expert_used] * c->n_layer + l) * c->n_expert_used + i % c->n_expert_used];
            if (e < 0 || m->used[e]) continue;
            m->used[e] = true;
            all++;
        }
    }
    return (double)all / (double)layers;
}

/* Adds a window's rows, and counts its runs. */
static geodec_status count_runs(measuring *m, const geodec_routes *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t k = (int64_t)m->c->n_layer * m->c->n_expert_used, first = m->n;
    GEODEC_GROW(m->expert, m->n * k, m->expert_room, w->n * k);
    for (int64_t i = 0; i < w->n * k; i++)
        m->expert[m->n * k + i] = (int16_t)(w->expert[i] >= 0 && w->expert[i] < m->c->n_expert ? w->expert[i] : -1);
    m->n += w->n;
    for (int r = 0; r < RUNS; r++) {
        const int64_t run = (int64_t)2 << r;
        for (int64_t s = first; s + run <= m->n; s += run) {
            int64_t at[2 << RUNS];
            for (int64_t i = 0; i < run; i++) at[i] = s + i;
            m->document[m->n_documents - 1].runs[r]++;
            m->document[m->n_documents - 1].distinct[r] += distinct(m, run, at);
        }
    }
done:
    return st;
}

static geodec_status sum_runs(const measuring *m, const geodec_recall_options *o, geodec_recall *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *sum = NULL, *runs = NULL;
    geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("distinct experts", 0));
    GEODEC_NEW_EACH(m->n_documents, sum, runs);
    for (int r = 0; r < RUNS; r++) {
        geodec_estimate e;
        int64_t at[2 << RUNS];
        double all = 0;
        out->run[r] = 2 << r;
        for (int64_t d = 0; d < m->n_documents; d++) {
            sum[d] = m->document[d].distinct[r];
            runs[d] = (double)m->document[d].runs[r];
        }
        GEODEC_TRY(geodec_stats_ratio(m->n_documents, sum, runs, o->replicates, o->seed,
                                      geodec_rng_id("distinct", (uint64_t)r), &e, err));
        out->distinct[r] = e.value;
        out->distinct_low[r] = e.low;
        out->distinct_high[r] = e.high;
        for (int i = 0; i < DRAWS; i++) {
            for (int64_t j = 0; j < out->run[r]; j++) at[j] = (int64_t)geodec_rng_below(&rng, (uint64_t)m->n);
            all += distinct(m, out->run[r], at);
        }
        out->distinct_random[r] = all / DRAWS;
    }
done:
    GEODEC_FREE(sum, runs);
    return st;
}

/* ---- results ---------------------------------------------------------------------------------------------------- */

/* Recall of predictor p: of one layer, or of all that it can foretell (layer -1). */
static geodec_status estimate(const measuring *m, const geodec_recall_options *o, int64_t p, int64_t layer, int b,
                              double *room, geodec_estimate *out, geodec_err *err)
{
    const geodec_model_config *c = m->c;
    const int64_t n = m->n_documents;
    double *hits = room, *all = room + n;
    for (int64_t d = 0; d < n; d++) {
        hits[d] = all[d] = 0;
        for (int64_t l = m->predictor[p]->first_layer; l < c->n_layer; l++) {
            if (!m->routed[l] || (layer >= 0 && l != layer)) continue;
            hits[d] += (double)m->hits[d * per_document(m) + (p * c->n_layer + l) * BUDGETS + b];
            all[d] += (double)m->document[d].positions * c->n_expert_used;
        }
    }
    return geodec_stats_ratio(n, hits, all, o->replicates, o->seed, geodec_rng_id("recall", (uint64_t)b), out, err);
}

static geodec_status sum_recall(const measuring *m, const geodec_recall_options *o, geodec_recall *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t layers = m->c->n_layer;
    double *room = NULL;
    GEODEC_NEW(room, 2 * m->n_documents);
    GEODEC_NEW_EACH(m->n_predictors * layers * BUDGETS, out->value, out->low, out->high);
    GEODEC_NEW_EACH(m->n_predictors * BUDGETS, out->mean, out->mean_low, out->mean_high);
    GEODEC_NEW(out->first_layer, m->n_predictors);
    for (int64_t p = 0; p < m->n_predictors; p++) {
        out->first_layer[p] = m->predictor[p]->first_layer;
        for (int b = 0; b < BUDGETS; b++) {
            geodec_estimate e;
            out->budget[b] = m->c->n_expert_used << b < m->c->n_expert ? m->c->n_expert_used << b : m->c->n_expert;
            for (int64_t l = 0; l < layers; l++) {
                const int64_t at = (p * layers + l) * BUDGETS + b;
                e = (geodec_estimate){NAN, NAN, NAN};
                if (m->routed[l] && l >= m->predictor[p]->first_layer)
                    GEODEC_TRY(estimate(m, o, p, l, b, room, &e, err));
                out->value[at] = e.value;
                out->low[at] = e.low;
                out->high[at] = e.high;
            }
            GEODEC_TRY(estimate(m, o, p, -1, b, room, &e, err));
            out->mean[p * BUDGETS + b] = e.value;
            out->mean_low[p * BUDGETS + b] = e.low;
            out->mean_high[p * BUDGETS + b] = e.high;
        }
    }
done:
    geodec_mem_free(room);
    return st;
}

static geodec_status sum_scales(const measuring *m, geodec_recall *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t layers = m->c->n_layer;
    if (!m->foresight) return GEODEC_OK;
    GEODEC_NEW_EACH((int64_t)SCALES * BINS, out->scale_predicted, out->scale_used, out->scale_count);
    if (m->mixture) {
        const int64_t cells = (int64_t)GEODEC_MIXTURES * layers;
        out->mixture.layers = layers;
        out->mixture.positions = m->mixture->positions;
        GEODEC_NEW_COPY(out->mixture.weight, m->mixture->weight, cells);
        GEODEC_NEW_COPY(out->mixture.reliability, m->mixture->reliability, cells * BINS);
    }
    for (int b = 0; b < BINS; b++) out->calibrated += m->scale_seen[STATE][b];
    for (int s = 0; s < SCALES; s++) {
        double error = 0, all = 0;
        for (int b = 0; b < BINS; b++) {
            const double n = (double)m->scale_seen[s][b];
            out->scale_count[s * BINS + b] = m->scale_seen[s][b];
            out->scale_predicted[s * BINS + b] = n > 0 ? m->scale_sum[s][b] / n : 0;
            out->scale_used[s * BINS + b] = n > 0 ? (double)m->scale_right[s][b] / n : 0;
            error += fabs(m->scale_sum[s][b] - (double)m->scale_right[s][b]);
            all += n;
        }
        out->scale_error[s] = all > 0 ? error / all : 0;
    }
done:
    return st;
}

static geodec_status write_names(const measuring *m, geodec_recall *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char names[1024] = "", when[1024] = "";
    for (int64_t p = 0; p < m->n_predictors; p++) {
        const size_t a = strlen(names), b = strlen(when);
        (void)snprintf(names + a, sizeof names - a, "%s%s", p > 0 ? "," : "", m->predictor[p]->name);
        (void)snprintf(when + b, sizeof when - b, "%s%s", p > 0 ? "," : "",
                       geodec_predictors_when(m->predictor[p]->when));
    }
    GEODEC_STRDUP(out->names, names);
    GEODEC_STRDUP(out->when, when);
done:
    return st;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static geodec_status prepare(measuring *m, const geodec_flowmap *map, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = m->c;
    const int64_t cells = cells_of(m);
    if (map) {
        GEODEC_TRY(geodec_mixture_match(map, c, err));
        GEODEC_TRY(geodec_foresight_create(map, m->mixture, &m->foresight, err));
    }
    for (int i = 0; i < geodec_predictors_count && m->n_predictors < PREDICTORS_MAX; i++)
        if (map || !geodec_predictors[i].needs_map) m->predictor[m->n_predictors++] = &geodec_predictors[i];
    GEODEC_NEW_EACH(cells, m->score, m->gate, m->early, m->table, m->further, m->used);
    GEODEC_NEW_EACH(c->n_expert, m->best, m->best_value);
    GEODEC_NEW(m->routed, c->n_layer);
done:
    return st;
}

static geodec_status measure_window(measuring *m, const geodec_routes *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    while (m->n_documents <= w->document) {
        GEODEC_GROW(m->document, m->n_documents, m->documents_room, 1);
        GEODEC_GROW(m->hits, m->n_documents * per_document(m), m->hits_room, per_document(m));
        m->n_documents++;
    }
    if (m->foresight) geodec_foresight_begin(m->foresight);
    for (int64_t i = 1; i < w->n; i++) foretell(m, w, i);
    GEODEC_TRY(count_runs(m, w, err));
done:
    return st;
}

geodec_status geodec_recall_measure(geodec_routes_recorder *r, const geodec_model_config *c,
                                    const geodec_history *history, const geodec_flowmap *map,
                                    const geodec_mixture *mixture, const geodec_recall_options *o,
                                    const geodec_hooks *hooks, geodec_recall *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    measuring m = {.c = c, .history = history, .mixture = mixture};
    geodec_recall result = {.layers = c->n_layer, .experts = c->n_expert, .used = c->n_expert_used};
    const geodec_routes *w;
    GEODEC_TRY(prepare(&m, map, err));
    for (int32_t l = 0; l < c->n_layer; l++) m.routed[l] = geodec_routes_layer(r, l);
    do {
        GEODEC_TRY(geodec_routes_next(r, &w, err));
        if (!w) break;
        GEODEC_TRY(measure_window(&m, w, err));
        GEODEC_TRY(geodec_hooks_progress(hooks, "tokens foretold", m.n, o->max_tokens, err));
    } while (o->max_tokens == 0 || m.n < o->max_tokens);
    for (int64_t d = 0; d < m.n_documents; d++) {
        result.positions += m.document[d].positions;
        result.documents += m.document[d].positions > 0;
    }
    if (result.documents < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld documents with at least two tokens; intervals need two",
                     (long long)result.documents);
    result.predictors = m.n_predictors;
    result.stored = geodec_history_positions(history);
    GEODEC_TRY(write_names(&m, &result, err));
    GEODEC_TRY(sum_recall(&m, o, &result, err));
    GEODEC_TRY(sum_runs(&m, o, &result, err));
    GEODEC_TRY(sum_scales(&m, &result, err));
    *out = result;
    memset(&result, 0, sizeof result);
done:
    geodec_recall_clear(&result);
    geodec_foresight_destroy(m.foresight);
    GEODEC_FREE(m.document, m.hits, m.expert, m.score, m.gate, m.early, m.table);
    GEODEC_FREE(m.further, m.used, m.best, m.best_value, m.routed);
    return st;
}
