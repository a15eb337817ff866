/* The decay recurrence: instruction sets, chunks, trees, closed forms. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "recurrence/recurrence.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MOST = 1024 };

/* Random rows in the layout of both forms. */
typedef struct rows {
    int64_t n, d, r, stride;
    float *g, *v, *k, *q, *y; /* [n][d] and [n][stride] */
    const float *gr[MOST], *vr[MOST], *kr[MOST], *qr[MOST];
    float *yr[MOST];
} rows;

static void make(rows *x, int64_t n, int64_t d, int64_t r, double decay)
{
    geodec_rng rng = geodec_rng_stream(5, (uint64_t)(n * 1000 + d * 10 + r));
    *x = (rows){.n = n, .d = d, .r = r, .stride = geodec_recurrence_stride(r)};
    x->g = geodec_mem_new(n * d, sizeof(float));
    x->v = geodec_mem_new(n * d, sizeof(float));
    x->y = geodec_mem_new(n * d, sizeof(float));
    x->k = geodec_mem_new(n * x->stride, sizeof(float));
    x->q = geodec_mem_new(n * x->stride, sizeof(float));
    cr_assert(x->g && x->v && x->y && x->k && x->q);
    for (int64_t i = 0; i < n * d; i++) {
        x->g[i] = (float)(1 / (1 + exp(-decay - geodec_rng_normal(&rng))));
        x->v[i] = (float)geodec_rng_normal(&rng);
    }
    for (int64_t t = 0; t < n; t++) {
        for (int64_t j = 0; j < r; j++) {
            x->k[t * x->stride + j] = (float)(geodec_rng_normal(&rng) / sqrt((double)r));
            x->q[t * x->stride + j] = (float)geodec_rng_normal(&rng);
        }
        x->gr[t] = x->g + t * d;
        x->vr[t] = x->v + t * d;
        x->kr[t] = x->k + t * x->stride;
        x->qr[t] = x->q + t * x->stride;
        x->yr[t] = x->y + t * d;
    }
}

static void drop(rows *x) { GEODEC_FREE(x->g, x->v, x->y, x->k, x->q); }

static geodec_recurrence_rows view(const rows *x)
{
    return (geodec_recurrence_rows){.n = x->n, .g = x->gr, .v = x->vr, .k = x->kr, .q = x->qr, .y = x->yr};
}

/* The definition, operation by operation. */
static float defined(float *s, int64_t stride, float g, float v, const float *k, const float *q, bool half)
{
    float sum[16] = {0};
    for (int64_t j = 0; j < stride; j++) {
        volatile float a = g * s[j], b = v * k[j], c = a + b;
        if (half) c = geodec_f16_to_f32(geodec_f32_to_f16(c));
        s[j] = c;
        volatile float p = c * q[j];
        volatile float t = sum[j % 16] + p;
        sum[j % 16] = t;
    }
    for (int w = 8; w > 0; w /= 2)
        for (int l = 0; l < w; l++) sum[l] += sum[l + w];
    return sum[0];
}

static void check_definition(geodec_isa isa, bool half, int64_t n, int64_t d, int64_t r)
{
    rows x;
    make(&x, n, d, r, 3);
    const int64_t size = d * x.stride;
    float *want = geodec_mem_new(size, sizeof *want), *scratch = geodec_mem_new(x.stride, sizeof *scratch);
    void *state = geodec_mem_new(size, half ? 2 : 4);
    const geodec_recurrence_rows w = view(&x);
    /* channels in two parts, rows in two calls */
    geodec_recurrence_rows head = w, tail = w;
    head.n = n / 3;
    tail.n = n - head.n;
    tail.g += head.n;
    tail.v += head.n;
    tail.k += head.n;
    tail.q += head.n;
    tail.y += head.n;
    geodec_recurrence_run(isa, state, state, half, x.stride, 0, d / 2, &head, scratch);
    geodec_recurrence_run(isa, state, state, half, x.stride, 0, d / 2, &tail, scratch);
    geodec_recurrence_run(isa, state, state, half, x.stride, d / 2, d, &w, scratch);
    for (int64_t t = 0; t < n; t++)
        for (int64_t i = 0; i < d; i++) {
            const float y = defined(want + i * x.stride, x.stride, x.gr[t][i], x.vr[t][i], x.kr[t], x.qr[t], half);
            cr_assert_eq(y, x.yr[t][i], "row %lld channel %lld: %.9g, not %.9g", (long long)t, (long long)i,
                         (double)x.yr[t][i], (double)y);
        }
    for (int64_t i = 0; i < size; i++) {
        const float s = half ? geodec_f16_to_f32(((uint16_t *)state)[i]) : ((float *)state)[i];
        cr_assert_eq(s, want[i]);
        if (i % x.stride >= r) cr_assert_eq(s, 0);
    }
    GEODEC_FREE(want, scratch, state);
    drop(&x);
}

