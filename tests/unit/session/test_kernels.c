/* The kernels by themselves: against plain double sums, and bit for bit between instruction sets. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/simd_internal.h"
#include "kernels/kernels_internal.h"
#include "session/blocks.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

static float random_float(geodec_rng *r) { return (float)(2 * geodec_rng_uniform(r) - 1); }

static const geodec_isa isas[] = {GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AVX512};

/* ---- the software fused multiply-add ---------------------------------------------------------------------------- */

static void check_fma(float a, float b, float c)
{
    const float got = geodec__fma32(a, b, c), want = fmaf(a, b, c); /* libm's is correctly rounded everywhere */
    cr_assert(memcmp(&got, &want, sizeof got) == 0 || (isnan(got) && isnan(want)), "fma(%a, %a, %a) = %a, not %a",
              (double)a, (double)b, (double)c, (double)got, (double)want);
}

Test(model_kernels, software_fma_is_correctly_rounded)
{
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("fma", 0));
    for (int i = 0; i < 400000; i++) {
        uint32_t u[3];
        float f[3];
        for (int k = 0; k < 3; k++) {
            u[k] = (uint32_t)geodec_rng_u64(&r);
            if (i % 2)
                u[k] = (u[k] & 0x807fffffu) | (100u + (uint32_t)geodec_rng_below(&r, 56)) << 23; /* comparable sizes */
            if (i % 4 == 3) u[k] &= 0xfffff000u; /* short mantissas: exact halves are common */
            memcpy(&f[k], &u[k], sizeof f[k]);
        }
        check_fma(f[0], f[1], f[2]);
    }
    static const float edge[] = {0.0f,           -0.0f,    1.0f,     -1.0f,    FLT_MIN,   -FLT_MIN,
                                 FLT_TRUE_MIN,   FLT_MAX,  -FLT_MAX, INFINITY, -INFINITY, 0x1.000002p0f,
                                 0x1.fffffep-1f, 0x1p-75f, 0x1p-24f, 0x1p-25f};
    enum { N = sizeof edge / sizeof *edge };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) check_fma(edge[i], edge[j], edge[k]);
}

/* ---- products --------------------------------------------------------------------------------------------------- */

enum { MAX_N = 133 };

typedef struct product {
    geodec__matrix w;
    uint8_t *data;
    float *plain; /* decoded weights */
    float *x, *y, *scratch;
    const float *x_row[MAX_N];
    float *y_row[MAX_N];
    int64_t n;
} product;

static product make_product(int type, int64_t rows, int64_t cols, int64_t n, uint64_t seed)
{
    product p = {.n = n};
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("product", 0));
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type);
    const int64_t row_bytes = (int64_t)geodec_ggml_bytes(t, cols), stride = geodec__pad(cols);
    p.plain = geodec_mem_new(rows * cols, sizeof *p.plain);
    p.data = geodec_mem_new(rows * row_bytes, 1);
    if (t->block > 1) {
        blocks_random(t, &r, p.data, rows * cols);
    } else {
        for (int64_t i = 0; i < rows * cols; i++) p.plain[i] = random_float(&r);
        t->encode(p.plain, p.data, rows * cols);
    }
    t->decode(p.data, p.plain, rows * cols);
    p.w = (geodec__matrix){.data = p.data, .rows = rows, .cols = cols, .row_bytes = row_bytes, .type = type};
    p.x = geodec_mem_new(n * stride, sizeof *p.x);
    p.y = geodec_mem_new(n * rows, sizeof *p.y);
    p.scratch = geodec_mem_new(geodec__product_scratch(cols), sizeof *p.scratch);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < cols; k++) p.x[i * stride + k] = random_float(&r);
        p.x_row[i] = p.x + i * stride;
        p.y_row[i] = p.y + i * rows;
    }
    return p;
}

