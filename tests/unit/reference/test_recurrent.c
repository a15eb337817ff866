/* Every operator of recurrent layers: its value against the formula written out, its derivatives against differences.
 */
#include "geodec/matrix.h"
#include "linalg/lapack.h"
#include "reference/check.h"
#include "reference/recurrent_internal.h"
#include "reference/recurrent_operators_internal.h"
#include "session/model.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#define NEAR(a, b, ...) cr_assert_lt(fabs((a) - (b)), 1e-13 * (1 + fabs(b)), __VA_ARGS__)

static float *numbers(int64_t n, uint64_t seed, double scale)
{
    double *x = check_random(n, seed);
    float *g = geodec_mem_new(n, sizeof *g);
    for (int64_t i = 0; i < n; i++) g[i] = (float)(scale * x[i]);
    geodec_mem_free(x);
    return g;
}

static void check_at(const check_map *m)
{
    double *x = check_random(m->n_in, 1);
    (void)check_derivatives(m, x, 1e-5, 1e-8); /* the bar is 1e-6 */
    geodec_mem_free(x);
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

typedef struct convolution {
    geodec_recurrence_shape shape;
    int64_t n;
    float *weight, *bias;
} convolution;
static void convolve_run(const void *ctx, const double *x, double *y)
{
    const convolution *o = ctx;
    geodec__reference_convolve(&o->shape, o->weight, o->bias, o->n, 1, x, y);
}
static void convolve_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    const convolution *o = ctx;
    (void)x;
    geodec__reference_convolve(&o->shape, o->weight, NULL, o->n, k, dx, dy);
}
static void convolve_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    const convolution *o = ctx;
    (void)x;
    geodec__reference_convolve_vjp(&o->shape, o->weight, o->n, k, gy, gx);
}

Test(reference_recurrent, convolution)
{
    for (int64_t n = 2; n < 10; n += 5) { /* fewer rows than taps, and more */
        convolution o = {
            .shape = {.taps = 4, .width = 5}, .n = n, .weight = numbers(20, 2, 1), .bias = numbers(5, 3, 1)};
        check_at(&(check_map){"convolution", n * 5, n * 5, convolve_run, convolve_jvp, convolve_vjp, &o});
        double *x = check_random(n * 5, 4), *y = geodec_mem_new(n * 5, sizeof *y);
        convolve_run(&o, x, y);
        for (int64_t t = 0; t < n; t++)
            for (int64_t c = 0; c < 5; c++) {
                double sum = (double)o.bias[c];
                for (int64_t j = 0; j < 4; j++)
                    if (t - 3 + j >= 0) sum += (double)o.weight[j * 5 + c] * x[(t - 3 + j) * 5 + c];
                NEAR(y[t * 5 + c], sum, "row %d", (int)t);
            }
        GEODEC_FREE(x, y, o.weight, o.bias);
    }
}

/* ---- elementwise and row-wise ------------------------------------------------------------------------------------ */

enum { N = 6, D = 5 };

static void silu_run(const void *ctx, const double *x, double *y)
{
    (void)ctx;
    geodec__reference_silu(N * D, x, y);
}
static void silu_derivative(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    (void)ctx;
    geodec__reference_silu_derivative(N * D, x, k, dx, dy);
}

typedef struct unit {
    double eps, scale;
} unit;
static void unit_run(const void *ctx, const double *x, double *y)
{
    const unit *o = ctx;
    geodec__reference_unit(N, D, o->eps, o->scale, x, y);
}
static void unit_derivative(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    const unit *o = ctx;
    geodec__reference_unit_derivative(N, D, o->eps, o->scale, x, k, dx, dy);
}

typedef struct dt {
    float *bias, *rate;
} dt;
static void dt_run(const void *ctx, const double *x, double *y)
{
    const dt *o = ctx;
    geodec__reference_dt(N, D, o->bias, o->rate, x, y);
}
static void dt_derivative(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    const dt *o = ctx;
    geodec__reference_dt_derivative(N, D, o->bias, o->rate, x, k, dx, dy);
}

