#include "lab/integer/scores/stored.h"

#include "base/mem.h"
#include "base/sha256.h"
#include "integer/fixed/wide.h"
#include "lab/integer/scores/score_cache.h"

enum { ROWS = 64 /* of a pass */ };

static void source_of(const geodec_stored_text *t, int32_t n, uint8_t source[GEODEC_KEYS_SOURCE])
{
    geodec_sha256 h;
    geodec_sha256_init(&h);
    geodec_sha256_update(&h, t->model, strlen(t->model) + 1);
    for (int32_t i = 0; i < n; i++) {
        const uint32_t v = (uint32_t)t->token[i];
        const uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
        geodec_sha256_update(&h, bytes, sizeof bytes);
    }
    geodec_sha256_bytes(&h, source);
}

/* Tokens from .. end - 1 without logits. */
static geodec_status read_tokens(const geodec_stored_text *t, geodec_engine *e, int32_t from, int32_t end,
                                 geodec_err *err)
{
    for (int32_t n; from < end; from += n) {
        n = end - from < ROWS ? end - from : ROWS;
        const geodec_engine_pass p = {.n = n, .token = t->token + from};
        GEODEC_PASS(geodec_engine_forward(e, &p, err));
    }
    return GEODEC_OK;
}

static geodec_status open_engine(const geodec_stored_text *t, const geodec_engine_scores *scores, geodec_engine **out,
                                 geodec_err *err)
{
    const geodec_engine_options o = {
        .n_ctx = t->n, .max_batch = ROWS, .isa = t->isa, .pool = t->pool, .scores = scores};
    return geodec_engine_create(t->net, &o, out, err);
}

geodec_status geodec_stored_make(const geodec_stored_text *t, geodec_scores_by by, geodec_keys **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_network_config *c = &t->net->config;
    geodec_keys *keys = NULL;
    geodec_score_cache *cache = NULL;
    geodec_engine *e = NULL;
    GEODEC_TRY(geodec_keys_create(by, c->head_dim, c->n_layer, c->n_kv_head, t->n, &keys, err));
    GEODEC_TRY(geodec_score_cache_create(keys, geodec_pool_threads(t->pool), t->isa, &cache, err));
    GEODEC_TRY(open_engine(t, geodec_score_cache_engine(cache), &e, err));
    GEODEC_TRY(read_tokens(t, e, 0, t->n, err));
    keys->positions = t->n;
    source_of(t, t->n, keys->source);
    GEODEC_MOVE(*out, keys);
done:
    geodec_engine_destroy(e);
    geodec_score_cache_destroy(cache);
    geodec_keys_destroy(keys);
    return st;
}

/* ---- comparison -------------------------------------------------------------------------------------------------- */

typedef struct worker {
    geodec_scores_query *query;
    int16_t *vector; /* [head_dim] the query */
    int32_t *wide;   /* [head_dim] */
    int64_t head;    /* of the query */
} worker;

/* The engine gets direct sums over keys that the comparison keeps itself; those of the last token are compared. */
typedef struct comparison {
    const geodec_stored_text *t;
    const geodec_keys *keys;
    geodec_scores *plan;
    geodec_scores_of16 direct;
    int16_t *fresh;    /* [n_layer][n_kv_head][n][head_dim] */
    int32_t *exponent; /* [n_layer][n_kv_head][n] */
    worker *worker;
    int workers;
    bool last; /* the pass of the last token */
    geodec_stored_row *row;
} comparison;

static void append(void *ctx, int64_t head, int64_t row, const int16_t *k, int32_t exponent, int at)
{
    const comparison *x = ctx;
    const int64_t dim = x->keys->dim, place = head * x->t->n + row;
    (void)at;
    memcpy(x->fresh + place * dim, k, (size_t)dim * sizeof *k);
    x->exponent[place] = exponent;
}

static void query(void *ctx, int64_t head, const int16_t *q, int at)
{
    const comparison *x = ctx;
    worker *w = &x->worker[at];
    w->head = head;
    memcpy(w->vector, q, (size_t)x->keys->dim * sizeof *q);
    if (!x->last) return;
    for (int64_t i = 0; i < x->keys->dim; i++) w->wide[i] = q[i];
    geodec_scores_load(x->plan, w->query, w->wide);
}

/* a 2^-x > b 2^-y */
static bool above(int64_t a, int32_t x, int64_t b, int32_t y)
{
    const int32_t most = x > y ? x : y;
    return geodec_wide_shift(a, x - most) > geodec_wide_shift(b, y - most);
}

