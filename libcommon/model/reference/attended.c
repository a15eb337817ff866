#include "reference/attended.h"

#include "base/mem.h"
#include "reference/reference_internal.h"

#include <math.h>
#include <string.h>

/* One query row: scores, weights and slopes of every head on the visible rows, [n_head][query + 1]. */
typedef struct look {
    int64_t query, width, from; /* width = query + 1; rows from .. query are visible */
    double *score, *weight, *slope;
} look;

static const double *key_of(const geodec__ref_attention *a, int64_t row, int64_t h)
{
    return a->k + (row * a->n_kv_head + h / (a->n_head / a->n_kv_head)) * a->head_dim;
}

static void look_from(const geodec__ref_attention *a, int64_t query, look *l)
{
    l->query = query;
    l->width = query + 1;
    l->from = geodec__reference_sees_from(a, query);
    for (int64_t h = 0; h < a->n_head; h++) {
        const double *q = a->q + (query * a->n_head + h) * a->head_dim;
        double *s = l->score + h * l->width, *p = l->weight + h * l->width, *slope = l->slope + h * l->width;
        const double fall = geodec__reference_alibi(a, h), sink = a->sinks ? (double)a->sinks[h] : -INFINITY;
        double most = sink;
        memset(p, 0, (size_t)l->width * sizeof *p);
        for (int64_t j = l->from; j <= query; j++) {
            const double *k = key_of(a, j, h);
            double dot = 0;
            for (int64_t i = 0; i < a->head_dim; i++) dot += q[i] * k[i];
            s[j] = a->scale * dot;
            slope[j] = 1;
            if (a->cap != 0) {
                const double t = tanh(s[j] / a->cap);
                s[j] = a->cap * t;
                slope[j] = 1 - t * t;
            }
            s[j] -= fall * (double)(query - j);
            most = s[j] > most ? s[j] : most;
        }
        double sum = exp(sink - most);
        for (int64_t j = l->from; j <= query; j++) sum += p[j] = exp(s[j] - most);
        for (int64_t j = l->from; j <= query; j++) p[j] /= sum;
    }
}

/* gq [head_dim] += c d s_(t,j) / d q_t, and for the row's own key gk likewise. */
static void add_score(const geodec__ref_attention *a, const look *l, int64_t h, int64_t j, double c, double *gq,
                      double *gk)
{
    const double *k = key_of(a, j, h), *q = a->q + (l->query * a->n_head + h) * a->head_dim;
    const double w = c * a->scale * l->slope[h * l->width + j];
    for (int64_t i = 0; i < a->head_dim; i++) gq[i] += w * k[i];
    for (int64_t i = 0; j == l->query && i < a->head_dim; i++) gk[i] += w * q[i];
}

/* Cotangents of the row's query and key, [pairs][n_head][2] each: of the score, of the logarithm of the weight. */
static void cotangents(const geodec__ref_attention *a, const look *l, int64_t pairs, const geodec_reference_pair *pair,
                       double *gq, double *gk)
{
    const int64_t ldq = a->n_head * a->head_dim, ldk = a->n_kv_head * a->head_dim;
    for (int64_t i = 0; i < pairs; i++)
        for (int64_t h = 0; h < a->n_head; h++, gq += 2 * ldq, gk += 2 * ldk) {
            double *qs = gq + h * a->head_dim, *qw = qs + ldq;
            double *ks = gk + h / (a->n_head / a->n_kv_head) * a->head_dim, *kw = ks + ldk;
            add_score(a, l, h, pair[i].key, 1, qs, ks);
            add_score(a, l, h, pair[i].key, 1, qw, kw);
            for (int64_t j = l->from; j <= l->query; j++) add_score(a, l, h, j, -l->weight[h * l->width + j], qw, kw);
        }
}

