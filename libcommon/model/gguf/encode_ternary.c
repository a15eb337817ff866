/* Encoders of TQ1_0 and TQ2_0: levels -1, 0, 1 under one scale, whose place is the end of a block. Weights that are -s,
 * 0 and s for a binary16 s keep their values. */
#include "gguf/encode_internal.h"
#include "gguf/trits_internal.h"

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

typedef void (*pack_fn)(const int8_t *t, uint8_t *p);

static void encode(const float *src, uint8_t *p, int64_t n, bool search, int bytes, pack_fn pack)
{
    int8_t t[QK_BLOCK];
    for (int64_t b = 0; b < n / QK_BLOCK; b++, p += bytes, src += QK_BLOCK) {
        const uint16_t half = geodec_f32_to_f16(fit(src, search));
        const float d = geodec_f16_to_f32(half), inverse = d > 0 ? geodec__inverse(d) : 0;
        for (int j = 0; j < QK_BLOCK; j++) t[j] = (int8_t)geodec__level(src[j] * inverse, -1, 1);
        pack(t, p);
        geodec__store16(p + bytes - 2, half);
    }
}

GEODEC__ENCODERS(tq1_0, encode(src, dst, n, search, GEODEC_GGML_BYTES_TQ1_0, geodec__trits_tq1_0))
GEODEC__ENCODERS(tq2_0, encode(src, dst, n, search, GEODEC_GGML_BYTES_TQ2_0, geodec__trits_tq2_0))
