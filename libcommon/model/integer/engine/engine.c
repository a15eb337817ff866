#include "integer/engine/engine_internal.h"

#include "base/extremes_internal.h"
#include "base/mem.h"

#include <string.h>

enum { MOST_CONTEXT = 1 << 18, MOST_ROWS = 4096, HEAD_ROWS = 16, MEMORIES = 64, LARGE = 1 << 20 };

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* Memory of the engine. What is large takes no pages before its first use: a run may end long before its context. */
static void *room(geodec_engine *e, int64_t n, size_t size, geodec_status *st, geodec_err *err)
{
    if (*st != GEODEC_OK) return NULL;
    int64_t bytes, mapped = 0;
    if (geodec_mem_mul(n, (int64_t)size, &bytes) == 0 && bytes >= LARGE) mapped = bytes;
    void *p = mapped ? geodec_mem_map(mapped) : geodec_mem_new(n, size);
    if (!p) {
        *st =
            geodec_err_set(err, GEODEC_NOMEM, __func__, __LINE__, "no memory for %lld x %zu bytes", (long long)n, size);
        return NULL;
    }
    e->memory[e->n_memory].p = p;
    e->memory[e->n_memory++].mapped = mapped;
    return p;
}
#define ROOM(p, n)                                                                                                     \
    do {                                                                                                               \
        (p) = room(e, (n), sizeof *(p), &st, err);                                                                     \
        if (st != GEODEC_OK) goto done;                                                                                \
    } while (0)

static geodec_status new_rows(geodec_engine *e, int64_t ***row, int64_t n, int64_t width, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *numbers;
    ROOM(*row, n);
    ROOM(numbers, n * width);
    for (int64_t i = 0; i < n; i++) (*row)[i] = numbers + i * width;
done:
    return st;
}

static geodec_status new_rounded(geodec_engine *e, geodec_rounded **row, int64_t n, int64_t width, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t blocks = geodec_coded_places(width);
    geodec_rounded_block *block;
    ROOM(*row, n);
    ROOM(block, n * blocks);
    for (int64_t i = 0; i < n; i++) (*row)[i].block = block + i * blocks;
done:
    return st;
}

static geodec_status new_cache(geodec_engine *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t heads = (int64_t)e->c->n_layer * e->c->n_kv_head, dim = e->c->head_dim, n = e->n_ctx;
    int16_t *v;
    int32_t *exponent;
    ROOM(e->k, heads);
    ROOM(e->v, heads);
    ROOM(v, 2 * heads * n * dim);
    ROOM(exponent, 2 * heads * n);
    for (int64_t h = 0; h < heads; h++) {
        e->k[h] = (geodec__engine_rows){v + 2 * h * n * dim, exponent + 2 * h * n};
        e->v[h] = (geodec__engine_rows){v + (2 * h + 1) * n * dim, exponent + (2 * h + 1) * n};
    }
done:
    return st;
}

