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
    geodec_recurrence_shape shape;
    int64_t n, d, r, stride;
    float *g, *v, *k, *q, *y, *b, *a; /* [n][heads], [n][d], [n][keys][stride], [n][heads], [d][stride] */
    const float *gr[MOST], *vr[MOST], *kr[MOST], *qr[MOST], *br[MOST];
    float *yr[MOST];
} rows;

/* decay: gates are near its sigmoid. */
static void make_shape(rows *x, int64_t n, geodec_recurrence_shape shape, double decay)
{
    const int64_t d = shape.d, r = shape.r, heads = geodec_recurrence_heads(&shape),
                  stride = geodec_recurrence_stride(r), wide = shape.keys * stride;
    geodec_rng rng = geodec_rng_stream(5, (uint64_t)(n * 1000 + d * 10 + r));
    *x = (rows){.shape = shape, .n = n, .d = d, .r = r, .stride = stride};
    x->g = geodec_mem_new(n * heads, sizeof(float));
    x->b = geodec_mem_new(n * heads, sizeof(float));
    x->v = geodec_mem_new(n * d, sizeof(float));
    x->y = geodec_mem_new(n * d, sizeof(float));
    x->k = geodec_mem_new(n * wide, sizeof(float));
    x->q = geodec_mem_new(n * wide, sizeof(float));
    x->a = geodec_mem_new(d * stride, sizeof(float));
    cr_assert(x->g && x->b && x->v && x->y && x->k && x->q && x->a);
    for (int64_t i = 0; i < n * heads; i++) {
        x->g[i] = (float)(1 / (1 + exp(-decay - geodec_rng_normal(&rng))));
        x->b[i] = (float)geodec_rng_uniform(&rng);
    }
    for (int64_t i = 0; i < n * d; i++) x->v[i] = (float)geodec_rng_normal(&rng);
    for (int64_t i = 0; i < d * stride; i++) x->a[i] = -8 * (float)geodec_rng_uniform(&rng);
    for (int64_t t = 0; t < n; t++) {
        for (int64_t j = 0; j < wide; j++) {
            if (j % stride >= r) continue;
            x->k[t * wide + j] = (float)(geodec_rng_normal(&rng) / sqrt((double)r));
            x->q[t * wide + j] = (float)geodec_rng_normal(&rng);
        }
        x->gr[t] = x->g + t * heads;
        x->br[t] = x->b + t * heads;
        x->vr[t] = x->v + t * d;
        x->kr[t] = x->k + t * wide;
        x->qr[t] = x->q + t * wide;
        x->yr[t] = x->y + t * d;
    }
}

static void make(rows *x, int64_t n, int64_t d, int64_t r, double decay)
{
    make_shape(x, n, (geodec_recurrence_shape){.d = d, .r = r, .share = 1, .keys = 1}, decay);
}

static void drop(rows *x) { GEODEC_FREE(x->g, x->b, x->v, x->y, x->k, x->q, x->a); }

static geodec_recurrence_rows view(const rows *x)
{
    return (geodec_recurrence_rows){
        .n = x->n, .g = x->gr, .v = x->vr, .k = x->kr, .q = x->qr, .y = x->yr, .b = x->br, .a = x->a};
}

static geodec_recurrence_rows one_row(const rows *x, int64_t t)
{
    geodec_recurrence_rows w = view(x);
    w.n = 1;
    w.g += t;
    w.b += t;
    w.v += t;
    w.k += t;
    w.q += t;
    w.y += t;
    return w;
}

/* x . y, operation by operation. */
static float dot(const float *x, const float *y, int64_t n)
{
    float sum[16] = {0};
    for (int64_t j = 0; j < n; j++) {
        volatile float p = x[j] * y[j];
        volatile float t = sum[j % 16] + p;
        sum[j % 16] = t;
    }
    for (int w = 8; w > 0; w /= 2)
        for (int l = 0; l < w; l++) sum[l] += sum[l + w];
    return sum[0];
}

