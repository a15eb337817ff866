/* Every operator of the reference: its value against the formula written out, its derivatives against differences. */
#include "linalg/lapack.h"
#include "reference/check.h"
#include "reference/operators_internal.h"
#include "support/support.h"

#include <string.h>

static float *gains(int64_t n, uint64_t seed)
{
    double *x = check_random(n, seed);
    float *g = geodec_mem_new(n, sizeof *g);
    for (int64_t i = 0; i < n; i++) g[i] = (float)(1 + 0.3 * x[i]);
    geodec_mem_free(x);
    return g;
}

static void check_at(const check_map *m, double spread)
{
    double *x = check_random(m->n_in, 1);
    for (int64_t i = 0; i < m->n_in; i++) x[i] *= spread;
    (void)check_derivatives(m, x, 1e-5, 1e-8); /* the bar is 1e-6 */
    geodec_mem_free(x);
}

#define NEAR(a, b, ...) cr_assert_lt(fabs((a) - (b)), 1e-13 * (1 + fabs(b)), __VA_ARGS__)

/* ---- norm ------------------------------------------------------------------------------------------------------- */

enum { NORM_ROWS = 4 };

static void norm_run(const void *ctx, const double *x, double *y) { geodec__reference_norm(NORM_ROWS, ctx, x, y); }
static void norm_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    geodec__reference_norm_jvp(NORM_ROWS, ctx, x, k, dx, dy);
}
static void norm_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    geodec__reference_norm_vjp(NORM_ROWS, ctx, x, k, gy, gx);
}

Test(reference_operators, norm)
{
    float *gain = gains(9, 2), *bias = gains(9, 4);
    /* eps 0.3 matters in the derivative; parts of three numbers, with weights of the part's place or the row's */
    const geodec__norm norms[] = {{gain, NULL, 9, 9, false, false, 1e-6f}, {gain, NULL, 9, 9, false, false, 0.3f},
                                  {gain, bias, 9, 9, false, true, 1e-6f},  {gain, NULL, 9, 3, false, true, 0.3f},
                                  {gain, bias, 9, 3, true, true, 0.3f},    {gain, NULL, 9, 3, true, false, 0.3f}};
    for (size_t e = 0; e < sizeof norms / sizeof *norms; e++)
        check_at(&(check_map){"norm", 36, 36, norm_run, norm_jvp, norm_vjp, &norms[e]}, 1);
    const double x[4] = {3, 4, 6, 10};
    double y[4];
    geodec__norm two = {gain, bias, 4, 2, true, false, 0.5f};
    geodec__reference_norm(1, &two, x, y);
    NEAR(y[1], 4 / sqrt(13) * (double)gain[1] + (double)bias[1], "RMS norm");
    NEAR(y[2], 6 / sqrt(68.5) * (double)gain[2] + (double)bias[2], "RMS norm of the second part");
    two.centred = true;
    geodec__reference_norm(1, &two, x, y);
    NEAR(y[3], 2 / sqrt(4.5) * (double)gain[3] + (double)bias[3], "layer norm of the second part");
    two.each = false;
    geodec__reference_norm(1, &two, x, y);
    NEAR(y[3], 2 / sqrt(4.5) * (double)gain[1] + (double)bias[1], "layer norm with the weights of every part");
    GEODEC_FREE(gain, bias);
}

/* ---- rotation --------------------------------------------------------------------------------------------------- */

typedef struct rotation {
    geodec_model_config c;
    geodec__ref_angles angles;
    int64_t n, heads, size;
} rotation;
static void rotate_all(const void *ctx, int64_t k, const double *x, double *y, bool transpose)
{
    const rotation *o = ctx;
    memcpy(y, x, (size_t)(k * o->size) * sizeof *x);
    geodec__reference_rotate(&o->c, &o->angles, 0, k, o->heads, o->c.head_dim, transpose, y);
}
static void rotate_run(const void *ctx, const double *x, double *y) { rotate_all(ctx, 1, x, y, false); }
static void rotate_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    (void)x;
    rotate_all(ctx, k, dx, dy, false);
}
static void rotate_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    (void)x;
    rotate_all(ctx, k, gy, gx, true);
}

