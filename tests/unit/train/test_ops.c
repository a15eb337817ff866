/* Every operator's backward pass against central differences in float64; float tables against double. */
#include "linalg/lapack.h"
#include "numeric.h"
#include "support/support.h"
#include "train/ops_internal.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-6;
enum { N = 6, D = 20 };

static const geodec_ops_f64 *ops(void)
{
    geodec_linalg_init();
    return geodec__ops_f64(GEODEC_ISA_AUTO);
}

/* ---- RMSNorm ----------------------------------------------------------------------------------------------------- */

static struct {
    double x[N * D], g[D], r[N], y[N * D], c[N * D];
} norm;

static double norm_value(void *ctx)
{
    (void)ctx;
    ops()->rmsnorm(N, D, 1e-5, norm.x, norm.g, norm.r, norm.y);
    return numeric_dot(norm.c, norm.y, N * D);
}

Test(train_ops, rmsnorm)
{
    double dx[N * D] = {0}, dg[D] = {0}, y[N * D];
    numeric_fill(norm.x, N * D, 1, 1);
    numeric_fill(norm.g, D, 2, 1);
    numeric_fill(norm.c, N * D, 3, 1);
    (void)norm_value(NULL);
    ops()->rmsnorm_apply(N, D, norm.x, norm.g, norm.r, y);
    cr_assert_eq(memcmp(y, norm.y, sizeof y), 0);
    ops()->rmsnorm_grad(N, D, norm.x, norm.g, norm.r, norm.c, dx, dg);
    cr_assert_lt(numeric_error(norm_value, NULL, norm.x, dx, N * D, 1), tolerance);
    cr_assert_lt(numeric_error(norm_value, NULL, norm.g, dg, D, 1), tolerance);
}

/* ---- rotary positions -------------------------------------------------------------------------------------------- */