Test(reference_recurrent, elementwise)
{
    double y[N * D], *x = check_random(N * D, 5);
    check_at(&(check_map){"silu", N * D, N * D, silu_run, silu_derivative, silu_derivative, NULL});
    silu_run(NULL, x, y);
    NEAR(y[3], x[3] / (1 + exp(-x[3])), "silu");
    for (int e = 0; e < 2; e++) {
        const unit o = {e ? 100 : 1e-6, 0.7}; /* below eps the map is linear */
        check_at(&(check_map){"unit", N * D, N * D, unit_run, unit_derivative, unit_derivative, &o});
        unit_run(&o, x, y);
        NEAR(check_dot(D, y, y), e ? check_dot(D, x, x) * 0.49 / 1e4 : 0.49, "unit");
    }
    dt o = {.bias = numbers(D, 6, 1)};
    check_at(&(check_map){"dt", N * D, N * D, dt_run, dt_derivative, dt_derivative, &o});
    dt_run(&o, x, y);
    NEAR(y[7], log(1 + exp(x[7] + (double)o.bias[2])), "softplus");
    const double dt7 = y[7];
    o.rate = numbers(D, 7, 1);
    check_at(&(check_map){"gate", N * D, N * D, dt_run, dt_derivative, dt_derivative, &o});
    dt_run(&o, x, y);
    NEAR(y[7], exp((double)o.rate[2] * dt7), "gate");
    GEODEC_FREE(x, o.bias, o.rate);
}

/* ---- steps: x is g, b, v, k, q ----------------------------------------------------------------------------------- */

typedef struct steps {
    geodec__ref_steps s;
    int64_t size[5]; /* of a row */
} steps;

static steps steps_of(geodec_recurrence_shape shape, int64_t n)
{
    const int64_t heads = geodec_recurrence_heads(&shape), wide = shape.keys * shape.r,
                  b = shape.kind == GEODEC_RECURRENCE_DELTA ? heads : 0;
    steps o = {.s = {.shape = shape, .n = n}, .size = {heads, b, shape.d, wide, wide}};
    if (shape.kind == GEODEC_RECURRENCE_SCAN) o.s.a = numbers(shape.d * geodec_recurrence_stride(shape.r), 8, 0.5);
    return o;
}

static int64_t inputs(const steps *o)
{
    return o->s.n * (o->size[0] + o->size[1] + o->size[2] + o->size[3] + o->size[4]);
}

static geodec__ref_steps steps_at(const steps *o, const double *x)
{
    geodec__ref_steps p = o->s;
    p.g = x;
    p.b = p.g + p.n * o->size[0];
    p.v = p.b + p.n * o->size[1];
    p.k = p.v + p.n * o->size[2];
    p.q = p.k + p.n * o->size[3];
    return p;
}

/* Parts of every tangent, between [k][all] (rows of the whole sequence) and [k][n - first] each. */
static void steps_split(const steps *o, int64_t k, double *all, double *part[5], bool put)
{
    const int64_t n = o->s.n, first = o->s.first, m = n - first, total = inputs(o);
    for (int i = 0, at = 0; i < 5; at += (int)(n * o->size[i++]))
        for (int64_t j = 0; j < k; j++) {
            double *a = all + j * total + at + first * o->size[i], *b = part[i] + j * m * o->size[i];
            memcpy(put ? a : b, put ? b : a, (size_t)(m * o->size[i]) * sizeof *a);
        }
}

static void steps_run(const void *ctx, const double *x, double *y)
{
    geodec_err err = {0};
    const geodec__ref_steps p = steps_at(ctx, x);
    test_ok(geodec__reference_steps(NULL, &p, y, &err), &err);
}
static void steps_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    const steps *o = ctx;
    geodec_err err = {0};
    const geodec__ref_steps p = steps_at(o, x);
    double *part[5], *copy = geodec_mem_new(k * inputs(o), sizeof *copy);
    for (int i = 0; i < 5; i++) part[i] = geodec_mem_new(k * p.n * o->size[i], sizeof(double));
    memcpy(copy, dx, (size_t)(k * inputs(o)) * sizeof *copy);
    steps_split(o, k, copy, part, false);
    test_ok(geodec__reference_steps_jvp(
                NULL, &p, k, &(geodec__ref_step_tangents){part[0], part[1], part[2], part[3], part[4]}, dy, &err),
            &err);
    GEODEC_FREE(part[0], part[1], part[2], part[3], part[4], copy);
}
static void steps_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    const steps *o = ctx;
    geodec_err err = {0};
    const geodec__ref_steps p = steps_at(o, x);
    double *part[5];
    for (int i = 0; i < 5; i++) part[i] = geodec_mem_new(k * p.n * o->size[i], sizeof(double));
    test_ok(geodec__reference_steps_vjp(
                NULL, &p, k, gy, &(geodec__ref_step_tangents){part[0], part[1], part[2], part[3], part[4]}, &err),
            &err);
    steps_split(o, k, gx, part, true);
    GEODEC_FREE(part[0], part[1], part[2], part[3], part[4]);
}

