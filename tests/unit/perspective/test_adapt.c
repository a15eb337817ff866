/* Adaptation: the estimator and its moments, evolution strategies, the anchor, the torus, the return. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/dual/adapt_forward.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 10 };
static geodec_err err;

static double curve(int64_t i) { return 1 + 0.3 * (double)i; }
static double centre(int64_t i) { return 0.5 - 0.2 * (double)i; }

/* sum c_i (x_i - t_i)^2 / 2 */
static geodec_status bowl(void *ctx, int64_t n, const double *x, const double *v, int worker, double *loss,
                          double *derivative, geodec_err *e)
{
    (void)ctx, (void)worker, (void)e;
    *loss = *derivative = 0;
    for (int64_t i = 0; i < n; i++) {
        const double off = x[i] - centre(i);
        *loss += curve(i) * off * off / 2;
        *derivative += curve(i) * off * v[i];
    }
    return GEODEC_OK;
}

static geodec_status bowl_loss(void *ctx, int64_t n, const double *x, int worker, double *loss, geodec_err *e)
{
    double none;
    return bowl(ctx, n, x, x, worker, loss, &none, e);
}

/* ---- the estimator ----------------------------------------------------------------------------------------------- */

/* 1e5 directions: each coordinate of the mean is within 3 standard errors, sqrt((|g|^2 + g_i^2) / K), of the gradient.
 * The published directions give gradient / n, with errors 1 / n of these. The mean square of a single estimate less the
 * gradient is (n + 1) |g|^2. */
Test(adapt, the_mean_of_estimates_is_the_gradient)
{
    enum { K = 100000 };
    double x[N], g[N], estimate[N], square = 0, loss;
    geodec_pool *pool = NULL;
    for (int i = 0; i < N; i++) {
        x[i] = sin(i + 1);
        g[i] = curve(i) * (x[i] - centre(i));
        square += g[i] * g[i];
    }
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    for (int published = 0; published < 2; published++) {
        const geodec_adapt_directions o = {.count = K, .seed = 4, .published = published};
        const double part = published ? 1.0 / N : 1;
        double worst = 0, other[N];
        test_ok(geodec_adapt_gradient(bowl, NULL, N, x, &o, estimate, &loss, pool, &err), &err);
        test_ok(geodec_adapt_gradient(bowl, NULL, N, x, &o, other, NULL, NULL, &err), &err);
        cr_assert_eq(memcmp(estimate, other, sizeof other), 0);
        for (int i = 0; i < N; i++)
            worst = fmax(worst, fabs(estimate[i] - part * g[i]) / (part * sqrt((square + g[i] * g[i]) / K)));
        printf("%s directions: worst of %d coordinates off by %.2f standard errors from gradient %s\n",
               published ? "published" : "standard", N, worst, published ? "/ n" : "");
        cr_assert_lt(worst, 3);
        double none;
        test_ok(bowl_loss(NULL, N, x, 0, &none, &err), &err);
        cr_assert_float_eq(loss, none, 0);
    }
    double variance = 0;
    enum { SINGLE = 20000 };
    for (uint64_t k = 0; k < SINGLE; k++) {
        const geodec_adapt_directions o = {.count = 1, .seed = 5, .index = k};
        test_ok(geodec_adapt_gradient(bowl, NULL, N, x, &o, estimate, NULL, NULL, &err), &err);
        for (int i = 0; i < N; i++) variance += (estimate[i] - g[i]) * (estimate[i] - g[i]) / SINGLE;
    }
    printf("variance of one estimate: %.2f |g|^2, (n + 1) |g|^2 expected\n", variance / square);
    cr_assert_float_eq(variance / square, N + 1, 0.6);
    geodec_pool_destroy(pool);
}

static geodec_status fails_at(void *ctx, int64_t n, const double *x, const double *v, int worker, double *loss,
                              double *derivative, geodec_err *e)
{
    (void)ctx, (void)worker, (void)n, (void)x;
    *loss = 1;
    *derivative = v[0];
    if (v[0] > 1) return geodec_err_set(e, GEODEC_IO, __func__, __LINE__, "no text");
    return GEODEC_OK;
}

static geodec_status infinite(void *ctx, int64_t n, const double *x, const double *v, int worker, double *loss,
                              double *derivative, geodec_err *e)
{
    (void)ctx, (void)worker, (void)n, (void)x, (void)v, (void)e;
    *loss = 1;
    *derivative = INFINITY;
    return GEODEC_OK;
}

