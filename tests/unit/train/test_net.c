/* End-to-end derivatives of the network in float64: parameters and activations; float against double. */
#include "base/mem.h"
#include "linalg/lapack.h"
#include "numeric.h"
#include "support/support.h"
#include "train/net.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { SEQ = 2, LEN = 9, N = SEQ * LEN };

typedef struct fixture {
    geodec_layout *layout;
    geodec_net_f64 *net;
    geodec_net_f64_work *work;
    double *params, *grad, loss[N];
    int32_t token[N], target[N];
} fixture;

static geodec_model_config config(int experts, bool tied)
{
    return (geodec_model_config){.n_layer = 2,
                                 .d_model = 12,
                                 .n_head = 4,
                                 .n_kv_head = 2,
                                 .head_dim = 4,
                                 .rope_dim = 4,
                                 .d_ff = 10,
                                 .n_vocab = 19,
                                 .n_ctx = 16,
                                 .n_expert = experts,
                                 .n_expert_used = experts ? 2 : 0,
                                 .rms_eps = 1e-5f,
                                 .rope_base = 10000,
                                 .tied = tied};
}

static void make(fixture *f, int experts, bool tied, double balance)
{
    geodec_err err = {0};
    const geodec_model_config c = config(experts, tied);
    geodec_linalg_init();
    test_ok(geodec_layout_create(&c, &f->layout, &err), &err);
    test_ok(geodec_net_f64_create(f->layout, balance, GEODEC_ISA_AUTO, &f->net, &err), &err);
    test_ok(geodec_net_f64_work_create(f->net, SEQ, LEN, &f->work, &err), &err);
    f->params = geodec_mem_new(f->layout->total, sizeof(double));
    f->grad = geodec_mem_new(f->layout->total, sizeof(double));
    numeric_fill(f->params, f->layout->total, 31, 0.4);
    geodec_rng r = geodec_rng_stream(4, 4);
    for (int t = 0; t < N; t++) {
        f->token[t] = (int32_t)geodec_rng_below(&r, 19);
        f->target[t] = t == 4 ? -1 : (int32_t)geodec_rng_below(&r, 19);
    }
}

static void drop(fixture *f)
{
    geodec_mem_free(f->params);
    geodec_mem_free(f->grad);
    geodec_net_f64_work_destroy(f->work);
    geodec_net_f64_destroy(f->net);
    geodec_layout_destroy(f->layout);
}

static double value(void *ctx)
{
    fixture *f = ctx;
    geodec_err err = {0};
    double balance, s = 0;
    test_ok(geodec_net_f64_forward(f->net, f->params, SEQ, LEN, f->token, f->work, &err), &err);
    geodec_net_f64_loss(f->net, f->params, f->work, f->target, 1, NULL, f->loss, &balance);
    for (int t = 0; t < N; t++) s += f->loss[t];
    return (s + balance) / N;
}

static void check(int experts, bool tied, double balance)
{
    fixture f = {0};
    make(&f, experts, tied, balance);
    (void)value(&f);
    geodec_net_f64_loss(f.net, f.params, f.work, f.target, 1.0 / N, f.grad, f.loss, NULL);
    (void)geodec_net_f64_backward(f.net, f.params, f.work, 0, f.grad, NULL, NULL);
    /* tensor by tensor: a wrong gradient of a small tensor must not hide behind a large one */
    for (int64_t i = 0; i < f.layout->n_params; i++) {
        const geodec_param *p = &f.layout->param[i];
        const double e = numeric_error(value, &f, f.params + p->offset, f.grad + p->offset, p->size, 1);
        cr_expect_lt(e, 1e-5, "%s: relative error %g", p->name, e);
    }
    drop(&f);
}

/* Projections near a point of the torus where two axes wrap, and places of experts around it: no distance is near its
 * kink, half way round. */
