#include "lab/velocity/cases.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "geometry/pca.h"
#include "lab/harness/names.h"

#include <math.h>

typedef struct report {
    geodec_velocity_initial_options o;
    int64_t n_cases;
    const geodec_velocity_initial_case *c; /* [n_cases] */
    const char *cases, *split;
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_velocity_initial_case, m)

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the states", 0, OF(layer)},
    {"/starts", GEODEC_I64, "C", 0, "1", "states of held-out texts whose next step is predicted", 0,
     OF(figures.starts)},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0, OF(figures.texts)},
    {"/training", GEODEC_I64, "C", 0, "1", "steps of the other texts, which fits and neighbours are from", 0,
     OF(figures.training)},
    {"/counted", GEODEC_I64, "C,S,2", 0, "1", "starts that have a prediction; in the metric: and both logarithms", 0,
     OF(figures.counted[0][0])},
    {"/cosine", GEODEC_F64, "C,S,2,3", 0, "1",
     "mean cosine of predicted and true velocity, in the chart and (logarithms) in the metric: value and 95 % "
     "bootstrap "
     "interval over texts (0 where counted is 0)",
     0, OF(figures.cosine[0][0].value)},
    {"/gain", GEODEC_F64, "C,S,2,3", 0, "1",
     "the same less that of the direction to the mean state, where both are there", 0, OF(figures.gain[0][0].value)},
    {"/leak", GEODEC_F64, "C,S,3", 0, "1",
     "leak test: loss of cosine (chart) when another start's future replaces the own; 0 for predictions that do not "
     "use it",
     0, OF(figures.leak[0].value)},
    {"/chance", GEODEC_F64, "C,S,3", 0, "1", "control: cosine (chart) with the true step of another text's start", 0,
     OF(figures.unrelated[0].value)},
    {"/close", GEODEC_F64, "C,S,3", 0, "1", "share of starts whose cosine (chart) is above the attribute close", 0,
     OF(figures.close[0].value)},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: metric, layer, joined by ':' and separated by commas", IN(cases)},
    {"surrogates", GEODEC_ATTR_STR, 0, "names along S, separated by commas",
     GEODEC_LIST(geodec_velocity_initial_names)},
    {"close", GEODEC_ATTR_F64, 0, "cosine above which a prediction counts as close", IN(o.close)},
    {"ridge", GEODEC_ATTR_F64, 0, "of the regressions, in mean variances of their inputs", IN(o.ridge)},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics", IN(o.rtol)},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap", IN(o.replicates)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};

static const geodec_extent extents[] = {{"C", IN(n_cases)}, {"S", .plus = GEODEC_INITIAL_SURROGATES}};

const geodec_kind geodec_velocity_kind = {
    GEODEC_ABOUT("velocity", 1, 1, "geodec-velocity",
                 "surrogates of the initial velocity against true next steps, with a leak test"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_velocity_initial_case), offsetof(report, c), false},
};

/* ---- predictions by the file of states and the model ------------------------------------------------------------- */

enum { BEST = 32 /* tokens of the centroid */ };

static geodec_status add(geodec_velocity_predictions *e, geodec_velocity_initial_surrogate s, int64_t count,
                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(e->end[s], count);
    e->view.end[s] = e->end[s];
done:
    return st;
}

/* States of these rows at a kept layer, [count][d]. */
static geodec_status read_rows(const geodec_activations *v, int64_t index, int64_t count, const int64_t *row, double *x,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *read = NULL;
    uint8_t *scratch = NULL;
    GEODEC_NEW(read, v->d);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(v, 1) + 1);
    for (int64_t i = 0; i < count; i++) {
        GEODEC_TRY(geodec_activations_read(v, index, row[i], 1, read, scratch, err));
        for (int64_t k = 0; k < v->d; k++) x[i * v->d + k] = (double)read[k];
    }
done:
    GEODEC_FREE(read, scratch);
    return st;
}

/* Place of a layer in the file, or -1. */
static int64_t kept(const geodec_velocity_cases *s, int64_t layer)
{
    for (int64_t i = 0; i < s->charts.view.layers; i++)
        if (s->charts.layer[i] == layer) return i;
    return -1;
}