/* The formula of recurrence.h. */
static void steps_plainly(const geodec__ref_steps *s, double *y)
{
    const geodec_recurrence_shape *p = &s->shape;
    const int64_t heads = geodec_recurrence_heads(p), r = p->r;
    for (int64_t i = 0; i < p->d; i++) {
        double state[64] = {0};
        const int64_t h = i / p->share, key = p->cyclic ? h % p->keys : h / (heads / p->keys);
        for (int64_t t = 0; t < s->n; t++) {
            const double g = s->g[t * heads + h], v = s->v[t * p->d + i];
            const double *k = s->k + (t * p->keys + key) * r, *q = s->q + (t * p->keys + key) * r;
            double u = v, sum = 0;
            for (int64_t j = 0; j < r; j++)
                state[j] *=
                    p->kind == GEODEC_RECURRENCE_SCAN ? exp(g * (double)s->a[i * geodec_recurrence_stride(r) + j]) : g;
            if (p->kind == GEODEC_RECURRENCE_DELTA) {
                for (int64_t j = 0; j < r; j++) u -= state[j] * k[j];
                u *= s->b[t * heads + h];
            }
            for (int64_t j = 0; j < r; j++) {
                state[j] += u * k[j];
                sum += state[j] * q[j];
            }
            y[t * p->d + i] = sum;
        }
    }
}

static void check_steps(geodec_recurrence_shape shape, int64_t n)
{
    steps o = steps_of(shape, n);
    const int64_t in = inputs(&o), out = n * shape.d, m = n - n / 2;
    check_at(&(check_map){"steps", in, out, steps_run, steps_jvp, steps_vjp, &o});
    double *x = check_random(in, 9), *y = geodec_mem_new(out, sizeof *y), *want = geodec_mem_new(out, sizeof *want);
    steps_run(&o, x, y);
    const geodec__ref_steps p = steps_at(&o, x);
    steps_plainly(&p, want);
    for (int64_t i = 0; i < out; i++) NEAR(y[i], want[i], "kind %d: number %d", shape.kind, (int)i);
    /* derivatives of the last rows alone are those of all, with tangents of zero before */
    double *dx = check_random(in, 10), *part = geodec_mem_new(out, sizeof *part),
           *back = geodec_mem_new(in, sizeof *back), *all = geodec_mem_new(in, sizeof *all);
    for (int64_t i = 0, at = 0; i < 5; at += n * o.size[i++])
        memset(dx + at, 0, (size_t)(n / 2 * o.size[i]) * sizeof *dx);
    steps_jvp(&o, x, 1, dx, want);
    steps_vjp(&o, x, 1, want, all);
    o.s.first = n / 2;
    steps_jvp(&o, x, 1, dx, part);
    for (int64_t i = 0; i < m * shape.d; i++) NEAR(part[i], want[n / 2 * shape.d + i], "rows of a tangent");
    steps_vjp(&o, x, 1, want + n / 2 * shape.d, back);
    for (int64_t i = 0, at = 0; i < 5; at += n * o.size[i++])
        for (int64_t j = n / 2 * o.size[i]; j < n * o.size[i]; j++)
            NEAR(back[at + j], all[at + j], "rows of a cotangent");
    GEODEC_FREE(x, y, want, dx, part, back, all);
    geodec_mem_free((void *)(uintptr_t)o.s.a);
}

Test(reference_recurrent, steps)
{
    check_steps((geodec_recurrence_shape){.d = 4, .r = 3, .share = 1, .keys = 1}, 7);
    check_steps((geodec_recurrence_shape){.d = 8, .r = 5, .share = 2, .keys = 2}, 6);
    check_steps((geodec_recurrence_shape){.kind = GEODEC_RECURRENCE_DELTA, .d = 6, .r = 4, .share = 3, .keys = 1}, 6);
    check_steps(
        (geodec_recurrence_shape){
            .kind = GEODEC_RECURRENCE_DELTA, .d = 8, .r = 3, .share = 2, .keys = 2, .cyclic = true},
        7);
    check_steps((geodec_recurrence_shape){.kind = GEODEC_RECURRENCE_SCAN, .d = 5, .r = 4, .share = 1, .keys = 1}, 7);
}

/* ---- layers: from the normalised stream to the input of the output matrix ---------------------------------------- */

enum { WIDTH = 6 /* of the stream */ };

typedef struct layer {
    geodec__recurrent l;
    geodec_model m;
    int64_t n, first, out;
} layer;