static void gather_routes(const fixture *f, bool angle)
{
    static const double at[3] = {0.02, 0.5, 0.97};
    geodec_rng r = geodec_rng_stream(9, 9);
    for (int64_t i = 0; i < f->layout->n_params; i++) {
        const geodec_param *p = &f->layout->param[i];
        double *x = f->params + p->offset;
        for (int64_t k = 0; p->role == GEODEC_PARAM_ROUTER && k < p->size; k++) x[k] *= 0.05;
        for (int64_t k = 0; p->role == GEODEC_PARAM_FIXED && k < p->size; k++) {
            const double z = at[k % 3] + 0.6 * (geodec_rng_uniform(&r) - 0.5);
            x[k] = z - floor(z);
        }
        for (int64_t k = 0; strstr(p->name, "inp.bias") && k < p->size; k++)
            x[k] = !angle ? at[k] : k < 3 ? sin(2 * acos(-1) * at[k]) : cos(2 * acos(-1) * at[k - 3]);
    }
}

/* PERSPECTIVE models: recurrences, windows, a torus with choices and stop-gradient values held. The places of the
 * experts are not trained. 1e-4: near a state of zero the norm of what is read bends over less than the step. */
static void check_perspective(geodec_route route, bool before, int rank, int experts, double balance)
{
    geodec_err err = {0};
    fixture f = {0};
    geodec_model_config c = config(experts, true);
    c.n_layer = 4;
    c.n_expert_used = experts ? 1 : 0;
    c.recur_rank = rank;
    c.recur_period = 3;
    c.recur_log_decay_min = -3; /* no gate of these is near the bound, where the function has a kink */
    c.route = route;
    c.route_before = before;
    c.d_ff_dense = experts ? 14 : 0;
    c.window = 4;
    c.embed_scale = 2.5f;
    geodec_linalg_init();
    test_ok(geodec_layout_create(&c, &f.layout, &err), &err);
    test_ok(geodec_net_f64_create(f.layout, balance, GEODEC_ISA_AUTO, &f.net, &err), &err);
    test_ok(geodec_net_f64_work_create(f.net, SEQ, LEN, &f.work, &err), &err);
    f.params = geodec_mem_new(f.layout->total, sizeof(double));
    f.grad = geodec_mem_new(f.layout->total, sizeof(double));
    numeric_fill(f.params, f.layout->total, 37, 0.4);
    geodec_rng r = geodec_rng_stream(4, 4);
    for (int t = 0; t < N; t++) {
        f.token[t] = (int32_t)geodec_rng_below(&r, 19);
        f.target[t] = t == 4 ? -1 : (int32_t)geodec_rng_below(&r, 19);
    }
    if (experts && route != GEODEC_ROUTE_SCORES) gather_routes(&f, route == GEODEC_ROUTE_ANGLE);
    (void)value(&f);
    geodec_net_f64_hold(f.work);
    (void)value(&f);
    geodec_net_f64_loss(f.net, f.params, f.work, f.target, 1.0 / N, f.grad, f.loss, NULL);
    (void)geodec_net_f64_backward(f.net, f.params, f.work, 0, f.grad, NULL, NULL);
    for (int64_t i = 0; i < f.layout->n_params; i++) {
        const geodec_param *p = &f.layout->param[i];
        if (p->role == GEODEC_PARAM_FIXED) {
            for (int64_t k = 0; k < p->size; k++) cr_assert_eq(f.grad[p->offset + k], 0);
            continue;
        }
        const double e = numeric_error(value, &f, f.params + p->offset, f.grad + p->offset, p->size, 1);
        cr_expect_lt(e, 1e-4, "%s: relative error %g", p->name, e);
    }
    drop(&f);
}

Test(train_net, perspective_mod_before) { check_perspective(GEODEC_ROUTE_MOD, true, 5, 6, 0); }
Test(train_net, perspective_mod_after_with_balance) { check_perspective(GEODEC_ROUTE_MOD, false, 5, 6, 0.1); }
Test(train_net, perspective_angle_before_with_balance) { check_perspective(GEODEC_ROUTE_ANGLE, true, 20, 6, 0.1); }
Test(train_net, perspective_angle_after) { check_perspective(GEODEC_ROUTE_ANGLE, false, 7, 6, 0); }
Test(train_net, perspective_softmax) { check_perspective(GEODEC_ROUTE_SCORES, true, 5, 6, 0.1); }
Test(train_net, perspective_dense) { check_perspective(GEODEC_ROUTE_SCORES, false, 7, 0, 0); }
Test(train_net, perspective_attention) { check_perspective(GEODEC_ROUTE_ANGLE, true, 0, 6, 0.1); }