/* end = x + B (state at layer a - state at layer b), where both are kept. */
static geodec_status add_difference(const geodec_velocity_cases *s, const geodec_harness_charted *c,
                                    geodec_velocity_initial_surrogate which, int64_t layer_a, int64_t layer_b,
                                    int64_t count, const int64_t *row, geodec_velocity_predictions *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t a = kept(s, layer_a), b = kept(s, layer_b), d = c->d, n = c->n;
    double *xa = NULL, *xb = NULL, *zero = NULL;
    if (a < 0 || b < 0 || a == b) goto done;
    GEODEC_NEW_EACH(count * d, xa, xb);
    GEODEC_NEW(zero, d);
    GEODEC_TRY(add(e, which, count * n, err));
    GEODEC_TRY(read_rows(&s->charts.view, a, count, row, xa, err));
    GEODEC_TRY(read_rows(&s->charts.view, b, count, row, xb, err));
    for (int64_t i = 0; i < count * d; i++) xa[i] -= xb[i];
    GEODEC_TRY(geodec_pca_project(d, n, c->basis, zero, count, xa, e->end[which], s->charts.pool, err));
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < n; k++) e->end[which][i * n + k] += c->x[row[i] * n + k];
done:
    GEODEC_FREE(xa, xb, zero);
    return st;
}

/* Mean chart coordinates of the training states of each token, NaN without one: mean [n_vocab][n]. */
static geodec_status token_means(const geodec_velocity_cases *s, const geodec_harness_charted *c, int64_t vocab,
                                 double *mean, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *f = &s->charts.source;
    int64_t *count = NULL;
    GEODEC_NEW(count, vocab);
    for (int64_t i = 0; i < f->view.rows; i++) {
        const int32_t token = f->token[i];
        if (f->position[i] == 0 || token < 0 || token >= vocab ||
            !geodec_harness_split_on(&s->split, f->text[i], false))
            continue;
        for (int64_t k = 0; k < c->n; k++) mean[token * c->n + k] += c->x[i * c->n + k];
        count[token]++;
    }
    for (int64_t t = 0; t < vocab; t++)
        for (int64_t k = 0; k < c->n; k++) mean[t * c->n + k] = count[t] ? mean[t * c->n + k] / (double)count[t] : NAN;
done:
    geodec_mem_free(count);
    return st;
}

/* The BEST most probable tokens and their probabilities among themselves, best first. */
static int64_t most_probable(int64_t vocab, const double *logit, int32_t *token, double *p)
{
    int64_t count = 0;
    for (int64_t t = 0; t < vocab; t++) {
        if (count == BEST && !(logit[t] > p[count - 1])) continue;
        int64_t i = count < BEST ? count++ : count - 1;
        for (; i > 0 && logit[t] > p[i - 1]; i--) {
            p[i] = p[i - 1];
            token[i] = token[i - 1];
        }
        p[i] = logit[t];
        token[i] = (int32_t)t;
    }
    double sum = 0;
    const double most = p[0];
    for (int64_t i = 0; i < count; i++) sum += p[i] = exp(p[i] - most);
    for (int64_t i = 0; i < count; i++) p[i] /= sum;
    return count;
}

/* Predictions by the model's distribution of the next token, from the last layer's state at the row alone. */
static geodec_status add_of_model(const geodec_velocity_cases *s, const geodec_harness_charted *c, int64_t count,
                                  const int64_t *row, geodec_velocity_predictions *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *f = &s->charts.source;
    const int64_t last = kept(s, s->charts.n_layer), n = c->n, d = c->d;
    int32_t token[BEST];
    double *x = NULL, *logit = NULL, *embedded = NULL, *y = NULL, *mean = NULL, p[BEST];
    if (!f->reference || last < 0) goto done;
    const int64_t vocab = geodec_model_configuration(f->model)->n_vocab;
    GEODEC_NEW(x, count * d);
    GEODEC_NEW(logit, count * vocab);
    GEODEC_NEW(embedded, BEST * d);
    GEODEC_NEW(y, BEST * n);
    GEODEC_NEW(mean, vocab * n);
    GEODEC_TRY(add(e, GEODEC_INITIAL_EMBEDDING, count * n, err));
    GEODEC_TRY(add(e, GEODEC_INITIAL_CENTROID, count * n, err));
    GEODEC_TRY(add(e, GEODEC_INITIAL_TOKEN_MEAN, count * n, err));
    GEODEC_TRY(add(e, GEODEC_INITIAL_NEXT_TOKEN, count * n, err));
    GEODEC_TRY(token_means(s, c, vocab, mean, err));
    GEODEC_TRY(read_rows(&s->charts.view, last, count, row, x, err));
    const int32_t layer = (int32_t)s->charts.n_layer;
    GEODEC_TRY(geodec_reference_run(f->reference, layer, layer + 1, count, x, NULL, logit, err));
    for (int64_t i = 0; i < count; i++) {
        const int64_t best = most_probable(vocab, logit + i * vocab, token, p);
        GEODEC_TRY(geodec_reference_embed(f->reference, token, best, embedded, err));
        GEODEC_TRY(geodec_pca_project(d, n, c->basis, c->mean, best, embedded, y, NULL, err));
        const int32_t next = f->token[row[i] + 1];
        for (int64_t k = 0; k < n; k++) {
            e->end[GEODEC_INITIAL_EMBEDDING][i * n + k] = y[k];
            for (int64_t b = 0; b < best; b++) e->end[GEODEC_INITIAL_CENTROID][i * n + k] += p[b] * y[b * n + k];
            e->end[GEODEC_INITIAL_TOKEN_MEAN][i * n + k] = mean[token[0] * n + k];
            e->end[GEODEC_INITIAL_NEXT_TOKEN][i * n + k] = next >= 0 && next < vocab ? mean[next * n + k] : NAN;
        }
    }
done:
    GEODEC_FREE(x, logit, embedded, y, mean);
    return st;
}

