/* Attention of a batch: rotation, the new rows of the cache, and every query head against its keys and values. The
 * arithmetic is defined in kernels_internal.h; here the work is divided into tasks, which changes no bit.
 *
 * A task takes all query heads of one key head for some rows, so that a block of keys is loaded once for all of them,
 * and loops over the splits. With few rows and a long context a task is one split, and the states are merged
 * afterwards; with few tasks otherwise, the heads of a key head are divided. */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "session/model_internal.h"
#include "session/team_internal.h"

#include <math.h>
#include <string.h>

enum {
    QUERIES = 48,         /* of a tile, unless a key head serves more */
    DECODED = 12,         /* queries above which a rounded block is decoded once, not in every tile */
    LEAST_HEADS = 4,      /* of a part of a key head's */
    SPLIT_ROWS = 8,       /* rows up to which splits are tasks of their own */
    SMALL_WORK = 1 << 15, /* multiply-adds below which dispatch to the pool costs more than it saves */
};

static int64_t heads_per_key(const geodec__layer *l) { return l->n_head / l->n_kv_head; }
static int64_t tile_queries(const geodec__layer *l) { return geodec__max(heads_per_key(l), QUERIES); }

/* Dimensions of a query or key, and of a value, as attention sees them. */
static int64_t key_dim(const geodec_session *s, int32_t layer)
{
    return s->model->low ? s->attend_dim : s->model->layer[layer].head_dim;
}
static int64_t value_dim(const geodec_session *s, int32_t layer)
{
    return s->model->low ? s->attend_dim : s->model->layer[layer].v_dim;
}

/* Splits that a pass of SPLIT_ROWS rows sees at most. */
static int64_t splits_of(const geodec_session *s)
{
    const int64_t rows = geodec__min(s->n_ctx, s->cache.seen < s->n_ctx ? s->cache.seen + SPLIT_ROWS : s->n_ctx);
    const int64_t all = (s->n_ctx + GEODEC__SPLIT - 1) / GEODEC__SPLIT;
    return geodec__min(all, rows / GEODEC__SPLIT + 2);
}

/* ---- storing ---------------------------------------------------------------------------------------------------- */

typedef struct store {
    geodec_session *s;
    int32_t layer;
    int64_t n;
} store;

/* The piece that head kv's keys (values) lie in; the first head of a group stores for the group. */
static int64_t k_piece(const geodec_session *s, int64_t kv)
{
    return s->model->low && s->model->low->k_group ? kv / s->model->low->k_group : kv;
}
static int64_t v_piece(const geodec_session *s, int64_t kv)
{
    return s->model->low && s->model->low->v_group ? kv / s->model->low->v_group : kv;
}

/* Rotates heads, of which x is number `head`, and norms each after it if the architecture has the norm there. */
static void turn(const geodec_session *s, int32_t layer, float *x, int64_t head, int32_t heads,
                 const geodec__norm *norm, int64_t position)
{
    const geodec_model_config *c = &s->model->config;
    if (s->model->layer[layer].rope >= 0) geodec__rope_apply(s, &s->model->layer[layer], x, heads, position);
    for (int32_t h = 0; c->qk_norm_rotated && h < heads; h++) {
        float *y = x + (int64_t)h * s->model->layer[layer].head_dim;
        geodec__norm_part(s->kernels, norm, head + h, y, y);
    }
}

/* Stores a row in a cache of low rank. Queries, which are rotated and scaled by now, are padded with zeros;
 * coefficients are stored as they are, a key of full width is rotated. */
static void store_low(geodec_session *s, int32_t layer, int64_t kv, int64_t row, int64_t position)
{
    const geodec__layer *l = &s->model->layer[layer];
    const geodec__low *low = s->model->low;
    const int64_t dim = l->head_dim, share = heads_per_key(l), at = s->length + row;
    const int64_t k_head = k_piece(s, kv), v_head = v_piece(s, kv);
    for (int64_t h = kv * share; s->wide_row && h < (kv + 1) * share; h++)
        memcpy(s->wide_row[row] + h * s->attend_dim, s->query_row[row] + h * dim, (size_t)dim * sizeof(float));
    if (!low->k_group) {
        float *k = s->key_row[row] + kv * dim;
        turn(s, layer, k, kv, 1, &s->model->layer[layer].k_norm, position);
        geodec__cache_put_key(s, layer, kv, at, k);
    } else if (kv % low->k_group == 0) {
        geodec__cache_put_key(s, layer, k_head, at, s->key_row[row] + k_head * low->k_rank);
    }
    if (!low->v_group)
        geodec__cache_put_value(s, layer, kv, at, s->value_row[row] + kv * dim);
    else if (kv % low->v_group == 0)
        geodec__cache_put_value(s, layer, v_head, at, s->value_row[row] + v_head * low->v_rank);
}

