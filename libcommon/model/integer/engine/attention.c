/* Attention of the integer engine: rotation, cache, scores, weighted sums. */
#include "integer/engine/engine_internal.h"

#include <string.h>

enum { LENGTH = 15 /* bits of a query's and a key's Euclidean length */, VALUE = 15, SCORE = 16 };

/* ---- rounding to 16 bits ----------------------------------------------------------------------------------------- */

static int top_bits(const geodec_engine *e, const int64_t *y, int64_t n)
{
    return geodec_wide_bits((int64_t)e->rows->reach(y, n));
}

/* y [n] in Q(unit), below 2^62: v with a Euclidean length of at most about 2^LENGTH; its exponent. */
static int32_t round_length(const geodec_engine *e, const int64_t *y, int64_t n, int unit, int16_t *v)
{
    const int top = top_bits(e, y, n), near = top > 24 ? top - 24 : 0;
    const uint64_t ss = e->rows->squares(y, n, near);
    const int length = (geodec_wide_bits((int64_t)ss) + 1) / 2 + near, shift = ss ? length - LENGTH : 0;
    e->rows->store(y, n, shift, v);
    return unit - shift;
}

static int32_t round_largest(const geodec_engine *e, const int64_t *y, int64_t n, int unit, int16_t *v)
{
    const int top = top_bits(e, y, n), shift = top ? top - VALUE : 0;
    e->rows->store(y, n, shift, v);
    return unit - shift;
}

/* ---- queries and keys -------------------------------------------------------------------------------------------- */

/* RMS norm of `heads` heads, each or as a whole, in place, Q24. */
static void norm_heads(const geodec_engine *e, int64_t *y, const geodec_network_vector *w, int32_t heads, int64_t *room)
{
    const int64_t width = (int64_t)heads * e->c->head_dim, part = e->c->qk_norm_whole ? width : e->c->head_dim;
    for (int64_t at = 0; at < width; at += part) {
        geodec__engine_norm(e, y + at, w, part, room);
        for (int64_t i = 0; i < part; i++) y[at + i] = geodec_wide_shift(room[i], w->exponent - GEODEC__ENGINE_UNIT);
    }
}

/* In place; values are first brought below 2^30 by one shift for each head, which the unit of that head tells. */
static int rotate_head(const geodec_engine *e, const geodec_fixed_turn *turn, int64_t *y)
{
    const int top = top_bits(e, y, e->c->head_dim), shift = top > 30 ? top - 30 : 0;
    for (int64_t i = 0; shift && i < e->c->head_dim; i++) y[i] = geodec_wide_shift(y[i], shift);
    e->rows->rotate(turn, e->c->rope_dim / 2, e->c->rope_halves, y);
    for (int64_t i = 0; e->c->rope_magnitude.multiplier && i < e->c->rope_dim; i++)
        y[i] = geodec__engine_times(y[i], e->c->rope_magnitude);
    return GEODEC__ENGINE_UNIT - shift;
}

static void add_bias(int64_t *y, const geodec_network_vector *bias)
{
    for (int64_t i = 0; bias->v && i < bias->n; i++)
        y[i] = geodec_wide_limit(y[i]) + geodec_wide_limit(geodec__engine_value(bias, i));
}

typedef struct attention {
    geodec_engine *e;
    const geodec_network_layer *l;
    int32_t layer;
    int64_t n;
    bool chain;
    int *unit; /* of the queries: [n][n_head] */
} attention;

