/* Arithmetic kernels of the forward pass, one table per instruction set.
 *
 * Every result is defined operation by operation, so the three sets give the same bits:
 *   dot product  16 partial sums: sum l takes elements l, l+16, l+32, ... in ascending order with fused multiply-add,
 *                the tail padded with zeros; then s[l] += s[l+8], s[l] += s[l+4], s[l] += s[l+2], s[0] + s[1]. Weights
 *                are decoded exactly to float32 (a Q8_0 scale times a byte needs 18 bits).
 *   attention    see below
 *   exp          one polynomial (kernels_body.h)
 * Weights of most block types are multiplied in integers instead (products_internal.h). */
#ifndef GEODEC_MODEL_KERNELS_KERNELS_INTERNAL_H
#define GEODEC_MODEL_KERNELS_KERNELS_INTERNAL_H

#include "kernels/columns_internal.h"
#include "kernels/settings.h"

#include <stdint.h>

enum { GEODEC__STRIP = 12 /* weight rows that are multiplied by the rows of x together */ };
/* Floats of scratch of a product: 16 rows as a panel, and 16 decoded rows, each with room between. */
static inline int64_t geodec__product_scratch(int64_t cols) { return 32 * (geodec__pad(cols) + GEODEC__LANES); }

/* ---- attention ---------------------------------------------------------------------------------------------------
 * Keys are processed in blocks of GEODEC__KEYS and splits of GEODEC__SPLIT by position in the text: position p is in
 * block p / 64 and split p / 512. For one query head of one row:
 *   score    of a key: fused multiply-add over the head's dimensions in ascending order, then the soft cap, then the
 *            slope times the distance, rounded, is added
 *   block    top' = max(top, scores); when it grew, all sums of this split are multiplied by exp(top -
 *            top'); e = exp(score - top'); the sum of e: 16 partial sums by position modulo 16; values: fused
 *            multiply-add in ascending order of position, in C partial sums by position modulo C (C = 4 up to 16
 *            dimensions, 2 up to 32, else 1)
 *   split    blocks in ascending order, from zero sums
 *   merge    splits in ascending order: sums = fma(b, exp(top_b - top'), a * exp(top_a - top'))
 *   finish   C partial sums (0 + 1) + (2 + 3), times 1 / (the 16 sums, reduced as a dot product's)
 * Blocks and splits without a visible key are skipped. Neither a key's place nor the number of queries in a call
 * matters: the bits are those of one row alone.
 *
 * Milakov and Gimelshein 2018 (online softmax); Dao et al. 2022 (blocks), 2023 (splits). */
enum {
    GEODEC__KEYS = 64,
    GEODEC__SPLIT = 512,
    GEODEC__KV_GROUP = 32,  /* dimensions that share a scale in a Q8_0 cache */
    GEODEC__ATTEND_TOP = 16 /* index of a state's largest score, counted from its width */
};

/* Partial sums of a value. */
static inline int64_t geodec__attend_chains(int64_t dim) { return dim <= 16 ? 4 : dim <= 32 ? 2 : 1; }
static inline int64_t geodec__attend_width(int64_t dim) { return geodec__attend_chains(dim) * geodec__pad(dim); }
/* Floats of a state: values [chains][pad(dim)], 16 sums of exponentials, the largest score. */
static inline int64_t geodec__attend_state(int64_t dim) { return geodec__attend_width(dim) + 32; }
static inline int64_t geodec__kv_groups(int64_t dim) { return (dim + GEODEC__KV_GROUP - 1) / GEODEC__KV_GROUP; }

/* A block of the cache, or one decoded to float32. Keys outside of every query's lo .. hi-1 may hold anything. */
typedef struct geodec__attend_keys {
    geodec_kv_type type;
    const void *k, *v;                 /* [head_dim][GEODEC__KEYS]; [GEODEC__KEYS][head_dim] and 16 elements more */
    int64_t k_dim, v_dim;              /* of the cache; those of attention are arguments */
    const uint16_t *k_scale, *v_scale; /* bfloat16, with Q8_0: [groups][GEODEC__KEYS]; [GEODEC__KEYS][groups] */
    int64_t ahead;                     /* bytes from this block to the next one, which is prefetched; 0 = unknown */
} geodec__attend_keys;