/* The factor of queries at a position. */
static float warmth(const geodec_session *s, int32_t layer, int64_t position)
{
    const geodec_model_config *c = &s->model->config;
    if (c->temperature == 0 || (c->temperature_still && s->model->layer[layer].rope >= 0)) return 1;
    const int64_t chunk = (position + c->temperature_offset) / c->temperature_length;
    return (float)(1 + c->temperature * log((double)(chunk + 1)));
}

/* Rotates query and key of one key head and its query heads, for all rows; scales the query, stores key and value in
 * the cache. */
static void store_task(void *ctx, int64_t kv, int worker)
{
    const store *t = ctx;
    geodec_session *s = t->s;
    const geodec_model_config *c = &s->model->config;
    const geodec__layer *l = &s->model->layer[t->layer];
    const int64_t dim = l->head_dim, v_dim = l->v_dim, share = heads_per_key(l);
    const bool own = l->kv_layer == t->layer;
    const float scale = (float)(c->attn_scale > 0 ? c->attn_scale : 1.0 / sqrt((double)dim));
    const bool low = s->model->low != NULL;
    (void)worker;
    for (int64_t row = 0; row < t->n; row++) {
        const int64_t position = s->length + s->depth[row];
        float *q = s->query_row[row] + kv * share * dim, *k = s->key_row[row] + kv * dim;
        turn(s, t->layer, q, kv * share, (int32_t)share, &s->model->layer[t->layer].q_norm, position);
        const float factor = warmth(s, t->layer, position);
        for (int64_t i = 0; i < share * dim; i++) q[i] *= scale;
        for (int64_t i = 0; factor != 1 && i < share * dim; i++) q[i] *= factor;
        if (!own) continue;
        if (low) {
            store_low(s, t->layer, kv, row, position);
            continue;
        }
        turn(s, t->layer, k, kv, 1, &s->model->layer[t->layer].k_norm, position);
        geodec__cache_put(s, t->layer, kv, s->length + s->first + row, k, s->value_row[row] + kv * v_dim);
    }
}

/* ---- one tile --------------------------------------------------------------------------------------------------- */

typedef struct attention {
    geodec_session *s;
    int32_t layer, kv_layer; /* and the one whose keys and values it reads */
    bool chain;
    int64_t n; /* rows */
    int64_t tile_rows, tiles;
    int64_t parts;                  /* of the query heads of a key head */
    int64_t split_begin, split_end; /* splits that any row sees */
    float *partial;                 /* [n_kv_head][tiles][splits][queries][state] when splits are tasks, else NULL */
} attention;

/* The rows and the key head of a task. */
typedef struct tile {
    const attention *a;
    geodec__attend_scratch *w;
    int64_t head, row, rows; /* key head; first row and number of rows */
    int64_t first, share;    /* query heads: the first, and their number */
} tile;

static int64_t position_of(const attention *a, int64_t row) { return a->s->length + a->s->depth[row]; }

/* A tree's path counts as positions, so the window is one of positions too. */
static int64_t first_seen(const attention *a, int64_t row)
{
    const int64_t window = a->s->model->layer[a->layer].window, seen = position_of(a, row) + 1;
    if (window > 0 && a->s->model->config.chunks) return (seen - 1) / window * window;
    return window > 0 && window < seen ? seen - window : 0;
}

static void start_state(float *state, int64_t dim)
{
    memset(state, 0, (size_t)geodec__attend_state(dim) * sizeof *state);
    state[geodec__attend_width(dim) + GEODEC__ATTEND_TOP] = -INFINITY;
}

/* The splits that a row sees are first_split .. last_split. */
static int64_t first_split(const attention *a, int64_t row) { return first_seen(a, row) / GEODEC__SPLIT; }
static int64_t last_split(const attention *a, int64_t row) { return position_of(a, row) / GEODEC__SPLIT; }

