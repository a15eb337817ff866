/* Recurrences of a layer: a state of fixed size that every token changes, and a convolution over the last tokens.
 *
 * A state has d channels, a row of r numbers each. Channels share a gate in heads of `share` of them; heads share a key
 * k [r] and a query q [r]. With S the row of a channel, g, b and v its gate, strength and value, and a its rates:
 *
 *     DECAY   S' = g S + v k                    linear attention with a decay of each value channel or head
 *                                               (cf. Katharopoulos et al. 2020; Yang et al. 2024, whose decay is of the
 *                                               key channels), and Mamba-2 (Dao and Gu 2024): g = exp(dt A), v = dt x
 *     DELTA   S' = g S + u k, u = b (v - (g S) . k)    gated delta rule (Yang, Kautz and Hatamizadeh 2024)
 *     SCAN    S' = exp(g a) * S + v k (* elementwise)  selective scan (Gu and Dao 2023): g = dt, a = A [r], v = dt x
 *     y = S' . q
 *
 * A channel needs its own row of the state alone, so channels can be divided among threads.
 *
 * The steps are defined operation by operation; every instruction set gives the same bits:
 *     each product, sum and difference is rounded to float32, and in a state of float16 the sum S' to float16 (nearest
 *     even); the order is that of the formulas: (g S[j]) + (v k[j]), b (v - p) with p = (g S) . k
 *     x . k  16 partial sums: sum l takes x[j] k[j], j = l, l + 16, .. in ascending order, product and sum rounded;
 *            then s[l] += s[l+8], s[l] += s[l+4], s[l] += s[l+2], s[0] + s[1]
 *     exp    x within -87 to 88; n = x log2(e) rounded to an integer, r = (x - n c) + n c' with c - c' = ln 2 in two
 *            parts, the polynomial of degree 6 of Cephes' expf (Moshier) for e^r by Horner's rule, times 2^n, each
 *            product and sum rounded: relative error below 2e-7
 *
 * Rows of a state are `stride` numbers apart, r of them used; those behind are zero.
 *
 * The convolution of `taps` rows x [width], causal and apart for every channel (a state of the last taps - 1 rows):
 *     y_t = (((w_0 x_(t-taps+1)) + w_1 x_(t-taps+2)) + .. + w_(taps-1) x_t) + bias, each product and sum rounded
 */
#ifndef GEODEC_PERSPECTIVE_RECURRENCE_RECURRENCE_H
#define GEODEC_PERSPECTIVE_RECURRENCE_RECURRENCE_H

#include "base/err.h"
#include "kernels/settings.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GEODEC_RECURRENCE_LANES = 16,
    GEODEC_RECURRENCE_RANK = 4096, /* largest r */
    GEODEC_RECURRENCE_TAPS = 16    /* most rows of a convolution */
};

typedef enum geodec_recurrence_kind {
    GEODEC_RECURRENCE_DECAY,
    GEODEC_RECURRENCE_DELTA,
    GEODEC_RECURRENCE_SCAN
} geodec_recurrence_kind;

/* What a layer keeps and what a token adds. */
typedef struct geodec_recurrence_shape {
    geodec_recurrence_kind kind;
    int64_t d, r;        /* channels and numbers of a row; d = 0: no state but that of the convolution */
    int64_t share;       /* channels of a head, which divides d */
    int64_t keys;        /* keys, and queries, of a token; divides the heads */
    bool cyclic;         /* head h has key h % keys; else the heads of a key are consecutive */
    int64_t taps, width; /* of the convolution; width = 0: none */
} geodec_recurrence_shape;

/* Distance of the rows of a state of rank r. */
static inline int64_t geodec_recurrence_stride(int64_t r)
{
    return (r + GEODEC_RECURRENCE_LANES - 1) / GEODEC_RECURRENCE_LANES * GEODEC_RECURRENCE_LANES;
}
static inline int64_t geodec_recurrence_heads(const geodec_recurrence_shape *s)
{
    return s->d > 0 ? s->d / s->share : 0;
}
/* Key of head h. */
static inline int64_t geodec_recurrence_key(const geodec_recurrence_shape *s, int64_t h)
{
    return s->cyclic ? h % s->keys : h / (geodec_recurrence_heads(s) / s->keys);
}
/* Numbers of the state of the convolution, [taps - 1][width], oldest row first. */
static inline int64_t geodec_recurrence_window(const geodec_recurrence_shape *s)
{
    return s->width > 0 ? (s->taps - 1) * s->width : 0;
}

/* n rows that continue a state, one after another, or as a tree. */
typedef struct geodec_recurrence_rows {
    int64_t n;
    const float *const *g, *const *v; /* [n] of [heads], of [d] */
    const float *const *k, *const *q; /* [n] of [keys][stride], zero from r on */
    float *const *y;                  /* [n] of [d]; NULL: only the state is wanted, and q is not read */
    const int32_t *parent;            /* [n] row i follows row parent[i] < i, or the state itself (-1). NULL: a chain */
    const float *const *b;            /* [n] of [heads], DELTA only */
    const float *a;                   /* [d][stride], SCAN only */
} geodec_recurrence_rows;

/* Channels first .. end - 1. from [d][stride] float32, or float16 if half (DECAY only); not changed unless to is the
 * same array. to: the state after the last row of a chain (NULL: not wanted, and always NULL for a tree). scratch:
 * floats, (1 + n) stride for a tree, stride for a chain. isa must be available on this processor. */
void geodec_recurrence_run(geodec_isa isa, const geodec_recurrence_shape *shape, const void *from, void *to, bool half,
                           int64_t first, int64_t end, const geodec_recurrence_rows *rows, float *scratch);

/* Channels first .. end - 1 of the convolution of n rows: tap [n][taps] are the rows that each sees, oldest first, the
 * last one its own; weight [taps][width], bias [width] or NULL; y [n] of [width]. */
void geodec_recurrence_convolve(geodec_isa isa, const geodec_recurrence_shape *shape, const float *weight,
                                const float *bias, int64_t n, const float *const *tap, int64_t first, int64_t end,
                                float *const *y);
/* tap [n][taps] of rows x [n] that follow the window `from`, as a chain or by their parents (as above). */
void geodec_recurrence_taps(const geodec_recurrence_shape *shape, const float *from, int64_t n, const float *const *x,
                            const int32_t *parent, const float **tap);
/* The window after the chain of rows x [n]; to may be from. */
void geodec_recurrence_slide(const geodec_recurrence_shape *shape, const float *from, int64_t n, const float *const *x,
                             float *to);

/* DECAY with a gate of each channel and one key in float64, row by row: n rows from state s [d][r], which becomes the
 * last state; g, v, y [n][d], k, q [n][r]. A control. */
void geodec_recurrence_steps_f64(int64_t n, int64_t d, int64_t r, const double *g, const double *v, const double *k,
                                 const double *q, double *s, double *y);

#endif