static geodec__matrix matrix(int64_t rows, int64_t cols, uint64_t seed)
{
    return (geodec__matrix){.data = (const uint8_t *)numbers(rows * cols, seed, 1 / sqrt((double)cols)),
                            .rows = rows,
                            .cols = cols,
                            .row_bytes = cols * 4,
                            .type = GEODEC_GGML_F32};
}

static geodec__norm norm_of(int64_t width, int64_t part, bool each, uint64_t seed)
{
    return (geodec__norm){
        .weight = numbers(width, seed, 1), .width = (int32_t)width, .part = (int32_t)part, .each = each, .eps = 1e-2f};
}

static void layer_run(const void *ctx, const double *x, double *y)
{
    const layer *o = ctx;
    geodec_err err = {0};
    const geodec_reference r = {.model = &o->m};
    geodec__ref_recurrent *a = NULL;
    test_ok(geodec__reference_recurrent_create(&o->l, o->n, &a, &err), &err);
    test_ok(geodec__reference_recurrent_run(&r, &o->l, o->n, x, a, y, &err), &err);
    geodec__reference_recurrent_destroy(a);
}
static void layer_derive(const layer *o, const double *x, int64_t k, const double *from, double *to, bool back)
{
    geodec_err err = {0};
    const geodec_reference r = {.model = &o->m};
    geodec__ref_recurrent *a = NULL;
    double *y = geodec_mem_new(o->n * o->out, sizeof *y);
    test_ok(geodec__reference_recurrent_create(&o->l, o->n, &a, &err), &err);
    test_ok(geodec__reference_recurrent_run(&r, &o->l, o->n, x, a, y, &err), &err);
    if (back)
        test_ok(geodec__reference_recurrent_vjp(&r, &o->l, o->n, o->first, a, k, from, to, &err), &err);
    else
        test_ok(geodec__reference_recurrent_jvp(&r, &o->l, o->n, o->first, a, k, from, to, &err), &err);
    geodec__reference_recurrent_destroy(a);
    geodec_mem_free(y);
}
static void layer_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    layer_derive(ctx, x, k, dx, dy, false);
}
static void layer_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    layer_derive(ctx, x, k, gy, gx, true);
}

/* The weights that a layer of this shape needs and has no matrix for yet. */
static void fill(layer *o)
{
    geodec__recurrent *l = &o->l;
    const geodec_recurrence_shape *p = &l->shape;
    const int64_t heads = geodec_recurrence_heads(p);
    l->conv = numbers(p->taps * p->width, 31, 0.7);
    l->conv_bias = numbers(p->width, 32, 0.3);
    l->dt_bias = numbers(heads, 33, 1);
    l->skip = numbers(heads, 34, 1);
    l->a = numbers(p->kind == GEODEC_RECURRENCE_SCAN ? p->d * geodec_recurrence_stride(p->r) : heads, 35, 0.5);
    o->m.config.rms_eps = 1e-2f;
    o->n = 6;
    o->out = p->d > 0 ? p->d : p->width;
}

static void drop(layer *o)
{
    const void *all[] = {o->l.conv,    o->l.conv_bias,   o->l.dt_bias,        o->l.skip,          o->l.a,
                         o->l.in.data, o->l.gate.data,   o->l.alpha.data,     o->l.beta.data,     o->l.x.data,
                         o->l.dt.data, o->l.norm.weight, o->l.dt_norm.weight, o->l.b_norm.weight, o->l.c_norm.weight};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free((void *)(uintptr_t)all[i]);
}

static void check_layer(const char *name, geodec__recurrent l)
{
    layer o = {.l = l};
    fill(&o);
    const int64_t in = o.n * WIDTH, out = o.n * o.out, first = o.n / 2, m = o.n - first;
    check_at(&(check_map){name, in, out, layer_run, layer_jvp, layer_vjp, &o});
    /* derivatives of the last rows alone */
    double *x = check_random(in, 41), *dx = check_random(in, 42), *dy = geodec_mem_new(out, sizeof *dy),
           *gx = geodec_mem_new(in, sizeof *gx), *some = geodec_mem_new(out, sizeof *some),
           *back = geodec_mem_new(in, sizeof *back);
    memset(dx, 0, (size_t)(first * WIDTH) * sizeof *dx);
    layer_jvp(&o, x, 1, dx, dy);
    layer_vjp(&o, x, 1, dy, gx);
    o.first = first;
    layer_jvp(&o, x, 1, dx + first * WIDTH, some);
    for (int64_t i = 0; i < m * o.out; i++) NEAR(some[i], dy[first * o.out + i], "%s: a tangent", name);
    layer_vjp(&o, x, 1, some, back);
    for (int64_t i = 0; i < m * WIDTH; i++)
        cr_assert_lt(fabs(back[i] - gx[first * WIDTH + i]), 1e-11 * (1 + fabs(back[i])), "%s: a cotangent", name);
    GEODEC_FREE(x, dx, dy, gx, some, back);
    drop(&o);
}

