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

typedef enum geodec__mixer {
    GEODEC__MIXER_NONE,
    GEODEC__MIXER_DECAY,
    GEODEC__MIXER_SHORT,
    GEODEC__MIXER_SELECTIVE,
    GEODEC__MIXER_DELTA
} geodec__mixer;

#endif