/* Columns give the results of rows, in two parts again. */
static void check_columns(const product *p, const geodec__kernels *kernels, int type, const float *want)
{
    const int64_t rows = p->w.rows, cut = rows / 2 / 16 * 16, panels = (rows + 15) / 16;
    uint8_t *data = geodec_mem_new(panels * geodec__column_panel(type, p->w.cols), 1);
    float *room = geodec_mem_new(p->w.cols, sizeof *room), *scratch = geodec_mem_new(16 * geodec__pad(p->w.cols), 4);
    geodec__columns_pack(&p->w, type, data, room);
    const geodec__columns c = {.data = data, .rows = rows, .cols = p->w.cols, .type = type};
    memset(p->y, 0x55, (size_t)(p->n * rows) * sizeof *p->y);
    if (cut) kernels->columns(&c, 0, cut, p->x_row, p->n, p->y_row, scratch);
    kernels->columns(&c, cut, rows, p->x_row, p->n, p->y_row, scratch);
    cr_assert(memcmp(want, p->y, (size_t)(p->n * rows) * sizeof *want) == 0, "columns of %s as %s, %s, %d rows",
              geodec_ggml_type_name(p->w.type), geodec_ggml_type_name(type), geodec_kernels_isa_name(kernels->isa),
              (int)p->n);
    geodec_mem_free(data);
    geodec_mem_free(room);
    geodec_mem_free(scratch);
}

/* So do packed rows of x. */
static void check_gemm(const product *p, const geodec__kernels *kernels, const float *want)
{
    const int64_t rows = p->w.rows, cols = p->w.cols, cut = rows / 3, n = p->n;
    const int64_t groups = (n + kernels->gemm_group - 1) / kernels->gemm_group;
    float *packed = geodec_mem_new(n * geodec__pad(cols), sizeof *packed);
    for (int64_t g = 0; g < groups; g++) {
        const int64_t first = n * g / groups;
        kernels->gemm_pack(p->x_row + first, n * (g + 1) / groups - first, cols, packed + first * geodec__pad(cols));
    }
    memset(p->y, 0x55, (size_t)(n * rows) * sizeof *p->y);
    if (cut) kernels->gemm(&p->w, 0, cut, packed, n, p->y_row, p->scratch);
    kernels->gemm(&p->w, cut, rows, packed, n, p->y_row, p->scratch);
    cr_assert(memcmp(want, p->y, (size_t)(n * rows) * sizeof *want) == 0, "packed, %s, %s, %d rows",
              geodec_ggml_type_name(p->w.type), geodec_kernels_isa_name(kernels->isa), (int)n);
    geodec_mem_free(packed);
}

static void free_product(product *p)
{
    geodec_mem_free(p->data);
    geodec_mem_free(p->plain);
    geodec_mem_free(p->x);
    geodec_mem_free(p->y);
    geodec_mem_free(p->scratch);
}