Test(adapt, errors_leave_the_output)
{
    double x[2] = {0}, g[2] = {7, 7};
    geodec_adapt_directions o = {.count = 50, .seed = 1};
    char line[600];
    cr_assert_eq(geodec_adapt_gradient(fails_at, NULL, 2, x, &o, g, NULL, NULL, &err), GEODEC_IO);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "no text"));
    cr_assert_eq(geodec_adapt_gradient(infinite, NULL, 2, x, &o, g, NULL, NULL, &err), GEODEC_NUMERIC);
    o.count = 0;
    cr_assert_eq(geodec_adapt_gradient(bowl, NULL, 2, x, &o, g, NULL, NULL, &err), GEODEC_RANGE);
    const geodec_adapt_nes nes = {.pairs = 3, .sigma = 0};
    cr_assert_eq(geodec_adapt_nes_gradient(bowl_loss, NULL, 2, x, &nes, g, NULL, &err), GEODEC_RANGE);
    cr_assert(g[0] >= 7 && g[0] <= 7 && g[1] >= 7 && g[1] <= 7);
}

/* ---- evolution strategies ---------------------------------------------------------------------------------------- */

static geodec_status sphere(void *ctx, int64_t n, const double *x, int worker, double *loss, geodec_err *e)
{
    (void)ctx, (void)worker, (void)e;
    *loss = 0;
    for (int64_t i = 0; i < n; i++) *loss += x[i] * x[i];
    return GEODEC_OK;
}

/* A function of the rank alone: the same order, other values. */
static geodec_status stretched(void *ctx, int64_t n, const double *x, int worker, double *loss, geodec_err *e)
{
    const geodec_status st = sphere(ctx, n, x, worker, loss, e);
    *loss = exp(*loss) - 100;
    return st;
}

static geodec_status constant(void *ctx, int64_t n, const double *x, int worker, double *loss, geodec_err *e)
{
    (void)ctx, (void)worker, (void)n, (void)x, (void)e;
    *loss = 3;
    return GEODEC_OK;
}

Test(adapt, the_sphere_descends)
{
    double x[N], g[N], other[N], begin, end;
    geodec_pool *pool = NULL;
    for (int i = 0; i < N; i++) x[i] = 1;
    test_ok(sphere(NULL, N, x, 0, &begin, &err), &err);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (uint64_t step = 0; step < 300; step++) {
        const geodec_adapt_nes o = {.pairs = 10, .sigma = 0.05, .seed = 2, .index = step};
        test_ok(geodec_adapt_nes_gradient(sphere, NULL, N, x, &o, g, pool, &err), &err);
        if (step % 50 == 0) {
            test_ok(geodec_adapt_nes_gradient(stretched, NULL, N, x, &o, other, NULL, &err), &err);
            cr_assert_eq(memcmp(g, other, sizeof g), 0); /* other values in the same order, one thread */
            test_ok(geodec_adapt_nes_gradient(constant, NULL, N, x, &o, other, NULL, &err), &err);
            for (int i = 0; i < N; i++) cr_assert_float_eq(other[i], 0, 1e-12); /* no order, no direction */
        }
        geodec_adapt_step(N, 0.005, g, 0, NULL, NULL, x);
    }
    test_ok(sphere(NULL, N, x, 0, &end, &err), &err);
    printf("sphere: %.3f to %.5f in 300 steps of 10 pairs\n", begin, end);
    cr_assert_lt(end, 0.02 * begin);
    geodec_pool_destroy(pool);
}

static const double period[] = {4, 2, 0};
static const double target[] = {0.1, 1.9, -3};

static geodec_status on_torus(void *ctx, int64_t n, const double *x, int worker, double *loss, geodec_err *e)
{
    (void)ctx, (void)worker, (void)e;
    *loss = 0;
    for (int64_t i = 0; i < n; i++) {
        double off = x[i] - target[i];
        if (period[i] > 0) {
            if (x[i] < 0 || x[i] >= period[i]) *loss = NAN; /* candidates lie on the torus */
            off -= period[i] * round(off / period[i]);
        }
        *loss += off * off;
    }
    return GEODEC_OK;
}

