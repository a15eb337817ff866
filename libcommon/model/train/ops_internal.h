/* Forward and backward of every operator of the network, batched over tokens, for float (training) and double (gradient
 * checks). One source (ops.inc, attention.inc) is compiled for each type and instruction set into a table of functions.
 *
 * Arrays are row-major; n counts tokens. A `_grad` function takes the cotangent of the output (dy) and adds to or
 * overwrites the cotangent of the input as stated. Nothing allocates; the caller owns scratch. Sums have a fixed order,
 * so a result depends only on the arguments and the instruction set.
 *
 *   rmsnorm         y[n][d] = x r g with r[n] = 1/sqrt(mean(x^2) + eps) (Zhang and Sennrich 2019)
 *   rmsnorm_apply   the same from a known r
 *   rmsnorm_grad    dx += r g dy - x r^3/d sum_j(g dy x)_j ; dg += sum_n dy x r (dg may be NULL)
 *   rope            rotates adjacent pairs (2i, 2i+1), i < rope_dim/2, of `heads` heads of head_dim, head after head
 *                   from x, row stride ld; row t has position t mod len; cs[len][rope_dim/2][2] = cos, sin; sign -1 is
 *                   the transpose = inverse
 *   attention       causal grouped-query attention, per sequence and head, scale 1/sqrt(head_dim). qkv[n][(nh + 2 nkv)
 *                   hd] holds q, k (rotated) and v; o[n][nh hd]; lse[n_seq][nh][len] = log sum exp of each row's
 *                   scores. scratch: 2 * GEODEC_OPS_QUERY_BLOCK * len values. Probabilities are computed for a block of
 *                   queries at a time, and again in the backward pass from lse (Dao et al. 2022)
 *                   s->window: a row attends to itself and the window - 1 rows before it (0: to all)
 *   attention_grad  overwrites dqkv
 *   recur           the decay recurrence (recurrence/recurrence.h), per sequence from a zero state. in[n][2 d + 2 r]
 *                   holds the gates before bias and sigmoid, v, q and k; k is scaled by 1/sqrt(r), and gates are at
 *                   least `least`. y[n][d]. scratch: GEODEC_OPS_RECUR(len, r) values
 *   recur_grad      overwrites din; adds to dbias (may be NULL)
 *   swiglu          a[n][ff] = silu(gate) up, gate = gu[n][0..ff), up = gu[n][ff..2ff)
 *   swiglu_grad     dgu[n][2ff] from da (overwrites; not gu itself); a receives the forward value again
 *   router          softmax over ne experts, the k largest (lowest index on ties), their probabilities divided by their
 *                   sum: prob[n][ne], id[n][k], weight[n][k] from logits[n][ne] (prob may be logits)
 *   router_grad     dlogits[n][ne] (overwrites) from dweight[n][k] and the constant dprob_bias[ne] (load-balance term;
 *                   may be NULL)
 *   xent            loss[n] = -log softmax(logits)[target]; logits become dlogits = scale (softmax - onehot).
 *                   target < 0: loss 0, gradient 0. grad = 0 leaves logits unchanged
 *   axpy            y += a x
 *   sum_squares     in double, in fixed blocks
 *   adamw           Loshchilov and Hutter 2019, decoupled decay: m = b1 m + (1-b1) g s, v = b2 v + (1-b2) (g s)^2,
 *                   w -= lr (m c1 / (sqrt(v c2) + eps) + decay w), c1, c2 the bias corrections 1/(1-b^t), s the clip
 *                   factor */
#ifndef GEODEC_TRAIN_OPS_INTERNAL_H
#define GEODEC_TRAIN_OPS_INTERNAL_H

#include "base/err.h"
#include "session/model.h"

#include <stdint.h>

enum { GEODEC_OPS_QUERY_BLOCK = 64 };

