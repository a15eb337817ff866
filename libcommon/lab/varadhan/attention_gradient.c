#include "lab/varadhan/attention_gradient.h"

#include "base/mem.h"
#include "linalg/blas.h"

#include <math.h>
#include <string.h>

enum { KEYS = GEODEC_ATTENTION_KEYS, FORMS = GEODEC_ATTENTION_FORMS };

typedef struct work {
    int64_t d, n, heads; /* of the model */
    const double *x, *basis;
    double *form;                                    /* [FORMS][d] */
    double *difference;                              /* [d] */
    const double *weight, *score_grad, *weight_grad; /* of the query: [2][heads]([d]) */
    const geodec_attention_gradients *out;
} work;

static double cosine(int64_t d, const double *a, const double *b)
{
    const double scale = sqrt(geodec_blas_dot(d, a, a) * geodec_blas_dot(d, b, b));
    return scale > 0 ? geodec_blas_dot(d, a, b) / scale : 0;
}

/* y += a x */
static void add(int64_t d, double a, const double *x, double *y)
{
    for (int64_t i = 0; i < d; i++) y[i] += a * x[i];
}

/* The three forms of one column: a head, or all of them. */
static void forms_of(const work *w, int64_t column)
{
    const int64_t d = w->d, H = w->heads;
    memset(w->form, 0, (size_t)(FORMS * d) * sizeof *w->form);
    double other = 0, own = 0;
    for (int64_t h = 0; h < H; h++) {
        own += w->weight[h];
        other += w->weight[H + h];
    }
    for (int64_t h = 0; h < H; h++) {
        if (column < H && h != column) continue;
        /* d log mean p = sum p d log p / sum p */
        const double a = column < H ? 1 : own > 0 ? w->weight[h] / own : 0;
        const double b = column < H ? 1 : other > 0 ? w->weight[H + h] / other : 0;
        const double s = column < H ? 1 : 1 / (double)H;
        add(d, a, w->weight_grad + h * d, w->form);
        add(d, s, w->score_grad + h * d, w->form + d);
        add(d, -b, w->weight_grad + (H + h) * d, w->form + 2 * d);
    }
    add(d, 1, w->form, w->form + 2 * d);
}

static void one_query(const work *w, int64_t i, const geodec_attention_query *q)
{
    const int64_t d = w->d, H = w->heads;
    const int32_t from[FORMS][2] = {{q->key[0], q->row}, {q->key[0], q->row}, {q->key[0], q->key[1]}},
                  wrong[FORMS][2] = {{q->key[2], q->row}, {q->key[2], q->row}, {q->key[2], q->key[3]}};
    for (int64_t column = 0; column <= H; column++) {
        forms_of(w, column);
        if (w->out->weight) {
            double sum = 0;
            for (int64_t h = 0; h < H; h++) sum += w->weight[h];
            w->out->weight[i * (H + 1) + column] = column < H ? w->weight[column] : sum / (double)H;
        }
        for (int f = 0; f < FORMS; f++) {
            const int64_t at = (i * (H + 1) + column) * FORMS + f;
            const double *g = w->form + f * d;
            double *y = w->out->gradient + at * w->n, within = 0;
            for (int64_t k = 0; k < w->n; k++) {
                y[k] = geodec_blas_dot(d, w->basis + k * d, g);
                within += y[k] * y[k];
            }
            const double all = geodec_blas_dot(d, g, g);
            if (w->out->inside) w->out->inside[at] = all > 0 ? within / all : 0;
            for (int c = 0; w->out->along && c < 2; c++) {
                const int32_t *ends = c ? wrong[f] : from[f];
                for (int64_t k = 0; k < d; k++) w->difference[k] = w->x[ends[0] * d + k] - w->x[ends[1] * d + k];
                w->out->along[at * 2 + c] = cosine(d, g, w->difference);
            }
        }
    }
}

geodec_status geodec_attention_gradient(const geodec_reference *r, int32_t layer, const int32_t *token, int64_t length,
                                        int64_t queries, const geodec_attention_query *query, int64_t n,
                                        const double *basis, const geodec_attention_gradients *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(geodec_reference_model(r));
    work w = {.d = c->d_model, .n = n, .heads = c->n_head, .basis = basis, .out = out};
    geodec_reference *own = NULL;
    geodec_reference_pair *pair = NULL;
    double *x = NULL, *y = NULL, *weight = NULL, *gscore = NULL, *gweight = NULL;
    if (queries < 1 || n < 1 || n > w.d)
        GEODEC_THROW(GEODEC_RANGE, "%lld queries in a chart of %lld dimensions", (long long)queries, (long long)n);
    for (int64_t i = 0; i < queries; i++)
        for (int k = 0; k < KEYS; k++)
            if (query[i].key[k] < 0 || query[i].key[k] >= query[i].row || query[i].row >= length)
                GEODEC_THROW(GEODEC_RANGE, "row %d on row %d of %lld", query[i].row, query[i].key[k],
                             (long long)length);
    GEODEC_NEW(pair, 2 * queries);
    GEODEC_NEW_EACH(length * w.d, x, y);
    GEODEC_NEW(w.form, FORMS * w.d);
    GEODEC_NEW(w.difference, w.d);
    GEODEC_NEW(weight, 2 * queries * w.heads);
    GEODEC_NEW_EACH(2 * queries * w.heads * w.d, gscore, gweight);
    for (int64_t i = 0; i < 2 * queries; i++)
        pair[i] = (geodec_reference_pair){query[i / 2].row, query[i / 2].key[i % 2]};
    GEODEC_TRY(geodec_reference_of_text(r, token, length, &own, err));
    GEODEC_TRY(geodec_reference_embed(own, token, length, y, err));
    GEODEC_TRY(geodec_reference_run(own, 0, layer, length, y, NULL, x, err));
    GEODEC_TRY(geodec_reference_attended(own, layer, length, x, 2 * queries, pair, NULL, weight, gscore, gweight, err));
    w.x = x;
    for (int64_t i = 0; i < queries; i++) {
        w.weight = weight + 2 * i * w.heads;
        w.score_grad = gscore + 2 * i * w.heads * w.d;
        w.weight_grad = gweight + 2 * i * w.heads * w.d;
        one_query(&w, i, query + i);
    }
done:
    geodec_reference_destroy(own);
    GEODEC_FREE(pair, x, y, w.form, w.difference, weight, gscore, gweight);
    return st;
}