Test(train_ops, rope_matches_rotation_and_transpose_is_inverse)
{
    enum { LEN = 3, HEADS = 2, HD = 6, RD = 4, LD = HEADS * HD + 5 };
    double cs[LEN * RD], x[N * LD], y[N * LD];
    for (int t = 0; t < LEN; t++)
        for (int i = 0; i < RD; i += 2) {
            const double a = t * pow(10000, -(double)i / RD);
            cs[t * RD + i] = cos(a);
            cs[t * RD + i + 1] = sin(a);
        }
    numeric_fill(x, N * LD, 4, 1);
    memcpy(y, x, sizeof x);
    ops()->rope(N, LEN, HEADS, HD, RD, LD, cs, 1, y);
    const double a = 2 * pow(10000, -2.0 / RD); /* row 5 = position 2, second pair of the second head */
    const double *p = x + 5 * LD + HD + 2, *q = y + 5 * LD + HD + 2;
    cr_assert_lt(fabs(q[0] - (p[0] * cos(a) - p[1] * sin(a))), 1e-14);
    cr_assert_lt(fabs(q[1] - (p[0] * sin(a) + p[1] * cos(a))), 1e-14);
    cr_assert_eq(x[5 * LD + HD + 4], y[5 * LD + HD + 4], "beyond rope_dim nothing moves");
    cr_assert_eq(x[5 * LD + HEADS * HD], y[5 * LD + HEADS * HD], "beyond the heads nothing moves");
    ops()->rope(N, LEN, HEADS, HD, RD, LD, cs, -1, y);
    cr_assert_lt(test_max_abs_diff(x, y, N * LD), 1e-14);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

enum { SEQ = 2, LEN = 70, NH = 4, NKV = 2, HD = 6, WIDTH = (NH + 2 * NKV) * HD, ROWS = SEQ * LEN };
static const geodec_attention_shape shape = {SEQ, LEN, NH, NKV, HD};
static struct {
    double qkv[ROWS * WIDTH], o[ROWS * NH * HD], c[ROWS * NH * HD], lse[ROWS * NH],
        scratch[2 * GEODEC_OPS_QUERY_BLOCK * LEN];
} att;

static double attention_value(void *ctx)
{
    (void)ctx;
    ops()->attention(&shape, att.qkv, att.o, att.lse, att.scratch);
    return numeric_dot(att.c, att.o, ROWS * NH * HD);
}

/* The definition, one query at a time. */
static double attention_by_definition(int b, int t, int h, int j)
{
    const double *base = att.qkv + (ptrdiff_t)b * LEN * WIDTH, *q = base + (ptrdiff_t)t * WIDTH + h * HD;
    const int kv = h / (NH / NKV);
    double total = 0, value = 0;
    for (int s = 0; s <= t; s++) {
        const double *k = base + (ptrdiff_t)s * WIDTH + (NH + kv) * HD;
        const double e = exp(numeric_dot(q, k, HD) / sqrt(HD));
        total += e;
        value += e * k[NKV * HD + j];
    }
    return value / total;
}

Test(train_ops, attention)
{
    static double dqkv[ROWS * WIDTH];
    numeric_fill(att.qkv, ROWS * WIDTH, 5, 1);
    numeric_fill(att.c, ROWS * NH * HD, 6, 1);
    (void)attention_value(NULL);
    for (int b = 0; b < SEQ; b++)
        for (int t = 0; t < LEN; t += 3)
            for (int h = 0; h < NH; h++)
                cr_assert_lt(fabs(attention_by_definition(b, t, h, 2) - att.o[((b * LEN + t) * NH + h) * HD + 2]),
                             1e-13);
    ops()->attention_grad(&shape, att.qkv, att.o, att.lse, att.c, dqkv, att.scratch);
    cr_assert_lt(numeric_error(attention_value, NULL, att.qkv, dqkv, ROWS * WIDTH, 7), tolerance);
}

/* ---- SwiGLU ------------------------------------------------------------------------------------------------------ */

static struct {
    double gu[N * 2 * D], a[N * D], c[N * D];
} glu;

static double swiglu_value(void *ctx)
{
    (void)ctx;
    ops()->swiglu(N, D, glu.gu, glu.a);
    return numeric_dot(glu.c, glu.a, N * D);
}

Test(train_ops, swiglu)
{
    double dgu[N * 2 * D], again[N * D];
    numeric_fill(glu.gu, N * 2 * D, 7, 2);
    numeric_fill(glu.c, N * D, 8, 1);
    (void)swiglu_value(NULL);
    ops()->swiglu_grad(N, D, glu.gu, glu.c, again, dgu);
    cr_assert_lt(test_max_abs_diff(again, glu.a, N * D), 1e-14);
    cr_assert_lt(numeric_error(swiglu_value, NULL, glu.gu, dgu, N * 2 * D, 1), tolerance);
}

/* ---- router ------------------------------------------------------------------------------------------------------ */

enum { NE = 8, K = 3 };
static struct {
    double logits[N * NE], prob[N * NE], weight[N * K], c[N * K], bias[NE];
    int32_t id[N * K];
} rt;

static double router_value(void *ctx)
{
    (void)ctx;
    ops()->router(N, NE, K, rt.logits, rt.prob, rt.id, rt.weight);
    double s = numeric_dot(rt.c, rt.weight, N * K);
    for (int t = 0; t < N; t++) s += numeric_dot(rt.bias, rt.prob + t * NE, NE);
    return s;
}

Test(train_ops, router)
{
    double dlogits[N * NE];
    numeric_fill(rt.logits, N * NE, 9, 1);
    numeric_fill(rt.c, N * K, 10, 1);
    numeric_fill(rt.bias, NE, 11, 1);
    (void)router_value(NULL);
    for (int t = 0; t < N; t++) {
        cr_assert_lt(fabs(rt.weight[t * K] + rt.weight[t * K + 1] + rt.weight[t * K + 2] - 1), 1e-14);
        cr_assert(rt.prob[t * NE + rt.id[t * K]] >= rt.prob[t * NE + rt.id[t * K + 1]]);
        for (int e = 0; e < NE; e++) { /* none left out is above the last chosen */
            const int32_t *id = rt.id + t * K;
            if (e != id[0] && e != id[1] && e != id[2]) cr_assert(rt.prob[t * NE + e] <= rt.prob[t * NE + id[2]]);
        }
    }
    ops()->router_grad(N, NE, K, rt.prob, rt.id, rt.weight, rt.c, rt.bias, dlogits);
    cr_assert_lt(numeric_error(router_value, NULL, rt.logits, dlogits, N * NE, 1), tolerance);
}

Test(train_ops, router_ties_go_to_the_lowest_index)
{
    const double equal[4] = {1, 1, 1, 1};
    double prob[4], weight[2];
    int32_t id[2];
    ops()->router(1, 4, 2, equal, prob, id, weight);
    cr_assert(id[0] == 0 && id[1] == 1);
}

/* ---- cross-entropy ----------------------------------------------------------------------------------------------- */

enum { NV = 37 };
static struct {
    double z[N * NV];
    int32_t target[N];
} ce;

static double xent_value(void *ctx)
{
    (void)ctx;
    double loss[N], s = 0;
    ops()->xent(N, NV, ce.target, 1, 0, ce.z, loss);
    for (int t = 0; t < N; t++) s += loss[t];
    return 0.25 * s;
}

Test(train_ops, cross_entropy)
{
    double dz[N * NV], loss[N], plain[N];
    numeric_fill(ce.z, N * NV, 12, 2);
    for (int t = 0; t < N; t++) ce.target[t] = t == 2 ? -1 : 5 * t;
    memcpy(dz, ce.z, sizeof dz);
    ops()->xent(N, NV, ce.target, 0.25, 1, dz, loss);
    ops()->xent(N, NV, ce.target, 0.25, 0, ce.z, plain);
    double total = 0;
    for (int j = 0; j < NV; j++) total += exp(ce.z[j]);
    cr_assert_lt(fabs(loss[0] - (log(total) - ce.z[ce.target[0]])), 1e-13);
    cr_assert_eq(loss[2], 0);
    cr_assert_lt(test_max_abs_diff(loss, plain, N), 1e-13);
    cr_assert_lt(numeric_error(xent_value, NULL, ce.z, dz, N * NV, 1), tolerance);
}

/* ---- optimiser --------------------------------------------------------------------------------------------------- */

Test(train_ops, adamw_against_the_formula)
{
    double g[3] = {0.5, -2, 1e-3}, m[3] = {0}, v[3] = {0}, w[3] = {1, 2, 3}, em[3] = {0}, ev[3] = {0},
           ew[3] = {1, 2, 3};
    for (int step = 1; step <= 5; step++) {
        const double b1 = 0.9, b2 = 0.95, lr = 0.01, decay = 0.1, clip = 0.5;
        geodec_adamw o = {lr, decay, b1, b2, 1e-8, 1 / (1 - pow(b1, step)), 1 / (1 - pow(b2, step)), clip};
        ops()->adamw(3, &o, g, m, v, w);
        for (int i = 0; i < 3; i++) {
            em[i] = b1 * em[i] + (1 - b1) * g[i] * clip;
            ev[i] = b2 * ev[i] + (1 - b2) * g[i] * clip * g[i] * clip;
            ew[i] -= lr * (em[i] / (1 - pow(b1, step)) / (sqrt(ev[i] / (1 - pow(b2, step))) + 1e-8) + decay * ew[i]);
        }
        cr_assert_lt(test_max_abs_diff(w, ew, 3), 1e-14);
    }
    cr_assert_lt(fabs(ops()->sum_squares(3, g) - (0.25 + 4 + 1e-6)), 1e-15);
}

/* ---- float tables ------------------------------------------------------------------------------------------------ */

static float *narrow(const double *x, int64_t n)
{
    float *y = malloc((size_t)n * sizeof *y);
    if (!y) abort();
    for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
    return y;
}

static double float_error(const float *a, const double *b, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs((double)a[i] - b[i]));
    return worst / test_max_abs(b, n);
}

