#include "lab/substitution/measure.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/metric.h"
#include "records/lookup.h"
#include "session/model.h"

#include <math.h>
#include <string.h>

enum { TIMED = 32, CONTEXT = 64 };

/* Whether the row's successor in the text is the file's next row. */
static bool has_next(const geodec_model_states *s, int64_t row)
{
    return row + 1 < s->view.rows && s->sequence[row + 1] == s->sequence[row] &&
           s->position[row + 1] == s->position[row] + 1 && s->text[row + 1] == s->text[row];
}

static geodec_status read_states(const geodec_substitution_work *w, int64_t layer, int64_t count, const int32_t *row,
                                 double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_states_rows r = {0};
    GEODEC_TRY(geodec_model_states_rows_read(w->states, layer, count, row, &r, err));
    *out = r.state;
    r.state = NULL;
done:
    geodec_model_states_rows_clear(&r);
    return st;
}

/* The states of `count` rows and of their successors. */
static geodec_status read_pairs(const geodec_substitution_work *w, int64_t layer, int64_t count, const int64_t *row,
                                const char *texts, double **from, double **to, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *at = NULL;
    if (count < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld pairs of consecutive states in %s texts; at least 2 are needed",
                     (long long)count, texts);
    GEODEC_NEW(at, count);
    for (int64_t i = 0; i < count; i++) at[i] = (int32_t)row[i];
    GEODEC_TRY(read_states(w, layer, count, at, from, err));
    for (int64_t i = 0; i < count; i++) at[i]++;
    GEODEC_TRY(read_states(w, layer, count, at, to, err));
done:
    geodec_mem_free(at);
    return st;
}

static geodec_status gather(geodec_substitution_work *w, int64_t layer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *s = w->states;
    int64_t *row = NULL, count = 0;
    GEODEC_NEW(row, s->view.rows);
    for (int64_t i = 0; i < w->chart.points; i++)
        if (has_next(s, w->chart.point_row[i])) row[count++] = w->chart.point_row[i];
    w->data.records = count;
    GEODEC_TRY(read_pairs(w, layer, count, row, "training", &w->from, &w->to, err));
    count = 0;
    for (int64_t i = 0; i < s->view.rows; i++)
        if (geodec_harness_split_on(&w->split, s->text[i], true) && s->position[i] > 0 && has_next(s, i))
            row[count++] = i;
    geodec_harness_thin(row, &count, w->queries, geodec_rng_stream(w->seed, geodec_rng_id("substitution queries", 0)));
    w->data.queries = count;
    GEODEC_TRY(read_pairs(w, layer, count, row, "held-out", &w->query, &w->truth, err));
    GEODEC_NEW(w->text, count);
    for (int64_t i = 0; i < count; i++) w->text[i] = s->text[row[i]];
done:
    geodec_mem_free(row);
    return st;
}

static geodec_status make_field(geodec_substitution_work *w, int64_t layer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_harness_charted *ch = &w->chart;
    const geodec_metric_options o = geodec_metric_defaults();
    geodec_metric m = {0};
    geodec_model_states_rows rows = {0};
    int32_t *row = NULL;
    double *g = NULL;
    GEODEC_TRY(geodec_metric_fit(ch->points, ch->n, ch->point, &o, w->pool, w->hooks, &m, err));
    if (w->fisher) {
        GEODEC_NEW(row, ch->points);
        GEODEC_NEW(g, ch->points * ch->n * ch->n);
        for (int64_t i = 0; i < ch->points; i++) row[i] = (int32_t)ch->point_row[i];
        GEODEC_TRY(geodec_model_states_rows_read(w->states, layer, ch->points, row, &rows, err));
        GEODEC_TRY(
            geodec_fisher_metric(w->states->reference, &rows.s, ch->n, ch->basis, NULL, w->hooks, g, NULL, NULL, err));
        GEODEC_TRY(geodec_fisher_regularise(ch->points, ch->n, 0.01, g, NULL, NULL, NULL, err));
        geodec_metric_clear(&m);
        GEODEC_TRY(geodec_metric_from_matrices(GEODEC_METRIC_FISHER, ch->points, ch->n, ch->point, g, &o, w->pool,
                                               w->hooks, &m, err));
    }
    GEODEC_TRY(geodec_metric_field(&m, &w->field, err));
done:
    geodec_metric_clear(&m);
    geodec_model_states_rows_clear(&rows);
    GEODEC_FREE(row, g);
    return st;
}