/* Keys and values of a row go to the cache; queries are rotated in place. */
static void prepare_row(void *ctx, int64_t r, int worker)
{
    const attention *a = ctx;
    geodec_engine *e = a->e;
    const geodec_network_config *c = e->c;
    const geodec_network_layer *l = a->l;
    int64_t *room = e->worker[worker].wide;
    const int64_t dim = c->head_dim, row = e->length + r;
    const geodec_fixed_turn *turn = e->turn + (r * c->rope_tables + l->rope) * (c->rope_dim / 2);
    add_bias(e->q[r], &l->q_bias);
    add_bias(e->kk[r], &l->k_bias);
    add_bias(e->vv[r], &l->v_bias);
    if (l->q_norm.v && !c->qk_norm_rotated) norm_heads(e, e->q[r], &l->q_norm, c->n_head, room);
    if (l->k_norm.v && !c->qk_norm_rotated) norm_heads(e, e->kk[r], &l->k_norm, c->n_kv_head, room);
    for (int32_t h = 0; h < c->n_head; h++) a->unit[r * c->n_head + h] = rotate_head(e, turn, e->q[r] + h * dim);
    if (l->q_norm.v && c->qk_norm_rotated) {
        for (int32_t h = 0; h < c->n_head; h++)
            a->unit[r * c->n_head + h] = GEODEC__ENGINE_UNIT; /* norms have no unit */
        norm_heads(e, e->q[r], &l->q_norm, c->n_head, room);
    }
    for (int32_t h = 0; h < c->n_kv_head; h++) {
        int64_t *y = e->kk[r] + h * dim;
        int unit = rotate_head(e, turn, y);
        if (l->k_norm.v && c->qk_norm_rotated) {
            norm_heads(e, y, &l->k_norm, 1, room);
            unit = GEODEC__ENGINE_UNIT;
        }
        const geodec__engine_rows *k = &e->k[(int64_t)a->layer * c->n_kv_head + h],
                                  *v = &e->v[(int64_t)a->layer * c->n_kv_head + h];
        k->exponent[row] = round_length(e, y, dim, unit, k->v + row * dim);
        if (e->scores.append)
            e->scores.append(e->scores.ctx, (int64_t)a->layer * c->n_kv_head + h, row, k->v + row * dim,
                             k->exponent[row], worker);
        v->exponent[row] = round_largest(e, e->vv[r] + h * dim, dim, GEODEC__ENGINE_UNIT, v->v + row * dim);
    }
}

/* ---- scores and sums --------------------------------------------------------------------------------------------- */

/* Runs of cache rows that row r sees: the cached prefix within its window and, of the batch, its ancestors and itself.
 * fn is called for each run with the number of rows before it. */
typedef struct view {
    const geodec_engine *e;
    int64_t from, end; /* the first run: everything up to here is visible */
    int32_t row;       /* with a tree: and this row and its ancestors */
    int64_t first;     /* first visible position */
} view;

static view view_of(const geodec_engine *e, const geodec_network_layer *l, int64_t r, bool chain)
{
    const int64_t position = e->length + e->depth[r], first = l->window ? position - l->window + 1 : 0;
    view v = {.e = e, .from = first > 0 ? first : 0, .row = chain ? -1 : (int32_t)r, .first = first};
    v.end = chain ? e->length + r + 1 : e->length;
    if (v.from > v.end) v.from = v.end;
    return v;
}

/* Visible rows of the batch in a tree, from the row to its root: the next one, -1 at the end. */
static int32_t next_of(const view *v, int32_t at)
{
    const int32_t next = at < 0 ? v->row : v->e->parent[at];
    return next >= 0 && v->e->length + v->e->depth[next] >= v->first ? next : -1;
}

typedef struct head_of {
    const geodec_engine *e;
    const geodec__engine_rows *k, *v;
    geodec__engine_worker *w;
    int worker;
    int32_t exponent; /* of the query */
} head_of;

/* Scores of n rows of the cache from `row`, as numbers `to` .. of the worker. */
static void score_rows(const head_of *h, int64_t row, int64_t n, int64_t to)
{
    const geodec_network_config *c = h->e->c;
    const int64_t dim = c->head_dim;
    const geodec_engine_scores *s = &h->e->scores;
    int32_t *raw = h->w->raw + to, *z = h->w->score + to;
    if (s->sums)
        s->sums(s->ctx, h->k - h->e->k, row, n, raw, h->worker);
    else
        h->e->rows->dots(h->w->query, h->k->v + row * dim, n, dim, raw);
    h->e->rows->scores(raw, h->k->exponent + row, n, c->attn_scale.multiplier,
                       h->exponent + c->attn_scale.shift - SCORE, z);
    for (int64_t i = 0; c->attn_softcap.multiplier && i < n; i++)
        z[i] = geodec__rows_limit(geodec__engine_cap(c->attn_softcap, z[i]));
}