/* Each instruction set of this machine against double, forward and backward. */
Test(train_ops, float_tables_agree_with_double)
{
    static double dqkv[ROWS * WIDTH], dgu[N * 2 * D], act[N * D], dx[N * D], loss[N], z[N * NV];
    static float fo[ROWS * NH * HD], flse[ROWS * NH], fscratch[2 * GEODEC_OPS_QUERY_BLOCK * LEN], fdqkv[ROWS * WIDTH],
        fact[N * D], fdgu[N * 2 * D], fr[N], fy[N * D], fdx[N * D], floss[N];
    numeric_fill(att.qkv, ROWS * WIDTH, 5, 1);
    numeric_fill(att.c, ROWS * NH * HD, 6, 1);
    (void)attention_value(NULL);
    ops()->attention_grad(&shape, att.qkv, att.o, att.lse, att.c, dqkv, att.scratch);
    numeric_fill(glu.gu, N * 2 * D, 7, 4);
    numeric_fill(glu.c, N * D, 8, 1);
    (void)swiglu_value(NULL);
    ops()->swiglu_grad(N, D, glu.gu, glu.c, act, dgu);
    numeric_fill(norm.x, N * D, 1, 1);
    numeric_fill(norm.g, D, 2, 1);
    numeric_fill(norm.c, N * D, 3, 1);
    (void)norm_value(NULL);
    ops()->rmsnorm_grad(N, D, norm.x, norm.g, norm.r, norm.c, dx, NULL);
    numeric_fill(z, N * NV, 12, 8);
    for (int t = 0; t < N; t++) ce.target[t] = 5 * t;
    float *qkv = narrow(att.qkv, ROWS * WIDTH), *c = narrow(att.c, ROWS * NH * HD), *gu = narrow(glu.gu, N * 2 * D),
          *gc = narrow(glu.c, N * D), *x = narrow(norm.x, N * D), *g = narrow(norm.g, D), *nc = narrow(norm.c, N * D);
    ops()->xent(N, NV, ce.target, 1, 0, z, loss);
    for (geodec_isa isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
        const geodec_ops_f32 *f = geodec__ops_f32(isa);
        if (!f) continue;
        float *fz = narrow(z, N * NV);
        f->attention(&shape, qkv, fo, flse, fscratch);
        cr_expect_lt(float_error(fo, att.o, ROWS * NH * HD), 2e-6, "%s", f->isa);
        f->attention_grad(&shape, qkv, fo, flse, c, fdqkv, fscratch);
        cr_expect_lt(float_error(fdqkv, dqkv, ROWS * WIDTH), 5e-6, "%s", f->isa);
        f->swiglu(N, D, gu, fact);
        cr_expect_lt(float_error(fact, glu.a, N * D), 1e-6, "%s", f->isa);
        f->swiglu_grad(N, D, gu, gc, fact, fdgu);
        cr_expect_lt(float_error(fdgu, dgu, N * 2 * D), 1e-6, "%s", f->isa);
        f->rmsnorm(N, D, 1e-5, x, g, fr, fy);
        cr_expect_lt(float_error(fy, norm.y, N * D), 1e-6, "%s", f->isa);
        memset(fdx, 0, sizeof fdx);
        f->rmsnorm_grad(N, D, x, g, fr, nc, fdx, NULL);
        cr_expect_lt(float_error(fdx, dx, N * D), 2e-6, "%s", f->isa);
        f->xent(N, NV, ce.target, 1, 1, fz, floss);
        cr_expect_lt(float_error(floss, loss, N), 2e-6, "%s", f->isa);
        free(fz);
    }
    float *all[] = {qkv, c, gu, gc, x, g, nc};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
}