/* A query head of a row against one block of keys. A split starts with zeros and -INFINITY as the largest score. */
typedef struct geodec__attend_query {
    const float *q; /* [head_dim], scaled */
    float *score;   /* scratch [GEODEC__KEYS] */
    float *state;   /* [geodec__attend_state(v_dim)] */
    int32_t lo, hi; /* keys lo .. hi-1 of the block are seen, lo < hi */
    float slope;    /* scores gain slope times key's position less the query's (ALiBi); 0: nothing */
    int32_t before; /* position of the block's first key less the query's */
} geodec__attend_query;

typedef struct geodec__kernels {
    geodec_isa isa;
    /* y[r][o] = sum_i x[r][i] w[o][i] for o in begin..end-1, r in 0..n-1. Rows of x are padded with zeros. scratch,
     * here and below: [geodec__product_scratch(cols)]. */
    void (*matmul)(const geodec__matrix *w, int64_t begin, int64_t end, const float *const *x, int64_t n,
                   float *const *y, float *scratch);
    /* As matmul, bit for bit, for weights as columns; NULL if that is not faster. begin is a multiple of 16. */
    void (*columns)(const geodec__columns *w, int64_t begin, int64_t end, const float *const *x, int64_t n,
                    float *const *y, float *scratch);
    /* As matmul, for many rows, which are packed first, in groups: gemm_pack a group of at most gemm_group rows, group
     * g of G = ceil(n / gemm_group) the rows n g / G .. n (g+1) / G - 1, at packed + n g / G * pad(cols). columns: w's,
     * or data NULL; begin is a multiple of 16 with them. NULL if that is not faster. */
    int64_t gemm_group;
    void (*gemm_pack)(const float *const *x, int64_t n, int64_t cols, float *out);
    void (*gemm)(const geodec__matrix *w, int64_t begin, int64_t end, const float *packed, int64_t n, float *const *y,
                 float *scratch);
    /* gate[i] = activation(gate[i]) * up[i]; up NULL: without the factor. constant: of xIELU (weights_internal.h). The
     * padding of both is zero and remains zero. */
    void (*activate)(geodec_activation a, const float *constant, float *gate, const float *up, int64_t n);
    /* y = x / rms(x) * w; the sum of squares in double, eight partial sums in fixed order. y may be x. */
    void (*rms_norm)(const float *x, const float *w, int64_t n, float eps, float *y);
    /* y = (x - mean) / sqrt(mean of (x - mean)^2 + eps) * w + b; both sums in double as above, x - mean rounded to
     * float32 before it is squared. b NULL: none. y may be x. */
    void (*layer_norm)(const float *x, const float *w, const float *b, int64_t n, float eps, float *y);
    /* x[i] = exp(x[i] - max x), returns the sum; x has pad(n) values */
    float (*softmax)(float *x, int64_t n);
    /* x[i] = cap tanh(x[i] / cap) */
    void (*softcap)(float *x, int64_t n, float cap);
    /* softcap 0: none. The bits are those of a float32 cache of the decoded values. */
    void (*attend_block)(geodec__attend_query *const *query, int64_t n, const geodec__attend_keys *keys,
                         int64_t head_dim, int64_t v_dim, float softcap);
    void (*attend_merge)(float *into, const float *from, int64_t v_dim); /* states of two splits */
    /* A key without a value joins, of score `logit` (Xiao et al. 2024, sinks). */
    void (*attend_sink)(float *state, int64_t v_dim, float logit);
    void (*attend_finish)(float *state, int64_t v_dim); /* leaves the result in its first floats */
    void (*decode_f16)(const uint16_t *h, int64_t n, float *x);
    /* q [head_dim][GEODEC__KEYS], scale bfloat16 [groups][GEODEC__KEYS] to k as above */
    void (*decode_q8_keys)(const int8_t *q, const uint16_t *scale, int64_t head_dim, float *k);
    /* q [rows][head_dim], scale [rows][groups] to v [rows][head_dim] and the rest of its last vector */
    void (*decode_q8_values)(const int8_t *q, const uint16_t *scale, int64_t head_dim, int64_t rows, float *v);
    /* Keys of a block from their coefficients: k [dims][GEODEC__KEYS] = b [dims][rank] x [rank][GEODEC__KEYS], products
     * and sums rounded each, in ascending order of the rank. */
    void (*low_block)(const float *b, int64_t dims, int64_t rank, const float *x, float *k);
} geodec__kernels;

extern const geodec__kernels geodec__kernels_scalar;
extern const geodec__kernels geodec__kernels_avx2;
extern const geodec__kernels geodec__kernels_avx512;

/* NULL when this CPU or build lacks the kernels. AUTO: the best. */
const geodec__kernels *geodec__kernels_for(geodec_isa isa);

#endif
