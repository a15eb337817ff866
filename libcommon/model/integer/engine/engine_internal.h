/* State of the integer engine, and the parts of a pass. */
#ifndef GEODEC_INTEGER_ENGINE_ENGINE_INTERNAL_H
#define GEODEC_INTEGER_ENGINE_ENGINE_INTERNAL_H

#include "integer/engine/engine.h"
#include "integer/engine/product_internal.h"
#include "integer/engine/rows_internal.h"
#include "integer/fixed/fixed.h"

enum { GEODEC__ENGINE_UNIT = GEODEC__PRODUCT_UNIT /* Q24 */ };

typedef geodec_engine_product geodec__engine_job;

/* One head of keys or values of the cache: rows of 16-bit numbers, v 2^-exponent. */
typedef struct geodec__engine_rows {
    int16_t *v;        /* [n_ctx][head_dim] */
    int32_t *exponent; /* [n_ctx] */
} geodec__engine_rows;

typedef struct geodec__engine_worker {
    int32_t *score; /* [n_ctx] scores, then weights */
    int32_t *raw;   /* [n_ctx] */
    int64_t *wide;  /* [max(d_model, n_head head_dim, d_ff)] */
    int16_t *query; /* [head_dim] */
    int32_t *part;  /* [n_expert] */
    int64_t *acc;   /* [head_dim] */
} geodec__engine_worker;

struct geodec_engine {
    const geodec_network *net;
    const geodec_network_config *c;
    const geodec__product_ops *product;
    const geodec__rows_ops *rows;
    geodec_engine_scores scores; /* functions NULL: direct sums */
    geodec_pool *pool;
    int32_t n_ctx, max_batch, n_blocks, length;
    const uint64_t *step;       /* of this context: [rope_tables][rope_dim / 2] */
    geodec__engine_rows *k, *v; /* [n_layer][n_kv_head] */
    int32_t *parent, *depth;    /* [max_batch] */
    int *unit;                  /* [max_batch][n_head] of the rotated queries */
    geodec_fixed_turn *turn;    /* [max_batch][rope_tables][rope_dim / 2] of the rows of a pass */
    /* rows: residual stream, queries, keys, values, heads' sums, gate and up and result of each (row, expert) */
    int64_t **x, **q, **kk, **vv, **mixed, **gate, **up, **down, **dense_gate, **dense_up, **shared;
    geodec_rounded *in, *heads, *hidden,
        *dense_hidden;                  /* inputs of products: of the stream, the heads' sums, the hidden vectors */
    const geodec_rounded **list;        /* [max(max_batch, places)] of a job */
    int64_t **out;                      /* [max(max_batch, places)] of a job */
    int64_t **logit;                    /* [HEAD_ROWS][n_vocab] */
    geodec__engine_job *job;            /* [max(3, 2 n_expert)] */
    int64_t **router;                   /* [max_batch][n_expert] */
    int32_t *expert_id, *expert_weight; /* [max_batch][n_layer][n_expert_used] */
    int32_t *place;                     /* [max_batch][n_expert_used] gathered row of a choice */
    int32_t *origin;                    /* [max_batch n_expert_used] row of a gathered row */
    int32_t *expert_end;                /* [n_expert] */
    geodec_engine_multiply multiply;    /* in place of the engine's products */
    void *multiply_ctx;
    geodec__engine_worker *worker;
    int n_workers;
    struct {
        void *p;
        int64_t mapped; /* bytes; 0: of geodec_mem_new */
    } * memory;         /* everything above, to be freed */
    int n_memory;
};

/* x f. */
static inline int64_t geodec__engine_times(int64_t x, geodec_network_factor f)
{
    const geodec_wide p = geodec_wide_mul(x, f.multiplier);
    return f.shift >= 0 ? geodec_wide_round(p, f.shift < 127 ? f.shift : 127)
                        : geodec_wide_shift(geodec_wide_round(p, 0), f.shift);
}
/* v of a vector, in Q24. */
static inline int64_t geodec__engine_value(const geodec_network_vector *v, int64_t i)
{
    return geodec_wide_shift(v->v[i], v->exponent - GEODEC__ENGINE_UNIT);
}
/* RMS norm of x [n] in Q24: y [n] in the unit of w, Q(w->exponent). */
void geodec__engine_norm(const geodec_engine *e, const int64_t *x, const geodec_network_vector *w, int64_t n,
                         int64_t *y);
/* cap tanh(x / cap), x in Q16. */
int64_t geodec__engine_cap(geodec_network_factor cap, int64_t x);
void geodec__engine_products(geodec_engine *e, int64_t jobs);
/* Rotates queries and keys of all rows, appends keys and values to the cache, writes the heads' sums to mixed, Q24. */
void geodec__engine_attention(geodec_engine *e, int32_t layer, int64_t n, bool chain);
/* Feed-forward of a layer with experts: reads in, writes down (a row for each choice) and shared. */
void geodec__engine_mixture(geodec_engine *e, const geodec_network_layer *l, int32_t layer, int64_t n);
/* The sum of a row's experts, Q24. */
void geodec__engine_mixture_sum(geodec_engine *e, const geodec_network_layer *l, int32_t layer, int64_t row,
                                int64_t *y);
/* gate[i] = act(gate[i]) up[i], rounded, for n rows. */
void geodec__engine_gate(geodec_engine *e, int64_t *const *gate, int64_t *const *up, int64_t n, int64_t width,
                         geodec_rounded *to);

#endif