Test(recurrence, every_instruction_set_gives_the_bits_of_the_definition)
{
    for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
        if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
        for (int half = 0; half < 2; half++) {
            check_definition((geodec_isa)isa, half, 40, 24, 32);
            check_definition((geodec_isa)isa, half, 9, 5, 1);
            check_definition((geodec_isa)isa, half, 7, 3, 17);
            check_definition((geodec_isa)isa, half, 3, 128, 256);
        }
    }
}

/* Steps against chunks of every size, the last one partial: 1e-4 in float32 and 1e-10 in float64. */
Test(recurrence, chunks_are_the_steps)
{
    enum { N = 1024, D = 48, R = 32 };
    static const int64_t sizes[] = {1, 7, 32, 64, 100, 1024};
    rows x;
    make(&x, N, D, R, 3);
    const int64_t work = geodec_recurrence_chunk_work(N, D, R);
    double *g = geodec_mem_new(N * D, 8), *v = geodec_mem_new(N * D, 8), *k = geodec_mem_new(N * R, 8),
           *q = geodec_mem_new(N * R, 8), *s = geodec_mem_new(D * R, 8), *y = geodec_mem_new(N * D, 8),
           *s2 = geodec_mem_new(D * R, 8), *y2 = geodec_mem_new(N * D, 8), *work64 = geodec_mem_new(work, 8);
    float *state = geodec_mem_new(D * x.stride, 4), *scratch = geodec_mem_new(x.stride, 4);
    float *s32 = geodec_mem_new(D * R, 4), *y32 = geodec_mem_new(N * D, 4), *work32 = geodec_mem_new(work, 4);
    for (int i = 0; i < N * D; i++) {
        g[i] = (double)x.g[i];
        v[i] = (double)x.v[i];
    }
    for (int t = 0; t < N; t++)
        for (int j = 0; j < R; j++) {
            k[t * R + j] = (double)x.kr[t][j];
            q[t * R + j] = (double)x.qr[t][j];
        }
    geodec_recurrence_steps_f64(N, D, R, g, v, k, q, s, y);
    const geodec_recurrence_rows w = view(&x);
    geodec_recurrence_run(GEODEC_ISA_AUTO, state, state, false, x.stride, 0, D, &w, scratch);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(s2, 0, D * R * sizeof *s2);
        memset(s32, 0, D * R * sizeof *s32);
        geodec_recurrence_chunks_f64(N, D, R, sizes[i], 0x1p-300, g, v, k, q, s2, y2, work64);
        geodec_recurrence_chunks_f32(N, D, R, sizes[i], 0x1p-40f, x.g, x.v, x.k, x.q, s32, y32, work32);
        double worst64 = 0, worst32 = 0;
        for (int j = 0; j < N * D; j++) {
            worst64 = fmax(worst64, fabs(y2[j] - y[j]));
            worst32 = fmax(worst32, fabs((double)y32[j] - (double)x.y[j]));
        }
        for (int j = 0; j < D * R; j++) {
            worst64 = fmax(worst64, fabs(s2[j] - s[j]));
            worst32 = fmax(worst32, fabs((double)s32[j] - (double)state[j])); /* stride R */
        }
        cr_assert_lt(worst64, 1e-10, "chunk %lld: %g", (long long)sizes[i], worst64);
        cr_assert_lt(worst32, 1e-4, "chunk %lld: %g", (long long)sizes[i], worst32);
    }
    GEODEC_FREE(g, v, k, q, s, y, s2, y2);
    GEODEC_FREE(work64, state, scratch, s32, y32, work32);
    drop(&x);
}