Test(reference_operators, rotation)
{
    const float divisor[3] = {1, 2, 5};
    /* of three pairs the first keeps its frequency, the second has half of the factor, the third all of it */
    static const double ramp[3] = {1, 0.625, 0.25};
    for (int kind = 0; kind < 16; kind++) {
        const bool halves = kind & 1, local = kind & 2, scaled = kind & 4, yarn = kind & 8;
        rotation o = {.c = {.head_dim = 8,
                            .rope_dim = local ? 4 : 6, /* the last two of a head stay */
                            .rope_dim_local = local ? 6 : 0,
                            .rope_base = 500,
                            .rope_base_local = 20,
                            .yarn = yarn,
                            .yarn_low = 0,
                            .yarn_high = 2,
                            .rope_pairs = halves ? GEODEC_ROPE_HALVES : GEODEC_ROPE_ADJACENT,
                            .rope_scale = scaled ? 0.25 : 0,
                            .rope_magnitude = scaled ? 1.5f : 0},
                      .n = 4,
                      .heads = 2,
                      .size = 64};
        geodec_err err = {0};
        test_ok(geodec__reference_angles_create(&o.c, local, local ? NULL : divisor, 4, &o.angles, &err), &err);
        check_at(&(check_map){"rotation", 64, 64, rotate_run, rotate_jvp, rotate_vjp, &o}, 1);
        double *x = check_random(64, 3), *y = geodec_mem_new(64, sizeof *y);
        rotate_run(&o, x, y);
        const int64_t t = 3, h = 1, at = (t * o.heads + h) * 8;
        for (int64_t i = 0; i < 3; i++) {
            const double scale = !scaled ? 1 : yarn ? ramp[i] : 0.25;
            const double angle =
                (double)t * (local ? pow(20, -(double)i / 3) : pow(500, -(double)i / 3) / (double)divisor[i] * scale);
            const int64_t a = at + (halves ? i : 2 * i), b = halves ? a + 3 : a + 1;
            const double m = scaled && !local ? 1.5 : 1;
            NEAR(y[a], m * (x[a] * cos(angle) - x[b] * sin(angle)), "kind %d pair %d", kind, (int)i);
            NEAR(y[b], m * (x[b] * cos(angle) + x[a] * sin(angle)), "kind %d pair %d", kind, (int)i);
        }
        cr_assert(y[at + 6] == x[at + 6] && y[at + 7] == x[at + 7]);
        geodec__reference_angles_destroy(&o.angles);
        geodec_mem_free(x);
        geodec_mem_free(y);
    }
}

/* ---- matrices --------------------------------------------------------------------------------------------------- */

static void product_run(const void *ctx, const double *x, double *y)
{
    geodec_err err = {0};
    test_ok(geodec__reference_product(NULL, ctx, 3, x, y, &err), &err);
}
static void product_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    (void)x;
    geodec_err err = {0};
    test_ok(geodec__reference_product(NULL, ctx, 3 * k, dx, dy, &err), &err);
}
static void product_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    (void)x;
    geodec_err err = {0};
    test_ok(geodec__reference_product_vjp(NULL, ctx, 3 * k, gy, gx, &err), &err);
}

/* Two shapes: one within a block, one of several panels. */
Test(reference_operators, product)
{
    static const int64_t shapes[][2] = {{40, 7}, {1 << 14, 300}};
    geodec_linalg_init();
    for (int s = 0; s < 2; s++) {
        const int64_t cols = shapes[s][0], rows = shapes[s][1];
        float *data = gains(cols * rows, 4);
        geodec__matrix w = {
            .data = (const uint8_t *)data, .rows = rows, .cols = cols, .row_bytes = cols * 4, .type = GEODEC_GGML_F32};
        check_at(&(check_map){"product", 3 * cols, 3 * rows, product_run, product_jvp, product_vjp, &w}, 1);
        double *x = check_random(3 * cols, 5), *y = geodec_mem_new(3 * rows, sizeof *y);
        product_run(&w, x, y);
        for (int64_t o = 0; o < rows; o += 37) {
            double sum = 0;
            for (int64_t i = 0; i < cols; i++) sum += (double)data[o * cols + i] * x[2 * cols + i];
            cr_assert_lt(fabs(y[2 * rows + o] - sum), 1e-10, "row %d", (int)o);
        }
        geodec_mem_free(x);
        geodec_mem_free(y);
        geodec_mem_free(data);
    }
}

