#include "lab/velocity/model.h"

#include "base/mem.h"
#include "geometry/pca.h"

#include <math.h>

enum { BEST = 32 /* tokens of the centroid */ };

static geodec_status add(geodec_velocity_initial_predictions *e, geodec_velocity_initial_surrogate s, int64_t count,
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
static int64_t kept(const geodec_initial_source *s, int64_t layer)
{
    for (int64_t i = 0; i < s->view->layers; i++)
        if (s->layer[i] == layer) return i;
    return -1;
}

/* end = x + B (state at layer a - state at layer b), where both are kept. */
static geodec_status add_difference(const geodec_initial_source *s, const geodec_harness_charted *c,
                                    geodec_velocity_initial_surrogate which, int64_t layer_a, int64_t layer_b,
                                    int64_t count, const int64_t *row, geodec_velocity_initial_predictions *e,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t a = kept(s, layer_a), b = kept(s, layer_b), d = c->d, n = c->n;
    double *xa = NULL, *xb = NULL, *zero = NULL;
    if (a < 0 || b < 0 || a == b) goto done;
    GEODEC_NEW_EACH(count * d, xa, xb);
    GEODEC_NEW(zero, d);
    GEODEC_TRY(add(e, which, count * n, err));
    GEODEC_TRY(read_rows(s->view, a, count, row, xa, err));
    GEODEC_TRY(read_rows(s->view, b, count, row, xb, err));
    for (int64_t i = 0; i < count * d; i++) xa[i] -= xb[i];
    GEODEC_TRY(geodec_pca_project(d, n, c->basis, zero, count, xa, e->end[which], s->pool, err));
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < n; k++) e->end[which][i * n + k] += c->x[row[i] * n + k];
done:
    GEODEC_FREE(xa, xb, zero);
    return st;
}

/* Mean chart coordinates of the training states of each token, NaN without one: mean [n_vocab][n]. */
static geodec_status token_means(const geodec_initial_source *s, const geodec_harness_charted *c, int64_t vocab,
                                 double *mean, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *f = s->model;
    int64_t *count = NULL;
    GEODEC_NEW(count, vocab);
    for (int64_t i = 0; i < f->view.rows; i++) {
        const int32_t token = f->token[i];
        if (f->position[i] == 0 || token < 0 || token >= vocab || !geodec_harness_split_on(s->split, f->text[i], false))
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

/* The model's own prediction of the next token, from the last layer's state at the row: nothing after it. */
static geodec_status add_of_model(const geodec_initial_source *s, const geodec_harness_charted *c, int64_t count,
                                  const int64_t *row, geodec_velocity_initial_predictions *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *f = s->model;
    const int64_t last = kept(s, s->n_layer), n = c->n, d = c->d;
    int32_t token[BEST];
    double *x = NULL, *logit = NULL, *embedded = NULL, *y = NULL, *mean = NULL, p[BEST];
    if (!f || !f->reference || last < 0) goto done;
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
    GEODEC_TRY(read_rows(s->view, last, count, row, x, err));
    const int32_t layer = (int32_t)s->n_layer;
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

geodec_status geodec_velocity_initial_predict(const geodec_initial_source *s, const geodec_harness_charted *c,
                                              int32_t layer, int64_t count, const int64_t *row,
                                              geodec_velocity_initial_predictions *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t sink = (2 * s->n_layer + 1) / 3;
    GEODEC_TRY(add_difference(s, c, GEODEC_INITIAL_LAYER_DELTA, layer, layer - 1, count, row, out, err));
    GEODEC_TRY(add_difference(s, c, GEODEC_INITIAL_DEPTH, sink, 0, count, row, out, err));
    GEODEC_TRY(add_of_model(s, c, count, row, out, err));
done:
    return st;
}

void geodec_velocity_initial_predictions_clear(geodec_velocity_initial_predictions *p)
{
    for (int i = 0; i < GEODEC_INITIAL_SURROGATES; i++) geodec_mem_free(p->end[i]);
    *p = (geodec_velocity_initial_predictions){0};
}
