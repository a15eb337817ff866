/* Forward mode: every operator against central differences and against plain loops; a block from input to loss. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/dual/adapt_forward.h"
#include "lab/perspective/dual/dual.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 6, COLS = 8, RANK = 2, HEADS = 4, KV = 2, WIDTH = 4, LEN = 7, WINDOW = 5, STATE = 5, MOST = 512 };

/* An operator as a function of one vector of all its inputs; tangents likewise. y and dy at most MOST. */
typedef struct op {
    const char *name;
    int64_t in, out;
    void (*f64)(const double *x, const double *dx, double *y, double *dy);
    void (*f32)(const float *x, const float *dx, float *y, float *dy);
} op;

/* Each of the two precisions calls the same operator on parts of the vector. */
#define PRECISION(REAL, SUFFIX)                                                                                        \
    static void matvec_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                      \
    {                                                                                                                  \
        enum { M = ROWS * COLS };                                                                                      \
        geodec_dual_##SUFFIX##_matvec(ROWS, COLS, x, dx, x + M, dx + M, y, dy);                                        \
    }                                                                                                                  \
    static void lowrank_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                     \
    {                                                                                                                  \
        enum { B = ROWS * RANK, A = RANK * COLS };                                                                     \
        REAL work[2 * RANK];                                                                                           \
        for (int i = 0; i < ROWS; i++) {                                                                               \
            y[i] = x[B + A + COLS + i];                                                                                \
            dy[i] = dx[B + A + COLS + i];                                                                              \
        }                                                                                                              \
        geodec_dual_##SUFFIX##_lowrank(ROWS, COLS, RANK, x, dx, x + B, dx + B, x + B + A, dx + B + A, y, dy, work);    \
    }                                                                                                                  \
    static void rmsnorm_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                     \
    {                                                                                                                  \
        REAL gain[COLS];                                                                                               \
        for (int i = 0; i < COLS; i++) gain[i] = (REAL)(0.5 + 0.25 * i);                                               \
        geodec_dual_##SUFFIX##_rmsnorm(COLS, 1e-6, gain, x, dx, y, dy);                                                \
    }                                                                                                                  \
    static void sigmoid_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                     \
    {                                                                                                                  \
        geodec_dual_##SUFFIX##_sigmoid(COLS, x, dx, y, dy);                                                            \
    }                                                                                                                  \
    static void silu_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                        \
    {                                                                                                                  \
        memcpy(y, x, COLS * sizeof *y); /* in place */                                                                 \
        memcpy(dy, dx, COLS * sizeof *y);                                                                              \
        geodec_dual_##SUFFIX##_silu(COLS, y, dy, y, dy);                                                               \
    }                                                                                                                  \
    static void multiply_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                    \
    {                                                                                                                  \
        geodec_dual_##SUFFIX##_multiply(COLS, x, dx, x + COLS, dx + COLS, y, dy);                                      \
    }                                                                                                                  \
    static void softmax_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                     \
    {                                                                                                                  \
        geodec_dual_##SUFFIX##_softmax(COLS, x, dx, y, dy);                                                            \
    }                                                                                                                  \
    static void rope_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                        \
    {                                                                                                                  \
        geodec_dual_##SUFFIX##_rope(HEADS, WIDTH, 11, 10000, x, dx, y, dy);                                            \
    }                                                                                                                  \
    /* g, v [ROWS], k, q [STATE], then the state; the output, then the new state */                                    \
    static void step_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                        \
    {                                                                                                                  \
        enum { V = ROWS, K = 2 * ROWS, Q = K + STATE, S = Q + STATE };                                                 \
        memcpy(y + ROWS, x + S, ROWS * STATE * sizeof *y);                                                             \
        memcpy(dy + ROWS, dx + S, ROWS * STATE * sizeof *y);                                                           \
        geodec_dual_##SUFFIX##_step(ROWS, STATE, x, dx, x + V, dx + V, x + K, dx + K, x + Q, dx + Q, y + ROWS,         \
                                    dy + ROWS, y, dy);                                                                 \
    }                                                                                                                  \
    static void attend_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                      \
    {                                                                                                                  \
        enum { K = HEADS * WIDTH, V = K + LEN * KV * WIDTH };                                                          \
        REAL work[2 * LEN];                                                                                            \
        geodec_dual_##SUFFIX##_attend(HEADS, KV, WIDTH, LEN, WINDOW, x, dx, x + K, dx + K, x + V, dx + V, y, dy,       \
                                      work);                                                                           \
    }                                                                                                                  \
    static void loss_##SUFFIX(const REAL *x, const REAL *dx, REAL *y, REAL *dy)                                        \
    {                                                                                                                  \
        double loss, dloss;                                                                                            \
        geodec_dual_##SUFFIX##_cross_entropy(COLS, 3, x, dx, &loss, &dloss);                                           \
        y[0] = (REAL)loss;                                                                                             \
        dy[0] = (REAL)dloss;                                                                                           \
    }