/* The least CPU time of single-token passes after CONTEXT tokens, in microseconds. */
static geodec_status time_pass(const geodec_substitution_work *w, bool head, double *us, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_session_options o = {.n_ctx = CONTEXT + TIMED, .max_batch = CONTEXT};
    geodec_session *s = NULL;
    float *logits = NULL;
    GEODEC_NEW(logits, geodec_model_configuration(w->states->model)->n_vocab);
    GEODEC_TRY(geodec_session_create(w->states->model, &o, &s, err));
    GEODEC_TRY(geodec_forward_prefill(s, w->states->token,
                                      CONTEXT < w->states->view.rows ? CONTEXT : w->states->view.rows, logits, err));
    *us = INFINITY;
    for (int i = 0; i < TIMED; i++) {
        const bool want = head;
        const geodec_batch b = {.n = 1, .token = w->states->token, .want = &want};
        const double before = geodec_clock_thread_seconds();
        GEODEC_TRY(geodec_forward(s, &b, head ? logits : NULL, NULL, err));
        *us = fmin(*us, 1e6 * (geodec_clock_thread_seconds() - before));
    }
done:
    geodec_session_destroy(s);
    geodec_mem_free(logits);
    return st;
}

static geodec_status time_lookup(const geodec_substitution_work *w, double *us, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = w->chart.n, count = w->chart.points;
    geodec_lookup *l = NULL;
    geodec_lookup_hit hit;
    double *g = NULL, total = INFINITY;
    const geodec_space *space = geodec_rbf_space(w->field);
    GEODEC_NEW(g, n * n);
    GEODEC_TRY(geodec_lookup_create(count, n, w->chart.point, NULL, &l, err));
    for (int round = 0; round < 7; round++) {
        const double before = geodec_clock_thread_seconds();
        for (int i = 0; i < TIMED; i++) {
            const double *x = w->chart.t.x + (i * 37 % w->chart.t.offset[w->chart.t.paths]) * n;
            GEODEC_TRY(space->at(space, x, g, NULL, NULL, err));
            GEODEC_TRY(geodec_lookup_nearest(l, x, g, &hit, err));
        }
        total = fmin(total, geodec_clock_thread_seconds() - before);
    }
    *us = 1e6 * total / TIMED;
done:
    geodec_lookup_destroy(l);
    geodec_mem_free(g);
    return st;
}

geodec_status geodec_substitution_measure(geodec_substitution_work *w, geodec_substitution *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *s = w->states;
    const int32_t layer = geodec_model_configuration(s->model)->n_layer;
    geodec_harness_chart_options co = geodec_harness_chart_defaults();
    geodec_substitution_predictions predicted = {0};
    w->split = geodec_harness_split_defaults();
    w->split.seed = w->seed;
    co.n = w->dim;
    co.points = w->records;
    co.split = &w->split;
    GEODEC_TRY(geodec_activations_find_layer(&s->view, layer, &co.index, err));
    GEODEC_TRY(geodec_harness_charted_make(&s->view, &co, w->pool, w->hooks, &w->chart, err));
    GEODEC_TRY(make_field(w, layer, err));
    GEODEC_TRY(gather(w, layer, err));
    w->data.n = w->dim;
    w->data.d = s->view.d;
    w->data.basis = w->chart.basis;
    w->data.mean = w->chart.mean;
    w->data.from = w->from;
    w->data.to = w->to;
    w->data.query = w->query;
    w->data.truth = w->truth;
    w->data.field = w->field;
    GEODEC_TRY(geodec_substitution_predict(&w->data, w->ridge, w->seed, w->pool, w->hooks, &predicted, err));
    const int64_t Q = w->data.queries;
    GEODEC_NEW(w->token, GEODEC_SUBSTITUTES * Q);
    GEODEC_NEW(w->wanted, Q);
    GEODEC_TRY(geodec_reference_choose(s->reference, GEODEC_SUBSTITUTES * Q, predicted.state, w->token, err));
    GEODEC_TRY(geodec_reference_choose(s->reference, Q, w->truth, w->wanted, err));
    GEODEC_TRY(geodec_substitution_figures(&w->data, &predicted, w->token, w->wanted, w->text, w->replicates, w->seed,
                                           out, err));
    if (!w->timed) goto done;
    double body;
    GEODEC_TRY(time_pass(w, true, &out->full_us, err));
    GEODEC_TRY(time_pass(w, false, &body, err));
    out->head_us = fmax(0, out->full_us - body);
    GEODEC_TRY(time_lookup(w, &out->lookup_us, err));
done:
    geodec_substitution_clear(&predicted);
    return st;
}

void geodec_substitution_work_clear(geodec_substitution_work *w)
{
    GEODEC_FREE(w->from, w->to, w->query, w->truth, w->text, w->token, w->wanted);
    geodec_harness_charted_clear(&w->chart);
    geodec_rbf_destroy(w->field);
    memset(w, 0, sizeof *w);
}