Test(train_net, dense_tied) { check(0, true, 0); }
Test(train_net, dense_untied) { check(0, false, 0); }
Test(train_net, experts_tied) { check(4, true, 0); }
Test(train_net, experts_untied_with_balance) { check(4, false, 0.1); }

/* A linear functional of every boundary besides the loss: the gradient of the sum needs the extra cotangents. */
static double with_states(void *ctx)
{
    fixture *f = ctx;
    static double c[3 * N * 12];
    double s = value(ctx);
    numeric_fill(c, 3 * N * 12, 55, 0.1);
    for (int32_t l = 0; l <= 2; l++) s += numeric_dot(geodec_net_f64_state(f->net, f->work, l), c + l * N * 12, N * 12);
    return s;
}

static void check_extra(int experts)
{
    fixture f = {0};
    static double c[3 * N * 12];
    make(&f, experts, true, 0);
    numeric_fill(c, 3 * N * 12, 55, 0.1);
    (void)value(&f);
    geodec_net_f64_loss(f.net, f.params, f.work, f.target, 1.0 / N, f.grad, f.loss, NULL);
    (void)geodec_net_f64_backward(f.net, f.params, f.work, 0, f.grad, c, NULL);
    for (int64_t i = 0; i < f.layout->n_params; i++) {
        const geodec_param *p = &f.layout->param[i];
        const double e = numeric_error(with_states, &f, f.params + p->offset, f.grad + p->offset, p->size, 1);
        cr_expect_lt(e, 1e-5, "%s: relative error %g", p->name, e);
    }
    drop(&f);
}
Test(train_net, extra_cotangents_dense) { check_extra(0); }
Test(train_net, extra_cotangents_experts) { check_extra(4); }

/* The vector-Jacobian product at every boundary, against differences of the logits with the parameters that feed it:
 * for boundary 0 the embedding rows (each token of the test is made unique by giving it its own row). */
static double *cotangent;
static double projected(void *ctx)
{
    fixture *f = ctx;
    geodec_err err = {0};
    static double z[N * 19];
    test_ok(geodec_net_f64_forward(f->net, f->params, 1, LEN, f->token, f->work, &err), &err);
    geodec_net_f64_logits(f->net, f->params, f->work, 0, LEN, z);
    return numeric_dot(z, cotangent, LEN * 19);
}

static void check_vjp(int experts)
{
    fixture f = {0};
    static double c[LEN * 19], out[LEN * 12], rows[LEN * 12], all[3 * LEN * 12];
    make(&f, experts, false, 0.3);
    cotangent = c;
    numeric_fill(c, LEN * 19, 77, 1);
    for (int t = 0; t < LEN; t++) f.token[t] = t;
    (void)projected(&f);
    geodec_net_f64_vjp(f.net, f.params, f.work, c, 0, out);
    /* token t owns embedding row t */
    const double e = numeric_error(projected, &f, f.params + f.layout->token_embd, out, LEN * 12, 1);
    cr_expect_lt(e, 1e-5, "boundary 0: %g", e);
    /* the embedding's gradient in a full backward pass is the same cotangent */
    (void)projected(&f);
    geodec_net_f64_seed(f.net, f.params, f.work, c, f.grad);
    (void)geodec_net_f64_backward(f.net, f.params, f.work, 0, f.grad, NULL, all);
    memcpy(rows, f.grad + f.layout->token_embd, sizeof rows);
    cr_expect_lt(test_max_abs_diff(rows, out, LEN * 12), 1e-12);
    /* every boundary: partial passes agree with the recorded ones, and the top one with the closed form of the norm */
    for (int32_t l = 0; l <= 2; l++) {
        geodec_net_f64_vjp(f.net, f.params, f.work, c, l, out);
        cr_expect_lt(test_max_abs_diff(out, all + l * LEN * 12, LEN * 12), 1e-12, "boundary %d", l);
    }
    const double *x = geodec_net_f64_state(f.net, f.work, 2), *g = f.params + f.layout->output_norm;
    for (int t = 0; t < LEN; t++, x += 12) {
        double dh[12], ss = 0, mix = 0;
        for (int j = 0; j < 12; j++) {
            dh[j] = 0;
            for (int v = 0; v < 19; v++) dh[j] += c[t * 19 + v] * f.params[f.layout->output + v * 12 + j];
            ss += x[j] * x[j];
        }
        const double r = 1 / sqrt(ss / 12 + (double)1e-5f);
        for (int j = 0; j < 12; j++) mix += g[j] * dh[j] * x[j];
        for (int j = 0; j < 12; j++)
            cr_expect_lt(fabs(r * g[j] * dh[j] - r * r * r / 12 * mix * x[j] - out[t * 12 + j]), 1e-11);
    }
    drop(&f);
}