PRECISION(double, f64)
PRECISION(float, f32)

#define OP(name, in, out)                                                                                              \
    {                                                                                                                  \
#name, in, out, name##_f64, name##_f32                                                                         \
    }
static const op ops[] = {
    OP(matvec, ROWS *COLS + COLS, ROWS),
    OP(lowrank, ROWS *RANK + RANK * COLS + COLS + ROWS, ROWS),
    OP(rmsnorm, COLS, COLS),
    OP(sigmoid, COLS, COLS),
    OP(silu, COLS, COLS),
    OP(multiply, 2 * COLS, COLS),
    OP(softmax, COLS, COLS),
    OP(rope, HEADS *WIDTH, HEADS *WIDTH),
    OP(step, 2 * ROWS + 2 * STATE + ROWS * STATE, ROWS + ROWS * STATE),
    OP(attend, HEADS *WIDTH + 2 * LEN * KV * WIDTH, HEADS *WIDTH),
    OP(loss, COLS, 1),
};

static void draw(uint64_t seed, int64_t n, double *x)
{
    geodec_rng r = geodec_rng_stream(seed, 9);
    for (int64_t i = 0; i < n; i++) x[i] = geodec_rng_normal(&r);
}

/* Central differences with Richardson's step: the error of order h^4 and the rounding of 1e-16 / h are both below 1e-9
 * at h = 1e-3; the bar is 1e-6 relative. */
Test(dual, operators_against_central_differences)
{
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        double worst = 0;
        for (uint64_t seed = 0; seed < 10; seed++) {
            const op *const o = &ops[k];
            double x[MOST], v[MOST], at[MOST], y[MOST], dy[MOST], side[4][MOST], none[MOST], largest = 0, off = 0;
            draw(seed, o->in, x);
            draw(seed + 100, o->in, v);
            o->f64(x, v, y, dy);
            for (int s = 0; s < 4; s++) {
                const double h = (s < 2 ? 1e-3 : 2e-3) * (s % 2 ? -1 : 1);
                for (int64_t i = 0; i < o->in; i++) at[i] = x[i] + h * v[i];
                o->f64(at, v, side[s], none);
            }
            for (int64_t i = 0; i < o->out; i++) {
                const double near = (side[0][i] - side[1][i]) / 2e-3, far = (side[2][i] - side[3][i]) / 4e-3;
                largest = fmax(largest, fabs(dy[i]));
                off = fmax(off, fabs(dy[i] - (4 * near - far) / 3));
            }
            cr_assert_gt(largest, 0);
            worst = fmax(worst, off / largest);
        }
        printf("%s: %.2g\n", ops[k].name, worst);
        cr_assert_lt(worst, 1e-6, "%s", ops[k].name);
    }
}

