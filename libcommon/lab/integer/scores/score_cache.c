#include "lab/integer/scores/score_cache.h"

#include "base/mem.h"

enum { RUN = 64 /* sums at once */ };

struct geodec_score_cache {
    geodec_engine_scores engine;
    geodec_keys *keys, *own; /* own: NULL, or the same, which the cache frees */
    geodec_scores *plan;
    int workers;
    geodec_scores_query **query; /* [workers] */
    int32_t *vector;             /* [workers][dim] */
};

static const int32_t *widen(const geodec_score_cache *c, const int16_t *v, int worker)
{
    const int64_t dim = c->keys->dim;
    int32_t *to = c->vector + worker * dim;
    for (int64_t i = 0; i < dim; i++) to[i] = v[i];
    return to;
}

static void append(void *ctx, int64_t head, int64_t row, const int16_t *k, int32_t exponent, int worker)
{
    const geodec_score_cache *c = ctx;
    c->keys->exponent[geodec_keys_at(c->keys, head, row)] = exponent;
    geodec_scores_key(c->plan, c->query[worker], widen(c, k, worker), geodec_keys_block(c->keys, head, row));
}

static void copy(void *ctx, int64_t head, int64_t to, int64_t from)
{
    const geodec_score_cache *c = ctx;
    c->keys->exponent[geodec_keys_at(c->keys, head, to)] = c->keys->exponent[geodec_keys_at(c->keys, head, from)];
    memmove(geodec_keys_block(c->keys, head, to), geodec_keys_block(c->keys, head, from),
            (size_t)geodec_scores_block(c->keys->dim));
}

static void query(void *ctx, int64_t head, const int16_t *q, int worker)
{
    const geodec_score_cache *c = ctx;
    (void)head;
    geodec_scores_load(c->plan, c->query[worker], widen(c, q, worker));
}

static void sums(void *ctx, int64_t head, int64_t row, int64_t n, int32_t *sum, int worker)
{
    const geodec_score_cache *c = ctx;
    int64_t wide[RUN];
    for (int64_t i = 0; i < n; i += RUN) {
        const int64_t count = n - i < RUN ? n - i : RUN;
        geodec_scores_sums(c->plan, c->query[worker], geodec_keys_block(c->keys, head, row + i), count, wide);
        for (int64_t j = 0; j < count; j++) sum[i + j] = (int32_t)wide[j]; /* below 2^30 (engine.h) */
    }
}

geodec_status geodec_score_cache_create(geodec_keys *keys, int workers, geodec_isa isa, geodec_score_cache **out,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_score_cache *c = NULL;
    GEODEC_NEW(c, 1);
    c->engine = (geodec_engine_scores){c, append, copy, query, sums};
    c->keys = keys;
    GEODEC_TRY(geodec_scores_create(keys->by, keys->dim, isa, &c->plan, err));
    GEODEC_NEW(c->query, workers);
    c->workers = workers;
    for (int i = 0; i < workers; i++) GEODEC_TRY(geodec_scores_query_create(c->plan, &c->query[i], err));
    GEODEC_NEW(c->vector, (int64_t)workers * keys->dim);
    GEODEC_MOVE(*out, c);
done:
    geodec_score_cache_destroy(c);
    return st;
}

void geodec_score_cache_destroy(geodec_score_cache *c)
{
    if (!c) return;
    for (int i = 0; i < c->workers; i++) geodec_scores_query_destroy(c->query[i]);
    geodec_scores_destroy(c->plan);
    geodec_keys_destroy(c->own);
    GEODEC_FREE(c->query, c->vector, c);
}

const geodec_engine_scores *geodec_score_cache_engine(const geodec_score_cache *c) { return &c->engine; }

/* ---- for a session ----------------------------------------------------------------------------------------------- */

static geodec_status open_by(geodec_scores_by by, const geodec_network_config *n, int32_t n_ctx, int workers,
                             geodec_isa isa, geodec_engine_scores *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_keys *keys = NULL;
    geodec_score_cache *c = NULL;
    GEODEC_TRY(geodec_keys_create(by, n->head_dim, n->n_layer, n->n_kv_head, n_ctx, &keys, err));
    GEODEC_TRY(geodec_score_cache_create(keys, workers, isa, &c, err));
    GEODEC_MOVE(c->own, keys);
    *out = c->engine;
done:
    geodec_keys_destroy(keys);
    return st;
}

static geodec_status open_p60(const geodec_network_config *n, int32_t n_ctx, int workers, geodec_isa isa,
                              geodec_engine_scores *out, geodec_err *err)
{
    return open_by(GEODEC_SCORES_NTT_P60, n, n_ctx, workers, isa, out, err);
}

static geodec_status open_crt(const geodec_network_config *n, int32_t n_ctx, int workers, geodec_isa isa,
                              geodec_engine_scores *out, geodec_err *err)
{
    return open_by(GEODEC_SCORES_NTT_CRT, n, n_ctx, workers, isa, out, err);
}

static void close_own(void *ctx) { geodec_score_cache_destroy(ctx); }

static int64_t bytes_of(const void *ctx)
{
    const geodec_score_cache *c = ctx;
    return geodec_keys_bytes(c->keys);
}

const geodec_engine_scores_source *geodec_score_cache_source(geodec_scores_by by)
{
    static const geodec_engine_scores_source p60 = {"ntt-p60", open_p60, close_own, bytes_of},
                                             crt = {"ntt-crt", open_crt, close_own, bytes_of};
    return by == GEODEC_SCORES_NTT_P60 ? &p60 : by == GEODEC_SCORES_NTT_CRT ? &crt : NULL;
}