Test(train_net, vjp_dense) { check_vjp(0); }
Test(train_net, vjp_experts) { check_vjp(4); }

/* A causal model: a cotangent at row t reaches rows 0..t only. */
Test(train_net, vjp_is_causal)
{
    fixture f = {0};
    static double c[LEN * 19], out[LEN * 12];
    make(&f, 0, true, 0);
    cotangent = c;
    numeric_fill(c + 4 * 19, 19, 5, 1);
    (void)projected(&f);
    geodec_net_f64_vjp(f.net, f.params, f.work, c, 1, out);
    cr_assert_gt(test_max_abs(out, 5 * 12), 1e-3);
    cr_assert_eq(test_max_abs(out + 5 * 12, (LEN - 5) * 12), 0);
    drop(&f);
}

Test(train_net, float_agrees_with_double)
{
    for (int experts = 0; experts <= 4; experts += 4) {
        fixture f = {0};
        geodec_err err = {0};
        make(&f, experts, true, 0.1);
        (void)value(&f);
        geodec_net_f64_loss(f.net, f.params, f.work, f.target, 1.0 / N, f.grad, f.loss, NULL);
        (void)geodec_net_f64_backward(f.net, f.params, f.work, 0, f.grad, NULL, NULL);
        for (geodec_isa isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
            geodec_net_f32 *net = NULL;
            geodec_net_f32_work *work = NULL;
            if (geodec_net_f32_create(f.layout, 0.1, isa, &net, &err) != GEODEC_OK) continue;
            test_ok(geodec_net_f32_work_create(net, SEQ, LEN, &work, &err), &err);
            float *p = geodec_mem_new(f.layout->total, sizeof *p), *g = geodec_mem_new(f.layout->total, sizeof *g),
                  loss[N];
            for (int64_t i = 0; i < f.layout->total; i++) p[i] = (float)f.params[i];
            test_ok(geodec_net_f32_forward(net, p, SEQ, LEN, f.token, work, &err), &err);
            geodec_net_f32_loss(net, p, work, f.target, 1.0f / N, g, loss, NULL);
            (void)geodec_net_f32_backward(net, p, work, 0, g, NULL, NULL);
            double worst = 0;
            for (int64_t i = 0; i < f.layout->total; i++) worst = fmax(worst, fabs((double)g[i] - f.grad[i]));
            cr_expect_lt(worst / test_max_abs(f.grad, f.layout->total), 1e-5, "%s: %g", geodec_net_f32_isa(net), worst);
            for (int t = 0; t < N; t++) cr_expect_lt(fabs((double)loss[t] - f.loss[t]), 2e-5);
            geodec_mem_free(p);
            geodec_mem_free(g);
            geodec_net_f32_work_destroy(work);
            geodec_net_f32_destroy(net);
        }
        drop(&f);
    }
}

Test(train_net, refuses_bad_shapes)
{
    geodec_err err = {0};
    geodec_layout *layout = NULL;
    geodec_model_config c = config(0, true);
    c.n_kv_head = 3;
    cr_assert_eq(geodec_layout_create(&c, &layout, &err), GEODEC_INVAL);
    c = config(0, true);
    c.d_model = 1 << 20;
    c.d_ff = 1 << 20;
    cr_assert_eq(geodec_layout_create(&c, &layout, &err), GEODEC_LIMIT);
    cr_assert_null(layout);
    fixture f = {0};
    make(&f, 0, true, 0);
    f.token[3] = 19;
    cr_assert_eq(geodec_net_f64_forward(f.net, f.params, SEQ, LEN, f.token, f.work, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_net_f64_forward(f.net, f.params, SEQ + 1, LEN, f.token, f.work, &err), GEODEC_RANGE);
    drop(&f);
}