Test(model_kernels, products_are_right_and_equal_on_every_isa)
{
    static const int64_t shapes[][2] = {{1, 1},    {5, 7},   {13, 16},  {25, 33}, {50, 96},
                                        {31, 172}, {12, 64}, {11, 320}, {13, 839}};
    static const int64_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 33, 64, 133};
    const geodec_ggml_traits *t;
    for (int ti = 0; (t = geodec_ggml_traits_at(ti)); ti++)
        for (size_t si = 0; si < sizeof shapes / sizeof *shapes; si++)
            for (size_t ni = 0; ni < sizeof counts / sizeof *counts; ni++) {
                const int64_t rows = shapes[si][0], n = counts[ni];
                const int64_t cols = (shapes[si][1] + t->block - 1) / t->block * t->block;
                product p = make_product(t->type, rows, cols, n, si);
                float *first = NULL;
                for (int k = 0; k < 3; k++) {
                    const geodec__kernels *kernels = geodec__kernels_for(isas[k]);
                    if (!kernels) continue;
                    memset(p.y, 0x55, (size_t)(n * rows) * sizeof *p.y);
                    /* in two parts, as tasks do it */
                    const int64_t cut = rows / 3;
                    if (cut) kernels->matmul(&p.w, 0, cut, p.x_row, n, p.y_row, p.scratch);
                    kernels->matmul(&p.w, cut, rows, p.x_row, n, p.y_row, p.scratch);
                    if (!first) {
                        first = geodec_mem_new(n * rows, sizeof *first);
                        memcpy(first, p.y, (size_t)(n * rows) * sizeof *first);
                        for (int64_t i = 0; i < n * rows; i++) {
                            double want = 0, size = 0;
                            for (int64_t c = 0; c < cols; c++) {
                                const double term = (double)p.plain[i % rows * cols + c] * (double)p.x_row[i / rows][c];
                                want += term;
                                size += fabs(term);
                            }
                            /* 16 short sums and 4 additions: far below cols units in the last place */
                            cr_assert_leq(fabs((double)p.y[i] - want), size * FLT_EPSILON * (double)(cols / 16 + 6));
                        }
                    }
                    cr_assert(memcmp(first, p.y, (size_t)(n * rows) * sizeof *first) == 0,
                              "%s %dx%d, %d rows: %s differs", t->name, (int)rows, (int)cols, (int)n,
                              geodec_kernels_isa_name(isas[k]));
                    if (kernels->gemm) check_gemm(&p, kernels, first);
                    if (!kernels->columns) continue;
                    if (t->block == 1 || t->type == GEODEC_GGML_Q8_0) check_columns(&p, kernels, t->type, first);
                    check_columns(&p, kernels, GEODEC_GGML_F32, first);
                }
                geodec_mem_free(first);
                free_product(&p);
            }
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

Test(model_kernels, softmax_and_swiglu)
{
    enum { N = 1003 };
    float first[2][N + 16];
    geodec_rng r = geodec_rng_stream(2, geodec_rng_id("functions", 0));
    static float x[N + 16], up[N + 16];
    for (int i = 0; i < N; i++) {
        x[i] = 40 * random_float(&r);
        up[i] = random_float(&r);
    }
    bool have = false;
    for (int k = 0; k < 3; k++) {
        const geodec__kernels *kernels = geodec__kernels_for(isas[k]);
        if (!kernels) continue;
        float soft[N + 16], gate[N + 16] = {0};
        memcpy(soft, x, sizeof soft);
        memcpy(gate, x, N * sizeof *gate);
        const float sum = kernels->softmax(soft, N);
        kernels->activate(GEODEC_SILU, NULL, gate, up, N);
        double want_sum = 0, top = -INFINITY;
        for (int i = 0; i < N; i++) top = fmax(top, (double)x[i]);
        for (int i = 0; i < N; i++) {
            /* the difference is rounded to float before the exponential */
            const double e = exp((double)(x[i] - (float)top)),
                         silu = (double)x[i] / (1 + exp(-(double)x[i])) * (double)up[i];
            want_sum += e;
            cr_assert_lt(fabs((double)soft[i] - e), 3e-7 * e + 1e-37, "exp(%g)", (double)x[i] - top);
            cr_assert_lt(fabs((double)gate[i] - silu), 6e-7 * fabs(silu) + 1e-37, "silu(%g)", (double)x[i]);
        }
        cr_assert_lt(fabs((double)sum - want_sum), 1e-6 * want_sum);
        if (!have) {
            memcpy(first[0], soft, sizeof soft);
            memcpy(first[1], gate, sizeof gate);
            have = true;
        }
        cr_assert(memcmp(first[0], soft, N * sizeof *soft) == 0, "softmax: %s differs",
                  geodec_kernels_isa_name(isas[k]));
        cr_assert(memcmp(first[1], gate, N * sizeof *gate) == 0, "swiglu: %s differs",
                  geodec_kernels_isa_name(isas[k]));
    }
    /* extremes: no overflow, and equal logits give equal weights */
    float e[16] = {1e30f, -1e30f, 1e30f};
    cr_assert_eq(geodec__kernels_scalar.softmax(e, 3), 2.0f);
    cr_assert(e[0] == 1.0f && e[2] == 1.0f && e[1] < 1e-37f);
}