geodec_status geodec_velocity_predict(const geodec_velocity_cases *s, const geodec_harness_charted *c, int32_t layer,
                                      int64_t count, const int64_t *row, geodec_velocity_predictions *out,
                                      geodec_err *err)
{
    const int64_t sink = (2 * s->charts.n_layer + 1) / 3;
    GEODEC_PASS(add_difference(s, c, GEODEC_INITIAL_LAYER_DELTA, layer, layer - 1, count, row, out, err));
    GEODEC_PASS(add_difference(s, c, GEODEC_INITIAL_DEPTH, sink, 0, count, row, out, err));
    GEODEC_PASS(add_of_model(s, c, count, row, out, err));
    return GEODEC_OK;
}

void geodec_velocity_predictions_clear(geodec_velocity_predictions *p)
{
    for (int i = 0; i < GEODEC_INITIAL_SURROGATES; i++) geodec_mem_free(p->end[i]);
    *p = (geodec_velocity_predictions){0};
}

geodec_status geodec_velocity_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                        const geodec_harness_sites *f, const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_velocity_cases *s = ctx;
    const int32_t layer = s->charts.layer[index];
    geodec_velocity_predictions e = {0};
    int64_t count, *row = NULL;
    if (s->n_cases == GEODEC_VELOCITY_CASES)
        GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)GEODEC_VELOCITY_CASES);
    GEODEC_TRY(geodec_velocity_initial_starts(&c->t, &s->split, &s->o, &count, &row, err));
    GEODEC_TRY(geodec_velocity_predict(s, c, layer, count, row, &e, err));
    geodec_velocity_initial_case *k = s->cases + s->n_cases;
    *k = (geodec_velocity_initial_case){.metric = metric, .layer = layer};
    GEODEC_TRY(geodec_velocity_initial_run(&c->t, f, &e.view, &s->split, &s->o, s->charts.pool, s->charts.hooks,
                                           &k->figures, err));
    s->n_cases++;
done:
    geodec_velocity_predictions_clear(&e);
    geodec_mem_free(row);
    return st;
}

void geodec_velocity_cases_say(const geodec_hooks *hooks, const geodec_velocity_cases *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_velocity_initial_case *k = s->cases + i;
        const geodec_velocity_initial *v = &k->figures;
        geodec_hooks_log(hooks, GEODEC_LOG_INFO, "%s layer %d: %lld starts of %lld texts", k->metric, k->layer,
                         (long long)v->starts, (long long)v->texts);
        for (int p = 0; p < GEODEC_INITIAL_SURROGATES; p++) {
            if (v->counted[p][0] == 0) continue;
            geodec_hooks_log(
                hooks, GEODEC_LOG_INFO,
                "  %-14s cosine %+.3f [%+.3f, %+.3f], in the metric %+.3f of %lld, another's step %+.3f, leak %.3f, "
                "above %g %.0f %%",
                geodec_velocity_initial_names[p], v->cosine[p][0].value, v->cosine[p][0].low, v->cosine[p][0].high,
                v->cosine[p][1].value, (long long)v->counted[p][1], v->unrelated[p].value, v->leak[p].value, s->o.close,
                100 * v->close[p].value);
        }
    }
}

geodec_status geodec_velocity_cases_write(const geodec_velocity_cases *s, geodec_artifact *a, geodec_err *err)
{
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    const report r = {s->o, s->n_cases, s->cases, text, geodec_split_name(s->charts.units.by_document)};
    for (int64_t i = 0; i < s->n_cases; i++)
        GEODEC_PASS(geodec_names_add(text, err, "%s:%d", s->cases[i].metric, (int)s->cases[i].layer));
    GEODEC_PASS(geodec_artifact_save(a, &r, err));
    return GEODEC_OK;
}
