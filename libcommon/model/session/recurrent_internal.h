/* Internal: what a recurrent layer has in place of attention, or beside it. x is the normalised stream, * elementwise,
 * W without a letter the layer's output matrix, softplus(x) = log(1 + exp x), conv the convolution of recurrence.h.
 *
 * SHORT (lfm2)       b, c, u = Win x;  W (c * conv(b * u))
 * SELECTIVE          z, u, [B, C, dt] = Win x;  u, [B, C] = SiLU(conv([u, B, C]))
 *   with Wx          B, C, dt = [N] (Wx u), dt = Wdt dt   (mamba, jamba, plamo2; the other forms are mamba2's)
 *                    dt = softplus(dt + bias);  y = steps(exp(dt A), dt u, B, C) + D * u;  W [N] (SiLU(z) * y)
 *                    A has a number for each channel and place of its row (SCAN), or for each head (DECAY)
 * DELTA (qwen3next)  q, k, v = SiLU(conv(Win x)), z = Wz x;  q = q / (|q| sqrt(r)), k = k / |k|, of each head
 *                    g = exp(A softplus(Wa x + bias)), b = sigmoid(Wb x);  W (N(steps(g, b, v, k, q)) * SiLU(z))
 * DECAY              recurrence_states_internal.h
 *
 * The rows of Win are the parts in this order. `grouped`: those of plamo2 are z and u of each head in turn, those of
 * DELTA q, k, v and z of each key in turn, and Wb and Wa are one matrix with the rows of b, then of a, of each key. */
#ifndef GEODEC_MODEL_RECURRENT_INTERNAL_H
#define GEODEC_MODEL_RECURRENT_INTERNAL_H

#include "kernels/matrix_internal.h"
#include "recurrence/recurrence.h"

typedef enum geodec__mixer {
    GEODEC__MIXER_NONE,
    GEODEC__MIXER_DECAY,
    GEODEC__MIXER_SHORT,
    GEODEC__MIXER_SELECTIVE,
    GEODEC__MIXER_DELTA
} geodec__mixer;

/* NULL, or data NULL, where there is no such part. Vectors are float32. */
typedef struct geodec__recurrent {
    geodec__mixer how;
    geodec_recurrence_shape shape;
    geodec__matrix in;
    geodec__matrix gate, alpha, beta;       /* DELTA: Wz, Wa, Wb, each [..][d_model] */
    geodec__matrix x, dt;                   /* SELECTIVE: Wx [dt's cols + 2 r][d], Wdt [heads][..] */
    geodec__matrix out;                     /* beside attention: [d_model][d]; else it is the layer's o */
    const float *conv, *conv_bias;          /* [taps][width], [width] */
    const float *a;                         /* [d][stride] with SCAN, zero behind r; else [heads] */
    const float *dt_bias, *skip;            /* [heads]; D [heads] */
    const float *norm;                      /* SELECTIVE: [d], in n_group norms; DELTA: [share] */
    const float *dt_norm, *b_norm, *c_norm; /* [dt's cols], [r], [r] */
    int64_t n_group;                        /* equal parts of y that are normalised apart */
    bool grouped;                           /* the rows of `in` */
    bool grouped_beta;                      /* beta has the rows of alpha too */
    bool dt_last;                           /* Wx gives B, C, dt; else dt, B, C */
    bool beside;                            /* both this and attention read x, and their outputs are added */
} geodec__recurrent;

#endif