/* In double, of a gate; *up becomes the factor. scale: how errors grow with the argument of an exponential. */
static double activated(geodec_activation a, const float *c, double g, double *up, double *scale)
{
    const double u = sqrt(2 / acos(-1)) * (g + 0.044715 * g * g * g), clamped = fmin(g, 7);
    const double p = log1p(exp((double)c[0])), q = (double)c[2] + log1p(exp((double)c[1]));
    *scale = 1 + fabs(a == GEODEC_GELU_TANH ? u : a == GEODEC_SWIGLU_CLAMPED ? 1.702 * clamped : g);
    switch (a) {
    case GEODEC_SILU:
        return g / (1 + exp(-g));
    case GEODEC_GELU_TANH:
        return g * 0.5 * (1 + tanh(u));
    case GEODEC_RELU:
        return fmax(g, 0);
    case GEODEC_RELU2:
        return fmax(g, 0) * fmax(g, 0);
    case GEODEC_XIELU:
        return g > 0 ? p * g * g + (double)c[2] * g : (expm1(fmin(g, (double)c[3])) - g) * q + (double)c[2] * g;
    case GEODEC_SWIGLU_CLAMPED:
        *up = fmax(-7, fmin(*up, 7)) + 1;
        return clamped / (1 + exp(-1.702 * clamped));
    }
    return NAN;
}

Test(model_kernels, activations)
{
    enum { N = 1003, KINDS = GEODEC_SWIGLU_CLAMPED + 1 };
    static float x[N + 16], up[N + 16], first[N + 16], gate[N + 16];
    const float constant[] = {0.8f, 0.3f, 0.5f, -1e-6f};
    geodec_rng r = geodec_rng_stream(4, geodec_rng_id("functions", 0));
    for (int i = 0; i < N; i++) {
        x[i] = (i % 3 ? 4 : 40) * random_float(&r);
        up[i] = (i % 5 ? 1 : 20) * random_float(&r);
    }
    for (int form = 0; form < 2 * KINDS; form++) {
        const geodec_activation a = (geodec_activation)(form / 2);
        const bool gated = form % 2;
        bool have = false;
        for (int k = 0; k < 3; k++) {
            const geodec__kernels *kernels = geodec__kernels_for(isas[k]);
            if (!kernels) continue;
            memcpy(gate, x, sizeof gate);
            kernels->activate(a, constant, gate, gated ? up : NULL, N);
            for (int i = 0; i < N; i++) {
                double factor = (double)up[i], scale;
                double want = activated(a, constant, (double)x[i], &factor, &scale);
                if (gated) want *= factor;
                cr_assert_lt(fabs((double)gate[i] - want), 3e-7 * scale * fabs(want) + 1e-12, "kind %d of %g", form,
                             (double)x[i]);
            }
            for (int i = N; i < N + 5; i++) cr_assert_eq(gate[i], 0.0f, "the padding stays zero");
            if (!have) memcpy(first, gate, sizeof gate);
            have = true;
            cr_assert(memcmp(first, gate, N * sizeof *gate) == 0, "%s differs", geodec_kernels_isa_name(isas[k]));
        }
    }
}

