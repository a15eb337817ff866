/* The steps, over 16 lanes. Included once for each instruction set after VARIANT(name) is defined; the loops over lanes
 * are written for the vectoriser, and no compiler may reorder them. */
#include "base/f16.h"
#include "base/unroll_internal.h"
#include "recurrence/recurrence_internal.h"

#include <string.h>

enum { LANES = GEODEC_RECURRENCE_LANES };

/* One channel, one row: s becomes its next state and is returned times q. */
INLINE float step(float *to, const float *from, int64_t stride, bool half, float g, float v, const float *k,
                  const float *q)
{
    float sum[LANES] = {0};
    for (int64_t j = 0; j < stride; j += LANES) {
        float s[LANES];
        for (int l = 0; l < LANES; l++) s[l] = g * from[j + l] + v * k[j + l];
        if (half) {
            uint16_t h[LANES];
            geodec_f32_to_f16_n(s, h, LANES);
            for (int l = 0; l < LANES; l++) s[l] = geodec_f16_to_f32(h[l]);
        }
        for (int l = 0; l < LANES; l++) to[j + l] = s[l];
        if (q)
            for (int l = 0; l < LANES; l++) sum[l] += s[l] * q[j + l];
    }
    for (int l = 0; l < 8; l++) sum[l] += sum[l + 8];
    for (int l = 0; l < 4; l++) sum[l] += sum[l + 4];
    for (int l = 0; l < 2; l++) sum[l] += sum[l + 2];
    return sum[0] + sum[1];
}

INLINE void load(const void *from, bool half, int64_t at, int64_t n, float *x)
{
    if (!half) {
        memcpy(x, (const float *)from + at, (size_t)n * sizeof *x);
        return;
    }
    for (int64_t j = 0; j < n; j++) x[j] = geodec_f16_to_f32(((const uint16_t *)from)[at + j]);
}

INLINE void store(void *to, bool half, int64_t at, int64_t n, const float *x)
{
    if (half)
        geodec_f32_to_f16_n(x, (uint16_t *)to + at, n);
    else
        memcpy((float *)to + at, x, (size_t)n * sizeof *x);
}

static void VARIANT(run)(const void *from, void *to, bool half, int64_t stride, int64_t first, int64_t end,
                         const geodec_recurrence_rows *rows, float *scratch)
{
    for (int64_t i = first; i < end; i++) {
        load(from, half, i * stride, stride, scratch);
        for (int64_t t = 0; t < rows->n; t++) {
            const float g = rows->g[t][i], v = rows->v[t][i], *q = rows->y ? rows->q[t] : NULL;
            const float *before = rows->parent ? scratch + (1 + (int64_t)rows->parent[t]) * stride : scratch;
            float *after = rows->parent ? scratch + (1 + t) * stride : scratch;
            const float y = half ? step(after, before, stride, true, g, v, rows->k[t], q)
                                 : step(after, before, stride, false, g, v, rows->k[t], q);
            if (rows->y) rows->y[t][i] = y;
        }
        if (to) store(to, half, i * stride, stride, scratch);
    }
}
