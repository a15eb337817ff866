/* Attention of a batch: rotation, the new rows of the cache, and every query head against its keys and values. */
#include "model/internal.h"

#include <math.h>
#include <string.h>

/* Rotates query and key, scales the query, puts key and value into the cache. */
static void store_row(geodec_session *s, int32_t layer, int64_t row)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t dim = c->head_dim, stride = geodec__pad(dim), at = s->length + row,
                  position = s->length + s->depth[row];
    const int32_t table = s->model->layer[layer].rope;
    const float scale = (float)(c->attn_scale > 0 ? c->attn_scale : 1.0 / sqrt((double)dim));
    float *q = s->query_row[row];
    geodec__rope_apply(s, table, q, c->n_head, position);
    geodec__rope_apply(s, table, s->key_row[row], c->n_kv_head, position);
    for (int64_t i = 0; i < c->n_head * dim; i++) q[i] *= scale;
    for (int32_t h = 0; h < c->n_kv_head; h++) {
        const int64_t head = (int64_t)layer * c->n_kv_head + h;
        float *k = s->k + head * s->k_head + at / 16 * dim * 16 + at % 16;
        for (int64_t d = 0; d < dim; d++) k[d * 16] = s->key_row[row][h * dim + d];
        memcpy(s->v + head * s->v_head + at * stride, s->value_row[row] + h * dim, (size_t)dim * sizeof(float));
    }
}

typedef struct attention {
    geodec_session *s;
    int32_t layer;
    bool chain;
} attention;

static void attend_task(void *ctx, int64_t task, int worker)
{
    const attention *t = ctx;
    geodec_session *s = t->s;
    const geodec_model_config *c = &s->model->config;
    const int64_t row = task / c->n_head, h = task % c->n_head, kv = h / (c->n_head / c->n_kv_head);
    const int64_t head = (int64_t)t->layer * c->n_kv_head + kv;
    geodec__worker *w = &s->worker[worker];
    geodec__attend a = {.q = s->query_row[row] + h * c->head_dim,
                        .k = s->k + head * s->k_head,
                        .v = s->v + head * s->v_head,
                        .head_dim = c->head_dim,
                        .v_stride = geodec__pad(c->head_dim),
                        .softcap = c->attn_softcap,
                        .path = w->path,
                        .scores = w->scores,
                        .out = w->head};
    if (t->chain) { /* cache rows are positions: all but the row itself count as past */
        a.n_past = s->length + row;
        a.n_path = 1;
        w->path[0] = s->length + (int32_t)row;
    } else {
        a.n_past = s->length;
        a.n_path = s->depth[row] + 1;
        int32_t i = (int32_t)row;
        for (int64_t at = a.n_path - 1; at >= 0; at--, i = s->parent[i]) w->path[at] = s->length + i;
    }
    /* a tree's path counts as positions: those behind the window are left out at its front */
    const int64_t window = s->model->layer[t->layer].window, seen = a.n_past + a.n_path;
    a.first = window > 0 && window < seen ? seen - window : 0;
    s->kernels->attend(&a);
    memcpy(s->mixed_row[row] + h * c->head_dim, a.out, (size_t)c->head_dim * sizeof(float));
}

static void attend_rows(geodec_session *s, int32_t layer, int64_t n, bool chain)
{
    const geodec_model_config *c = &s->model->config;
    attention t = {s, layer, chain};
    enum { SMALL_WORK = 1 << 15 };
    const int64_t tasks = n * c->n_head, work = tasks * (s->length + n) * c->head_dim;
    if (work < SMALL_WORK)
        for (int64_t i = 0; i < tasks; i++) attend_task(&t, i, 0);
    else
        geodec_pool_run_dynamic(s->pool, tasks, attend_task, &t);
}

void geodec__attention_run(geodec_session *s, int32_t layer, int64_t n, bool chain)
{
    for (int64_t r = 0; r < n; r++) store_row(s, layer, r);
    attend_rows(s, layer, n, chain);
}