/* Forms: RMS norm, layer norm, layer norm with a bias. */
Test(model_kernels, norms)
{
    static const int sizes[] = {1, 7, 8, 15, 16, 33, 200, 577};
    float x[600], w[600], b[600], first[600], y[600];
    geodec_rng r = geodec_rng_stream(5, geodec_rng_id("functions", 0));
    for (int i = 0; i < 600; i++) {
        x[i] = 3 * random_float(&r) + 1;
        w[i] = random_float(&r);
        b[i] = random_float(&r);
    }
    for (size_t z = 0; z < 3 * sizeof sizes / sizeof *sizes; z++) {
        const int n = sizes[z / 3], form = (int)(z % 3);
        double mean = 0, sum = 0;
        for (int i = 0; i < n && form > 0; i++) mean += (double)x[i] / n;
        for (int i = 0; i < n; i++) sum += ((double)x[i] - mean) * ((double)x[i] - mean);
        bool have = false;
        for (int k = 0; k < 3; k++) {
            const geodec__kernels *kernels = geodec__kernels_for(isas[k]);
            if (!kernels) continue;
            memcpy(y, x, sizeof y); /* in place */
            if (form == 0)
                kernels->rms_norm(y, w, n, 1e-5f, y);
            else
                kernels->layer_norm(y, w, form == 2 ? b : NULL, n, 1e-5f, y);
            for (int i = 0; i < n; i++) {
                const double d = (double)x[i] - mean, want = d / sqrt(sum / n + (double)1e-5f) * (double)w[i],
                             bias = form == 2 ? (double)b[i] : 0, size = fabs(want) + fabs(bias);
                cr_assert_leq(fabs((double)y[i] - want - bias), form == 0 ? 2e-7 * size : 1e-6 * (1 + size));
            }
            cr_assert(memcmp(y + n, x + n, sizeof y - (size_t)n * sizeof *y) == 0, "nothing past the end is touched");
            if (!have) memcpy(first, y, sizeof y);
            have = true;
            cr_assert(memcmp(first, y, sizeof y) == 0, "%s differs", geodec_kernels_isa_name(isas[k]));
        }
    }
}

Test(model_kernels, softcap)
{
    enum { N = 4003 };
    static float x[N], first[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)(i - 2001) * 0.05f + 0.001f; /* both branches, both signs */
    x[0] = 1e30f;
    x[1] = -1e30f;
    x[2] = -0.0f;
    bool have = false;
    for (int k = 0; k < 3; k++) {
        const geodec__kernels *kernels = geodec__kernels_for(isas[k]);
        if (!kernels) continue;
        memcpy(y, x, sizeof y);
        kernels->softcap(y, N, 30.0f);
        for (int i = 0; i < N && !have; i++) {
            const double want = 30 * tanh((double)x[i] / 30);
            cr_assert_leq(fabs((double)y[i] - want), 4e-7 * fabs(want), "softcap(%g)", (double)x[i]);
        }
        if (!have) memcpy(first, y, sizeof y);
        have = true;
        cr_assert(memcmp(first, y, sizeof y) == 0, "%s differs", geodec_kernels_isa_name(isas[k]));
    }
    cr_assert(y[2] == 0.0f && y[0] == 30.0f && y[1] == -30.0f);
}

Test(model_kernels, selection)
{
    cr_assert(geodec_kernels_isa_available(GEODEC_ISA_AUTO) && geodec_kernels_isa_available(GEODEC_ISA_SCALAR));
    cr_assert_eq(geodec__kernels_for(GEODEC_ISA_SCALAR), &geodec__kernels_scalar);
    for (int k = 0; k < 3; k++) {
        const geodec__kernels *kernels = geodec__kernels_for(isas[k]);
        if (kernels) cr_assert_eq(kernels->isa, isas[k]);
        cr_assert_eq(kernels != NULL, geodec_kernels_isa_available(isas[k]));
    }
    cr_assert_str_eq(geodec_kernels_isa_name(GEODEC_ISA_AVX512), "avx512");
}

Test(model_kernels, argmax_takes_the_lowest_of_equals)
{
    cr_assert_eq(geodec_argmax((const float[]){1, 3, 3, 2}, 4), 1);
    cr_assert_eq(geodec_argmax((const float[]){-1, -1, -1}, 3), 0);
    cr_assert_eq(geodec_argmax((const float[]){-0.0f, 0.0f}, 2), 0);
    cr_assert_eq(geodec_argmax((const float[]){-INFINITY, -5, INFINITY}, 3), 2);
    cr_assert_eq(geodec_argmax((const float[]){7}, 1), 0);
}