/* All pairs of one query. */
static geodec_status one_query(const geodec__ref_tape *tape, const geodec__layer *l, const geodec__ref_attention *a,
                               look *lk, int64_t pairs, const geodec_reference_pair *pair, double *score,
                               double *weight, double *gscore, double *gweight, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &tape->r->model->config;
    const int64_t d = c->d_model, H = a->n_head, k = pairs * H * 2, t = pair->query;
    double *buffer[4] = {NULL};
    look_from(a, t, lk);
    for (int64_t i = 0; i < pairs; i++) {
        if (pair[i].key < lk->from)
            GEODEC_THROW(GEODEC_RANGE, "row %lld does not see row %d: its window begins at row %lld", (long long)t,
                         pair[i].key, (long long)lk->from);
        for (int64_t h = 0; h < H; h++) {
            if (score) score[i * H + h] = lk->score[h * lk->width + pair[i].key];
            if (weight) weight[i * H + h] = lk->weight[h * lk->width + pair[i].key];
        }
    }
    if (!gscore && !gweight) goto done;
    GEODEC_TRY(geodec__reference_scratch(
        4, (const int64_t[]){k * l->q.rows, k * a->n_kv_head * a->head_dim, k * d, k * d}, buffer, err));
    double *gq = buffer[0], *gk = buffer[1], *gz = buffer[2], *part = buffer[3];
    cotangents(a, lk, pairs, pair, gq, gk);
    geodec__ref_tape row = *tape; /* the same block as a sequence that ends with this row */
    row.n = t + 1;
    row.first = t;
    row.angles[0].n = row.angles[1].n = t + 1;
    GEODEC_TRY(geodec__reference_project_vjp(&row, l, GEODEC__REF_QUERY, k, gq, part, gz, err));
    if (l->k.data) /* otherwise the row's key is not a function of the row */
        GEODEC_TRY(geodec__reference_project_vjp(&row, l, GEODEC__REF_KEY, k, gk, part, gz, err));
    geodec__reference_enter_vjp(1, d, &l->attn_norm, tape->x + t * d, k, gz, gz);
    for (int64_t i = 0; i < pairs * H; i++) {
        if (gscore) memcpy(gscore + i * d, gz + 2 * i * d, (size_t)d * sizeof *gz);
        if (gweight) memcpy(gweight + i * d, gz + (2 * i + 1) * d, (size_t)d * sizeof *gz);
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec_reference_attended(const geodec_reference *r, int32_t block, int64_t n, const double *x,
                                        int64_t pairs, const geodec_reference_pair *pair, double *score, double *weight,
                                        double *gscore, double *gweight, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    const int64_t d = c->d_model, H = c->n_head;
    geodec__ref_tape tape = {0};
    geodec__ref_beside beside = {0};
    look l = {0};
    double *buffer[4] = {NULL};
    if (block < 0 || block >= c->n_layer) GEODEC_THROW(GEODEC_RANGE, "block %d; 0 to %d exist", block, c->n_layer - 1);
    if (n < 1 || pairs < 1) GEODEC_THROW(GEODEC_RANGE, "%lld rows, %lld pairs", (long long)n, (long long)pairs);
    for (int64_t i = 0; i < pairs; i++)
        if (pair[i].key < 0 || pair[i].key >= pair[i].query || pair[i].query >= n)
            GEODEC_THROW(GEODEC_RANGE, "row %d on row %d of %lld", pair[i].query, pair[i].key, (long long)n);
    if (c->n_streams > 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "weights of attention are not evaluated in a residual of several streams");
    const geodec__layer *layer = &r->model->layer[block];
    if (!geodec__layer_attends(layer)) GEODEC_THROW(GEODEC_UNSUPPORTED, "block %d has no attention", block);
    const int32_t end = layer->kv_layer == block ? block : block + 1; /* blocks that read anything beside the stream */
    GEODEC_TRY(geodec__reference_beside_check(r, block, end, n, err));
    if (layer->n_head != H)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "block %d has %d heads, others have %d", block, layer->n_head, c->n_head);
    GEODEC_TRY(geodec__reference_scratch(4, (const int64_t[]){n * d, H * n, H * n, H * n}, buffer, err));
    double *y = buffer[0];
    l.score = buffer[1];
    l.weight = buffer[2];
    l.slope = buffer[3];
    GEODEC_TRY(geodec__reference_tape_create(r, n, 0, &tape, err));
    memcpy(y, x, (size_t)(n * d) * sizeof *y);
    GEODEC_TRY(geodec__reference_beside_at(&tape, block, end, r->token, x, &beside, err));
    GEODEC_TRY_MSG(geodec__reference_mix(&tape, layer, y, err), "block %d", block);
    const geodec__ref_attention a = geodec__reference_attention_of(&tape, layer);
    for (int64_t i = 0, count; i < pairs; i += count) {
        for (count = 1; i + count < pairs && pair[i + count].query == pair[i].query;) count++;
        GEODEC_TRY(one_query(&tape, layer, &a, &l, count, pair + i, score ? score + i * H : NULL,
                             weight ? weight + i * H : NULL, gscore ? gscore + i * H * d : NULL,
                             gweight ? gweight + i * H * d : NULL, err));
    }
done:
    geodec__reference_tape_destroy(&tape);
    geodec__reference_beside_destroy(&beside);
    geodec_mem_free(buffer[0]);
    return st;
}