static void compare_row(const comparison *x, const worker *w, int64_t head, int64_t position, int32_t direct)
{
    geodec_stored_row *r = &x->row[w->head];
    const int32_t exponent = x->keys->exponent[geodec_keys_at(x->keys, head, position)];
    int64_t c;
    geodec_scores_sums(x->plan, w->query, geodec_keys_block(x->keys, head, position), 1, &c);
    r->differing += c != direct || exponent != x->exponent[head * x->t->n + position];
    if (r->scores++ > 0 && !above(c, exponent, r->sum, r->exponent)) return;
    r->position = position;
    r->sum = c;
    r->exponent = exponent;
}

static void sums(void *ctx, int64_t head, int64_t row, int64_t n, int32_t *sum, int at)
{
    const comparison *x = ctx;
    const int64_t dim = x->keys->dim;
    const worker *w = &x->worker[at];
    x->direct(w->vector, x->fresh + (head * x->t->n + row) * dim, n, dim, sum);
    for (int64_t i = 0; x->last && i < n && row + i < x->keys->positions; i++) compare_row(x, w, head, row + i, sum[i]);
}

static geodec_status check(const geodec_stored_text *t, const geodec_keys *k, geodec_err *err)
{
    const geodec_network_config *c = &t->net->config;
    uint8_t source[GEODEC_KEYS_SOURCE];
    if (k->dim != c->head_dim || k->layers != c->n_layer || k->heads != c->n_kv_head)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%d layers, %d heads of %d numbers; the model has %d, %d and %d", k->layers,
                    k->heads, k->dim, c->n_layer, c->n_kv_head, c->head_dim);
    if (t->n - 1 < k->positions)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%lld positions; the text has %d tokens, and one more is needed",
                    (long long)k->positions, t->n);
    source_of(t, (int32_t)k->positions, source);
    if (memcmp(source, k->source, sizeof source) != 0)
        GEODEC_FAIL(GEODEC_CHECKSUM, "the keys are of another model or text");
    return GEODEC_OK;
}

static geodec_status open_comparison(comparison *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_stored_text *t = x->t;
    const int64_t dim = x->keys->dim, heads = (int64_t)x->keys->layers * x->keys->heads;
    const int threads = geodec_pool_threads(t->pool);
    GEODEC_TRY(geodec_scores_create(x->keys->by, dim, t->isa, &x->plan, err));
    x->direct = geodec_scores_direct16(t->isa); /* the plan knows that the set is there */
    GEODEC_NEW(x->fresh, heads * t->n * dim);
    GEODEC_NEW(x->exponent, heads * t->n);
    GEODEC_NEW(x->worker, threads);
    x->workers = threads;
    for (int i = 0; i < threads; i++) {
        GEODEC_TRY(geodec_scores_query_create(x->plan, &x->worker[i].query, err));
        GEODEC_NEW(x->worker[i].vector, dim);
        GEODEC_NEW(x->worker[i].wide, dim);
    }
    const int32_t n_head = t->net->config.n_head, rows = x->keys->layers * n_head;
    GEODEC_NEW(x->row, rows);
    for (int32_t i = 0; i < rows; i++) x->row[i] = (geodec_stored_row){.layer = i / n_head, .head = i % n_head};
done:
    return st;
}

static void close_comparison(comparison *x)
{
    for (int i = 0; i < x->workers; i++) {
        geodec_scores_query_destroy(x->worker[i].query);
        GEODEC_FREE(x->worker[i].vector, x->worker[i].wide);
    }
    geodec_scores_destroy(x->plan);
    GEODEC_FREE(x->fresh, x->exponent, x->worker, x->row);
}

geodec_status geodec_stored_compare(const geodec_stored_text *t, const geodec_keys *keys, geodec_stored_row **rows,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    comparison x = {.t = t, .keys = keys};
    const geodec_engine_scores scores = {&x, append, NULL, query, sums};
    geodec_engine *e = NULL;
    GEODEC_TRY(check(t, keys, err));
    GEODEC_TRY(open_comparison(&x, err));
    GEODEC_TRY(open_engine(t, &scores, &e, err));
    GEODEC_TRY(read_tokens(t, e, 0, t->n - 1, err));
    x.last = true;
    GEODEC_TRY(read_tokens(t, e, t->n - 1, t->n, err));
    GEODEC_MOVE(*rows, x.row);
done:
    geodec_engine_destroy(e);
    close_comparison(&x);
    return st;
}