Test(reference_recurrent, layers)
{
    geodec_linalg_init();
    check_layer(
        "short",
        (geodec__recurrent){.how = GEODEC__MIXER_SHORT, .shape = {.taps = 3, .width = 6}, .in = matrix(18, WIDTH, 21)});
    const geodec_recurrence_shape scan = {
        .kind = GEODEC_RECURRENCE_SCAN, .d = 8, .r = 3, .share = 1, .keys = 1, .taps = 4, .width = 8};
    check_layer("mamba", (geodec__recurrent){.how = GEODEC__MIXER_SELECTIVE,
                                             .shape = scan,
                                             .in = matrix(16, WIDTH, 21),
                                             .x = matrix(8, 8, 22),
                                             .dt = matrix(8, 2, 23)});
    check_layer("jamba", (geodec__recurrent){.how = GEODEC__MIXER_SELECTIVE,
                                             .shape = scan,
                                             .in = matrix(16, WIDTH, 21),
                                             .x = matrix(8, 8, 22),
                                             .dt = matrix(8, 2, 23),
                                             .dt_norm = norm_of(2, 2, false, 24),
                                             .b_norm = norm_of(3, 3, false, 25),
                                             .c_norm = norm_of(3, 3, false, 26)});
    check_layer("plamo2", (geodec__recurrent){.how = GEODEC__MIXER_SELECTIVE,
                                              .shape = {.d = 8, .r = 3, .share = 4, .keys = 1, .taps = 4, .width = 8},
                                              .in = matrix(16, WIDTH, 21),
                                              .x = matrix(11, 8, 22),
                                              .dt = matrix(2, 5, 23),
                                              .dt_norm = norm_of(5, 5, false, 24),
                                              .b_norm = norm_of(3, 3, false, 25),
                                              .c_norm = norm_of(3, 3, false, 26),
                                              .grouped = true,
                                              .dt_last = true});
    const geodec_recurrence_shape heads = {.d = 8, .r = 3, .share = 2, .keys = 2, .taps = 4, .width = 20};
    check_layer("mamba2", (geodec__recurrent){.how = GEODEC__MIXER_SELECTIVE,
                                              .shape = heads,
                                              .in = matrix(8 + 20 + 4, WIDTH, 21),
                                              .norm = norm_of(8, 4, true, 24)});
    geodec_recurrence_shape delta = {
        .kind = GEODEC_RECURRENCE_DELTA, .d = 12, .r = 3, .share = 3, .keys = 2, .taps = 4, .width = 24};
    check_layer("qwen3next", (geodec__recurrent){.how = GEODEC__MIXER_DELTA,
                                                 .shape = delta,
                                                 .in = matrix(24, WIDTH, 21),
                                                 .gate = matrix(12, WIDTH, 22),
                                                 .beta = matrix(8, WIDTH, 23),
                                                 .norm = norm_of(12, 3, false, 24),
                                                 .grouped_beta = true});
    check_layer("qwen3next, one matrix", (geodec__recurrent){.how = GEODEC__MIXER_DELTA,
                                                             .shape = delta,
                                                             .in = matrix(36, WIDTH, 21),
                                                             .beta = matrix(8, WIDTH, 23),
                                                             .norm = norm_of(12, 3, false, 24),
                                                             .grouped = true,
                                                             .grouped_beta = true});
    delta.cyclic = true;
    check_layer("qwen35", (geodec__recurrent){.how = GEODEC__MIXER_DELTA,
                                              .shape = delta,
                                              .in = matrix(24, WIDTH, 21),
                                              .gate = matrix(12, WIDTH, 22),
                                              .alpha = matrix(4, WIDTH, 25),
                                              .beta = matrix(4, WIDTH, 23),
                                              .norm = norm_of(12, 3, false, 24)});
}

/* ---- models: files of golden/arch whose other parts the reference has -------------------------------------------- */

enum { TEXT = 48, SHORT = 7, WORDS = 320 };

static const char *file_of(const char *name, const char *suffix)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s%s", test_shared("golden/arch"), name, suffix);
    return path;
}

