/* Encoder of Q4_K and Q5_K: eight groups of 32 values d s q - dmin m.
 *
 * Each group is fitted alone; the largest scale and minimum give d and dmin. Then two steps alternate: every group's
 * integers s and m move to neighbours that lower its error, and least squares over the block gives new d and dmin. */
#include "gguf/encode_internal.h"

#include <math.h>
#include <string.h>

enum { GROUPS = 8, WIDTH = 32, TOP_SCALE = 63, ROUNDS = 3, LESS = 6 };

/* A block being fitted. */
typedef struct block {
    uint16_t d, dmin; /* binary16 */
    uint8_t s[GROUPS], m[GROUPS];
    float error;         /* with the nearest levels */
    uint8_t q[QK_BLOCK]; /* computed on demand */
} block;

/* Squared error of a group with the nearest levels of a scale and minimum. */
static float group_error(const float *x, int top, float scale, float min)
{
    const geodec__v4 by = geodec__v4_set(scale > 0 ? geodec__inverse(scale) : 0), a = geodec__v4_set(scale),
                     b = geodec__v4_set(min), lo = {0}, hi = geodec__v4_set((float)top);
    geodec__v4 error = {0};
    for (int i = 0; i < WIDTH; i += 4) {
        const geodec__v4 v = geodec__v4_load(x + i), e = a * geodec__v4_level((v + b) * by, lo, hi) - b - v;
        error += e * e;
    }
    return geodec__v4_sum(error);
}

/* The levels of that error. */
static void group_levels(const float *x, int top, float scale, float min, uint8_t *q)
{
    const float inverse = scale > 0 ? geodec__inverse(scale) : 0;
    for (int i = 0; i < WIDTH; i++) q[i] = (uint8_t)geodec__level((x[i] + min) * inverse, 0, (float)top);
}

static int clamp63(int v) { return v < 0 ? 0 : v > TOP_SCALE ? TOP_SCALE : v; }

/* Moves (s, m) to the best of its neighbours (s + ds, m + dm), |ds| <= 1. */
static bool move(const float *x, int top, float d, float dmin, int dm, uint8_t *s, uint8_t *m, float *error)
{
    const int s0 = *s, m0 = *m;
    for (int ns = clamp63(s0 - 1); ns <= clamp63(s0 + 1); ns++)
        for (int side = -1; side <= 1; side++) {
            const int nm = m0 + side * dm;
            if (nm < 0 || nm > TOP_SCALE || (ns == s0 && nm == m0)) continue;
            const float e = group_error(x, top, d * (float)ns, dmin * (float)nm);
            if (e < *error) {
                *error = e;
                *s = (uint8_t)ns;
                *m = (uint8_t)nm;
            }
        }
    return *s != s0 || *m != m0;
}

/* Descent over neighbours, then over minima a whole level away, which give similar values by other levels. */
static void descend(const float *x, int top, float d, float dmin, uint8_t *s, uint8_t *m)
{
    float error = group_error(x, top, d * (float)*s, dmin * (float)*m);
    if (dmin > 0) {
        const float level = d * (float)*s / dmin;
        if (level >= 1.5f && level < TOP_SCALE) (void)move(x, top, d, dmin, (int)(level + 0.5f), s, m, &error);
    }
    for (int step = 0; step < 8 && move(x, top, d, dmin, 1, s, m, &error); step++) continue;
}

static void score(const float *x, int top, block *b)
{
    const float d = geodec_f16_to_f32(b->d), dmin = geodec_f16_to_f32(b->dmin);
    b->error = 0;
    for (int g = 0; g < GROUPS; g++)
        b->error += group_error(x + WIDTH * g, top, d * (float)b->s[g], dmin * (float)b->m[g]);
}

static void fill_levels(const float *x, int top, block *b)
{
    const float d = geodec_f16_to_f32(b->d), dmin = geodec_f16_to_f32(b->dmin);
    for (int g = 0; g < GROUPS; g++)
        group_levels(x + WIDTH * g, top, d * (float)b->s[g], dmin * (float)b->m[g], b->q + WIDTH * g);
}

/* Least squares for d and dmin with everything else fixed; false when the equations are singular. */
static bool solve_scales(const float *x, const block *b, float *d, float *dmin)
{
    double ss = 0, sm = 0, mm = 0, sx = 0, mx = 0;
    for (int i = 0; i < QK_BLOCK; i++) {
        const double s = (double)b->s[i / WIDTH] * b->q[i], m = -(double)b->m[i / WIDTH], v = (double)x[i];
        ss += s * s;
        sm += s * m;
        mm += m * m;
        sx += s * v;
        mx += m * v;
    }
    const double det = ss * mm - sm * sm;
    if (mm == 0 && ss > 0) {
        *d = (float)(sx / ss);
        *dmin = 0;
        return *d >= 0;
    }
    if (!(det > 1e-9 * ss * mm)) return false;
    *d = (float)((sx * mm - mx * sm) / det);
    *dmin = (float)((mx * ss - sx * sm) / det);
    return *d >= 0 && *dmin >= 0;
}