/* float agrees with double to the rounding of its results. */
Test(dual, float_agrees_with_double)
{
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            const op *const o = &ops[k];
            double x[MOST], v[MOST], y[MOST], dy[MOST], size = 1;
            float xf[MOST], vf[MOST], yf[MOST], dyf[MOST];
            draw(seed, o->in, x);
            draw(seed + 100, o->in, v);
            for (int64_t i = 0; i < o->in; i++) {
                x[i] = (double)(xf[i] = (float)x[i]);
                v[i] = (double)(vf[i] = (float)v[i]);
            }
            o->f64(x, v, y, dy);
            o->f32(xf, vf, yf, dyf);
            for (int64_t i = 0; i < o->out; i++) size = fmax(size, fmax(fabs(y[i]), fabs(dy[i])));
            for (int64_t i = 0; i < o->out; i++) {
                cr_assert_float_eq((double)yf[i], y[i], 1e-6 * size, "%s", o->name);
                cr_assert_float_eq((double)dyf[i], dy[i], 2e-6 * size, "%s", o->name);
            }
        }
}

/* A tangent that is NULL is a tangent of zeros. */
Test(dual, no_tangent_is_zero)
{
    double x[MOST], y[MOST], dy[MOST], other[MOST], zero[MOST] = {0}, v[MOST];
    draw(1, MOST, x);
    draw(2, MOST, v);
    geodec_dual_f64_matvec(ROWS, COLS, x, NULL, x + 100, v, y, dy);
    geodec_dual_f64_matvec(ROWS, COLS, x, zero, x + 100, v, y, other);
    cr_assert_eq(memcmp(dy, other, ROWS * sizeof *dy), 0);
    geodec_dual_f64_matvec(ROWS, COLS, x, v, x + 100, NULL, y, dy);
    geodec_dual_f64_matvec(ROWS, COLS, x, v, x + 100, zero, y, other);
    cr_assert_eq(memcmp(dy, other, ROWS * sizeof *dy), 0);
    double work[2 * LEN];
    geodec_dual_f64_attend(HEADS, KV, WIDTH, LEN, WINDOW, x, NULL, x + 50, NULL, x + 150, NULL, y, dy, work);
    for (int i = 0; i < HEADS * WIDTH; i++) cr_assert_float_eq(dy[i], 0, 0);
    geodec_dual_f64_softmax(COLS, x, NULL, y, dy);
    for (int i = 0; i < COLS; i++) cr_assert_float_eq(dy[i], 0, 0);
    geodec_dual_f64_rmsnorm(COLS, 1e-6, x + 9, x, NULL, y, dy);
    for (int i = 0; i < COLS; i++) cr_assert_float_eq(dy[i], 0, 0);
}

