/* The decay recurrence of PERSPECTIVE models: linear attention with a state of fixed size and a decay for each value
 * channel (cf. Katharopoulos et al. 2020, linear attention; Yang et al. 2024, gated linear attention, whose decay is of
 * the key channels).
 *
 *     S_t = diag(g_t) S_(t-1) + v_t k_t^T          S [d][r], g in (0, 1)^d, v [d], k [r]
 *     y_t = S_t q_t                                q [r], y [d]
 *
 * A channel i of d needs only row i of S, g_i and v_i, so channels can be divided among threads.
 *
 * The steps are defined operation by operation; every instruction set gives the same bits:
 *     S'[j] = (g S[j]) + (v k[j])                  each product and the sum rounded to float32, and in a state of
 *                                                  float16 the sum to float16 (nearest even)
 *     y     = 16 partial sums: sum l takes S'[j] q[j], j = l, l + 16, .. in ascending order, product and sum rounded;
 *             then s[l] += s[l+8], s[l] += s[l+4], s[l] += s[l+2], s[0] + s[1]
 *
 * Rows of a state are `stride` numbers apart, r of them used; those behind are zero. */
#ifndef GEODEC_PERSPECTIVE_RECURRENCE_RECURRENCE_H
#define GEODEC_PERSPECTIVE_RECURRENCE_RECURRENCE_H

#include "base/err.h"
#include "kernels/settings.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_RECURRENCE_LANES = 16, GEODEC_RECURRENCE_RANK = 4096 /* largest r */ };

/* Distance of the rows of a state of rank r. */
static inline int64_t geodec_recurrence_stride(int64_t r)
{
    return (r + GEODEC_RECURRENCE_LANES - 1) / GEODEC_RECURRENCE_LANES * GEODEC_RECURRENCE_LANES;
}

/* n rows that continue a state, one after another, or as a tree. */
typedef struct geodec_recurrence_rows {
    int64_t n;
    const float *const *g, *const *v; /* [n] of [d] */
    const float *const *k, *const *q; /* [n] of [stride], zero from r on */
    float *const *y;                  /* [n] of [d]; NULL: only the state is wanted, and q is not read */
    const int32_t *parent;            /* [n] row i follows row parent[i] < i, or the state itself (-1). NULL: a chain */
} geodec_recurrence_rows;

/* Channels first .. end - 1. from [d][stride] float32, or float16 if half; not changed unless to is the same array. to:
 * the state after the last row of a chain (NULL: not wanted, and always NULL for a tree). scratch: floats, (1 + n)
 * stride for a tree, stride for a chain. isa must be available on this processor. */
void geodec_recurrence_run(geodec_isa isa, const void *from, void *to, bool half, int64_t stride, int64_t first,
                           int64_t end, const geodec_recurrence_rows *rows, float *scratch);

/* The chunked form, for training and as a control: n rows from state s [d][r], in chunks of `chunk` rows; y [n][d].
 * With b_t the product of the decays of the chunk up to t, Y = B * (Q S^T + tril(Q K^T) (V / B)),  S' = diag(b_C) (S +
 * (V / B)^T K)          (* and / elementwise) A chunk also ends where a product b falls below `least` (2^-40 in
 * float32): V / B would overflow. g, v [n][d], k, q [n][r]; s becomes the last state. work:
 * geodec_recurrence_chunk_work(chunk, d, r) numbers. */
int64_t geodec_recurrence_chunk_work(int64_t chunk, int64_t d, int64_t r);
void geodec_recurrence_chunks_f32(int64_t n, int64_t d, int64_t r, int64_t chunk, float least, const float *g,
                                  const float *v, const float *k, const float *q, float *s, float *y, float *work);
void geodec_recurrence_chunks_f64(int64_t n, int64_t d, int64_t r, int64_t chunk, double least, const double *g,
                                  const double *v, const double *k, const double *q, double *s, double *y,
                                  double *work);
/* The definition in float64, row by row. */
void geodec_recurrence_steps_f64(int64_t n, int64_t d, int64_t r, const double *g, const double *v, const double *k,
                                 const double *q, double *s, double *y);

#endif
