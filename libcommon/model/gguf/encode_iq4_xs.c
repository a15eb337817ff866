/* Encoder of IQ4_XS: eight groups of 32 values d s level[q], s from -32 to 31. Fitted like Q6_K, with uneven levels. */
#include "base/unroll_internal.h"
#include "gguf/encode_internal.h"

#include <math.h>

enum {
    GROUPS = 8,
    WIDTH = 32,
    TOP = 32,
    ROUNDS = 3,
    LESS = 4,
    NEAR = 2,   /* integer scales tried to each side */
    REFINE = 3, /* least-squares steps of a group alone */
};

typedef struct block {
    uint16_t d;
    int8_t s[GROUPS];
    float error; /* with the nearest levels */
} block;

/* Levels ascend from the lowest one by these steps; the middles between them. Those of code_books.c, as floats. */
static const float lowest = -127;
static const float step[15] = {23, 21, 18, 16, 14, 13, 12, 11, 12, 12, 13, 15, 16, 20, 24};
static const float middle[15] = {-115.5f, -93.5f, -74.0f, -57.0f, -42.0f, -28.5f, -16.0f, -4.5f,
                                 7.0f,    19.0f,  31.5f,  45.5f,  61.0f,  79.0f,  101.0f};

/* The nearest level of four values: the lowest one, and the steps up to it. */
INLINE geodec__v4 nearest4(geodec__v4 v)
{
    geodec__v4 low = geodec__v4_set(lowest), high = {0};
    UNROLL
    for (int k = 0; k < 15; k++) {
        const geodec__v4 up = (geodec__v4)((v > geodec__v4_set(middle[k])) & (geodec__i4)geodec__v4_set(step[k]));
        if (k % 2)
            high += up;
        else
            low += up;
    }
    return low + high;
}

/* The code of that level. */
static uint8_t code_of(float v)
{
    int q = 0;
    for (int k = 0; k < 15; k++) q += v > middle[k];
    return (uint8_t)q;
}

static float inverse_of(float scale) { return scale != 0 ? geodec__inverse(scale) : 0; }

static float group_error(const float *x, float scale)
{
    const geodec__v4 by = geodec__v4_set(inverse_of(scale)), a = geodec__v4_set(scale);
    geodec__v4 error = {0};
    for (int i = 0; i < WIDTH; i += 4) {
        const geodec__v4 v = geodec__v4_load(x + i), e = a * nearest4(v * by) - v;
        error += e * e;
    }
    return geodec__v4_sum(error);
}

/* Levels for one inverse scale, and their least-squares scale; returns the explained part of sum x^2. */
static float try_scale(const float *x, float inverse, float *scale)
{
    const geodec__v4 by = geodec__v4_set(inverse);
    geodec__v4 xq4 = {0}, qq4 = {0};
    for (int i = 0; i < WIDTH; i += 4) {
        const geodec__v4 v = geodec__v4_load(x + i), q = nearest4(v * by);
        xq4 += v * q;
        qq4 += q * q;
    }
    const float xq = geodec__v4_sum(xq4), qq = geodec__v4_sum(qq4); /* no level is 0 */
    *scale = xq / qq;
    return xq * xq / qq;
}

/* The scale of a group alone. Without the search the extreme becomes the lowest level. */
static float fit_group(const float *x, bool search)
{
    float extreme = 0, best, explained = -1;
    for (int i = 0; i < WIDTH; i++)
        if (fabsf(x[i]) > fabsf(extreme)) extreme = x[i];
    best = extreme / lowest;
    if (!search || inverse_of(best) == 0) return best;
    /* the extreme may be near either end, and beyond it, where it is clipped */
    for (int k = 0; k < 24; k++) {
        const float level = k < 13 ? -142.0f + 3.5f * (float)k : 88.0f + 4.0f * (float)(k - 13);
        float scale;
        const float e = try_scale(x, level / extreme, &scale);
        if (e > explained) {
            explained = e;
            best = scale;
        }
    }
    for (int k = 0; k < REFINE && best != 0; k++) {
        float scale;
        const float e = try_scale(x, inverse_of(best), &scale);
        if (!(e > explained)) break;
        explained = e;
        best = scale;
    }
    return best;
}