/* Values by plain loops, where an operator could be wrong together with its differences. */
Test(dual, values)
{
    double x[MOST], y[MOST], dy[MOST], v[MOST] = {0};
    draw(4, MOST, x);
    /* attention over the last WINDOW rows */
    enum { K = HEADS * WIDTH, V = K + LEN * KV * WIDTH };
    attend_f64(x, v, y, dy);
    for (int h = 0; h < HEADS; h++) {
        double p[LEN], sum = 0;
        const int kv = h / (HEADS / KV);
        for (int t = LEN - WINDOW; t < LEN; t++) {
            p[t] = 0;
            for (int c = 0; c < WIDTH; c++) p[t] += x[h * WIDTH + c] * x[K + (t * KV + kv) * WIDTH + c] / 2;
            sum += p[t] = exp(p[t]);
        }
        for (int c = 0; c < WIDTH; c++) {
            double want = 0;
            for (int t = LEN - WINDOW; t < LEN; t++) want += p[t] / sum * x[V + (t * KV + kv) * WIDTH + c];
            cr_assert_float_eq(y[h * WIDTH + c], want, 1e-14);
        }
    }
    /* position 0 is the identity, a turn keeps lengths, and products depend on the distance alone */
    double a[4], b[4], da[4];
    geodec_dual_f64_rope(1, 4, 0, 10000, x, NULL, a, da);
    cr_assert_eq(memcmp(a, x, sizeof a), 0);
    double product[2];
    for (int k = 0; k < 2; k++) {
        geodec_dual_f64_rope(1, 4, 3 + 50 * k, 10000, x, NULL, a, da);
        geodec_dual_f64_rope(1, 4, 9 + 50 * k, 10000, x + 4, NULL, b, da);
        product[k] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    }
    cr_assert_float_eq(product[0], product[1], 1e-13);
    /* 10,000 steps of a constant input reach v k^T / (1 - g) */
    const double g[] = {0.5, 0.99}, in[] = {2, -1}, k[] = {1, 3, -2}, q[] = {1, 0, 0};
    double s[6] = {0}, ds[6] = {0}, o[2], d_o[2];
    for (int t = 0; t < 10000; t++) geodec_dual_f64_step(2, 3, g, g, in, NULL, k, NULL, q, NULL, s, ds, o, d_o);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) {
            cr_assert_float_eq(s[3 * i + j], in[i] * k[j] / (1 - g[i]), 1e-9);
            /* with dg = g: d/dg of that, times g */
            cr_assert_float_eq(ds[3 * i + j], in[i] * k[j] / (1 - g[i]) / (1 - g[i]) * g[i], 1e-6);
        }
    const double big[] = {-800, 800, 0};
    geodec_dual_f64_sigmoid(3, big, NULL, y, dy);
    cr_assert(y[0] >= 0 && y[0] < 1e-300 && y[1] >= 1 && y[2] >= 0.5 && y[2] <= 0.5);
}

/* ---- a block, from inputs to the loss ---------------------------------------------------------------------------- */

enum { D = 6, R = 3, F = 5, VOCAB = 9, TOKENS = 12, LORA = RANK * (D + D) };

/* A layer of the recurrence (norm, gate with an adapter, readout norm, output) and a gated feed-forward, over a few
 * tokens; tied embedding. ab, dab [LORA]. Returns the mean loss; *derivative in the direction dab. */