/* ---- attention: x is q, then k, then v -------------------------------------------------------------------------- */

static int64_t size_q(const geodec__ref_attention *a) { return a->n * a->n_head * a->head_dim; }
static int64_t size_k(const geodec__ref_attention *a) { return a->n * a->n_kv_head * a->head_dim; }

static geodec__ref_attention at_point(const geodec__ref_attention *a, const double *x)
{
    geodec__ref_attention p = *a;
    p.q = x;
    p.k = x + size_q(a);
    p.v = p.k + size_k(a);
    return p;
}
static void attend_run(const void *ctx, const double *x, double *y)
{
    geodec_err err = {0};
    const geodec__ref_attention p = at_point(ctx, x);
    test_ok(geodec__reference_attend(NULL, &p, y, &err), &err);
}
/* Part `at` .. `at + n` of every tangent, between [k][total] and [k][n]. */
static void part(int64_t k, int64_t total, int64_t at, int64_t n, double *all, double *one, bool put)
{
    for (int64_t j = 0; j < k; j++)
        memcpy(put ? all + j * total + at : one + j * n, put ? one + j * n : all + j * total + at,
               (size_t)n * sizeof *all);
}
static void attend_split(const geodec__ref_attention *a, int64_t k, double *all, double *p[3], bool put)
{
    const int64_t total = size_q(a) + 2 * size_k(a);
    const int64_t at[3] = {0, size_q(a), size_q(a) + size_k(a)}, n[3] = {size_q(a), size_k(a), size_k(a)};
    for (int i = 0; i < 3; i++) {
        if (!put) p[i] = geodec_mem_new(k * n[i], sizeof(double));
        part(k, total, at[i], n[i], all, p[i], put);
    }
}
static void attend_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    geodec_err err = {0};
    const geodec__ref_attention p = at_point(ctx, x);
    const int64_t size = k * (size_q(&p) + 2 * size_k(&p));
    double *d[3], *copy = geodec_mem_new(size, sizeof *copy);
    memcpy(copy, dx, (size_t)size * sizeof *copy);
    attend_split(&p, k, copy, d, false);
    test_ok(geodec__reference_attend_jvp(NULL, &p, k, d[0], d[1], d[2], dy, &err), &err);
    geodec_mem_free(copy);
    for (int i = 0; i < 3; i++) geodec_mem_free(d[i]);
}
static void attend_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    geodec_err err = {0};
    const geodec__ref_attention p = at_point(ctx, x);
    double *g[3];
    attend_split(&p, k, gx, g, false); /* for its memory */
    test_ok(geodec__reference_attend_vjp(NULL, &p, k, gy, g[0], g[1], g[2], &err), &err);
    attend_split(&p, k, gx, g, true);
    for (int i = 0; i < 3; i++) geodec_mem_free(g[i]);
}

/* Of three heads and the largest exponent 6: 2^-3 and 2^-6 are those of two heads, 2^-1.5 is the first of four. */
static const double slopes[3] = {0.125, 0.015625, 0.35355339059327376220};
static const float sinks[3] = {0.5f, -1, 2};