static void score(const float *x, block *b)
{
    const float d = geodec_f16_to_f32(b->d);
    b->error = 0;
    for (int g = 0; g < GROUPS; g++) b->error += group_error(x + WIDTH * g, d * (float)b->s[g]);
}

/* The best integer scale of a group near its current one. */
static int8_t nearby_scale(const float *x, float d, int8_t s)
{
    int best = s;
    float error = group_error(x, d * (float)s);
    for (int t = s - NEAR; t <= s + NEAR; t++) {
        if (t < -TOP || t >= TOP || t == s) continue;
        const float e = group_error(x, d * (float)t);
        if (e < error) {
            error = e;
            best = t;
        }
    }
    return (int8_t)best;
}

/* Fits every group alone; chooses d so that the extreme scale becomes -32, or (search) a little less. */
static void start(const float *x, bool search, block *b)
{
    float scale[GROUPS], extreme = 0;
    for (int g = 0; g < GROUPS; g++) {
        scale[g] = fit_group(x + WIDTH * g, search);
        if (fabsf(scale[g]) > fabsf(extreme)) extreme = scale[g];
    }
    *b = (block){.error = INFINITY};
    for (int top = TOP; top > TOP - (search ? LESS : 1) && b->error > 0; top--) {
        block other = {.d = geodec_f32_to_f16(extreme / (float)-top)};
        const float inverse = inverse_of(geodec_f16_to_f32(other.d));
        for (int g = 0; g < GROUPS; g++) other.s[g] = (int8_t)geodec__level(scale[g] * inverse, -TOP, TOP - 1);
        score(x, &other);
        if (other.error < b->error) *b = other;
    }
}

/* Least squares for d with everything else fixed; 0: nothing to fit. */
static float solve(const float *x, const block *b)
{
    const float d = geodec_f16_to_f32(b->d);
    double xq = 0, qq = 0;
    for (int g = 0; g < GROUPS; g++) {
        const geodec__v4 inverse = geodec__v4_set(inverse_of(d * (float)b->s[g]));
        for (int i = 0; i < WIDTH; i += 4) {
            const geodec__v4 v = geodec__v4_load(x + WIDTH * g + i), level = nearest4(v * inverse);
            for (int l = 0; l < 4; l++) {
                const double q = (double)b->s[g] * (double)level[l];
                xq += q * (double)v[l];
                qq += q * q;
            }
        }
    }
    return qq > 0 ? (float)(xq / qq) : 0;
}

static void refine(const float *x, block *b)
{
    for (int round = 0; round < ROUNDS && b->error > 0; round++) {
        block next = *b;
        const float d = geodec_f16_to_f32(b->d);
        for (int g = 0; g < GROUPS; g++) next.s[g] = nearby_scale(x + WIDTH * g, d, b->s[g]);
        score(x, &next);
        if (next.error < b->error) *b = next;
        next = *b;
        next.d = geodec_f32_to_f16(solve(x, b));
        if (next.d == b->d) break;
        score(x, &next);
        if (!(next.error < b->error)) break;
        *b = next;
    }
}

static void encode(const float *src, uint8_t *p, int64_t n, bool search)
{
    for (int64_t i = 0; i < n / QK_BLOCK; i++, p += GEODEC_GGML_BYTES_IQ4_XS, src += QK_BLOCK) {
        block b;
        start(src, search, &b);
        if (search) refine(src, &b);
        memset(p, 0, GEODEC_GGML_BYTES_IQ4_XS);
        geodec__store16(p, b.d);
        const float d = geodec_f16_to_f32(b.d);
        for (int g = 0; g < GROUPS; g++) {
            const unsigned s = (unsigned)(b.s[g] + TOP);
            const float inverse = inverse_of(d * (float)b.s[g]);
            p[2 + g / 4] |= (uint8_t)((s >> 4) << 2 * (g % 4));
            p[4 + g / 2] |= (uint8_t)((s & 15u) << 4 * (g % 2));
            for (int j = 0; j < WIDTH; j++)
                p[8 + 16 * g + j % 16] |= (uint8_t)(code_of(src[WIDTH * g + j] * inverse) << (j < 16 ? 0 : 4));
        }
    }
}

GEODEC__ENCODERS(iq4_xs, encode(src, dst, n, search))