static float exponential(float x)
{
    static const float c[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
    x = x < -87 ? -87 : x > 88 ? 88 : x;
    volatile float m = x * 1.44269504088896341f, t = m + 12582912.0f, n = t - 12582912.0f;
    volatile float a = n * 0.693359375f, b = n * 2.12194440e-4f, ra = x - a, r = ra + b, p = 1.9875691500e-4f, q, rr;
    for (int i = 0; i < 5; i++) {
        q = p * r;
        p = q + c[i];
    }
    rr = r * r;
    q = rr * p;
    p = q + r;
    p = p + 1.0f;
    return p * ldexpf(1, (int)n);
}

/* The definition of a row of a channel, operation by operation. */
static float defined(const rows *x, int64_t t, int64_t i, float *s, bool half)
{
    const int64_t head = i / x->shape.share, key = geodec_recurrence_key(&x->shape, head) * x->stride;
    const float g = x->gr[t][head], v = x->vr[t][i], *k = x->kr[t] + key, *q = x->qr[t] + key;
    volatile float u = v;
    if (x->shape.kind == GEODEC_RECURRENCE_DELTA) {
        for (int64_t j = 0; j < x->stride; j++) s[j] = g * s[j];
        u = v - dot(s, k, x->stride);
        u = x->br[t][head] * u;
    }
    for (int64_t j = 0; j < x->stride; j++) {
        volatile float f = x->shape.kind == GEODEC_RECURRENCE_DELTA ? 1 : g;
        if (x->shape.kind == GEODEC_RECURRENCE_SCAN) {
            f = g * x->a[i * x->stride + j];
            f = exponential(f);
        }
        volatile float a = f * s[j], b = u * k[j], c = a + b;
        if (half) c = geodec_f16_to_f32(geodec_f32_to_f16(c));
        s[j] = c;
    }
    return dot(s, q, x->stride);
}

static void check_definition(geodec_isa isa, bool half, int64_t n, geodec_recurrence_shape shape)
{
    rows x;
    make_shape(&x, n, shape, 3);
    const int64_t size = x.d * x.stride, d = x.d;
    float *want = geodec_mem_new(size, sizeof *want), *scratch = geodec_mem_new(x.stride, sizeof *scratch);
    void *state = geodec_mem_new(size, half ? 2 : 4);
    const geodec_recurrence_rows w = view(&x);
    /* channels in two parts, rows in two calls */
    geodec_recurrence_rows head = w, tail = one_row(&x, n / 3);
    head.n = n / 3;
    tail.n = n - head.n;
    geodec_recurrence_run(isa, &shape, state, state, half, 0, d / 2, &head, scratch);
    geodec_recurrence_run(isa, &shape, state, state, half, 0, d / 2, &tail, scratch);
    geodec_recurrence_run(isa, &shape, state, state, half, d / 2, d, &w, scratch);
    for (int64_t t = 0; t < n; t++)
        for (int64_t i = 0; i < d; i++) {
            const float y = defined(&x, t, i, want + i * x.stride, half);
            cr_assert_eq(y, x.yr[t][i], "kind %d row %lld channel %lld: %.9g, not %.9g", shape.kind, (long long)t,
                         (long long)i, (double)x.yr[t][i], (double)y);
        }
    for (int64_t i = 0; i < size; i++) {
        const float s = half ? geodec_f16_to_f32(((uint16_t *)state)[i]) : ((float *)state)[i];
        cr_assert_eq(s, want[i]);
        if (i % x.stride >= x.r) cr_assert_eq(s, 0);
    }
    GEODEC_FREE(want, scratch, state);
    drop(&x);
}

Test(recurrence, every_instruction_set_gives_the_bits_of_the_definition)
{
    static const geodec_recurrence_shape shapes[] = {
        {.d = 24, .r = 32, .share = 1, .keys = 1},
        {.d = 5, .r = 1, .share = 1, .keys = 1},
        {.d = 3, .r = 17, .share = 1, .keys = 1},
        {.d = 128, .r = 256, .share = 1, .keys = 1},
        {.d = 48, .r = 16, .share = 12, .keys = 2}, /* Mamba-2: heads, groups of them */
        {.kind = GEODEC_RECURRENCE_DELTA, .d = 32, .r = 16, .share = 8, .keys = 2},
        {.kind = GEODEC_RECURRENCE_DELTA, .d = 36, .r = 20, .share = 9, .keys = 2, .cyclic = true},
        {.kind = GEODEC_RECURRENCE_DELTA, .d = 128, .r = 128, .share = 128, .keys = 1},
        {.kind = GEODEC_RECURRENCE_SCAN, .d = 40, .r = 16, .share = 1, .keys = 1},
        {.kind = GEODEC_RECURRENCE_SCAN, .d = 7, .r = 5, .share = 1, .keys = 1},
    };
    for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
        if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            check_definition((geodec_isa)isa, false, 40, shapes[i]);
            check_definition((geodec_isa)isa, false, 3, shapes[i]);
            if (shapes[i].kind == GEODEC_RECURRENCE_DECAY) check_definition((geodec_isa)isa, true, 9, shapes[i]);
        }
    }
}