static geodec_status new_activations(geodec_engine *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_network_config *c = e->c;
    const int64_t n = e->max_batch, d = c->d_model, q = (int64_t)c->n_head * c->head_dim,
                  k = (int64_t)c->n_kv_head * c->head_dim, places = n * geodec__max(1, c->n_expert_used),
                  dense = geodec__max(c->d_ff_dense, c->d_ff_shared);
    GEODEC_TRY(new_rows(e, &e->x, n, d, err));
    GEODEC_TRY(new_rows(e, &e->q, n, q, err));
    GEODEC_TRY(new_rows(e, &e->kk, n, k, err));
    GEODEC_TRY(new_rows(e, &e->vv, n, k, err));
    GEODEC_TRY(new_rows(e, &e->mixed, n, q, err));
    GEODEC_TRY(new_rows(e, &e->gate, places, c->d_ff, err));
    GEODEC_TRY(new_rows(e, &e->up, places, c->d_ff, err));
    GEODEC_TRY(new_rows(e, &e->down, places, d, err));
    GEODEC_TRY(new_rows(e, &e->logit, n < HEAD_ROWS ? n : HEAD_ROWS, c->n_vocab, err));
    GEODEC_TRY(new_rounded(e, &e->in, n, d, err));
    GEODEC_TRY(new_rounded(e, &e->heads, n, q, err));
    GEODEC_TRY(new_rounded(e, &e->hidden, places, c->d_ff, err));
    ROOM(e->list, places);
    ROOM(e->out, places);
    ROOM(e->job, geodec__max(3, 2 * (int64_t)c->n_expert));
    ROOM(e->parent, n);
    ROOM(e->depth, n);
    ROOM(e->unit, n * c->n_head);
    ROOM(e->turn, n * c->rope_tables * (c->rope_dim / 2));
    if (c->n_expert > 0) {
        GEODEC_TRY(new_rows(e, &e->router, n, c->n_expert, err));
        if (dense > 0) {
            GEODEC_TRY(new_rows(e, &e->dense_gate, n, dense, err));
            GEODEC_TRY(new_rows(e, &e->dense_up, n, dense, err));
            GEODEC_TRY(new_rounded(e, &e->dense_hidden, n, dense, err));
            GEODEC_TRY(new_rows(e, &e->shared, n, d, err));
        }
        ROOM(e->expert_id, places * c->n_layer);
        ROOM(e->expert_weight, places * c->n_layer);
        for (int64_t i = 0; i < places * c->n_layer; i++) e->expert_id[i] = -1; /* stays so in dense layers */
        ROOM(e->place, places);
        ROOM(e->origin, places);
        ROOM(e->expert_end, c->n_expert);
    }
done:
    return st;
}

static geodec_status new_workers(geodec_engine *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_network_config *c = e->c;
    const int64_t wide = geodec__max(c->d_model, (int64_t)c->n_head * c->head_dim), keys = (int64_t)e->n_ctx + 1;
    e->n_workers = geodec_pool_threads(e->pool);
    ROOM(e->worker, e->n_workers);
    int32_t *numbers;
    int64_t *longs;
    int16_t *query;
    const int64_t each = 2 * keys + 2 * (int64_t)c->n_expert, all = wide + c->head_dim;
    ROOM(numbers, each * e->n_workers);
    ROOM(longs, all * e->n_workers);
    ROOM(query, (int64_t)c->head_dim * e->n_workers);
    for (int i = 0; i < e->n_workers; i++) {
        geodec__engine_worker *w = &e->worker[i];
        w->score = numbers + i * each;
        w->raw = w->score + keys;
        w->part = w->raw + keys;
        w->wide = longs + i * all;
        w->acc = w->wide + wide;
        w->query = query + (int64_t)i * c->head_dim;
    }
done:
    return st;
}

geodec_status geodec_engine_create(const geodec_network *n, const geodec_engine_options *o, geodec_engine **out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_engine *e = NULL;
    if (o->n_ctx < 1 || o->n_ctx > MOST_CONTEXT)
        GEODEC_THROW(GEODEC_LIMIT, "a context of %d tokens; the integer engine takes 1 to %d", o->n_ctx, MOST_CONTEXT);
    if (o->max_batch < 1 || o->max_batch > MOST_ROWS)
        GEODEC_THROW(GEODEC_RANGE, "a batch of %d rows is outside 1 to %d", o->max_batch, MOST_ROWS);
    if (o->n_blocks < 0 || o->n_blocks > n->config.n_layer)
        GEODEC_THROW(GEODEC_RANGE, "%d blocks are more than the model's %d", o->n_blocks, n->config.n_layer);
    GEODEC_NEW(e, 1);
    GEODEC_NEW(e->memory, MEMORIES);
    e->net = n;
    e->c = &n->config;
    e->pool = o->pool;
    if (o->scores) e->scores = *o->scores;
    e->n_ctx = o->n_ctx;
    e->max_batch = o->max_batch;
    e->n_blocks = o->n_blocks ? o->n_blocks : n->config.n_layer;
    e->product = geodec__product_for(o->isa);
    if (!e->product)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "this processor has no %s instructions", geodec_kernels_isa_name(o->isa));
    e->rows = geodec__rows_for(e->product->isa);
    const bool far = n->config.rope_n_ctx_original > 0 && o->n_ctx > n->config.rope_n_ctx_original;
    e->step = n->step + (far ? (int64_t)n->config.rope_tables * (n->config.rope_dim / 2) : 0);
    GEODEC_TRY(new_cache(e, err));
    GEODEC_TRY(new_activations(e, err));
    GEODEC_TRY(new_workers(e, err));
    *out = e;
    e = NULL;