static void attend_plainly(const geodec__ref_attention *a, double *o)
{
    const int64_t dim = a->head_dim, share = a->n_head / a->n_kv_head;
    for (int64_t t = 0; t < a->n; t++)
        for (int64_t h = 0; h < a->n_head; h++) {
            double sum = a->sinks ? exp((double)a->sinks[h]) : 0, *y = o + (t * a->n_head + h) * dim;
            for (int64_t i = 0; i < dim; i++) y[i] = 0;
            for (int64_t u = 0; u <= t; u++) {
                double s = 0;
                if (a->window > 0 && (a->chunks ? t / a->window != u / a->window : t - u >= a->window)) continue;
                for (int64_t i = 0; i < dim; i++)
                    s += a->q[(t * a->n_head + h) * dim + i] * a->k[(u * a->n_kv_head + h / share) * dim + i];
                s *= a->scale;
                const double fall = a->alibi != 0 ? slopes[h] * (double)(t - u) : 0;
                const double e = exp((a->cap != 0 ? a->cap * tanh(s / a->cap) : s) - fall);
                sum += e;
                for (int64_t i = 0; i < dim; i++) y[i] += e * a->v[(u * a->n_kv_head + h / share) * dim + i];
            }
            for (int64_t i = 0; i < dim; i++) y[i] /= sum;
        }
}

Test(reference_operators, attention)
{
    static const struct {
        int64_t n, n_head, n_kv_head, head_dim, window;
        double scale, cap;
        bool chunks, sinks;
        double alibi;
    } cases[] = {
        {7, 3, 1, 5, 0, 0.4, 0},
        {9, 4, 2, 4, 3, 0.5, 0},
        {9, 2, 2, 6, 4, 0.7, 1.5},
        {1, 2, 1, 4, 0, 0.5, 0},
        {70, 2, 1, 4, 0, 0.5, 2},
        {140, 2, 1, 4, 20, 0.5, 0},
        {130, 2, 2, 4, 64, 0.5, 1},
        {8, 2, 1, 4, 1, 0.5, 0},
        {9, 3, 1, 4, 0, 0.5, 0, .sinks = true},
        {70, 3, 3, 4, 0, 0.5, 2, .alibi = 6},
        {100, 2, 1, 4, 24, 0.5, 0, .chunks = true},
        {90, 3, 1, 4, 30, 0.5, 1, .chunks = true, .sinks = true, .alibi = 6},
    };
    geodec_linalg_init();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        geodec__ref_attention a = {.n = cases[i].n,
                                   .n_head = cases[i].n_head,
                                   .n_kv_head = cases[i].n_kv_head,
                                   .head_dim = cases[i].head_dim,
                                   .window = cases[i].window,
                                   .chunks = cases[i].chunks,
                                   .sinks = cases[i].sinks ? sinks : NULL,
                                   .alibi = cases[i].alibi,
                                   .scale = cases[i].scale,
                                   .cap = cases[i].cap};
        const int64_t total = size_q(&a) + 2 * size_k(&a);
        check_at(&(check_map){"attention", total, size_q(&a), attend_run, attend_jvp, attend_vjp, &a}, 1);
        double *x = check_random(total, 6), *y = geodec_mem_new(size_q(&a), sizeof *y),
               *want = geodec_mem_new(size_q(&a), sizeof *want);
        attend_run(&a, x, y);
        const geodec__ref_attention p = at_point(&a, x);
        attend_plainly(&p, want);
        for (int64_t j = 0; j < size_q(&a); j++) NEAR(y[j], want[j], "case %d value %d", (int)i, (int)j);
        geodec_mem_free(x);
        geodec_mem_free(y);
        geodec_mem_free(want);
    }
}

/* ---- gated activation: x is gate, then up ----------------------------------------------------------------------- */

typedef struct gated {
    geodec__ref_activation act;
    int64_t n;
} gated;
static void gated_run(const void *ctx, const double *x, double *y)
{
    const gated *o = ctx;
    geodec__reference_gated(&o->act, o->n, x, x + o->n, y);
}
static void gated_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    const gated *o = ctx;
    for (int64_t j = 0; j < k; j++)
        geodec__reference_gated_jvp(&o->act, o->n, x, x + o->n, 1, dx + j * 2 * o->n, dx + (j * 2 + 1) * o->n,
                                    dy + j * o->n);
}
static void gated_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    const gated *o = ctx;
    for (int64_t j = 0; j < k; j++)
        geodec__reference_gated_vjp(&o->act, o->n, x, x + o->n, 1, gy + j * o->n, gx + j * 2 * o->n,
                                    gx + (j * 2 + 1) * o->n);
}

