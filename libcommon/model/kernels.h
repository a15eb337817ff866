/* Arithmetic kernels of the forward pass, one table a instruction set.
 *
 * Every result is defined operation by operation, so the three sets give the same bits:
 *   dot product    16 partial sums, sum l takes elements l, l+16, l+32, ... in ascending order with fused multiply-add;
 * the tail is filled with zeros; then s[l] += s[l+8], s[l] += s[l+4], s[l] += s[l+2], s[0] + s[1]. weights decoded
 * exactly to float32 (a Q8_0 scale times a byte needs 18 bits). attention      score of a key: fused multiply-add over
 * the head's dimensions in ascending order; sum of exponentials: 16 partial sums by absolute position modulo 16,
 * reduced as above; values: 4 partial sums by absolute position modulo 4, then (0 + 1) + (2 + 3). Where a key lies in
 * the cache does not matter. exp            one polynomial (kernels_body.h). */
#ifndef GEODEC_MODEL_KERNELS_H
#define GEODEC_MODEL_KERNELS_H

#include "model/weights.h"

#include <stdint.h>

enum { GEODEC__STRIP = 12 /* weight rows decoded at once: scratch holds this many */ };

/* One query head of one row. Keys at positions 0 .. n_past-1 lie in cache rows of the same number; the n_path keys
 * after them (ancestors, then the row itself) in rows path[0] < path[1] < ... */
typedef struct geodec__attend {
    const float *q; /* [head_dim], scaled by 1/sqrt(head_dim) */
    const float *k; /* [ceil(rows/16)][head_dim][16] */
    const float *v; /* [rows][v_stride], padding zero */
    int64_t head_dim, v_stride;
    int64_t n_past, n_path; /* n_path >= 1 */
    int64_t first;          /* position of the first key seen, <= n_past + n_path - 1 */
    float softcap;          /* scores become cap tanh(score / cap); 0 = as they are */
    const int32_t *path;    /* [n_path] */
    float *scores;          /* scratch [pad(last row + 1)] */
    float *out;             /* [v_stride] */
} geodec__attend;

typedef struct geodec__kernels {
    geodec_isa isa;
    /* y[r][o] = sum_i x[r][i] w[o][i] for o in begin..end-1, r in 0..n-1. Rows of x are padded (zero or finite garbage
     * never: zero). scratch [GEODEC__STRIP][pad(cols)]. */
    void (*matmul)(const geodec__matrix *w, int64_t begin, int64_t end, const float *const *x, int64_t n,
                   float *const *y, float *scratch);
    /* gate[i] = silu(gate[i]) * up[i] */
    void (*swiglu)(float *gate, const float *up, int64_t n);
    /* gate[i] = gelu(gate[i]) * up[i], gelu(x) = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 */
    void (*geglu)(float *gate, const float *up, int64_t n);
    /* x[i] = exp(x[i] - max x), returns the sum; x has room for pad(n) values */
    float (*softmax)(float *x, int64_t n);
    /* x[i] = cap tanh(x[i] / cap) */
    void (*softcap)(float *x, int64_t n, float cap);
    void (*attend)(const geodec__attend *a);
} geodec__kernels;

extern const geodec__kernels geodec__kernels_scalar;
extern const geodec__kernels geodec__kernels_avx2;
extern const geodec__kernels geodec__kernels_avx512;

/* NULL when this CPU or build has no such kernels. AUTO gives the best. */
const geodec__kernels *geodec__kernels_for(geodec_isa isa);

#endif