/* The integers of all groups for given d and dmin. */
static void round_scales(const float *x, int top, const float *scale, const float *min, float d, float dmin, block *b)
{
    b->d = geodec_f32_to_f16(d);
    b->dmin = geodec_f32_to_f16(dmin);
    const float by_scale = geodec__inverse(geodec_f16_to_f32(b->d)),
                by_min = geodec__inverse(geodec_f16_to_f32(b->dmin));
    for (int g = 0; g < GROUPS; g++) {
        b->s[g] = (uint8_t)geodec__level(scale[g] * by_scale, 0, TOP_SCALE);
        b->m[g] = (uint8_t)geodec__level(min[g] * by_min, 0, TOP_SCALE);
    }
    score(x, top, b);
}

/* Fits every group alone; chooses d and dmin so that the largest scale and minimum become 63, or (search) a little
 * less. */
static void start(const float *x, int top, bool search, block *b)
{
    float scale[GROUPS], min[GROUPS], top_scale = 0, top_min = 0;
    for (int g = 0; g < GROUPS; g++) {
        geodec__encode_fit_affine(x + WIDTH * g, WIDTH, top, search, false, &scale[g], &min[g]);
        if (scale[g] > top_scale) top_scale = scale[g];
        if (min[g] > top_min) top_min = min[g];
    }
    round_scales(x, top, scale, min, top_scale / TOP_SCALE, top_min / TOP_SCALE, b);
    for (int s = TOP_SCALE; search && s > TOP_SCALE - LESS; s--)
        for (int m = TOP_SCALE; m > TOP_SCALE - LESS && b->error > 0; m--) {
            block other;
            if (s == TOP_SCALE && m == TOP_SCALE) continue;
            round_scales(x, top, scale, min, top_scale / (float)s, top_min / (float)m, &other);
            if (other.error < b->error) *b = other;
        }
}

static void refine(const float *x, int top, block *b)
{
    for (int round = 0; round < ROUNDS && b->error > 0; round++) {
        block next = *b;
        float d = geodec_f16_to_f32(b->d), dmin = geodec_f16_to_f32(b->dmin);
        for (int g = 0; g < GROUPS; g++) descend(x + WIDTH * g, top, d, dmin, &next.s[g], &next.m[g]);
        score(x, top, &next);
        if (next.error < b->error) *b = next;
        fill_levels(x, top, b);
        if (!solve_scales(x, b, &d, &dmin)) break;
        next = *b;
        next.d = geodec_f32_to_f16(d);
        next.dmin = geodec_f32_to_f16(dmin);
        if (next.d == b->d && next.dmin == b->dmin) break;
        score(x, top, &next);
        if (!(next.error < b->error)) break;
        *b = next;
    }
}

/* The inverse of geodec__k_scale_min for all groups. */
static void pack_scales(const block *b, uint8_t packed[12])
{
    for (int g = 0; g < 4; g++) {
        packed[g] = (uint8_t)(b->s[g] | (b->s[g + 4] >> 4) << 6);
        packed[g + 4] = (uint8_t)(b->m[g] | (b->m[g + 4] >> 4) << 6);
        packed[g + 8] = (uint8_t)((b->s[g + 4] & 15) | (b->m[g + 4] & 15) << 4);
    }
}

static void encode(const float *src, uint8_t *p, int64_t n, int bits, bool search)
{
    const int bytes = bits == 4 ? GEODEC_GGML_BYTES_Q4_K : GEODEC_GGML_BYTES_Q5_K, top = (1 << bits) - 1;
    for (int64_t i = 0; i < n / QK_BLOCK; i++, p += bytes, src += QK_BLOCK) {
        block b;
        start(src, top, search, &b);
        if (search) refine(src, top, &b);
        fill_levels(src, top, &b);
        geodec__store16(p, b.d);
        geodec__store16(p + 2, b.dmin);
        pack_scales(&b, p + 4);
        uint8_t *low = p + 16;
        if (bits == 5) {
            memset(p + 16, 0, 32);
            for (int j = 0; j < QK_BLOCK; j++) p[16 + j % 32] |= (uint8_t)((b.q[j] >> 4) << (j / 32));
            low = p + 48;
        }
        for (int j = 0; j < 128; j++) {
            const uint8_t *q = b.q + 64 * (j / 32) + j % 32;
            low[j] = (uint8_t)((q[0] & 15) | (q[32] & 15) << 4);
        }
    }
}

GEODEC__ENCODERS(q4_k, encode(src, dst, n, 4, search))
GEODEC__ENCODERS(q5_k, encode(src, dst, n, 5, search))