/* Several tangents at once are the same as one after another, over more than a strip. */
static void gated_together(const geodec__ref_activation *act)
{
    enum { N = 700, K = 3 };
    double *x = check_random(2 * N, 7), *d = check_random(2 * K * N, 8);
    double *one = geodec_mem_new(2 * K * N, sizeof *one), *all = geodec_mem_new(2 * K * N, sizeof *all);
    const double *dup = d + K * N;
    for (int j = 0; j < K; j++) geodec__reference_gated_jvp(act, N, x, x + N, 1, d + j * N, dup + j * N, one + j * N);
    geodec__reference_gated_jvp(act, N, x, x + N, K, d, dup, all);
    cr_assert(memcmp(one, all, K * N * sizeof *one) == 0);
    for (int j = 0; j < K; j++)
        geodec__reference_gated_vjp(act, N, x, x + N, 1, d + j * N, one + j * N, one + (K + j) * N);
    geodec__reference_gated_vjp(act, N, x, x + N, K, d, all, all + K * N);
    cr_assert(memcmp(one, all, 2 * K * N * sizeof *one) == 0);
    double *const memory[] = {x, d, one, all};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) geodec_mem_free(memory[i]);
}

/* A network without gate: x is the gate alone. */
static void plain_run(const void *ctx, const double *x, double *y)
{
    const gated *o = ctx;
    geodec__reference_gated(&o->act, o->n, x, NULL, y);
}
static void plain_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    const gated *o = ctx;
    geodec__reference_gated_jvp(&o->act, o->n, x, NULL, k, dx, NULL, dy);
}
static void plain_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    const gated *o = ctx;
    geodec__reference_gated_vjp(&o->act, o->n, x, NULL, k, gy, gx, NULL);
}

static const float xielu[4] = {0.8f, -0.4f, 0.5f, -0.25f};

/* The activations of -800, 800, -0.9 and 1.5, the first two without overflow. */
static void activations_of(geodec_activation kind, double want[4])
{
    const double inner = sqrt(2 / acos(-1)), u = inner * (1.5 + 0.044715 * 1.5 * 1.5 * 1.5),
                 w = inner * (-0.9 - 0.044715 * 0.9 * 0.9 * 0.9);
    const double b = 0.5, p = log1p(exp((double)xielu[0])), q = b + log1p(exp((double)xielu[1]));
    const double all[][4] = {[GEODEC_SILU] = {0, 800, -0.9 / (1 + exp(0.9)), 1.5 / (1 + exp(-1.5))},
                             [GEODEC_GELU_TANH] = {0, 800, -0.45 * (1 + tanh(w)), 0.75 * (1 + tanh(u))},
                             [GEODEC_RELU] = {0, 800, 0, 1.5},
                             [GEODEC_RELU2] = {0, 640000, 0, 2.25},
                             [GEODEC_XIELU] = {799 * q - 800 * b, p * 640000 + 800 * b,
                                               (exp(-0.9) - 1 + 0.9) * q - 0.9 * b, 2.25 * p + 1.5 * b},
                             [GEODEC_SWIGLU_CLAMPED] = {0, 7 / (1 + exp(-7 * 1.702)), -0.9 / (1 + exp(0.9 * 1.702)),
                                                        1.5 / (1 + exp(-1.5 * 1.702))}};
    memcpy(want, all[kind], sizeof all[kind]);
}