/* Adds the queries of a row to the list if it sees any key of the block. */
static int64_t list_row(const tile *t, int64_t row, int64_t base, int64_t n)
{
    const int64_t share = t->share, from = first_seen(t->a, row) - base, to = position_of(t->a, row) + 1 - base;
    const int32_t lo = from > 0 ? (int32_t)from : 0, hi = to < GEODEC__KEYS ? (int32_t)to : GEODEC__KEYS;
    for (int64_t h = 0; h < share && from < GEODEC__KEYS && lo < hi; h++) {
        geodec__attend_query *q = &t->w->query[(row - t->row) * share + h];
        q->lo = lo;
        q->hi = hi;
        q->before = (int32_t)(base - position_of(t->a, row));
        q->slope = t->a->s->alibi ? t->a->s->alibi[t->first + h] : 0;
        t->w->list[n++] = q;
    }
    return n;
}

/* The worker's block of float32. */
static geodec__attend_keys decoded(const geodec__attend_scratch *w)
{
    return (geodec__attend_keys){.type = GEODEC_KV_F32, .k = w->k, .v = w->v};
}

/* The block at position `base` of a cache of low rank as keys and values of attend_dim dimensions. The padding behind
 * the head's dimensions and the coefficients stays zero. */
static void decode_low(const tile *t, const geodec__attend_keys *keys, int64_t base, int64_t rows)
{
    const geodec_session *s = t->a->s;
    const geodec__low *low = s->model->low;
    const int64_t dim = s->cache.shape[t->a->layer].v_dim;
    if (low->k_group) {
        const float *coefficient = keys->k;
        if (keys->type != GEODEC_KV_F32) {
            geodec__cache_decode_keys(s, keys, t->w->low);
            coefficient = t->w->low;
        }
        geodec__lowkv_keys(s, t->a->layer, t->head, base, rows, coefficient, GEODEC__KEYS, t->w->k);
    } else {
        geodec__cache_decode_keys(s, keys, t->w->k);
    }
    if (dim == s->attend_dim) {
        geodec__cache_decode_values(s, keys, rows, t->w->v);
        return;
    }
    geodec__cache_decode_values(s, keys, rows, t->w->low);
    for (int64_t r = 0; r < rows; r++)
        memcpy(t->w->v + r * s->attend_dim, t->w->low + r * dim, (size_t)dim * sizeof(float));
}

/* Decodes one row of a cache of low rank into lane `lane`. */
static void row_low(const tile *t, int64_t row, int64_t base, int64_t lane)
{
    const geodec_session *s = t->a->s;
    if (s->model->low->k_group) {
        geodec__cache_key(s, t->a->layer, k_piece(s, t->head), row, t->w->low, 1);
        geodec__lowkv_keys(s, t->a->layer, t->head, base + lane, 1, t->w->low, 1, t->w->k + lane);
    } else {
        geodec__cache_key(s, t->a->layer, t->head, row, t->w->k + lane, GEODEC__KEYS);
    }
    geodec__cache_value(s, t->a->layer, v_piece(s, t->head), row, t->w->v + lane * s->attend_dim);
}

/* A block whose keys are in the cache in the order of their positions. */
static void block_of_cache(const tile *t, int64_t block)
{
    const geodec_session *s = t->a->s;
    const geodec_model_config *c = &s->model->config;
    int64_t n = 0, rows = 0;
    for (int64_t r = t->row; r < t->row + t->rows; r++) n = list_row(t, r, block * GEODEC__KEYS, n);
    for (int64_t i = 0; i < n; i++) rows = t->w->list[i]->hi > rows ? t->w->list[i]->hi : rows;
    if (n == 0) return;
    geodec__attend_keys keys = geodec__cache_pieces(s, t->a->kv_layer, k_piece(s, t->head), v_piece(s, t->head), block);
    if (s->model->low) {
        decode_low(t, &keys, block * GEODEC__KEYS, rows);
        keys = decoded(t->w);
    } else if (!keys.v && keys.type == GEODEC_KV_F32) {
        geodec__cache_values_of_keys(keys.k, keys.v_dim, rows, t->w->v);
        keys.v = t->w->v;
    } else if (!keys.v || keys.type == GEODEC_KV_Q4_0 || (keys.type != GEODEC_KV_F32 && n > DECODED)) {
        geodec__cache_decode(s, &keys, rows, t->w->k, t->w->v);
        keys = decoded(t->w);
    }
    s->kernels->attend_block(t->w->list, n, &keys, key_dim(s, t->a->layer), value_dim(s, t->a->layer), c->attn_softcap);
}