/* From 3.7 to 0.1 and from 0.2 to 1.9 the shorter way leads over the seam. */
Test(adapt, positions_on_a_torus)
{
    double x[3] = {3.7, 0.2, -2.5}, g[3], loss;
    for (uint64_t step = 0; step < 400; step++) {
        const geodec_adapt_nes o = {.pairs = 10, .sigma = 0.02, .period = period, .seed = 3, .index = step};
        test_ok(geodec_adapt_nes_gradient(on_torus, NULL, 3, x, &o, g, NULL, &err), &err);
        geodec_adapt_step(3, 0.001, g, 0, NULL, period, x);
        for (int i = 0; i < 2; i++) cr_assert(x[i] >= 0 && x[i] < period[i]);
        cr_assert(x[0] < 0.5 || x[0] > 3.5); /* never the longer way */
    }
    test_ok(on_torus(NULL, 3, x, 0, &loss, &err), &err);
    printf("torus: %.4f %.4f %.4f, loss %.2g\n", x[0], x[1], x[2], loss);
    cr_assert_lt(loss, 1e-2);
    const double wrapped[][3] = {{-0.5, 4, 3.5}, {4, 4, 0}, {9, 4, 1}, {-1e-30, 4, 0}, {7, 0, 7}, {-4, 4, 0}};
    for (size_t i = 0; i < sizeof wrapped / sizeof *wrapped; i++)
        cr_assert_float_eq(geodec_adapt_wrap(wrapped[i][0], wrapped[i][1]), wrapped[i][2], 0);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

Test(adapt, a_rate_of_zero_changes_no_bit)
{
    double x[4] = {-0.0, NAN, 9, 1e-310}, before[4];
    const double g[4] = {INFINITY, 1, 1, NAN}, anchor[4] = {5, 5, 5, 5}, whole[4] = {4, 4, 4, 4};
    memcpy(before, x, sizeof x);
    geodec_adapt_step(4, 0, g, 0.1, anchor, whole, x);
    cr_assert_eq(memcmp(x, before, sizeof x), 0);
}

/* A large update comes back by the factor 1 - 2 rate lambda a step; a constant force g ends at -g / (2 lambda). */
Test(adapt, the_anchor_pulls_back)
{
    const double anchor[2] = {1, -2}, force[2] = {0.02, -0.04}, rate = 0.5, lambda = GEODEC_ADAPT_ANCHOR_POSITIONS;
    double x[2] = {101, -2};
    for (int step = 1; step <= 50; step++) {
        geodec_adapt_step(2, rate, NULL, lambda, anchor, NULL, x);
        cr_assert_float_eq(x[0] - 1, 100 * pow(1 - 2 * rate * lambda, step), 1e-10);
    }
    for (int step = 0; step < 1000; step++) geodec_adapt_step(2, rate, force, lambda, anchor, NULL, x);
    for (int i = 0; i < 2; i++) cr_assert_float_eq(x[i], anchor[i] - force[i] / (2 * lambda), 1e-12);
    /* on a torus of 10 from 9.5 to the anchor 0.5 over the seam */
    double y[1] = {9.5};
    const double zero[1] = {0.5}, whole[1] = {10};
    geodec_adapt_step(1, 0.25, NULL, 1, zero, whole, y);
    cr_assert_float_eq(y[0], 0, 1e-15); /* half of the way of 1 */
}

Test(adapt, evaluations_of_a_budget)
{
    cr_assert_eq(geodec_adapt_fit(1.5, 0.1, 1, 64), 15);
    cr_assert_eq(geodec_adapt_fit(1.5, 0.001, 1, 64), 64);
    cr_assert_eq(geodec_adapt_fit(1.5, 10, 1, 64), 1);
    cr_assert_eq(geodec_adapt_fit(1.5, 0, 2, 64), 2);
    cr_assert_eq(geodec_adapt_fit(1.5, NAN, 2, 64), 2);
    cr_assert_eq(geodec_adapt_fit(1e300, 1e-300, 2, 64), 64);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Held-out loss that falls until the first coordinate passes 0.25, and rises then. */
static geodec_status held_out(void *ctx, int64_t n, const double *x, int worker, double *loss, geodec_err *e)
{
    (void)n, (void)worker, (void)e;
    *loss = 2 + (x[0] > 0.25 ? x[0] - 0.25 : 0);
    if (ctx) *loss = NAN;
    return GEODEC_OK;
}

Test(adapt, a_run_falls_and_returns)
{
    const geodec_adapt_problem fall = {bowl, NULL, bowl_loss, NULL}, rise = {bowl, NULL, held_out, NULL},
                               none = {bowl, NULL, held_out, &err}, failing = {fails_at, NULL, bowl_loss, NULL};
    double x[N] = {0}, begin[N] = {0};
    geodec_adapt_report r;
    geodec_adapt_run o = {.steps = 200, .directions = 8, .rate = 0.02, .rise = 0.01, .seed = 6};
    test_ok(geodec_adapt_descend(&fall, N, x, &o, &r, NULL, &err), &err);
    printf("run: loss %.4f to %.4f in %lld steps\n", r.start, r.end, (long long)r.steps);
    cr_assert(r.steps == 200 && r.kept == 200 && !r.rolled_back && r.end < 0.05 * r.start);
    cr_assert_float_eq(r.held, r.end, 0); /* they are the same function here */
    cr_assert_float_eq(r.held_start, r.start, 0);

    memcpy(x, begin, sizeof x);
    test_ok(geodec_adapt_descend(&rise, N, x, &o, &r, NULL, &err), &err);
    cr_assert(r.rolled_back && r.steps < 200 && r.kept == r.steps - 1 && r.end < r.start);
    cr_assert(x[0] <= 0.27 && r.held <= 2.02); /* 1 % of 2 */
    double loss;
    test_ok(bowl_loss(NULL, N, x, 0, &loss, &err), &err);
    cr_assert_float_eq(loss, r.end, 0);

    /* a held-out loss that is no number: the start */
    memcpy(x, begin, sizeof x);
    test_ok(geodec_adapt_descend(&none, N, x, &o, &r, NULL, &err), &err);
    cr_assert(r.rolled_back && r.kept == 0 && memcmp(x, begin, sizeof x) == 0);

    o.rate = 0;
    test_ok(geodec_adapt_descend(&fall, N, x, &o, &r, NULL, &err), &err);
    cr_assert(r.steps == 200 && memcmp(x, begin, sizeof x) == 0);
    o.rate = 0.02;
    o.steps = 0;
    cr_assert_eq(geodec_adapt_descend(&fall, N, x, &o, &r, NULL, &err), GEODEC_RANGE);
    o.steps = 20;
    cr_assert_eq(geodec_adapt_descend(&failing, N, x, &o, &r, NULL, &err), GEODEC_IO);
    cr_assert_eq(memcmp(x, begin, sizeof x), 0);
}

/* 1 - cos of the way to 0.1, on a circle of 1. */
static geodec_status round_loss(void *ctx, int64_t n, const double *x, int worker, double *loss, geodec_err *e)
{
    (void)ctx, (void)worker, (void)e;
    *loss = 0;
    for (int64_t i = 0; i < n; i++) *loss += 1 - cos(2 * acos(-1) * (x[i] - 0.1));
    return GEODEC_OK;
}

/* The loop of adaptation with candidates: over the seam of the torus, and back when the held-out loss rises. */
Test(adapt, a_run_of_an_evolution_strategy_falls_and_returns)
{
    enum { M = 3 };
    const double whole[M] = {1, 1, 1}, begin[M] = {0.9, 0.95, 0.85};
    const geodec_adapt_problem fall = {NULL, round_loss, round_loss, NULL}, none = {NULL, round_loss, held_out, &err};
    geodec_adapt_run o = {
        .steps = 300, .directions = 8, .sigma = 0.02, .period = whole, .rate = 0.0005, .rise = 0.01, .seed = 6};
    geodec_adapt_report r;
    double x[M];
    memcpy(x, begin, sizeof x);
    test_ok(geodec_adapt_descend(&fall, M, x, &o, &r, NULL, &err), &err);
    printf("evolution strategy: loss %.4f to %.4f in %lld steps\n", r.start, r.end, (long long)r.steps);
    cr_assert(!r.rolled_back && r.kept == 300 && r.end < 0.05 * r.start);
    for (int i = 0; i < M; i++) cr_assert(x[i] >= 0 && x[i] < 0.3, "%d: %g", i, x[i]);
    memcpy(x, begin, sizeof x);
    test_ok(geodec_adapt_descend(&none, M, x, &o, &r, NULL, &err), &err);
    cr_assert(r.rolled_back && r.kept == 0 && memcmp(x, begin, sizeof x) == 0);
    cr_assert_float_eq(r.end, r.start, 0);
    o.sigma = 0; /* no derivatives are given */
    cr_assert_eq(geodec_adapt_descend(&fall, M, x, &o, &r, NULL, &err), GEODEC_INVAL);
}