Test(reference_operators, gated_activation)
{
    const double gate[4] = {-800, 800, -0.9, 1.5}, up[4] = {2, 2, -9, 2};
    for (int kind = GEODEC_SILU; kind <= GEODEC_SWIGLU_CLAMPED; kind++) {
        const gated o = {{(geodec_activation)kind, xielu}, 60};
        double want[4], y[4];
        gated_together(&o.act);
        check_at(&(check_map){"gated activation", 120, 60, gated_run, gated_jvp, gated_vjp, &o}, 2);
        check_at(&(check_map){"activation", 60, 60, plain_run, plain_jvp, plain_vjp, &o}, 2);
        activations_of(o.act.kind, want);
        geodec__reference_gated(&o.act, 4, gate, NULL, y);
        for (int i = 0; i < 4; i++) NEAR(y[i], want[i], "activation %d of %g: %g", kind, gate[i], y[i]);
        geodec__reference_gated(&o.act, 4, gate, up, y);
        for (int i = 0; i < 4; i++) {
            const double factor = kind != GEODEC_SWIGLU_CLAMPED ? up[i] : up[i] < -7 ? -6 : up[i] + 1;
            NEAR(y[i], want[i] * factor, "gated activation %d of %g", kind, gate[i]);
        }
    }
    /* between eps and 0 the exponential of xIELU is that of eps */
    const double near = -0.1, q = 0.5 + log1p(exp((double)xielu[1]));
    double y;
    geodec__reference_gated(&(geodec__ref_activation){GEODEC_XIELU, xielu}, 1, &near, NULL, &y);
    NEAR(y, (exp(-0.25) - 1 + 0.1) * q - 0.05, "xIELU of -0.1");
    /* beyond its limits the clamped one is constant */
    const gated o = {{GEODEC_SWIGLU_CLAMPED, NULL}, 1};
    const double x[2] = {7.5, 8}, one[2] = {1, 1};
    double dy, gx[2];
    gated_jvp(&o, x, 1, one, &dy);
    gated_vjp(&o, x, 1, one, gx);
    cr_assert(dy == 0 && gx[0] == 0 && gx[1] == 0);
}

/* ---- router ----------------------------------------------------------------------------------------------------- */

typedef struct router {
    geodec__ref_router r;
    int64_t n;
    double *prob;
    int32_t *id;
    double *weight;
} router;
static void route_run(const void *ctx, const double *x, double *y)
{
    const router *o = ctx;
    geodec__reference_route(&o->r, o->n, x, o->prob, o->id, y);
}
static void route_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    const router *o = ctx;
    geodec__reference_route(&o->r, o->n, x, o->prob, o->id, o->weight);
    geodec__reference_route_jvp(&o->r, o->n, o->prob, o->id, k, dx, dy);
}
static void route_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    const router *o = ctx;
    geodec__reference_route(&o->r, o->n, x, o->prob, o->id, o->weight);
    geodec__reference_route_vjp(&o->r, o->n, o->prob, o->id, k, gy, gx);
}

Test(reference_operators, router)
{
    for (int keep = 0; keep < 2; keep++) {
        router o = {.r = {.n_expert = 7, .n_used = 3, .keep = keep, .scale = 1.25}, .n = 5};
        o.prob = geodec_mem_new(35, sizeof *o.prob);
        o.id = geodec_mem_new(15, sizeof *o.id);
        o.weight = geodec_mem_new(15, sizeof *o.weight);
        check_at(&(check_map){"router", 35, 15, route_run, route_jvp, route_vjp, &o}, 1);
        /* ties go to the lowest id; the weights by hand */
        const double logits[7] = {0, log(2), 0, log(4), log(2), -5, -900};
        const double all = 1 + 2 + 1 + 4 + 2 + exp(-5), sum = keep ? all : 8;
        geodec__reference_route(&o.r, 1, logits, o.prob, o.id, o.weight);
        cr_assert(o.id[0] == 3 && o.id[1] == 1 && o.id[2] == 4);
        NEAR(o.weight[0], 1.25 * 4 / sum, "weight");
        NEAR(o.weight[2], 1.25 * 2 / sum, "weight");
        geodec_mem_free(o.prob);
        geodec_mem_free(o.id);
        geodec_mem_free(o.weight);
    }
}