typedef struct geodec_attention_shape {
    int64_t n_seq, len;  /* n = n_seq * len tokens */
    int64_t nh, nkv, hd; /* heads, KV heads, head dimension */
    int64_t window;
} geodec_attention_shape;

typedef struct geodec_recur_shape {
    int64_t n_seq, len, d, r;
    double least;
} geodec_recur_shape;
#define GEODEC_OPS_RECUR(len, r) ((len) + ((len) + 2) * (r))

typedef struct geodec_adamw {
    double lr, decay, beta1, beta2, eps;
    double correct1, correct2; /* 1/(1 - beta^t) */
    double grad_scale;         /* clip factor */
} geodec_adamw;

#define GEODEC_OPS_DECLARE(REAL, NAME)                                                                                 \
    typedef struct NAME {                                                                                              \
        const char *isa;                                                                                               \
        void (*rmsnorm)(int64_t n, int64_t d, double eps, const REAL *x, const REAL *g, REAL *r, REAL *y);             \
        void (*rmsnorm_apply)(int64_t n, int64_t d, const REAL *x, const REAL *g, const REAL *r, REAL *y);             \
        void (*rmsnorm_grad)(int64_t n, int64_t d, const REAL *x, const REAL *g, const REAL *r, const REAL *dy,        \
                             REAL *dx, REAL *dg);                                                                      \
        void (*rope)(int64_t n, int64_t len, int64_t heads, int64_t head_dim, int64_t rope_dim, int64_t ld,            \
                     const REAL *cs, REAL sign, REAL *x);                                                              \
        void (*attention)(const geodec_attention_shape *s, const REAL *qkv, REAL *o, REAL *lse, REAL *scratch);        \
        void (*attention_grad)(const geodec_attention_shape *s, const REAL *qkv, const REAL *o, const REAL *lse,       \
                               const REAL *d_o, REAL *dqkv, REAL *scratch);                                            \
        void (*recur)(const geodec_recur_shape *s, const REAL *in, const REAL *bias, REAL *y, REAL *scratch);          \
        void (*recur_grad)(const geodec_recur_shape *s, const REAL *in, const REAL *bias, const REAL *dy, REAL *din,   \
                           REAL *dbias, REAL *scratch);                                                                \
        void (*swiglu)(int64_t n, int64_t ff, const REAL *gu, REAL *a);                                                \
        void (*swiglu_grad)(int64_t n, int64_t ff, const REAL *gu, const REAL *da, REAL *a, REAL *dgu);                \
        void (*router)(int64_t n, int64_t ne, int64_t k, const REAL *logits, REAL *prob, int32_t *id, REAL *weight);   \
        void (*router_grad)(int64_t n, int64_t ne, int64_t k, const REAL *prob, const int32_t *id, const REAL *weight, \
                            const REAL *dweight, const REAL *dprob_bias, REAL *dlogits);                               \
        void (*xent)(int64_t n, int64_t nv, const int32_t *target, REAL scale, int grad, REAL *logits, REAL *loss);    \
        void (*axpy)(int64_t n, REAL a, const REAL *x, REAL *y);                                                       \
        double (*sum_squares)(int64_t n, const REAL *x);                                                               \
        void (*adamw)(int64_t n, const geodec_adamw *o, const REAL *g, REAL *m, REAL *v, REAL *w);                     \
    } NAME

GEODEC_OPS_DECLARE(float, geodec_ops_f32);
GEODEC_OPS_DECLARE(double, geodec_ops_f64);

/* The table of an instruction set; NULL when this CPU lacks it. AUTO: the best available. */
const geodec_ops_f32 *geodec__ops_f32(geodec_isa isa);
/* The only table: double is for checks and derivatives, not for speed. */
const geodec_ops_f64 *geodec__ops_f64(geodec_isa isa);

extern const geodec_ops_f32 geodec__ops_f32_scalar, geodec__ops_f32_avx2, geodec__ops_f32_avx512;
extern const geodec_ops_f64 geodec__ops_f64_scalar;

#endif