static double block(const double *ab, const double *dab, double *derivative)
{
    static double w[2000];
    const double *at = w, *gain, *wp, *wk, *wq, *wv, *wo, *up, *gate, *down, *emb;
    double s[D * R] = {0}, ds[D * R] = {0}, total = 0, dtotal = 0, none[D] = {0}, ones[D];
    draw(77, 2000, w);
    for (int i = 0; i < 2000; i++) w[i] *= 0.5;
    for (int i = 0; i < D; i++) ones[i] = 1;
    gain = ones;
    wp = at, at += D * D;
    wk = at, at += R * D;
    wq = at, at += R * D;
    wv = at, at += D * D;
    wo = at, at += D * D;
    up = at, at += F * D;
    gate = at, at += F * D;
    down = at, at += D * F;
    emb = at;
    for (int t = 0; t < TOKENS; t++) {
        double x[D], dx[D], n[D], dn[D], p[D], dp[D], k[R], dk[R], q[R], dq[R], v[D], dv[D], o[D], d_o[D], y[D], dy[D];
        double a[F], da[F], b[F], db[F], l[VOCAB], dl[VOCAB], work[2 * RANK], loss, dloss;
        const int token = (t * t + 3) % VOCAB, next = ((t + 1) * (t + 1) + 3) % VOCAB;
        memcpy(x, emb + token * D, sizeof x);
        memcpy(dx, none, sizeof dx);
        geodec_dual_f64_rmsnorm(D, 1e-6, gain, x, dx, n, dn);
        geodec_dual_f64_matvec(D, D, wp, NULL, n, dn, p, dp);
        geodec_dual_f64_lowrank(D, D, RANK, ab + RANK * D, dab + RANK * D, ab, dab, n, dn, p, dp, work);
        for (int i = 0; i < D; i++) p[i] += 2.944;
        geodec_dual_f64_sigmoid(D, p, dp, p, dp);
        geodec_dual_f64_matvec(R, D, wk, NULL, n, dn, k, dk);
        geodec_dual_f64_matvec(R, D, wq, NULL, n, dn, q, dq);
        geodec_dual_f64_matvec(D, D, wv, NULL, n, dn, v, dv);
        geodec_dual_f64_step(D, R, p, dp, v, dv, k, dk, q, dq, s, ds, o, d_o);
        geodec_dual_f64_rmsnorm(D, 1e-6, gain, o, d_o, n, dn);
        geodec_dual_f64_matvec(D, D, wo, NULL, n, dn, y, dy);
        for (int i = 0; i < D; i++) x[i] += y[i], dx[i] += dy[i];
        geodec_dual_f64_rmsnorm(D, 1e-6, gain, x, dx, n, dn);
        geodec_dual_f64_matvec(F, D, up, NULL, n, dn, a, da);
        geodec_dual_f64_matvec(F, D, gate, NULL, n, dn, b, db);
        geodec_dual_f64_silu(F, b, db, b, db);
        geodec_dual_f64_multiply(F, a, da, b, db, a, da);
        geodec_dual_f64_matvec(D, F, down, NULL, a, da, y, dy);
        for (int i = 0; i < D; i++) x[i] += y[i], dx[i] += dy[i];
        geodec_dual_f64_rmsnorm(D, 1e-6, gain, x, dx, n, dn);
        geodec_dual_f64_matvec(VOCAB, D, emb, NULL, n, dn, l, dl);
        geodec_dual_f64_cross_entropy(VOCAB, next, l, dl, &loss, &dloss);
        total += loss / TOKENS;
        dtotal += dloss / TOKENS;
    }
    *derivative = dtotal;
    return total;
}

static void adapter(double b_size, double *ab)
{
    double random[LORA];
    geodec_adapt_lora(D, D, RANK, 3, 0, ab);
    draw(8, LORA, random);
    for (int i = RANK * D; i < LORA; i++) ab[i] = b_size * random[i];
}

Test(dual, end_to_end_against_central_differences)
{
    double worst = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        double ab[LORA], v[LORA], up[LORA], down[LORA], d, none;
        const double h = 1e-5;
        adapter(0.5, ab);
        draw(seed, LORA, v);
        block(ab, v, &d);
        for (int i = 0; i < LORA; i++) {
            up[i] = ab[i] + h * v[i];
            down[i] = ab[i] - h * v[i];
        }
        const double by = (block(up, v, &none) - block(down, v, &none)) / (2 * h);
        worst = fmax(worst, fabs(d - by) / fabs(by));
    }
    printf("end to end: %.2g\n", worst);
    cr_assert_lt(worst, 1e-6); /* the bar is 1e-4 */
}

/* Start A ~ N(0, 1/d), B = 0: the function is that without the adapter, and B has a gradient. With A = B = 0 every
 * derivative is 0: the adapter never moves. */
Test(dual, an_adapter_of_zeros_is_a_saddle)
{
    double ab[LORA], zero[LORA] = {0}, v[LORA], d, none, largest = 0;
    adapter(0, ab);
    double square = 0;
    for (int i = 0; i < RANK * D; i++) square += ab[i] * ab[i];
    cr_assert(square > 0.3 * RANK && square < 3 * RANK); /* RANK D numbers of variance 1 / D */
    cr_assert_float_eq(block(ab, zero, &none), block(zero, zero, &d), 0);
    for (uint64_t seed = 0; seed < 20; seed++) {
        draw(seed, LORA, v);
        block(ab, v, &d);
        largest = fmax(largest, fabs(d));
        block(zero, v, &d);
        cr_assert_float_eq(d, 0, 0);
    }
    cr_assert_gt(largest, 1e-3);
}