Test(reference_operators, router_of_sigmoids)
{
    static const float bias[8] = {0, 0.3f, 0, 0, -0.2f, 0, 0.1f, 0};
    for (int keep = 0; keep < 2; keep++) {
        router o = {.r = {.n_expert = 8, .n_used = 3, .keep = keep, .scale = 2.5, .sigmoid = true}, .n = 5};
        if (keep) {
            o.r.bias = bias;
            o.r.groups = 4;
            o.r.open = 2;
        }
        o.prob = geodec_mem_new(40, sizeof *o.prob);
        o.id = geodec_mem_new(15, sizeof *o.id);
        o.weight = geodec_mem_new(15, sizeof *o.weight);
        check_at(&(check_map){"sigmoids", 40, 15, route_run, route_jvp, route_vjp, &o}, 1);
        /* sigmoids 1/2 2/3 1/3 4/5 1/2 2/3 1/4 9/10. With the bias and two open groups of two: sums of the groups 1.47,
         * 1.13, 0.97, 1.25; the first and the last are open, so expert 3 is not chosen */
        const double logits[8] = {0, log(2), log(0.5), log(4), 0, log(2), log(1.0 / 3), log(9)};
        geodec__reference_route(&o.r, 1, logits, o.prob, o.id, o.weight);
        if (keep) {
            cr_assert(o.id[0] == 1 && o.id[1] == 7 && o.id[2] == 0);
            NEAR(o.weight[0], 2.5 * 2 / 3, "weight");
            NEAR(o.weight[2], 2.5 / 2, "weight");
        } else {
            cr_assert(o.id[0] == 7 && o.id[1] == 3 && o.id[2] == 1);
            NEAR(o.weight[0], 2.5 * 0.9 / (0.9 + 0.8 + 2.0 / 3), "weight");
        }
        geodec_mem_free(o.prob);
        geodec_mem_free(o.id);
        geodec_mem_free(o.weight);
    }
}

/* ---- soft-cap --------------------------------------------------------------------------------------------------- */

static void softcap_run(const void *ctx, const double *x, double *y)
{
    (void)ctx;
    geodec__reference_softcap(1.5, 30, x, y);
}
static void softcap_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    double y[30];
    softcap_run(ctx, x, y);
    geodec__reference_softcap_derivative(1.5, 30, y, k, dx, dy);
}

Test(reference_operators, softcap)
{
    check_at(&(check_map){"soft-cap", 30, 30, softcap_run, softcap_jvp, softcap_jvp, NULL}, 2);
    const double x = 0.9;
    double y;
    geodec__reference_softcap(1.5, 1, &x, &y);
    NEAR(y, 1.5 * tanh(0.6), "soft-cap");
}

/* ---- cut: two rows of seven ------------------------------------------------------------------------------------- */

static const double cut_at = 0.25;
static void cut_run(const void *ctx, const double *x, double *y)
{
    (void)ctx;
    geodec__reference_cut(2, 7, cut_at, x, y);
}
static void cut_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    (void)ctx;
    geodec__reference_cut_jvp(2, 7, cut_at, x, k, dx, dy);
}
static void cut_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    (void)ctx;
    geodec__reference_cut_vjp(2, 7, cut_at, x, k, gy, gx);
}

Test(reference_operators, cut)
{
    check_at(&(check_map){"cut", 14, 14, cut_run, cut_jvp, cut_vjp, NULL}, 1);
    /* mean 3, deviation sqrt(10 / 4); and equal numbers, of which none is above their mean */
    const double g[5] = {1, 2, 3, 4, 5}, same[5] = {2, 2, 2, 2, 2};
    double y[5];
    geodec__reference_cut(1, 5, 0.5, g, y);
    for (int i = 0; i < 5; i++) cr_assert_float_eq(y[i], fmax(g[i] - 3 - 0.5 * sqrt(2.5), 0), 1e-15);
    geodec__reference_cut(1, 5, 0.5, same, y);
    for (int i = 0; i < 5; i++) cr_assert_eq(y[i], 0);
}

/* ---- limits ----------------------------------------------------------------------------------------------------- */

static void clamp_run(const void *ctx, const double *x, double *y)
{
    (void)ctx;
    geodec__reference_clamp(0.8, 30, x, y);
}
static void clamp_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    (void)ctx;
    geodec__reference_clamp_derivative(0.8, 30, x, k, dx, dy);
}

Test(reference_operators, clamp)
{
    check_at(&(check_map){"clamp", 30, 30, clamp_run, clamp_jvp, clamp_jvp, NULL}, 1);
    const double x[3] = {-2, 0.5, 0.9};
    double y[3];
    geodec__reference_clamp(0.8, 3, x, y);
    cr_assert(y[0] == -0.8 && y[1] == 0.5 && y[2] == 0.8);
}
