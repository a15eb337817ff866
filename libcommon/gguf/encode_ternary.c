/* Encoder of TQ2_0: levels -1, 0, 1 under one scale. */
#include "gguf/encode_internal.h"

#include <math.h>
#include <stdlib.h>

static int descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* With the k largest magnitudes at +-d and the rest at 0, the best d is their mean, which explains (sum)^2 / k. The
 * maximum over k is the global optimum. */
static float fit(const float *x, bool search)
{
    float magnitude[QK_BLOCK], best = 0;
    for (int i = 0; i < QK_BLOCK; i++) magnitude[i] = fabsf(x[i]);
    qsort(magnitude, QK_BLOCK, sizeof *magnitude, descending);
    if (!search) return magnitude[0];
    double sum = 0, explained = 0;
    for (int k = 1; k <= QK_BLOCK; k++) {
        sum += (double)magnitude[k - 1];
        if (sum * sum / k > explained) {
            explained = sum * sum / k;
            best = (float)(sum / k);
        }
    }
    return best;
}

static void encode(const float *src, uint8_t *p, int64_t n, bool search)
{
    for (int64_t b = 0; b < n / QK_BLOCK; b++, p += GEODEC_GGML_BYTES_TQ2_0, src += QK_BLOCK) {
        const uint16_t half = geodec_f32_to_f16(fit(src, search));
        const float d = geodec_f16_to_f32(half), inverse = d > 0 ? geodec__inverse(d) : 0;
        for (int i = 0; i < 64; i++) p[i] = 0;
        for (int j = 0; j < QK_BLOCK; j++) {
            const int t = (int)geodec__level(src[j] * inverse, -1, 1) + 1;
            p[32 * (j / 128) + j % 32] |= (uint8_t)(t << 2 * (j % 128 / 32));
        }
        geodec__store16(p + 64, half);
    }
}

GEODEC__ENCODERS(tq2_0, encode(src, dst, n, search))
