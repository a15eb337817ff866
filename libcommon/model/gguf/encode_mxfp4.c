/* Encoder of MXFP4: 32 floats of 1 + 2 + 1 bits under a power of two. Without the search the power is that of the
 * standard (OCP Microscaling Formats 1.0, 6.3), which can clip the largest values; the search takes the one with the
 * smallest error of it and its neighbours. */
#include "gguf/code_books_internal.h"
#include "gguf/encode_internal.h"

#include <math.h>

enum { LOWER = 2, HIGHER = 2 /* neighbours */ };

/* The float nearest to a magnitude; of two, the lower one. */
static int place_of(float v)
{
    static const float middle[7] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
    int q = 0;
    for (int k = 0; k < 7; k++) q += v > middle[k];
    return q;
}

/* Values times this are in units of the floats, whose levels are doubled. */
static float inverse_of(int e) { return ldexpf(1.0f, 127 - e); }

static double error_of(const float *x, int e)
{
    const float scale = geodec__e8m0_half((uint8_t)e), inverse = inverse_of(e);
    double error = 0;
    for (int j = 0; j < Q_BLOCK; j++) {
        const float v = fabsf(x[j]),
                    r = scale * (float)geodec__code_books_level[GEODEC__LEVELS_E2M1][place_of(v * inverse)] - v;
        error += (double)r * (double)r;
    }
    return error;
}

static int exponent_of(const float *x, bool search)
{
    float largest = 0;
    for (int j = 0; j < Q_BLOCK; j++) largest = fabsf(x[j]) > largest ? fabsf(x[j]) : largest;
    if (!(largest > 0)) return 0;
    const int plain = ilogbf(largest) - 2 + 127, middle = plain < 0 ? 0 : plain;
    if (!search) return middle;
    int best = middle;
    double error = error_of(x, middle);
    for (int e = middle - LOWER; e <= middle + HIGHER; e++) {
        if (e < 0 || e > 254 || e == middle) continue;
        const double other = error_of(x, e);
        if (other < error) {
            error = other;
            best = e;
        }
    }
    return best;
}

static void encode(const float *src, uint8_t *p, int64_t n, bool search)
{
    for (int64_t b = 0; b < n / Q_BLOCK; b++, p += GEODEC_GGML_BYTES_MXFP4, src += Q_BLOCK) {
        const int e = exponent_of(src, search);
        const float inverse = inverse_of(e);
        uint8_t q[Q_BLOCK];
        for (int j = 0; j < Q_BLOCK; j++) {
            const int place = place_of(fabsf(src[j]) * inverse);
            q[j] = (uint8_t)(place | (place && src[j] < 0) << 3);
        }
        p[0] = (uint8_t)e;
        for (int j = 0; j < 16; j++) p[1 + j] = (uint8_t)(q[j] | q[j + 16] << 4);
    }
}

GEODEC__ENCODERS(mxfp4, encode(src, dst, n, search))
