#include "base/finite.h"
#include "base/mem.h"
#include "kernels/isa_internal.h"
#include "ternary/multiply_internal.h"

#include <math.h>

enum { TASK = 64 /* rows */, MOST_VECTORS = 1 << 20, TILE = GEODEC__TERNARY_TILE, AHEAD = 8192 /* bytes */ };

/* ---- instruction sets ------------------------------------------------------------------------------------------- */

int geodec__ternary_all(const geodec__ternary_ops *all[3])
{
    int n = 0;
    all[n++] = &geodec__ternary_scalar;
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_AVX2) all[n++] = &geodec__ternary_avx2;
    if (geodec__cpu() & GEODEC__CPU_VNNI) all[n++] = &geodec__ternary_vnni;
#endif
    return n;
}

const geodec__ternary_ops *geodec__ternary_for(geodec_isa isa)
{
#if defined(__x86_64__)
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_VNNI) return &geodec__ternary_vnni;
    if (has & GEODEC__CPU_AVX2) return &geodec__ternary_avx2;
#else
    (void)isa;
#endif
    return &geodec__ternary_scalar;
}

/* ---- activations ------------------------------------------------------------------------------------------------ */

geodec_status geodec_ternary_input_create(geodec_ternary_arithmetic a, int64_t cols, int64_t most,
                                          geodec_ternary_input *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ternary_input in = {.arithmetic = a, .cols = cols, .most = most};
    if (cols < 1 || cols > GEODEC_TERNARY_COLUMNS || most < 1 || most > MOST_VECTORS)
        GEODEC_THROW(GEODEC_LIMIT, "%lld vectors of %lld columns are outside 1 to %d and 1 to %d", (long long)most,
                     (long long)cols, MOST_VECTORS, GEODEC_TERNARY_COLUMNS);
    for (int e = GEODEC_TERNARY_BASE3; e <= GEODEC_TERNARY_BITS2; e++) {
        const int64_t columns = geodec_ternary_row_bytes(e, cols) / GEODEC_TERNARY_BLOCK * geodec_ternary_block(e);
        in.stride = columns > in.stride ? columns : in.stride;
    }
    if (a == GEODEC_TERNARY_FLOAT) {
        GEODEC_NEW(in.x, most * in.stride);
    } else {
        GEODEC_NEW(in.q, most * in.stride);
        GEODEC_NEW(in.scale, most);
        GEODEC_NEW(in.sum, most);
    }
    GEODEC_MOVE(*out, in);
done:
    geodec_ternary_input_clear(&in);
    return st;
}

void geodec_ternary_input_clear(geodec_ternary_input *in)
{
    GEODEC_FREE(in->x, in->q, in->scale, in->sum);
    *in = (geodec_ternary_input){0};
}

/* 1.5 2^23: a sum with it is rounded to an integer, ties to even. */
static const float shift = 12582912.0f;

void geodec_ternary_input_set(geodec_ternary_input *in, int64_t i, const float *x)
{
    if (in->arithmetic == GEODEC_TERNARY_FLOAT) {
        memcpy(in->x + i * in->stride, x, (size_t)in->cols * sizeof *x);
        return;
    }
    int8_t *q = in->q + i * in->stride;
    float most = 0;
    for (int64_t c = 0; c < in->cols; c++) most = fabsf(x[c]) > most ? fabsf(x[c]) : most;
    const bool finite = geodec_finite_first_not_f32(x, in->cols) < 0;
    in->scale[i] = !finite ? NAN : most < 1e-30f ? 0 : most / 127;
    in->sum[i] = 0;
    if (!(in->scale[i] > 0)) {
        memset(q, 0, (size_t)in->cols);
        return;
    }
    int32_t sum = 0;
    for (int64_t c = 0; c < in->cols; c++) {
        const int32_t v = (int32_t)(x[c] / in->scale[i] + shift - shift);
        q[c] = (int8_t)v;
        sum += v;
    }
    in->sum[i] = sum;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

typedef struct work {
    const geodec__ternary_ops *ops;
    const geodec_ternary_matrix *m;
    const geodec_ternary_input *in;
    int64_t n;
    float *const *y;
} work;

static float scale_of(const geodec_ternary_matrix *m, int64_t o) { return m->row_scale ? m->row_scale[o] : m->scale; }

static void dot_rows(const work *w, const geodec__ternary_rows *rows, int64_t o)
{
    const geodec_ternary_input *in = w->in;
    int32_t sum[TILE * TILE];
    for (int64_t v = 0; v < w->n; v += TILE) {
        const int n = w->n - v < TILE ? (int)(w->n - v) : TILE;
        w->ops->dot[w->m->encoding](rows, in->q + v * in->stride, in->stride, n, sum);
        for (int i = 0; i < n; i++)
            for (int r = 0; r < rows->rows; r++)
                w->y[v + i][o + r] =
                    (float)(sum[i * TILE + r] - in->sum[v + i]) * (in->scale[v + i] * scale_of(w->m, o + r));
    }
}

static float sum_lanes(float *lane)
{
    for (int half = GEODEC__TERNARY_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0];
}

static void add_rows(const work *w, const geodec__ternary_rows *rows, int64_t o)
{
    float lane[TILE][GEODEC__TERNARY_LANES];
    for (int64_t v = 0; v < w->n; v++) {
        w->ops->add[w->m->encoding](rows, w->in->x + v * w->in->stride, lane);
        for (int r = 0; r < rows->rows; r++) w->y[v][o + r] = sum_lanes(lane[r]) * scale_of(w->m, o + r);
    }
}

static void task_rows(void *ctx, int64_t task, int worker)
{
    const work *w = ctx;
    const geodec_ternary_matrix *m = w->m;
    const int64_t bytes = geodec_ternary_row_bytes(m->encoding, m->cols);
    const int64_t end = (task + 1) * TASK < m->rows ? (task + 1) * TASK : m->rows;
    const int64_t tile = TILE * bytes, ahead = (AHEAD + tile - 1) / tile * tile;
    (void)worker;
    for (int64_t o = task * TASK; o < end; o += TILE) {
        const geodec__ternary_rows rows = {.data = m->data + o * bytes,
                                           .row_bytes = bytes,
                                           .blocks = bytes / GEODEC_TERNARY_BLOCK,
                                           .ahead = ahead,
                                           .rows = end - o < TILE ? (int)(end - o) : TILE};
        (w->in->arithmetic == GEODEC_TERNARY_FLOAT ? add_rows : dot_rows)(w, &rows, o);
    }
}

void geodec__ternary_multiply_with(const geodec__ternary_ops *ops, const geodec_ternary_matrix *m,
                                   const geodec_ternary_input *in, int64_t n, geodec_pool *pool, float *const *y)
{
    work w = {.ops = ops, .m = m, .in = in, .n = n, .y = y};
    geodec_pool_run_dynamic(pool, (m->rows + TASK - 1) / TASK, task_rows, &w);
}

void geodec_ternary_multiply(const geodec_ternary_matrix *m, const geodec_ternary_input *in, int64_t n, geodec_isa isa,
                             geodec_pool *pool, float *const *y)
{
    geodec__ternary_multiply_with(geodec__ternary_for(isa), m, in, n, pool, y);
}