/* Adds the values of these rows with their weights; returns the sum of the weights. */
static uint64_t add_rows(const head_of *h, int64_t row, int64_t n, int64_t from, int32_t top, int32_t least)
{
    const int64_t dim = h->e->c->head_dim;
    int32_t *weight = h->w->raw + from;
    const uint64_t sum = h->e->rows->weights(h->w->score + from, h->v->exponent + row, n, top, least, weight);
    h->e->rows->mix(weight, h->v->v + row * dim, n, dim, h->w->acc);
    return sum;
}

static void attend_task(void *ctx, int64_t task, int worker)
{
    const attention *a = ctx;
    geodec_engine *e = a->e;
    const geodec_network_config *c = e->c;
    const int64_t r = task / c->n_head, h = task % c->n_head, dim = c->head_dim;
    const int64_t kv = (int64_t)a->layer * c->n_kv_head + h / (c->n_head / c->n_kv_head);
    geodec__engine_worker *w = &e->worker[worker];
    head_of o = {.e = e, .k = &e->k[kv], .v = &e->v[kv], .w = w, .worker = worker};
    o.exponent = round_length(e, e->q[r] + h * dim, dim, a->unit[task], w->query);
    if (e->scores.query) e->scores.query(e->scores.ctx, (int64_t)a->layer * c->n_head + h, w->query, worker);
    const view v = view_of(e, a->l, r, a->chain);
    const int64_t run = v.end - v.from;
    int64_t n = run;
    int32_t top = INT32_MIN, least = INT32_MAX;
    score_rows(&o, v.from, run, 0);
    for (int64_t i = v.from; i < v.end; i++) least = o.v->exponent[i] < least ? o.v->exponent[i] : least;
    for (int32_t at = v.row < 0 ? -1 : next_of(&v, -1); at >= 0; at = next_of(&v, at)) {
        score_rows(&o, e->length + at, 1, n++);
        if (o.v->exponent[e->length + at] < least) least = o.v->exponent[e->length + at];
    }
    for (int64_t i = 0; i < n; i++) top = w->score[i] > top ? w->score[i] : top;
    /* The divisor has the weights without the exponents of the values. */
    memset(w->acc, 0, (size_t)dim * sizeof *w->acc);
    uint64_t sum = add_rows(&o, v.from, run, 0, top, least);
    n = run;
    for (int32_t at = v.row < 0 ? -1 : next_of(&v, -1); at >= 0; at = next_of(&v, at))
        sum += add_rows(&o, e->length + at, 1, n++, top, least);
    /* acc / sum 2^-least in Q24, by the reciprocal 2^order / sum of at least 31 bits */
    const int bits = geodec_wide_bits((int64_t)sum), order = bits + 30 < 64 ? 64 : bits + 30;
    const uint64_t inverse = geodec_wide_divide((geodec_wide){0, (int64_t)1 << (order - 64)}, sum);
    const int scale = order + least - GEODEC__ENGINE_UNIT;
    e->rows->share(w->acc, dim, (int64_t)inverse, scale, e->mixed[r] + h * dim);
}

void geodec__engine_attention(geodec_engine *e, int32_t layer, int64_t n, bool chain)
{
    attention a = {.e = e, .l = &e->net->layer[layer], .layer = layer, .n = n, .chain = chain, .unit = e->unit};
    geodec_pool_run_dynamic(n > 1 ? e->pool : NULL, n, prepare_row, &a);
    geodec_pool_run_dynamic(e->pool, n * e->c->n_head, attend_task, &a);
}