/* exp of the scan against libm over its range: 2e-7 relative. A state of 1 that is multiplied once shows it. */
Test(recurrence, exponentials_of_the_scan)
{
    enum { R = 16, N = 4000 };
    const geodec_recurrence_shape shape = {.kind = GEODEC_RECURRENCE_SCAN, .d = 1, .r = R, .share = 1, .keys = 1};
    const float one = 1, zero[R] = {0}, v = 0;
    float a[R], state[R], scratch[R];
    const float *g = &one, *k = zero, *vp = &v;
    for (int i = 0; i < N; i += R) {
        for (int l = 0; l < R; l++) {
            a[l] = -87 + 175.0f * (float)(i + l) / N;
            state[l] = 1;
        }
        const geodec_recurrence_rows w = {.n = 1, .g = &g, .v = &vp, .k = &k, .a = a};
        geodec_recurrence_run(GEODEC_ISA_AUTO, &shape, state, state, false, 0, 1, &w, scratch);
        for (int l = 0; l < R; l++) {
            const double want = exp((double)a[l]);
            cr_assert_lt(fabs((double)state[l] - want), 2e-7 * want, "exp(%g) = %g", (double)a[l], (double)state[l]);
        }
    }
}

/* The convolution against its definition: rows at once, one by one, in parts of the channels, and as a tree. */
Test(recurrence, convolution)
{
    enum { N = 9, W = 37, TAPS = 4 };
    static const int32_t parent[N] = {-1, 0, 1, 0, -1, 2, 5, 6, 3};
    const geodec_recurrence_shape shape = {.taps = TAPS, .width = W};
    geodec_rng rng = geodec_rng_stream(8, 1);
    float x[N][W], window[TAPS - 1][W], slid[TAPS - 1][W], weight[TAPS * W], bias[W], y[N][W], one[N][W];
    const float *xr[N], *tap[N * TAPS];
    float *yr[N];
    float *const all[] = {&x[0][0], &window[0][0], weight, bias};
    const int64_t sizes[] = {N * W, (TAPS - 1) * W, TAPS * W, W};
    for (int p = 0; p < 4; p++)
        for (int64_t i = 0; i < sizes[p]; i++) all[p][i] = (float)geodec_rng_normal(&rng);
    for (int form = 0; form < 2; form++) {
        const int32_t *up = form ? parent : NULL;
        for (int t = 0; t < N; t++) {
            xr[t] = x[t];
            yr[t] = one[t];
            const float *see[TAPS];
            for (int k = TAPS - 1, at = t, back = 0; k >= 0; k--) {
                see[k] = at >= 0 ? x[at] : window[TAPS - 2 - back++];
                at = at < 0 ? at : up ? up[at] : at - 1;
            }
            for (int c = 0; c < W; c++) {
                volatile float s = weight[c] * see[0][c];
                for (int k = 1; k < TAPS; k++) {
                    volatile float p = weight[k * W + c] * see[k][c];
                    s = s + p;
                }
                y[t][c] = s + bias[c];
            }
        }
        geodec_recurrence_taps(&shape, window[0], N, xr, up, tap);
        for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
            if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
            memset(one, 0, sizeof one);
            geodec_recurrence_convolve((geodec_isa)isa, &shape, weight, bias, N, tap, 0, 16, yr);
            geodec_recurrence_convolve((geodec_isa)isa, &shape, weight, bias, N, tap, 16, W, yr);
            cr_assert_eq(memcmp(one, y, sizeof y), 0, "form %d, set %d", form, isa);
        }
    }
    memcpy(slid, window, sizeof slid);
    for (int t = 0; t < N; t++) { /* one row at a time, the window in place */
        geodec_recurrence_taps(&shape, slid[0], 1, xr + t, NULL, tap);
        geodec_recurrence_convolve(GEODEC_ISA_AUTO, &shape, weight, NULL, 1, tap, 0, W, yr + t);
        geodec_recurrence_slide(&shape, slid[0], 1, xr + t, slid[0]);
    }
    for (int k = 0; k < TAPS - 1; k++) cr_assert_eq(memcmp(slid[k], x[N - TAPS + 1 + k], sizeof slid[k]), 0);
    geodec_recurrence_slide(&shape, window[0], N, xr, window[0]);
    cr_assert_eq(memcmp(slid, window, sizeof slid), 0);
    geodec_recurrence_taps(&shape, window[0], 1, xr, NULL, tap);
    cr_assert(tap[0] == window[0] && tap[TAPS - 1] == x[0]);
}