/* A block of a tree: the cache as it was before the call, then each row's own path. */
static void block_of_paths(const tile *t, int64_t block)
{
    const geodec_session *s = t->a->s;
    const geodec_model_config *c = &s->model->config;
    const int64_t base = block * GEODEC__KEYS, common = s->length - base;
    const geodec__attend_keys keys = decoded(t->w);
    if (common > 0) {
        const geodec__attend_keys cached =
            geodec__cache_pieces(s, t->a->kv_layer, k_piece(s, t->head), v_piece(s, t->head), block);
        if (s->model->low)
            decode_low(t, &cached, base, common);
        else
            geodec__cache_decode(s, &cached, common, t->w->k, t->w->v);
    }
    for (int64_t r = t->row; r < t->row + t->rows; r++) {
        const int64_t n = list_row(t, r, base, 0);
        if (n == 0) continue;
        /* from the row itself to its oldest ancestor; i counts from the view's first row, parents from the batch's */
        for (int64_t i = r; i >= -s->first; i = s->parent[i] - s->first) {
            const int64_t lane = position_of(t->a, i) - base;
            if (lane < t->w->list[0]->lo) break;
            if (lane >= GEODEC__KEYS) continue;
            if (s->model->low)
                row_low(t, s->length + s->first + i, base, lane);
            else
                geodec__cache_row(s, t->a->kv_layer, t->head, s->length + s->first + i, lane, t->w->k, t->w->v);
        }
        s->kernels->attend_block(t->w->list, n, &keys, key_dim(s, t->a->layer), value_dim(s, t->a->layer),
                                 c->attn_softcap);
    }
}

/* The tile's states of splits split_begin .. split_end-1, merged into total [rows * heads][state]. */
static void run_splits(const tile *t, int64_t split_begin, int64_t split_end, float *total)
{
    const attention *a = t->a;
    const geodec_session *s = a->s;
    const int64_t dim = value_dim(s, a->layer), share = t->share, size = geodec__attend_state(dim);
    const int64_t q_dim = key_dim(s, a->layer);
    float *const *query_row = s->wide_row ? s->wide_row : s->query_row;
    int64_t first = INT64_MAX, last = 0;
    for (int64_t r = t->row; r < t->row + t->rows; r++) {
        first = first_seen(a, r) < first ? first_seen(a, r) : first;
        last = position_of(a, r) > last ? position_of(a, r) : last;
        for (int64_t h = 0; h < share; h++)
            t->w->query[(r - t->row) * share + h].q = query_row[r] + (t->first + h) * q_dim;
    }
    for (int64_t split = split_begin; split < split_end; split++) {
        const int64_t begin = split * GEODEC__SPLIT, end = begin + GEODEC__SPLIT;
        if (last < begin || first >= end) continue;
        for (int64_t r = 0, i = 0; r < t->rows;
             r++) { /* the first split of a row here makes the total, later ones are merged */
            const int64_t own = first_split(a, t->row + r);
            float *into = split == (own > split_begin ? own : split_begin) ? total : t->w->split;
            for (const int64_t last_query = i + share; i < last_query; i++) {
                t->w->query[i].state = into + i * size;
                start_state(into + i * size, dim);
            }
        }
        const int64_t from = (first > begin ? first : begin) / GEODEC__KEYS,
                      to = (last < end - 1 ? last : end - 1) / GEODEC__KEYS;
        for (int64_t block = from; block <= to; block++) {
            if (a->chain || (block + 1) * GEODEC__KEYS <= s->length)
                block_of_cache(t, block);
            else
                block_of_paths(t, block);
        }
        for (int64_t row = t->row, i = 0; row < t->row + t->rows && split > split_begin; row++) {
            const bool seen = split > first_split(a, row) && split <= last_split(a, row);
            for (const int64_t last_query = i + share; i < last_query; i++)
                if (seen && t->w->query[i].state != total + i * size)
                    s->kernels->attend_merge(total + i * size, t->w->query[i].state, dim);
        }
    }
}