done:
    geodec_engine_destroy(e);
    return st;
}

void geodec_engine_destroy(geodec_engine *e)
{
    if (!e) return;
    for (int i = 0; i < e->n_memory; i++)
        if (e->memory[i].mapped)
            geodec_mem_unmap(e->memory[i].p, e->memory[i].mapped);
        else
            geodec_mem_free(e->memory[i].p);
    GEODEC_FREE(e->memory, e);
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

static geodec_status check(const geodec_engine *e, const geodec_engine_pass *p, geodec_err *err)
{
    if (p->n < 1 || p->n > e->max_batch)
        GEODEC_FAIL(GEODEC_LIMIT, "a batch of %d rows; this session takes 1 to %d", p->n, e->max_batch);
    if (p->n > e->n_ctx - e->length)
        GEODEC_FAIL(GEODEC_LIMIT, "context full: %d tokens and %d more do not fit in %d", e->length, p->n, e->n_ctx);
    for (int32_t i = 0; i < p->n; i++) {
        if (p->token[i] < 0 || p->token[i] >= e->c->n_vocab)
            GEODEC_FAIL(GEODEC_RANGE, "token %d of the batch is %d; the vocabulary has %d", i, p->token[i],
                        e->c->n_vocab);
        if (p->parent && (p->parent[i] < -1 || p->parent[i] >= i))
            GEODEC_FAIL(GEODEC_RANGE, "row %d has parent %d; -1 to %d are valid", i, p->parent[i], i - 1);
    }
    return GEODEC_OK;
}

/* The work on each row between two products. */
typedef struct rows {
    geodec_engine *e;
    const geodec_network_layer *l;
    int32_t layer;
    const geodec_network_vector *bias, *post, *next;
    bool experts;
} rows;

static void norm_row(const rows *w, int64_t r, int worker)
{
    geodec_engine *e = w->e;
    int64_t *y = e->worker[worker].wide;
    geodec__engine_norm(e, e->x[r], w->next, e->c->d_model, y);
    e->rows->round(y, e->c->d_model, w->next->exponent, e->c->activation_bits, &e->in[r]);
}

static void norm_task(void *ctx, int64_t r, int worker) { norm_row(ctx, r, worker); }

/* Adds a half layer's output to the stream, and normalises the sum for the next product, if there is one. */
static void finish_task(void *ctx, int64_t r, int worker)
{
    const rows *w = ctx;
    geodec_engine *e = w->e;
    const int64_t d = e->c->d_model;
    int64_t *y = e->down[r];
    if (w->experts) {
        y = e->mixed[r]; /* free by now, if wide enough */
        if ((int64_t)e->c->n_head * e->c->head_dim < d) y = e->worker[worker].wide;
        geodec__engine_mixture_sum(e, w->l, w->layer, r, y);
    }
    for (int64_t i = 0; w->bias && w->bias->v && i < d; i++)
        y[i] = geodec_wide_limit(y[i]) + geodec_wide_limit(geodec__engine_value(w->bias, i));
    if (e->c->residual_scale.multiplier)
        for (int64_t i = 0; i < d; i++) y[i] = geodec__engine_times(y[i], e->c->residual_scale);
    if (w->post->v) {
        int64_t *normed = y == e->worker[worker].wide ? e->q[r] : e->worker[worker].wide;
        geodec__engine_norm(e, y, w->post, d, normed);
        for (int64_t i = 0; i < d; i++)
            normed[i] = geodec_wide_shift(normed[i], w->post->exponent - GEODEC__ENGINE_UNIT);
        y = normed;
    }
    e->rows->add(e->x[r], y, d);
    if (w->next) norm_row(w, r, worker);
}

static void run_rows(geodec_engine *e, int64_t n, geodec_pool_fn fn, rows *w)
{
    geodec_pool_run_dynamic(n > 1 ? e->pool : NULL, n, fn, w);
}

static void round_heads(void *ctx, int64_t r, int worker)
{
    geodec_engine *e = ctx;
    (void)worker;
    e->rows->round(e->mixed[r], (int64_t)e->c->n_head * e->c->head_dim, GEODEC__ENGINE_UNIT, e->c->activation_bits,
                   &e->heads[r]);
}

static void feed_forward(geodec_engine *e, const geodec_network_layer *l, int32_t layer, int64_t n)
{
    if (l->expert) {
        geodec__engine_mixture(e, l, layer, n);
        return;
    }
    const bool mixture = e->c->n_expert > 0;
    int64_t **gate = mixture ? e->dense_gate : e->gate, **up = mixture ? e->dense_up : e->up;
    geodec_rounded *hidden = mixture ? e->dense_hidden : e->hidden;
    for (int64_t r = 0; r < n; r++) e->list[r] = &e->in[r];
    e->job[0] = (geodec__engine_job){l->gate, e->list, gate, n};
    e->job[1] = (geodec__engine_job){l->up, e->list, up, n};
    geodec__engine_products(e, 2);
    geodec__engine_gate(e, gate, up, n, mixture ? e->c->d_ff_dense : e->c->d_ff, hidden);
    for (int64_t r = 0; r < n; r++) e->list[r] = &hidden[r];
    e->job[0] = (geodec__engine_job){l->down, e->list, e->down, n};
    geodec__engine_products(e, 1);
}

static void run_layer(geodec_engine *e, int32_t layer, int64_t n, bool chain)
{
    const geodec_network_layer *l = &e->net->layer[layer];
    rows w = {.e = e, .l = l, .layer = layer, .next = &l->attn_norm};
    run_rows(e, n, norm_task, &w);
    for (int64_t r = 0; r < n; r++) e->list[r] = &e->in[r];
    e->job[0] = (geodec__engine_job){l->q, e->list, e->q, n};
    e->job[1] = (geodec__engine_job){l->k, e->list, e->kk, n};
    e->job[2] = (geodec__engine_job){l->v, e->list, e->vv, n};
    geodec__engine_products(e, 3);
    geodec__engine_attention(e, layer, n, chain);
    geodec_pool_run_dynamic(n > 1 ? e->pool : NULL, n, round_heads, e);
    for (int64_t r = 0; r < n; r++) e->list[r] = &e->heads[r];
    e->job[0] = (geodec__engine_job){l->o, e->list, e->down, n};
    geodec__engine_products(e, 1);
    w = (rows){.e = e, .l = l, .layer = layer, .bias = &l->o_bias, .post = &l->attn_post_norm, .next = &l->ffn_norm};
    run_rows(e, n, finish_task, &w);
    feed_forward(e, l, layer, n);
    w = (rows){.e = e, .l = l, .layer = layer, .post = &l->ffn_post_norm, .experts = l->expert != NULL};
    run_rows(e, n, finish_task, &w);
}

/* Logits of the rows that are wanted, a few at a time. */
static void run_head(geodec_engine *e, const geodec_engine_pass *p)
{
    const geodec_network_config *c = e->c;
    rows w = {.e = e, .next = &e->net->output_norm};
    int64_t wanted = 0;
    for (int32_t r = 0; r < p->n;) {
        int32_t row[HEAD_ROWS];
        int64_t n = 0;
        for (; r < p->n && n < (e->max_batch < HEAD_ROWS ? e->max_batch : HEAD_ROWS); r++)
            if (!p->want || p->want[r]) row[n++] = r;
        for (int64_t i = 0; i < n; i++) {
            norm_row(&w, row[i], 0);
            e->list[i] = &e->in[row[i]];
        }
        if (n == 0) break;
        e->job[0] = (geodec__engine_job){e->net->head, e->list, e->logit, n, row};
        geodec__engine_products(e, 1);
        for (int64_t i = 0; i < n; i++) {
            int32_t *to = p->logits + (p->packed ? wanted + i : row[i]) * (int64_t)c->n_vocab;
            for (int64_t t = 0; c->logit_factor.multiplier && t < c->n_vocab; t++)
                e->logit[i][t] = geodec__engine_times(e->logit[i][t], c->logit_factor);
            e->rows->logits(e->logit[i], c->n_vocab, to);
            for (int64_t t = 0; c->final_softcap.multiplier && t < c->n_vocab; t++)
                to[t] = geodec__rows_limit(geodec__engine_cap(c->final_softcap, to[t]));
        }
        wanted += n;
    }
}

static void show(const geodec_engine *e, const geodec_engine_pass *p, int32_t layer)
{
    if (p->show) p->show(p->ctx, layer, p->n, (const int64_t *const *)e->x);
}

/* The angles of a row, which all layers and heads share. */
static void turn_task(void *ctx, int64_t r, int worker)
{
    geodec_engine *e = ctx;
    const int64_t n = (int64_t)e->c->rope_tables * (e->c->rope_dim / 2), position = e->length + e->depth[r];
    (void)worker;
    for (int64_t i = 0; i < n; i++) e->turn[r * n + i] = geodec_fixed_turn_of((uint64_t)position * e->step[i]);
}

geodec_status geodec_engine_forward(geodec_engine *e, const geodec_engine_pass *p, geodec_err *err)
{
    GEODEC_PASS(check(e, p, err));
    bool chain = true;
    for (int32_t i = 0; i < p->n; i++) {
        e->parent[i] = p->parent ? p->parent[i] : i - 1;
        e->depth[i] = e->parent[i] < 0 ? 0 : e->depth[e->parent[i]] + 1;
        chain = chain && e->parent[i] == i - 1;
        geodec_coded_decode(e->net->embedding, p->token[i], e->x[i]);
        for (int64_t d = 0; d < e->c->d_model; d++) e->x[i][d] = geodec_wide_limit(e->x[i][d]);
        if (e->c->embed_scale.multiplier)
            for (int64_t d = 0; d < e->c->d_model; d++)
                e->x[i][d] = geodec_wide_limit(geodec__engine_times(e->x[i][d], e->c->embed_scale));
    }
    geodec_pool_run_dynamic(p->n > 1 ? e->pool : NULL, p->n, turn_task, e);
    show(e, p, 0);
    for (int32_t layer = 0; layer < e->n_blocks; layer++) {
        run_layer(e, layer, p->n, chain);
        show(e, p, layer + 1);
    }
    if (p->logits) run_head(e, p);
    e->length += p->n;
    return GEODEC_OK;
}

/* ---- cache and accessors ----------------------------------------------------------------------------------------- */

int32_t geodec_engine_length(const geodec_engine *e) { return e->length; }
void geodec_engine_truncate(geodec_engine *e, int32_t length) { e->length = length; }

void geodec_engine_compact(geodec_engine *e, int32_t base, const int32_t *row, int32_t n)
{
    const int64_t dim = e->c->head_dim, heads = (int64_t)e->c->n_layer * e->c->n_kv_head;
    for (int64_t h = 0; h < heads; h++)
        for (int32_t i = 0; i < n; i++) {
            if (row[i] == i) continue;
            const int64_t to = base + i, from = base + row[i];
            memmove(e->k[h].v + to * dim, e->k[h].v + from * dim, (size_t)dim * sizeof(int16_t));
            memmove(e->v[h].v + to * dim, e->v[h].v + from * dim, (size_t)dim * sizeof(int16_t));
            e->k[h].exponent[to] = e->k[h].exponent[from];
            e->v[h].exponent[to] = e->v[h].exponent[from];
            if (e->scores.copy) e->scores.copy(e->scores.ctx, h, to, from);
        }
    e->length = base + n;
}

void geodec_engine_replace_products(geodec_engine *e, geodec_engine_multiply multiply, void *ctx)
{
    e->multiply = multiply;
    e->multiply_ctx = ctx;
}

const geodec_network *geodec_engine_network(const geodec_engine *e) { return e->net; }
geodec_isa geodec_engine_isa(const geodec_engine *e) { return e->product->isa; }
int64_t geodec_engine_kv_bytes(const geodec_engine *e)
{
    return 2 * (int64_t)e->c->n_layer * e->c->n_kv_head *
           (e->c->head_dim * (int64_t)sizeof(int16_t) + (int64_t)sizeof(int32_t));
}
const int32_t *geodec_engine_expert_ids(const geodec_engine *e) { return e->expert_id; }
const int32_t *geodec_engine_expert_weights(const geodec_engine *e) { return e->expert_weight; }