/* Gates near 0 end a chunk early; a gate of exactly 0 forgets. */
Test(recurrence, chunks_survive_small_decays)
{
    enum { N = 64, D = 4, R = 16 };
    rows x;
    make(&x, N, D, R, -6);
    x.g[5 * D + 1] = 0;
    const int64_t work = geodec_recurrence_chunk_work(32, D, R);
    float *state = geodec_mem_new(D * R, 4), *s = geodec_mem_new(D * R, 4), *y = geodec_mem_new(N * D, 4),
          *w32 = geodec_mem_new(work, 4), *scratch = geodec_mem_new(R, 4);
    const geodec_recurrence_rows w = view(&x);
    geodec_recurrence_run(GEODEC_ISA_AUTO, state, state, false, R, 0, D, &w, scratch);
    geodec_recurrence_chunks_f32(N, D, R, 32, 0x1p-40f, x.g, x.v, x.k, x.q, s, y, w32);
    for (int i = 0; i < N * D; i++) cr_assert(fabsf(y[i] - x.y[i]) < 1e-4f, "%g and %g", (double)y[i], (double)x.y[i]);
    GEODEC_FREE(state, s, y, w32, scratch);
    drop(&x);
}

Test(recurrence, a_tree_is_every_chain_of_it)
{
    enum { N = 9, D = 6, R = 20, DEEP = 5 };
    static const int32_t parent[N] = {-1, 0, -1, 1, 1, 2, 5, 3, 6};
    rows x;
    make(&x, N, D, R, 2);
    float *base = geodec_mem_new(D * x.stride, 4), *state = geodec_mem_new(D * x.stride, 4),
          *scratch = geodec_mem_new((1 + N) * x.stride, 4), *y = geodec_mem_new(N * D, 4);
    geodec_recurrence_rows w = view(&x);
    w.n = 2; /* any state */
    geodec_recurrence_run(GEODEC_ISA_AUTO, base, base, false, x.stride, 0, D, &w, scratch);
    w.n = N;
    w.parent = parent;
    geodec_recurrence_run(GEODEC_ISA_AUTO, base, NULL, false, x.stride, 0, D, &w, scratch);
    memcpy(y, x.y, N * D * sizeof *y);
    for (int32_t leaf = 0; leaf < N; leaf++) {
        int32_t chain[N], depth = 0;
        for (int32_t at = leaf; at >= 0; at = parent[at]) chain[depth++] = at;
        memcpy(state, base, (size_t)(D * x.stride) * sizeof *state);
        while (depth-- > 0) {
            const int32_t t = chain[depth];
            const geodec_recurrence_rows one = {1, x.gr + t, x.vr + t, x.kr + t, x.qr + t, x.yr + t, NULL};
            geodec_recurrence_run(GEODEC_ISA_AUTO, state, state, false, x.stride, 0, D, &one, scratch);
        }
        for (int i = 0; i < D; i++) cr_assert_eq(x.yr[leaf][i], y[leaf * D + i]);
    }
    GEODEC_FREE(base, state, scratch, y);
    drop(&x);
}

/* 10,000 steps of the same row reach v k^T / (1 - g), within the rounding of 10,000 sums. */
Test(recurrence, a_constant_input_reaches_the_closed_form)
{
    enum { R = 16, D = 4 };
    const float g[D] = {0.5f, 0.9f, 0.95f, 0.999f}, v[D] = {1, -2, 0.5f, 3};
    float k[R], q[R], y[D], state[D * R] = {0}, scratch[R];
    for (int j = 0; j < R; j++) k[j] = (float)(j + 1) / R, q[j] = 1;
    const float *gp = g, *vp = v, *kp = k, *qp = q;
    float *yp = y;
    const geodec_recurrence_rows w = {1, &gp, &vp, &kp, &qp, &yp, NULL};
    for (int t = 0; t < 10000; t++) geodec_recurrence_run(GEODEC_ISA_AUTO, state, state, false, R, 0, D, &w, scratch);
    for (int i = 0; i < D; i++) {
        const double factor = (double)v[i] / (1 - (double)g[i]);
        for (int j = 0; j < R; j++)
            cr_assert(fabs((double)state[i * R + j] - factor * (double)k[j]) < 2e-4 * fabs(factor * (double)k[j]));
        cr_assert(fabs((double)y[i] - factor * 8.5) < 2e-4 * fabs(factor * 8.5));
    }
}