/* Query head h of the key head, of row r of the tile. */
static void finish(const tile *t, int64_t r, int64_t h, float *state)
{
    const geodec_session *s = t->a->s;
    const int64_t dim = s->cache.shape[t->a->layer].v_dim, seen = value_dim(s, t->a->layer);
    const float *sinks = s->model->layer[t->a->layer].sinks;
    if (sinks) s->kernels->attend_sink(state, seen, sinks[t->first + h]);
    s->kernels->attend_finish(state, seen);
    memcpy(s->mixed_row[t->row + r] + (t->first + h) * dim, state, (size_t)dim * sizeof *state);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

/* part: of all key heads' parts, in their order. */
static tile tile_at(const attention *a, int64_t part, int64_t index, int worker)
{
    const int64_t row = index * a->tile_rows, left = a->n - row, head = part / a->parts, at = part % a->parts;
    const int64_t heads = heads_per_key(&a->s->model->layer[a->layer]);
    const int64_t first = heads * at / a->parts, end = heads * (at + 1) / a->parts;
    return (tile){.a = a,
                  .w = &a->s->worker[worker].attend,
                  .head = head,
                  .row = row,
                  .rows = left < a->tile_rows ? left : a->tile_rows,
                  .first = head * heads + first,
                  .share = end - first};
}

static void tile_task(void *ctx, int64_t task, int worker)
{
    const attention *a = ctx;
    const tile t = tile_at(a, task / a->tiles, task % a->tiles, worker);
    run_splits(&t, a->split_begin, a->split_end, t.w->total);
    float *total = t.w->total;
    for (int64_t r = 0; r < t.rows; r++)
        for (int64_t h = 0; h < t.share; h++, total += geodec__attend_state(value_dim(a->s, a->layer)))
            finish(&t, r, h, total);
}

/* Index of one task's states: tasks are [n_kv_head][tiles][splits]. */
static float *partial_of(const attention *a, int64_t task)
{
    const geodec__layer *l = &a->s->model->layer[a->layer];
    return a->partial + task * a->tile_rows * heads_per_key(l) * geodec__attend_state(value_dim(a->s, a->layer));
}

static void split_task(void *ctx, int64_t task, int worker)
{
    const attention *a = ctx;
    const int64_t splits = a->split_end - a->split_begin, place = task / splits, split = a->split_begin + task % splits;
    const tile t = tile_at(a, place / a->tiles, place % a->tiles, worker);
    run_splits(&t, split, split + 1, partial_of(a, task));
}

static void merge_splits(const attention *a)
{
    const geodec_session *s = a->s;
    const geodec__layer *l = &s->model->layer[a->layer];
    const int64_t splits = a->split_end - a->split_begin, dim = value_dim(s, a->layer),
                  size = geodec__attend_state(dim);
    for (int64_t place = 0; place < l->n_kv_head * a->tiles; place++) {
        const tile t = tile_at(a, place / a->tiles, place % a->tiles, 0);
        for (int64_t i = 0; i < t.rows * heads_per_key(l); i++) {
            const int64_t row = t.row + i / heads_per_key(l), first = first_split(a, row) - a->split_begin;
            float *total = partial_of(a, place * splits + first) + i * size;
            for (int64_t split = first + 1; split <= last_split(a, row) - a->split_begin; split++)
                s->kernels->attend_merge(total, partial_of(a, place * splits + split) + i * size, dim);
            finish(&t, i / t.share, i % t.share, total);
        }
    }
}

void geodec__attention_run(geodec_session *s, int32_t layer, int64_t n, bool chain)
{
    const geodec__layer *l = &s->model->layer[layer];
    const int64_t share = heads_per_key(l), threads = geodec_pool_threads(s->pool);
    store put = {s, layer, n};
    geodec_pool_run_dynamic(n * l->n_kv_head * l->head_dim * (2 + share) < SMALL_WORK ? NULL : s->pool, l->n_kv_head,
                            store_task, &put);
    if (s->team) geodec__team_meet(s->team);
    if (s->rewrite) geodec__rewrite_run(s, layer, n);

    attention a = {
        .s = s, .layer = layer, .kv_layer = l->kv_layer, .chain = chain, .n = n, .parts = 1, .split_begin = INT64_MAX};
    int64_t keys = 0;
    for (int64_t r = 0; r < n; r++) {
        const int64_t first = first_seen(&a, r), position = position_of(&a, r);
        keys += position - first + 1;
        a.split_begin = geodec__min(a.split_begin, first / GEODEC__SPLIT);
        a.split_end = position / GEODEC__SPLIT + 1 > a.split_end ? position / GEODEC__SPLIT + 1 : a.split_end;
    }
    const int64_t most = tile_queries(l) / share, splits = a.split_end - a.split_begin;
    geodec_pool *pool = keys * l->n_head * l->head_dim < SMALL_WORK ? NULL : s->pool;
    if (pool && threads > 1 && splits > 1 && n <= SPLIT_ROWS) {
        a.tile_rows = geodec__min(n, most);
        a.tiles = (n + a.tile_rows - 1) / a.tile_rows;
        a.partial = s->partial;
        geodec_pool_run_dynamic(pool, l->n_kv_head * a.tiles * splits, split_task, &a);
        merge_splits(&a);
        return;
    }
    /* a few tasks per thread */
    const int64_t even = pool ? (n * l->n_kv_head + 4 * threads - 1) / (4 * threads) : n;
    a.tile_rows = geodec__min(geodec__min(n, most), even > 0 ? even : 1);
    a.tiles = (n + a.tile_rows - 1) / a.tile_rows;
    if (pool && l->n_kv_head * a.tiles < threads)
        a.parts = geodec__max(1, geodec__min(threads / (l->n_kv_head * a.tiles), share / LEAST_HEADS));
    geodec_pool_run_dynamic(pool, l->n_kv_head * a.parts * a.tiles, tile_task, &a);
}

/* Slopes of n heads: powers of 2^(-most / p), p the largest power of two up to n; heads beyond p have the odd powers of
 * its root (Press et al. 2022, section 3 and their code). */
static void alibi_slopes(float most, int32_t n, float *slope)
{
    int32_t p = 1;
    while (2 * p <= n) p *= 2;
    for (int32_t h = 0; h < n; h++)
        slope[h] =
            (float)(h < p ? pow(2, -(double)most * (h + 1) / p) : pow(2, -(double)most * (2 * (h - p) + 1) / (2 * p)));
}

/* ---- work space ------------------------------------------------------------------------------------------------- */

geodec_status geodec__attention_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    int64_t n = 0, heads = 0;
    for (int32_t i = 0; i < c->n_layer; i++) {
        const geodec__layer *l = &s->model->layer[i];
        if (l->n_kv_head == 0) continue;
        n = geodec__max(n, geodec__min(tile_queries(l), s->max_batch * heads_per_key(l)));
        heads = geodec__max(heads, l->n_head);
    }
    const int64_t dim = s->attend_dim, size = geodec__attend_state(dim), block = GEODEC__KEYS * dim + GEODEC__LANES,
                  low = s->model->low ? GEODEC__KEYS * s->cache.widest + GEODEC__LANES : 0;
    if (c->alibi > 0) {
        GEODEC_NEW(s->alibi, c->n_head);
        alibi_slopes(c->alibi, c->n_head, s->alibi);
    }
    for (int i = 0; i < s->n_workers; i++) {
        geodec__attend_scratch *w = &s->worker[i].attend;
        GEODEC_NEW(w->data, n * (2 * size + GEODEC__KEYS) + 2 * block + low);
        w->k = w->data;
        w->v = w->k + block;
        w->low = w->v + block;
        w->total = w->low + low;
        w->split = w->total + n * size;
        GEODEC_NEW_EACH(n, w->query, w->list);
        for (int64_t q = 0; q < n; q++) w->query[q].score = w->split + n * size + q * GEODEC__KEYS;
    }
    /* a batch may start in the middle of a split, and its tiles may be rounded up to whole ones */
    if (s->n_workers > 1 && splits_of(s) > 1) GEODEC_NEW(s->partial, 2 * SPLIT_ROWS * heads * splits_of(s) * size);
done:
    return st;
}

void geodec__attention_destroy(geodec_session *s)
{
    for (int i = 0; i < s->n_workers; i++)
        GEODEC_FREE(s->worker[i].attend.data, s->worker[i].attend.query, s->worker[i].attend.list);
    GEODEC_FREE(s->partial, s->alibi);
}
