/* Experiments that ask a model about its states, on a small model whose states at every boundary are written by the
 * reference: rows and their texts, predictions of the next state, divergences, queries of attention, substitutes. */
#include "../reference/models.h"
#include "base/mem.h"
#include "fisher/cloud_metric.h"
#include "geometry/pca.h"
#include "io/h5.h"
#include "lab/divergence/measure.h"
#include "lab/substitution/measure.h"
#include "lab/varadhan/cases.h"
#include "lab/velocity/cases.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TEXTS = 16, LENGTH = 10, ROWS = TEXTS * LENGTH, N = 3 };

typedef struct setting {
    geodec_model *m;
    geodec_artifact *file;
    geodec_model_states s;
    int32_t last, *layer;
    int64_t d, vocab;
    double *x; /* [last + 1][ROWS][d] */
    geodec_harness_split split;
    geodec_harness_charted chart; /* at `at` */
    int32_t at;
} setting;

static geodec_err err;

/* The file of all states of the model's own tokens, LENGTH to a text. */
static const char *write_states(setting *t, const int32_t *token)
{
    const char *path = test_tmp("states.h5");
    geodec_artifact *a = NULL;
    const int64_t layers = t->last + 1, d = t->d;
    const geodec_provenance p = {.tool = "test", .command_line = "test"};
    int32_t position[ROWS], sequence[ROWS];
    float *state = geodec_mem_new(ROWS * layers * d, sizeof *state);
    for (int i = 0; i < ROWS; i++) {
        position[i] = i % LENGTH;
        sequence[i] = i / LENGTH;
        for (int64_t l = 0; l < layers; l++)
            for (int64_t k = 0; k < d; k++) state[(i * layers + l) * d + k] = (float)t->x[(l * ROWS + i) * d + k];
    }
    test_ok(geodec_artifact_create(&geodec_activations_kind, path, &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "L", layers, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "d", d, &err), &err);
    test_ok(geodec_artifact_write(a, "/layer", t->layer, &err), &err);
    test_ok(geodec_artifact_append(a, "/state", ROWS, state, &err), &err);
    test_ok(geodec_artifact_append(a, "/token", ROWS, token, &err), &err);
    test_ok(geodec_artifact_append(a, "/position", ROWS, position, &err), &err);
    test_ok(geodec_artifact_append(a, "/sequence", ROWS, sequence, &err), &err);
    test_ok(geodec_artifact_append(a, "/next_token", ROWS, token, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_layer", t->last, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "d_model", d, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_vocab", t->vocab, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_ctx", LENGTH, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    geodec_mem_free(state);
    return path;
}

static void begin(setting *t)
{
    geodec_io_init();
    geodec_linalg_init();
    *t = (setting){.m = models_create(0), .split = geodec_harness_split_defaults()};
    const geodec_model_config *c = geodec_model_configuration(t->m);
    geodec_reference *r = NULL;
    int32_t token[ROWS];
    t->last = c->n_layer;
    t->at = t->last - 1;
    t->d = c->d_model;
    t->vocab = c->n_vocab;
    t->split.seed = 3;
    t->layer = geodec_mem_new(t->last + 1, sizeof *t->layer);
    t->x = geodec_mem_new((t->last + 1) * ROWS * t->d, sizeof *t->x);
    double *embedded = geodec_mem_new(LENGTH * t->d, sizeof *embedded);
    models_tokens(t->m, token, ROWS);
    test_ok(geodec_reference_create(t->m, NULL, &r, &err), &err);
    for (int i = 0; i < TEXTS; i++) {
        test_ok(geodec_reference_embed(r, token + i * LENGTH, LENGTH, embedded, &err), &err);
        for (int32_t l = 0; l <= t->last; l++)
            test_ok(geodec_reference_run(r, 0, l, LENGTH, embedded, NULL, t->x + (l * ROWS + i * LENGTH) * t->d, &err),
                    &err);
    }
    for (int32_t l = 0; l <= t->last; l++) t->layer[l] = l;
    geodec_reference_destroy(r);
    geodec_mem_free(embedded);
    test_ok(geodec_artifact_open(&geodec_activations_kind, write_states(t, token), &t->file, &err), &err);
    test_ok(geodec_model_states_read(t->file, &t->s, &err), &err);
    test_ok(geodec_model_states_attach(&t->s, t->m, "the model", NULL, &err), &err);
    geodec_harness_chart_options o = geodec_harness_chart_defaults();
    o.n = N;
    o.index = t->at;
    o.split = &t->split;
    test_ok(geodec_harness_charted_make(&t->s.view, &o, NULL, NULL, &t->chart, &err), &err);
}

static void end(setting *t)
{
    geodec_harness_charted_clear(&t->chart);
    geodec_model_states_close(&t->s);
    geodec_artifact_close(t->file);
    models_destroy(t->m);
    geodec_mem_free(t->layer);
    geodec_mem_free(t->x);
}

static const double *at(const setting *t, int64_t layer, int64_t row) { return t->x + (layer * ROWS + row) * t->d; }

Test(model_states, rows_are_the_models_and_another_model_is_refused)
{
    setting t;
    begin(&t);
    const int32_t row[] = {17, 3, ROWS - 1}, beyond[] = {ROWS}, kinds = MODEL_KINDS;
    geodec_model_states_rows r;
    test_ok(geodec_model_states_rows_read(&t.s, t.at, 3, row, &r, &err), &err);
    for (int i = 0; i < 3; i++) {
        cr_assert(r.first[i] == row[i] / LENGTH * LENGTH && r.position[i] == row[i] % LENGTH);
        for (int64_t k = 0; k < t.d; k++) cr_assert_eq(r.state[i * t.d + k], (float)at(&t, t.at, row[i])[k]);
    }
    geodec_model_states_rows_clear(&r);
    cr_assert_eq(geodec_model_states_rows_read(&t.s, t.at, 1, beyond, &r, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_model_states_rows_read(&t.s, t.last + 5, 1, row, &r, &err), GEODEC_NOTFOUND);
    int refused = 0;
    for (int k = 1; k < kinds; k++) {
        geodec_model *other = models_create(k);
        const geodec_model_config *c = geodec_model_configuration(other);
        geodec_model_states s;
        test_ok(geodec_model_states_read(t.file, &s, &err), &err);
        const bool fits = c->d_model == t.d && c->n_layer == t.last;
        cr_assert_eq(geodec_model_states_attach(&s, other, "other", NULL, &err), fits ? GEODEC_OK : GEODEC_CHECKSUM);
        refused += !fits;
        geodec_model_states_close(&s);
        models_destroy(other);
    }
    cr_assert_gt(refused, 0);
    end(&t);
}

/* The best next token of a row by the reference, from the float32 state. */
static int32_t best_token(const setting *t, int64_t row)
{
    double *x = geodec_mem_new(t->d, sizeof *x), *logit = geodec_mem_new(t->vocab, sizeof *logit);
    int32_t best = 0;
    for (int64_t k = 0; k < t->d; k++) x[k] = (float)at(t, t->last, row)[k];
    test_ok(geodec_reference_run(t->s.reference, t->last, t->last + 1, 1, x, NULL, logit, &err), &err);
    for (int32_t v = 1; v < t->vocab; v++)
        if (logit[v] > logit[best]) best = v;
    geodec_mem_free(x);
    geodec_mem_free(logit);
    return best;
}

Test(model_states, next_states_from_layers_and_from_the_model)
{
    setting t;
    begin(&t);
    const int64_t row[] = {4, 25, 133};
    geodec_velocity_cases *cases = geodec_mem_new(1, sizeof *cases);
    geodec_velocity_predictions p = {0};
    double *embedded = geodec_mem_new(t.d, sizeof *embedded), y[N];
    cases->charts = (geodec_harness_charts){.view = t.s.view, .layer = t.layer, .n_layer = t.last, .source = t.s};
    cases->split = t.split;
    test_ok(geodec_velocity_predict(cases, &t.chart, t.at, 3, row, &p, &err), &err);
    for (int i = 0; i < 3; i++) {
        const int32_t best = best_token(&t, row[i]);
        test_ok(geodec_reference_embed(t.s.reference, &best, 1, embedded, &err), &err);
        test_ok(geodec_pca_project(t.d, N, t.chart.basis, t.chart.mean, 1, embedded, y, NULL, &err), &err);
        for (int a = 0; a < N; a++) {
            double step = 0, mean = 0, seen = 0;
            for (int64_t k = 0; k < t.d; k++)
                step += t.chart.basis[a * t.d + k] *
                        ((float)at(&t, t.at, row[i])[k] - (double)(float)at(&t, t.at - 1, row[i])[k]);
            cr_assert_float_eq(p.view.end[GEODEC_INITIAL_LAYER_DELTA][i * N + a], t.chart.x[row[i] * N + a] + step,
                               1e-9);
            cr_assert_float_eq(p.view.end[GEODEC_INITIAL_EMBEDDING][i * N + a], y[a], 1e-9);
            for (int64_t r = 0; r < ROWS; r++)
                if (t.s.token[r] == best && t.s.position[r] > 0 &&
                    geodec_harness_split_on(&t.split, t.s.text[r], false))
                    mean += t.chart.x[r * N + a], seen++;
            const double got = p.view.end[GEODEC_INITIAL_TOKEN_MEAN][i * N + a];
            cr_assert(seen > 0 ? fabs(got - mean / seen) < 1e-12 : isnan(got));
        }
    }
    geodec_velocity_predictions_clear(&p);
    cases->charts.source.reference = NULL;
    test_ok(geodec_velocity_predict(cases, &t.chart, t.at, 3, row, &p, &err), &err);
    cr_assert(p.view.end[GEODEC_INITIAL_LAYER_DELTA] && !p.view.end[GEODEC_INITIAL_EMBEDDING]);
    geodec_velocity_predictions_clear(&p);
    geodec_mem_free(embedded);
    geodec_mem_free(cases);
    end(&t);
}

Test(model_states, queries_see_their_own_text_and_near_keys_are_the_nearest)
{
    setting t;
    begin(&t);
    geodec_varadhan_cases *cases = geodec_mem_new(1, sizeof *cases);
    cases->charts.source = t.s;
    cases->split = t.split;
    cases->columns = geodec_model_configuration(t.m)->n_head + 1;
    cases->n_queries = 12;
    cases->o.seed = 7;
    geodec_varadhan_asked g;
    test_ok(geodec_varadhan_ask(cases, &t.chart, t.at, true, &g, &err), &err);
    cr_assert_eq(g.count, 12);
    for (int64_t i = 0; i < g.count; i++) {
        const double *x = g.state + i * (1 + GEODEC_VARADHAN_KEYS) * N;
        int64_t row = 0, key[GEODEC_VARADHAN_KEYS];
        while (memcmp(x, t.chart.x + row * N, N * sizeof *x) != 0) cr_assert_lt(++row, ROWS);
        cr_assert(g.text[i] == t.s.text[row] && geodec_harness_split_on(&t.split, g.text[i], true));
        const int64_t first = row - row % LENGTH + 1;
        double nearest = INFINITY, got = 0;
        for (int64_t r = first; r < row; r++) {
            double d2 = 0;
            for (int a = 0; a < N; a++) d2 += pow(t.chart.x[r * N + a] - x[a], 2);
            nearest = fmin(nearest, d2);
        }
        for (int a = 0; a < N; a++) got += pow(x[N + a] - x[a], 2);
        cr_assert_eq(got, nearest);
        for (int k = 0; k < GEODEC_VARADHAN_KEYS; k++) {
            for (key[k] = first; memcmp(x + (k + 1) * N, t.chart.x + key[k] * N, N * sizeof *x) != 0;)
                cr_assert_lt(++key[k], row, "key %d is not before its query", k);
            for (int j = 0; j < k; j++) cr_assert_neq(key[j], key[k]);
        }
        for (int64_t h = 0; h < g.columns; h++) cr_assert(g.weight[i * g.columns + h] >= 0);
    }
    geodec_varadhan_asked_clear(&g);
    geodec_mem_free(cases);
    end(&t);
}

/* The matrices are those of the library's own metric; a blend of weight 0 is the other metric, of weight 1 none of it.
 */
Test(model_states, fisher_matrices_of_a_cloud_and_their_blend)
{
    enum { POINTS = 40 };
    setting t;
    begin(&t);
    int32_t row[POINTS], position[POINTS], token[POINTS];
    double x[POINTS * N], trace[POINTS], *want = geodec_mem_new(POINTS * N * N, sizeof *want), *g = NULL, *kept = NULL;
    for (int i = 0; i < POINTS; i++) {
        row[i] = 3 * i + 1;
        position[i] = t.s.position[row[i]];
        token[i] = t.s.token[row[i]];
        memcpy(x + i * N, t.chart.x + row[i] * N, N * sizeof *x);
    }
    geodec_cloud cloud = {.points = POINTS,
                          .k = N,
                          .d = t.d,
                          .layer = t.at,
                          .row = row,
                          .position = position,
                          .token = token,
                          .basis = t.chart.basis};
    geodec_fisher_medians f;
    geodec_model_states_rows r;
    test_ok(geodec_fisher_of_cloud(&t.s, &cloud, N, 0.1, NULL, &g, &f, &err), &err);
    test_ok(geodec_model_states_rows_read(&t.s, t.at, POINTS, row, &r, &err), &err);
    test_ok(geodec_fisher_metric(t.s.reference, &r.s, N, t.chart.basis, NULL, NULL, want, NULL, NULL, &err), &err);
    for (int i = 0; i < POINTS; i++) {
        trace[i] = 0;
        for (int a = 0; a < N; a++) trace[i] += want[(i * N + a) * N + a] / N;
        for (int a = 0; a < N * N; a++) /* lifted eigenvalues are far below this */
            cr_assert_float_eq(g[i * N * N + a], want[i * N * N + a] + (a % (N + 1) == 0) * 0.1 * trace[i],
                               1e-9 * trace[i]);
    }
    int below = 0;
    for (int i = 0; i < POINTS; i++) below += trace[i] <= f.trace;
    cr_assert(below == POINTS / 2 || below == POINTS / 2 + 1, "%d of the traces are below the median", below);
    cr_assert(f.entropy > 0 && f.entropy < log((double)t.vocab) && f.condition > 1);

    geodec_metric m;
    const geodec_metric_options o = geodec_metric_defaults();
    test_ok(geodec_metric_fit(POINTS, N, x, &o, NULL, NULL, &m, &err), &err);
    kept = geodec_mem_new(POINTS * N * N, sizeof *kept);
    memcpy(kept, g, POINTS * N * N * sizeof *kept);
    test_ok(geodec_fisher_blend(&m, 1, g, &err), &err);
    for (int i = 0; i < POINTS * N * N; i++)
        cr_assert_float_eq(g[i], kept[i], 1e-9 * trace[i / (N * N)] + 1e-12 * f.trace);
    test_ok(geodec_fisher_blend(&m, 0, g, &err), &err);
    for (int i = 0; i < POINTS; i++) {
        double own[N * N];
        test_ok(geodec_metric_at_point(&m, i, own, &err), &err);
        for (int a = 0; a < N * N; a++) cr_assert_float_eq(g[i * N * N + a], own[a], 1e-9 * (fabs(own[a]) + own[0]));
    }
    token[7]++;
    cr_assert_eq(geodec_fisher_of_cloud(&t.s, &cloud, N, 0.1, NULL, &want, &f, &err), GEODEC_CHECKSUM);
    geodec_metric_clear(&m);
    geodec_model_states_rows_clear(&r);
    geodec_mem_free(g);
    geodec_mem_free(kept);
    geodec_mem_free(want);
    end(&t);
}

Test(model_states, divergences_of_pairs_of_neighbours)
{
    setting t;
    begin(&t);
    geodec_divergence_work w = {.states = &t.s, .seed = 5, .pairs = 40, .replicates = 50, .layer = t.at};
    const geodec_metric_options o = geodec_metric_defaults();
    test_ok(geodec_metric_fit(ROWS, N, t.chart.x, &o, NULL, NULL, &w.metric[0], &err), &err);
    w.metrics = 1, w.n = N, w.d = t.d;
    w.row = geodec_mem_new(ROWS, sizeof *w.row);
    w.basis = geodec_mem_new(N * t.d, sizeof *w.basis);
    for (int32_t i = 0; i < ROWS; i++) w.row[i] = i;
    memcpy(w.basis, t.chart.basis, (size_t)(N * t.d) * sizeof *w.basis);
    test_ok(geodec_divergence_measure(&w, &err), &err);
    cr_assert_eq(w.pairs, 40);
    int plain = 0, own = 0;
    while (strcmp(w.result.name[plain], "euclidean") != 0) plain++;
    while (strcmp(w.result.name[own], "mahalanobis") != 0) own++;
    double in = 0, all = 0;
    for (int64_t j = 0; j < w.pairs; j++) {
        double length = 0, form = 0, delta[N] = {0}, g[N * N];
        for (int64_t k = 0; k < t.d; k++) {
            const double step = w.next.state[j * t.d + k] - w.own.state[j * t.d + k];
            for (int a = 0; a < N; a++) delta[a] += w.basis[a * t.d + k] * step;
            all += step * step;
        }
        test_ok(geodec_metric_at_point(&w.metric[0], w.from[j], g, &err), &err);
        for (int a = 0; a < N; a++) {
            length += delta[a] * delta[a] / 2;
            for (int b = 0; b < N; b++) form += delta[a] * g[a * N + b] * delta[b] / 2;
        }
        in += 2 * length;
        cr_assert_float_eq(w.predicted[2 * w.pairs * plain + j], length, 1e-9 * length);
        cr_assert_float_eq(w.predicted[2 * w.pairs * own + j], form, 1e-9 * form);
        cr_assert(w.kl[j] >= 0 && w.kl[w.pairs + j] >= 0 && (j == 0 || w.from[j] > w.from[j - 1]));
    }
    cr_assert_float_eq(w.explained, in / all, 1e-12);
    geodec_divergence_work_clear(&w);
    end(&t);
}

Test(model_states, substitutes_are_of_consecutive_states_and_the_heads_choices)
{
    setting t;
    begin(&t);
    geodec_substitution_work w = {
        .states = &t.s, .seed = t.split.seed, .dim = N, .records = 60, .queries = 20, .ridge = 0.01, .replicates = 50};
    geodec_substitution s;
    test_ok(geodec_substitution_measure(&w, &s, &err), &err);
    cr_assert(s.queries == 20 && s.records == w.data.records && s.full_us == 0);
    for (int64_t q = 0; q < w.data.queries; q++) {
        int64_t row = 0, k = 0;
        for (; k < t.d; k = w.query[q * t.d + k] == (float)at(&t, t.last, row)[k] ? k + 1 : (row++, 0))
            cr_assert_lt(row, ROWS, "query %d is no state", (int)q);
        cr_assert(w.text[q] == t.s.text[row] && geodec_harness_split_on(&t.split, w.text[q], true));
        for (k = 0; k < t.d; k++) cr_assert_eq(w.truth[q * t.d + k], (float)at(&t, t.last, row + 1)[k]);
        cr_assert_eq(w.wanted[q], best_token(&t, row + 1));
    }
    geodec_substitution_work_clear(&w);
    end(&t);
}
