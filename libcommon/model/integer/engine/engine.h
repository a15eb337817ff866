/* The forward pass in integers: from token ids to logits without a float (network.h, fixed/fixed.h).
 *
 * The residual stream is int64 in Q24. Inputs of products are rounded rows (rounded.h), sums are exact, and every
 * rounding is applied to a whole sum, so the logits of a token depend on the token and its ancestors alone: they have
 * the same bits in any batch, tree or prefill, with any number of threads, any instruction set, compiler or processor.
 *
 * Attention: queries and keys are 16-bit integers whose Euclidean length is below 2^15, so that no sum of products
 * leaves 32 bits; scores are Q16, their exponentials Q30 (relative to the largest visible score, which is found first),
 * and the weighted sum of 16-bit values is exact in 64 bits; it is divided once by the sum of the weights. */
#ifndef GEODEC_INTEGER_ENGINE_ENGINE_H
#define GEODEC_INTEGER_ENGINE_ENGINE_H

#include "base/pool.h"
#include "integer/engine/network.h"
#include "integer/engine/rounded.h"
#include "kernels/settings.h"

typedef struct geodec_engine geodec_engine; /* one thread at a time */

/* Another way to compute the sums q . k of attention, which must give the same integers. Key heads are numbered layer
 * n_kv_head + head, query heads layer n_head + head. The functions run on all threads of the pool (worker: index of the
 * thread), for different rows and heads. */
typedef struct geodec_engine_scores {
    void *ctx;
    /* k [head_dim], of value k 2^-exponent, becomes row `row` of a key head. */
    void (*append)(void *ctx, int64_t head, int64_t row, const int16_t *k, int32_t exponent, int worker);
    /* Row `to` of a key head becomes a copy of row `from`. */
    void (*copy)(void *ctx, int64_t head, int64_t to, int64_t from);
    /* The next sums of this worker are those of q [head_dim], of a query head. */
    void (*query)(void *ctx, int64_t head, const int16_t *q, int worker);
    /* sum[i] = q . k of rows row .. row + n - 1 of a key head. */
    void (*sums)(void *ctx, int64_t head, int64_t row, int64_t n, int32_t *sum, int worker);
} geodec_engine_scores;

/* What opens other sums (geodec_engine_scores) for the cache of an engine. */
typedef struct geodec_engine_scores_source {
    const char *name; /* in messages and reports */
    /* n_ctx: rows of the cache. workers: threads of the engine's pool. Sets *out, whose ctx `close` frees. */
    geodec_status (*open)(const geodec_network_config *c, int32_t n_ctx, int workers, geodec_isa isa,
                          geodec_engine_scores *out, geodec_err *err);
    void (*close)(void *ctx);
    int64_t (*bytes)(const void *ctx); /* that a token takes, in addition to those of the engine's cache */
} geodec_engine_scores_source;

typedef struct geodec_engine_options {
    int32_t n_ctx, max_batch; /* cache rows, at most 2^18; rows of a pass */
    int32_t n_blocks;         /* only so many layers; 0: all */
    geodec_isa isa;
    geodec_pool *pool;                  /* NULL: the caller's thread */
    const geodec_engine_scores *scores; /* copied; NULL: direct sums */
} geodec_engine_options;

/* The network must outlive the engine. GEODEC_LIMIT, GEODEC_NOMEM, GEODEC_UNSUPPORTED (instruction set). */
geodec_status geodec_engine_create(const geodec_network *n, const geodec_engine_options *o, geodec_engine **out,
                                   geodec_err *err) GEODEC_MUST_USE;
void geodec_engine_destroy(geodec_engine *e); /* NULL ok */

/* n rows appended to the cache; see geodec_batch for token, parent, want. */
typedef struct geodec_engine_pass {
    int32_t n;
    const int32_t *token, *parent; /* [n]; parent NULL: a chain */
    const bool *want;              /* [n], NULL: all */
    int32_t *logits;               /* [n][n_vocab] or [wanted][n_vocab] (packed), Q16; NULL: none */
    bool packed;
    /* Called after layer 0 (the embedding) to n_blocks with the residual stream of all rows, Q24; NULL: not. */
    void (*show)(void *ctx, int32_t layer, int64_t n, const int64_t *const *x);
    void *ctx;
} geodec_engine_pass;
/* GEODEC_LIMIT (context full, too many rows), GEODEC_RANGE (token, parent); then the cache is unchanged. */
geodec_status geodec_engine_forward(geodec_engine *e, const geodec_engine_pass *p, geodec_err *err) GEODEC_MUST_USE;

/* A product of a pass: y[i] = w x[i] in Q24 for n inputs. */
typedef struct geodec_engine_product {
    const geodec_panels16 *w;
    const geodec_rounded *const *x; /* [n] */
    int64_t *const *y;              /* [n][rows of w] */
    int64_t n;
    const int32_t *row; /* [n] of the pass; NULL: 0 to n - 1 */
} geodec_engine_product;
/* Fills y of all jobs. The products of one row of a pass come in the same order whatever other rows the pass has. */
typedef void (*geodec_engine_multiply)(void *ctx, const geodec_engine_product *job, int64_t jobs, geodec_pool *pool);
/* Later passes get their products from `multiply`; NULL: from the engine itself. */
void geodec_engine_replace_products(geodec_engine *e, geodec_engine_multiply multiply, void *ctx);
const geodec_network *geodec_engine_network(const geodec_engine *e);

int32_t geodec_engine_length(const geodec_engine *e);
void geodec_engine_truncate(geodec_engine *e, int32_t length);
/* As geodec_session_compact. */
void geodec_engine_compact(geodec_engine *e, int32_t base, const int32_t *row, int32_t n);
geodec_isa geodec_engine_isa(const geodec_engine *e);
/* Bytes of the key and value cache for one token. */
int64_t geodec_engine_kv_bytes(const geodec_engine *e);
/* Chosen experts of the last pass [n][n_layer][n_expert_used], -1 in dense layers, and their weights in Q30; NULL
 * without experts. */
const int32_t *geodec_engine_expert_ids(const geodec_engine *e);
const int32_t *geodec_engine_expert_weights(const geodec_engine *e);

#endif