/* Steps in float32 against steps in float64: 1e-4. Gates near 0, and one of exactly 0, which forgets. */
Test(recurrence, steps_are_those_of_float64)
{
    enum { N = 1024, D = 48, R = 32 };
    for (int small = 0; small < 2; small++) {
        rows x;
        make(&x, N, D, R, small ? -6 : 3);
        if (small) x.g[5 * D + 1] = 0;
        double *g = geodec_mem_new(N * D, 8), *v = geodec_mem_new(N * D, 8), *k = geodec_mem_new(N * R, 8),
               *q = geodec_mem_new(N * R, 8), *s = geodec_mem_new(D * R, 8), *y = geodec_mem_new(N * D, 8);
        float *state = geodec_mem_new(D * x.stride, 4), *scratch = geodec_mem_new(x.stride, 4);
        double worst = 0;
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
        geodec_recurrence_run(GEODEC_ISA_AUTO, &x.shape, state, state, false, 0, D, &w, scratch);
        for (int j = 0; j < N * D; j++) worst = fmax(worst, fabs((double)x.y[j] - y[j]));
        for (int j = 0; j < D * R; j++) worst = fmax(worst, fabs((double)state[j] - s[j])); /* stride R */
        cr_assert_lt(worst, 1e-4, "%g", worst);
        GEODEC_FREE(g, v, k, q, s, y);
        GEODEC_FREE(state, scratch);
        drop(&x);
    }
}

static void check_tree(geodec_recurrence_shape shape)
{
    enum { N = 9 };
    static const int32_t parent[N] = {-1, 0, -1, 1, 1, 2, 5, 3, 6};
    rows x;
    make_shape(&x, N, shape, 2);
    const int64_t d = shape.d;
    float *base = geodec_mem_new(d * x.stride, 4), *state = geodec_mem_new(d * x.stride, 4),
          *scratch = geodec_mem_new((1 + N) * x.stride, 4), *y = geodec_mem_new(N * d, 4);
    geodec_recurrence_rows w = view(&x);
    w.n = 2; /* any state */
    geodec_recurrence_run(GEODEC_ISA_AUTO, &shape, base, base, false, 0, d, &w, scratch);
    w.n = N;
    w.parent = parent;
    geodec_recurrence_run(GEODEC_ISA_AUTO, &shape, base, NULL, false, 0, d, &w, scratch);
    memcpy(y, x.y, (size_t)(N * d) * sizeof *y);
    for (int32_t leaf = 0; leaf < N; leaf++) {
        int32_t chain[N], depth = 0;
        for (int32_t at = leaf; at >= 0; at = parent[at]) chain[depth++] = at;
        memcpy(state, base, (size_t)(d * x.stride) * sizeof *state);
        while (depth-- > 0) {
            const geodec_recurrence_rows one = one_row(&x, chain[depth]);
            geodec_recurrence_run(GEODEC_ISA_AUTO, &shape, state, state, false, 0, d, &one, scratch);
        }
        for (int64_t i = 0; i < d; i++) cr_assert_eq(x.yr[leaf][i], y[leaf * d + i]);
    }
    GEODEC_FREE(base, state, scratch, y);
    drop(&x);
}

Test(recurrence, a_tree_is_every_chain_of_it)
{
    check_tree((geodec_recurrence_shape){.d = 6, .r = 20, .share = 1, .keys = 1});
    check_tree((geodec_recurrence_shape){.kind = GEODEC_RECURRENCE_DELTA, .d = 12, .r = 16, .share = 3, .keys = 2});
    check_tree((geodec_recurrence_shape){.kind = GEODEC_RECURRENCE_SCAN, .d = 6, .r = 8, .share = 1, .keys = 1});
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
    const geodec_recurrence_shape shape = {.d = D, .r = R, .share = 1, .keys = 1};
    const geodec_recurrence_rows w = {.n = 1, .g = &gp, .v = &vp, .k = &kp, .q = &qp, .y = &yp};
    for (int t = 0; t < 10000; t++)
        geodec_recurrence_run(GEODEC_ISA_AUTO, &shape, state, state, false, 0, D, &w, scratch);
    for (int i = 0; i < D; i++) {
        const double factor = (double)v[i] / (1 - (double)g[i]);
        for (int j = 0; j < R; j++)
            cr_assert(fabs((double)state[i * R + j] - factor * (double)k[j]) < 2e-4 * fabs(factor * (double)k[j]));
        cr_assert(fabs((double)y[i] - factor * 8.5) < 2e-4 * fabs(factor * 8.5));
    }
}