typedef struct whole {
    const geodec_reference *r;
    int32_t end; /* behind the head */
} whole;

static void model_run(const void *ctx, const double *x, double *y)
{
    geodec_err err = {0};
    const whole *m = ctx;
    test_ok(geodec_reference_run(m->r, 0, m->end, SHORT, x, NULL, y, &err), &err);
}
static void model_jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    geodec_err err = {0};
    const whole *m = ctx;
    geodec_reference_point *p = NULL;
    test_ok(geodec_reference_linearise(m->r, 0, m->end, SHORT, x, 0, NULL, &p, &err), &err);
    test_ok(geodec_reference_jvp(p, k, dx, dy, &err), &err);
    geodec_reference_point_destroy(p);
}
static void model_vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    geodec_err err = {0};
    const whole *m = ctx;
    geodec_reference_point *p = NULL;
    test_ok(geodec_reference_linearise(m->r, 0, m->end, SHORT, x, 0, NULL, &p, &err), &err);
    test_ok(geodec_reference_vjp(p, k, gy, gx, &err), &err);
    geodec_reference_point_destroy(p);
}

/* The session's logits: float32 against float64. */
static void compare(const geodec_model *m, const int32_t *text, const double *want)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    float *have = geodec_mem_new(TEXT * WORDS, sizeof *have);
    double worst = 0;
    test_ok(geodec_session_create(m, &(geodec_session_options){.n_ctx = 64}, &s, &err), &err);
    test_ok(geodec_forward(s, &(geodec_batch){.n = TEXT, .token = text}, have, NULL, &err), &err);
    for (int64_t k = 0; k < TEXT * WORDS; k++) worst = fmax(worst, fabs((double)have[k] - want[k]));
    cr_assert_lt(worst, 2e-5, "%g", worst);
    geodec_session_destroy(s);
    geodec_mem_free(have);
}

Test(reference_recurrent, models)
{
    static const char *const names[] = {"mamba",         "mamba2",    "lfm2",         "lfm2moe-moe",    "plamo2",
                                        "granitehybrid", "falcon-h1", "nemotron_h",   "nemotron_h_moe", "jamba",
                                        "qwen3next-moe", "qwen35",    "qwen35moe-moe"};
    geodec_linalg_init();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        geodec_reference *r = NULL;
        geodec_matrix want = {0};
        int32_t text[TEXT];
        FILE *f = fopen(file_of(names[i], ".ids"), "r"); /* none of plamo2, which the peer cannot build */
        for (int k = 0; k < TEXT; k++) text[k] = (37 * k + 5) % WORDS;
        for (int k = 0; f && k < TEXT; k++) cr_assert_eq(fscanf(f, "%d", &text[k]), 1);
        test_ok(geodec_model_open(file_of(names[i], ".gguf"), &m, &err), &err);
        test_ok(geodec_reference_create(m, NULL, &r, &err), &err);
        cr_assert_eq(m->config.n_vocab, WORDS);
        const int64_t size = (int64_t)SHORT * m->config.d_model;
        double *logits = geodec_mem_new(TEXT * WORDS, sizeof *logits), *x = geodec_mem_new(size, sizeof *x);
        test_ok(geodec_reference_forward(r, text, TEXT, NULL, logits, &err), &err);
        compare(m, text, logits);
        if (f) {
            double worst = 0;
            test_ok(geodec_matrix_read(file_of(names[i], ".logits.npy"), "npy", NULL, &want, &err), &err);
            for (int64_t k = 0; k < TEXT * WORDS; k++) worst = fmax(worst, fabs(logits[k] - want.x[k]));
            (void)fprintf(stderr, "%s: largest difference of the reference from the peer %.2g\n", names[i], worst);
            cr_assert_lt(worst, 5e-5, "%s: %g", names[i], worst); /* the peer computes in float32 */
            geodec_matrix_clear(&want);
            (void)fclose(f);
        }
        test_ok(geodec_reference_embed(r, text, SHORT, x, &err), &err);
        const whole all = {r, m->config.n_layer + 1};
        const check_map map = {names[i], size, SHORT * WORDS, model_run, model_jvp, model_vjp, &all};
        const double e = check_derivatives(&map, x, 2e-6, 1e-6);
        (void)fprintf(stderr, "%s: largest relative error of a directional derivative %.1e\n", names[i], e);
        GEODEC_FREE(logits, x);
        geodec_reference_destroy(r);
        geodec_model_close(m);
    }
}
