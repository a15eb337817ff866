/* Encoder of Q6_K: sixteen groups of 16 values d s (q - 32). Fitted like Q4_K, without minima. */
#include "gguf/encode_internal.h"

#include <math.h>
#include <string.h>

enum {
    GROUPS = 16,
    WIDTH = 16,
    TOP = 32,
    ROUNDS = 3,
    LESS = 6,
    NEAR = 4 /* integer scales tried to each side */
};

typedef struct block {
    uint16_t d;
    int8_t s[GROUPS];
    float error;        /* with the nearest levels */
    int8_t q[QK_BLOCK]; /* -32 .. 31, computed on demand */
} block;

static float group_error(const float *x, float scale)
{
    const geodec__v4 by = geodec__v4_set(scale != 0 ? geodec__inverse(scale) : 0), a = geodec__v4_set(scale),
                     lo = geodec__v4_set(-TOP), hi = geodec__v4_set(TOP - 1);
    geodec__v4 error = {0};
    for (int i = 0; i < WIDTH; i += 4) {
        const geodec__v4 v = geodec__v4_load(x + i), e = a * geodec__v4_level(v * by, lo, hi) - v;
        error += e * e;
    }
    return geodec__v4_sum(error);
}

static void score(const float *x, block *b)
{
    const float d = geodec_f16_to_f32(b->d);
    b->error = 0;
    for (int g = 0; g < GROUPS; g++) b->error += group_error(x + WIDTH * g, d * (float)b->s[g]);
}

static void fill_levels(const float *x, block *b)
{
    const float d = geodec_f16_to_f32(b->d);
    for (int i = 0; i < QK_BLOCK; i++) {
        const float scale = d * (float)b->s[i / WIDTH], inverse = scale != 0 ? geodec__inverse(scale) : 0;
        b->q[i] = (int8_t)geodec__level(x[i] * inverse, -TOP, TOP - 1);
    }
}

/* The best integer scale of a group near its current one. */
static int8_t nearby_scale(const float *x, float d, int8_t s)
{
    int best = s;
    float error = group_error(x, d * (float)s);
    for (int t = s - NEAR; t <= s + NEAR; t++) {
        if (t < -128 || t > 127 || t == s) continue;
        const float e = group_error(x, d * (float)t);
        if (e < error) {
            error = e;
            best = t;
        }
    }
    return (int8_t)best;
}

/* Fits every group alone; chooses d so that the extreme scale becomes -128, or (search) a little less. */
static void start(const float *x, bool search, block *b)
{
    float scale[GROUPS], extreme = 0;
    for (int g = 0; g < GROUPS; g++) {
        scale[g] = geodec__encode_fit_scale(x + WIDTH * g, WIDTH, TOP, search);
        if (fabsf(scale[g]) > fabsf(extreme)) extreme = scale[g];
    }
    *b = (block){.error = INFINITY};
    for (int top = 128; top > 128 - (search ? LESS : 1) && b->error > 0; top--) {
        block other = {.d = geodec_f32_to_f16(extreme / (float)-top)};
        const float inverse = geodec__inverse(geodec_f16_to_f32(other.d));
        for (int g = 0; g < GROUPS; g++) other.s[g] = (int8_t)geodec__level(scale[g] * inverse, -128, 127);
        score(x, &other);
        if (other.error < b->error) *b = other;
    }
}

static void refine(const float *x, block *b)
{
    for (int round = 0; round < ROUNDS && b->error > 0; round++) {
        block next = *b;
        const float d = geodec_f16_to_f32(b->d);
        for (int g = 0; g < GROUPS; g++) next.s[g] = nearby_scale(x + WIDTH * g, d, b->s[g]);
        score(x, &next);
        if (next.error < b->error) *b = next;
        fill_levels(x, b);
        double xq = 0, qq = 0; /* least squares for d */
        for (int i = 0; i < QK_BLOCK; i++) {
            const double q = (double)b->s[i / WIDTH] * b->q[i];
            xq += q * (double)x[i];
            qq += q * q;
        }
        if (qq == 0) break;
        next = *b;
        next.d = geodec_f32_to_f16((float)(xq / qq));
        if (next.d == b->d) break;
        score(x, &next);
        if (!(next.error < b->error)) break;
        *b = next;
    }
}

static void encode(const float *src, uint8_t *p, int64_t n, bool search)
{
    for (int64_t i = 0; i < n / QK_BLOCK; i++, p += GEODEC_GGML_BYTES_Q6_K, src += QK_BLOCK) {
        block b;
        start(src, search, &b);
        if (search) refine(src, &b);
        fill_levels(src, &b);
        memset(p, 0, 192);
        for (int j = 0; j < QK_BLOCK; j++) { /* half, quarter k, place l: see types_decode.c */
            const int half = j / 128, k = j % 128 / 32, l = j % 32, q = b.q[j] + TOP;
            p[64 * half + 32 * (k % 2) + l] |= (uint8_t)((q & 15) << 4 * (k / 2));
            p[128 + 32 * half + l] |= (uint8_t)((q >> 4) << 2 * k);
        }
        for (int g = 0; g < GROUPS; g++) p[192 + g] = (uint8_t)b.s[g];
        geodec__store16(p + 208, b.d);
    }
}

GEODEC__ENCODERS(q6_k, encode(src, dst, n, search))
