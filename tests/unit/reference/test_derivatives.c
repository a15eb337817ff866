/* jvp and vjp of whole suffixes of small models, one of each architecture. */
#include "linalg/lapack.h"
#include "reference/check.h"
#include "reference/models.h"
#include "reference/reference.h"
#include "session/opened.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH = 13 };

typedef struct suffix {
    const geodec_reference *r;
    int32_t from, to;
    int64_t n, first;
    const geodec_reference_rows *rows;
} suffix;

static void run(const void *ctx, const double *x, double *y)
{
    const suffix *s = ctx;
    geodec_err err = {0};
    test_ok(geodec_reference_run(s->r, s->from, s->to, s->n, x, s->rows, y, &err), &err);
}

static geodec_reference_point *linearise(const suffix *s, const double *x)
{
    geodec_err err = {0};
    geodec_reference_point *p = NULL;
    test_ok(geodec_reference_linearise(s->r, s->from, s->to, s->n, x, s->first, s->rows, &p, &err), &err);
    return p;
}

static void jvp(const void *ctx, const double *x, int64_t k, const double *dx, double *dy)
{
    geodec_err err = {0};
    geodec_reference_point *p = linearise(ctx, x);
    test_ok(geodec_reference_jvp(p, k, dx, dy, &err), &err);
    geodec_reference_point_destroy(p);
}

static void vjp(const void *ctx, const double *x, int64_t k, const double *gy, double *gx)
{
    geodec_err err = {0};
    geodec_reference_point *p = linearise(ctx, x);
    test_ok(geodec_reference_vjp(p, k, gy, gx, &err), &err);
    geodec_reference_point_destroy(p);
}

/* A model, its reference, and every boundary of one sequence. */
typedef struct fixture {
    geodec_model *m;
    geodec_reference *r;
    int32_t *token; /* [LENGTH] */
    double *state, *logits;
} fixture;

static fixture open_fixture(int kind, geodec_pool *pool)
{
    geodec_err err = {0};
    fixture f = {.m = models_create(kind)};
    const geodec_model_config *c = &f.m->config;
    geodec_linalg_init();
    f.token = geodec_mem_new(LENGTH, sizeof *f.token);
    models_tokens(f.m, f.token, LENGTH);
    geodec_reference *any = NULL;
    test_ok(geodec_reference_create(f.m, &(geodec_reference_options){.pool = pool}, &any, &err), &err);
    test_ok(geodec_reference_of_text(any, f.token, LENGTH, &f.r, &err), &err);
    geodec_reference_destroy(any);
    f.state = geodec_mem_new((int64_t)(c->n_layer + 1) * LENGTH * c->d_model, sizeof *f.state);
    f.logits = geodec_mem_new((int64_t)LENGTH * c->n_vocab, sizeof *f.logits);
    const geodec_reference_trace trace = {.state = f.state};
    test_ok(geodec_reference_forward(f.r, f.token, LENGTH, &trace, f.logits, &err), &err);
    return f;
}

static void close_fixture(fixture *f)
{
    geodec_mem_free(f->token);
    geodec_mem_free(f->state);
    geodec_mem_free(f->logits);
    geodec_reference_destroy(f->r);
    models_destroy(f->m);
}

Test(reference_derivatives, of_every_architecture, .timeout = 120)
{
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        fixture f = open_fixture(kind, NULL);
        const int32_t layers = f.m->config.n_layer;
        const int32_t wanted[3] = {2, 7, LENGTH - 1};
        const geodec_reference_rows rows = {3, wanted};
        double worst = 0;
        for (int32_t from = 0; from <= layers; from++)
            for (int32_t to = from + 1; to <= layers + 1 && models_start_at(f.m, from); to++) {
                suffix s = {f.r, from, to, LENGTH, 0, (from + to) % 2 ? &rows : NULL};
                const check_map map = {.name = models_name(kind),
                                       .n_in = (int64_t)LENGTH * f.m->config.d_model,
                                       .n_out = (s.rows ? 3 : LENGTH) * geodec_reference_width(f.r, to),
                                       .run = run,
                                       .jvp = jvp,
                                       .vjp = vjp,
                                       .ctx = &s};
                const double e = check_derivatives(&map, f.state + from * map.n_in, 2e-6, 1e-6);
                worst = e > worst ? e : worst;
            }
        (void)fprintf(stderr, "%s: largest relative error of a directional derivative %.1e\n", models_name(kind),
                      worst);
        close_fixture(&f);
    }
}

/* Derivatives of models from files, every family and variant; long enough for the windows, and across the final norm
 * and cap. */
Test(reference_derivatives, of_every_family, .timeout = 120)
{
    enum { N = 24 };
    geodec_linalg_init();
    for (size_t i = 0; i < N_FAMILIES; i++) {
        if (family_is_perspective(i)) continue;
        geodec_err err = {0};
        geodec_model *m = opened_model(&families[i].s);
        geodec_reference *r = NULL;
        int32_t token[N];
        test_ok(geodec_reference_create(m, NULL, &r, &err), &err);
        const geodec_model_config *c = geodec_model_configuration(m);
        const int64_t size = (int64_t)N * c->d_model;
        double *state = geodec_mem_new((c->n_layer + 1) * size, sizeof *state);
        for (int t = 0; t < N; t++) token[t] = (37 * t + t * t + 11) % c->n_vocab;
        test_ok(geodec_reference_forward(r, token, N, &(geodec_reference_trace){.state = state}, NULL, &err), &err);
        const int32_t wanted[2] = {N / 2, N - 1};
        const geodec_reference_rows rows = {2, wanted};
        double worst = 0;
        for (int32_t from = 0; from < 2; from++) {
            suffix s = {r, from, c->n_layer + 1, N, 0, &rows};
            const check_map map = {.name = families[i].name,
                                   .n_in = size,
                                   .n_out = 2 * (int64_t)c->n_vocab,
                                   .run = run,
                                   .jvp = jvp,
                                   .vjp = vjp,
                                   .ctx = &s};
            const double e = check_derivatives(&map, state + from * size, 2e-6, 1e-6);
            worst = e > worst ? e : worst;
        }
        (void)fprintf(stderr, "%s: largest relative error of a directional derivative %.1e\n", families[i].name, worst);
        geodec_mem_free(state);
        geodec_reference_destroy(r);
        geodec_model_close(m);
    }
}

/* Trained weights: the embedding's stream of a golden prompt to the logits of its last row. */
static void of_trained_models(const char *const *names, size_t count)
{
    static const int32_t token[] = {1, 403, 407, 261, 378, 432, 383, 286, 261, 400, 428};
    enum { N = sizeof token / sizeof *token };
    const int32_t last = N - 1;
    const geodec_reference_rows rows = {1, &last};
    geodec_linalg_init();
    for (size_t i = 0; i < count; i++) {
        const char *path = test_shared(names[i]);
        geodec_err err = {0};
        geodec_model *m = NULL;
        geodec_reference *r = NULL;
        test_ok(geodec_model_open(path, &m, &err), &err);
        test_ok(geodec_reference_create(m, NULL, &r, &err), &err);
        const geodec_model_config *c = geodec_model_configuration(m);
        double *x = geodec_mem_new((int64_t)N * c->d_model, sizeof *x);
        test_ok(geodec_reference_embed(r, token, N, x, &err), &err);
        suffix s = {r, 0, c->n_layer + 1, N, 0, &rows};
        const check_map map = {.name = names[i],
                               .n_in = (int64_t)N * c->d_model,
                               .n_out = c->n_vocab,
                               .run = run,
                               .jvp = jvp,
                               .vjp = vjp,
                               .ctx = &s};
        const double e = check_derivatives(&map, x, 1e-7, 1e-5);
        (void)fprintf(stderr, "%s: largest relative error of a directional derivative %.1e\n", names[i], e);
        geodec_mem_free(x);
        geodec_reference_destroy(r);
        geodec_model_close(m);
    }
}

Test(reference_derivatives, of_trained_models)
{
    static const char *const names[] = {"models/geodec-stories-q8_0.gguf"};
    of_trained_models(names, 1);
}

Test(reference_derivatives, of_shared_models)
{
    static const char *const names[] = {"models/stories260K-q4_k_m.gguf", "models/stories-moe8x2-f32.gguf"};
    of_trained_models(names, 2);
}

/* From any boundary on, the map gives the logits of the whole pass; wanted rows are rows of all. */
Test(reference_derivatives, suffixes_continue_the_pass)
{
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        fixture f = open_fixture(kind, NULL);
        const geodec_model_config *c = &f.m->config;
        geodec_err err = {0};
        const int64_t size = (int64_t)LENGTH * c->d_model, v = c->n_vocab;
        double *y = geodec_mem_new(LENGTH * v, sizeof *y);
        for (int32_t from = 0; from <= c->n_layer; from++) {
            if (!models_start_at(f.m, from)) continue;
            test_ok(geodec_reference_run(f.r, from, c->n_layer + 1, LENGTH, f.state + from * size, NULL, y, &err),
                    &err);
            cr_assert(memcmp(y, f.logits, (size_t)(LENGTH * v) * sizeof *y) == 0, "%s from %d", models_name(kind),
                      from);
            const int32_t last = LENGTH - 1;
            test_ok(geodec_reference_run(f.r, from, c->n_layer + 1, LENGTH, f.state + from * size,
                                         &(geodec_reference_rows){1, &last}, y, &err),
                    &err);
            cr_assert_lt(check_distance(v, y, f.logits + last * v), 1e-14);
            /* the value at the point of a linearisation, and that of a boundary before the logits */
            for (int32_t to = c->n_layer + 1; to >= c->n_layer && to > from; to--) {
                const suffix s = {.r = f.r, .from = from, .to = to, .n = LENGTH, .first = 1};
                const int64_t width = geodec_reference_width(f.r, to);
                double *value = geodec_mem_new(LENGTH * width, sizeof *value),
                       *all = geodec_mem_new(LENGTH * width, sizeof *all);
                geodec_reference_point *p = linearise(&s, f.state + from * size);
                test_ok(geodec_reference_point_value(p, value, &err), &err);
                test_ok(geodec_reference_run(f.r, from, to, LENGTH, f.state + from * size, NULL, all, &err), &err);
                if (to == c->n_layer)
                    cr_assert(memcmp(value, all + width, (size_t)((LENGTH - 1) * width) * sizeof *all) == 0);
                else /* a product of other shape */
                    cr_assert_lt(check_distance((LENGTH - 1) * width, value, all + width), 1e-14);
                geodec_reference_point_destroy(p);
                geodec_mem_free(value);
                geodec_mem_free(all);
            }
        }
        geodec_mem_free(y);
        close_fixture(&f);
    }
}

/* Derivatives with constant rows before `first` are those of all rows with zeros in the rows before. */
static void check_tail(const suffix *whole, const double *x, int64_t first, int64_t d, int64_t v)
{
    enum { K = 3 };
    geodec_err err = {0};
    const int64_t n = whole->n, m = n - first;
    suffix tail = *whole;
    tail.first = first;
    double *dx = check_random(K * n * d, 7), *gy = check_random(K * n * v, 8);
    double *dx_tail = geodec_mem_new(K * m * d, sizeof *dx), *gy_tail = geodec_mem_new(K * m * v, sizeof *gy);
    double *dy = geodec_mem_new(K * n * v, sizeof *dy), *dy_tail = geodec_mem_new(K * m * v, sizeof *dy);
    double *gx = geodec_mem_new(K * n * d, sizeof *gx), *gx_tail = geodec_mem_new(K * m * d, sizeof *gx);
    for (int64_t j = 0; j < K; j++) {
        memset(dx + j * n * d, 0, (size_t)(first * d) * sizeof *dx);
        memset(gy + j * n * v, 0, (size_t)(first * v) * sizeof *gy);
        memcpy(dx_tail + j * m * d, dx + (j * n + first) * d, (size_t)(m * d) * sizeof *dx);
        memcpy(gy_tail + j * m * v, gy + (j * n + first) * v, (size_t)(m * v) * sizeof *gy);
    }
    jvp(whole, x, K, dx, dy);
    jvp(&tail, x, K, dx_tail, dy_tail);
    vjp(whole, x, K, gy, gx);
    vjp(&tail, x, K, gy_tail, gx_tail);
    for (int64_t j = 0; j < K; j++) {
        cr_assert_lt(check_distance(m * v, dy_tail + j * m * v, dy + (j * n + first) * v), 1e-13, "first %d",
                     (int)first);
        cr_assert_lt(check_distance(m * d, gx_tail + j * m * d, gx + (j * n + first) * d), 1e-13, "first %d",
                     (int)first);
    }
    /* and one wanted row */
    const int32_t last = (int32_t)n - 1;
    geodec_reference_point *p = NULL;
    test_ok(geodec_reference_linearise(whole->r, whole->from, whole->to, n, x, first,
                                       &(geodec_reference_rows){1, &last}, &p, &err),
            &err);
    test_ok(geodec_reference_jvp(p, 1, dx_tail, gy_tail, &err), &err);
    cr_assert_lt(check_distance(v, gy_tail, dy + (n - 1) * v), 1e-13, "first %d", (int)first);
    geodec_reference_point_destroy(p);
    double *const all[] = {dx, gy, dx_tail, gy_tail, dy, dy_tail, gx, gx_tail};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
}

Test(reference_derivatives, of_the_last_rows)
{
    static const int64_t some[] = {1, 5, LENGTH - 1};
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        fixture f = open_fixture(kind, NULL);
        const suffix s = {f.r, 0, f.m->config.n_layer + 1, LENGTH, 0, NULL};
        for (int i = 0; i < 3; i++) check_tail(&s, f.state, some[i], f.m->config.d_model, f.m->config.n_vocab);
        close_fixture(&f);
    }
    /* several blocks of queries, with a window and with experts */
    enum { N = 150, GEMMA2 = 4, OLMOE = 10 };
    static const int64_t far[] = {3, 64, 100, N - 1};
    for (int kind = GEMMA2; kind <= OLMOE; kind += OLMOE - GEMMA2) {
        fixture f = open_fixture(kind, NULL);
        const suffix s = {f.r, 0, f.m->config.n_layer, N, 0, NULL};
        double *x = check_random((int64_t)N * f.m->config.d_model, 9);
        for (int i = 0; i < 4; i++) check_tail(&s, x, far[i], f.m->config.d_model, f.m->config.d_model);
        geodec_mem_free(x);
        close_fixture(&f);
    }
}

/* KL(p || softmax of the last row's logits after the step h u of the stream's last row). */
static double divergence(const suffix *s, const double *p, const double *x, double h, const double *u)
{
    const int64_t d = geodec_reference_width(s->r, 0), v = geodec_reference_width(s->r, s->to);
    double *at = geodec_mem_new(s->n * d, sizeof *at), *y = geodec_mem_new(v, sizeof *y), sum = 0, kl = 0;
    memcpy(at, x, (size_t)(s->n * d) * sizeof *at);
    for (int64_t i = 0; i < d; i++) at[(s->n - 1) * d + i] += h * u[i];
    run(s, at, y);
    for (int64_t i = 0; i < v; i++) sum += exp(y[i]);
    for (int64_t i = 0; i < v; i++) kl += p[i] * (log(p[i]) - (y[i] - log(sum)));
    geodec_mem_free(at);
    geodec_mem_free(y);
    return kl;
}

/* The Fisher metric is the second difference of the divergence, for any number of tangents at a time. */
Test(reference_derivatives, fisher_metric)
{
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        fixture f = open_fixture(kind, NULL);
        const int64_t d = f.m->config.d_model, v = f.m->config.n_vocab;
        geodec_err err = {0};
        double *g = geodec_mem_new(d * d, sizeof *g), *again = geodec_mem_new(d * d, sizeof *g),
               *p = geodec_mem_new(v, sizeof *p), *u = check_random(d, 4);
        for (int32_t from = 0; from <= f.m->config.n_layer; from++) {
            if (!models_start_at(f.m, from)) continue;
            const double *x = f.state + from * LENGTH * d;
            const int32_t last = LENGTH - 1;
            const geodec_reference_rows rows = {1, &last};
            const suffix s = {f.r, from, f.m->config.n_layer + 1, LENGTH, last, &rows};
            test_ok(geodec_reference_fisher(f.r, from, LENGTH, x, d, g, p, &err), &err);
            test_ok(geodec_reference_fisher(f.r, from, LENGTH, x, 7, again, NULL, &err), &err);
            cr_assert_lt(check_distance(d * d, again, g), 1e-13);
            double total = 0, form = 0;
            for (int64_t i = 0; i < v; i++) total += p[i];
            for (int64_t i = 0; i < d; i++) form += u[i] * check_dot(d, g + i * d, u);
            cr_assert(form > 0 && fabs(total - 1) < 1e-13);
            const double h = 1e-3 / sqrt(form);
            const double second = (divergence(&s, p, x, h, u) + divergence(&s, p, x, -h, u)) / (h * h);
            cr_assert_lt(fabs(second - form), 1e-4 * form, "%s from %d: %g, not %g", models_name(kind), from, second,
                         form);
        }
        cr_assert_eq(geodec_reference_fisher(f.r, 0, LENGTH, f.state, 0, g, p, NULL), GEODEC_RANGE);
        double *const all[] = {g, again, p, u};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
        close_fixture(&f);
    }
}

/* A row depends only on itself and the rows before it: a shorter sequence gives the same rows. */
Test(reference_derivatives, later_tokens_change_nothing)
{
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        fixture f = open_fixture(kind, NULL);
        geodec_err err = {0};
        const int64_t v = f.m->config.n_vocab, n = 6;
        double *y = geodec_mem_new(n * v, sizeof *y);
        test_ok(geodec_reference_forward(f.r, f.token, n, NULL, y, &err), &err);
        cr_assert_lt(check_distance(n * v, y, f.logits), 1e-13, "%s", models_name(kind));
        geodec_mem_free(y);
        close_fixture(&f);
    }
}

/* Long enough for several blocks of queries and rows. */
Test(reference_derivatives, same_bytes_with_any_number_of_threads)
{
    enum { N = 150, K = 9 };
    static const int kinds[] = {4, 9, 17, 21};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double *forward[3], *tangent[3], *cotangent[3];
        int64_t v = 0, d = 0;
        for (int threads = 1; threads <= 3; threads++) {
            geodec_err err = {0};
            geodec_pool *pool = NULL;
            geodec_model *m = models_create(kinds[i]);
            geodec_reference *r = NULL;
            int32_t token[N];
            v = m->config.n_vocab;
            d = m->config.d_model;
            test_ok(geodec_pool_create(threads, &pool, &err), &err);
            test_ok(geodec_reference_create(m, &(geodec_reference_options){.pool = pool}, &r, &err), &err);
            models_tokens(m, token, N);
            double *dx = check_random(K * N * d, 5), *gy = check_random(K * N * v, 6);
            double *state = geodec_mem_new((m->config.n_layer + 1) * N * d, sizeof *state);
            double *y = forward[threads - 1] = geodec_mem_new(N * v, sizeof *y);
            double *dy = tangent[threads - 1] = geodec_mem_new(K * N * v, sizeof *dy);
            double *gx = cotangent[threads - 1] = geodec_mem_new(K * N * d, sizeof *gx);
            test_ok(geodec_reference_forward(r, token, N, &(geodec_reference_trace){.state = state}, y, &err), &err);
            const suffix s = {r, 1, m->config.n_layer + 1, N, 0, NULL};
            geodec_reference_point *p = linearise(&s, state + N * d);
            test_ok(geodec_reference_jvp(p, K, dx, dy, &err), &err);
            test_ok(geodec_reference_vjp(p, K, gy, gx, &err), &err);
            geodec_reference_point_destroy(p);
            double *const all[] = {dx, gy, state};
            for (size_t j = 0; j < sizeof all / sizeof *all; j++) geodec_mem_free(all[j]);
            geodec_reference_destroy(r);
            geodec_pool_destroy(pool);
            models_destroy(m);
        }
        for (int t = 1; t < 3; t++) {
            cr_assert(memcmp(forward[t], forward[0], (size_t)(N * v) * sizeof(double)) == 0);
            cr_assert(memcmp(tangent[t], tangent[0], (size_t)(K * N * v) * sizeof(double)) == 0);
            cr_assert(memcmp(cotangent[t], cotangent[0], (size_t)(K * N * d) * sizeof(double)) == 0);
        }
        for (int t = 0; t < 3; t++) {
            geodec_mem_free(forward[t]);
            geodec_mem_free(tangent[t]);
            geodec_mem_free(cotangent[t]);
        }
    }
}

/* Long-rope: the second table of divisors from the original context on. */
Test(reference_derivatives, divisors_follow_the_context)
{
    enum { PHI3 = 6 };
    fixture f = open_fixture(PHI3, NULL); /* the model's context 512 is longer than the original 256 */
    geodec_err err = {0};
    geodec_reference *r = NULL;
    const int64_t size = (int64_t)LENGTH * f.m->config.n_vocab;
    double *y = geodec_mem_new(size, sizeof *y);
    for (int32_t n_ctx = 256; n_ctx <= 257; n_ctx++) {
        test_ok(geodec_reference_create(f.m, &(geodec_reference_options){.n_ctx = n_ctx}, &r, &err), &err);
        test_ok(geodec_reference_forward(r, f.token, LENGTH, NULL, y, &err), &err);
        const double e = check_distance(size, y, f.logits);
        if (n_ctx == 256)
            cr_assert_gt(e, 1e-3);
        else
            cr_assert_eq(e, 0);
        geodec_reference_destroy(r);
    }
    geodec_mem_free(y);
    close_fixture(&f);
}

Test(reference_derivatives, refuses)
{
    fixture f = open_fixture(0, NULL);
    const int32_t layers = f.m->config.n_layer, unordered[2] = {3, 3};
    const geodec_reference_rows none = {0, NULL}, twice = {2, unordered};
    double y[1];
    const struct {
        int32_t from, to;
        int64_t n;
        const geodec_reference_rows *rows;
        geodec_status want;
    } cases[] = {{-1, 1, 1, NULL, GEODEC_RANGE},      {layers + 1, layers + 1, 1, NULL, GEODEC_RANGE},
                 {1, 0, 1, NULL, GEODEC_RANGE},       {0, layers + 2, 1, NULL, GEODEC_RANGE},
                 {0, 1, 0, NULL, GEODEC_RANGE},       {0, 1, (int64_t)1 << 40, NULL, GEODEC_LIMIT},
                 {0, 1, LENGTH, &none, GEODEC_RANGE}, {0, 1, LENGTH, &twice, GEODEC_RANGE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        geodec_reference_point *p = NULL;
        cr_assert_eq(geodec_reference_run(f.r, cases[i].from, cases[i].to, cases[i].n, f.state, cases[i].rows, y, NULL),
                     cases[i].want, "case %d", (int)i);
        cr_assert_eq(geodec_reference_linearise(f.r, cases[i].from, cases[i].to, cases[i].n, f.state, 0, cases[i].rows,
                                                &p, NULL),
                     cases[i].want, "case %d", (int)i);
    }
    const suffix s = {f.r, 0, 1, LENGTH, 0, NULL};
    geodec_reference_point *p = linearise(&s, f.state);
    cr_assert_eq(geodec_reference_jvp(p, 0, f.state, y, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_reference_vjp(p, (int64_t)1 << 50, f.state, y, NULL), GEODEC_LIMIT);
    geodec_reference_point_destroy(p);
    f.token[2] = f.m->config.n_vocab;
    cr_assert_eq(geodec_reference_forward(f.r, f.token, LENGTH, NULL, NULL, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_reference_nll(f.r, f.token, 1, y, NULL), GEODEC_RANGE);
    close_fixture(&f);
}

/* A model that adds its embedding in every block, or has other streams, needs more than the stream between two of them.
 */
Test(reference_derivatives, refuses_to_start_where_one_stream_is_not_enough)
{
    int refused = 0;
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        fixture f = open_fixture(kind, NULL);
        const int32_t layers = f.m->config.n_layer;
        geodec_reference_point *p = NULL;
        for (int32_t from = 0; from <= layers; from++) {
            const double *x = f.state + (int64_t)from * LENGTH * f.m->config.d_model;
            const geodec_status want = models_start_at(f.m, from) ? GEODEC_OK : GEODEC_UNSUPPORTED;
            cr_assert_eq(geodec_reference_run(f.r, from, layers + 1, LENGTH, x, NULL, f.logits, NULL), want);
            cr_assert_eq(geodec_reference_linearise(f.r, from, layers + 1, LENGTH, x, 0, NULL, &p, NULL), want);
            geodec_reference_point_destroy(p);
            p = NULL;
            refused += want != GEODEC_OK;
        }
        close_fixture(&f);
    }
    cr_assert_gt(refused, 0);
}

/* Inputs of blocks are functions of the tokens too, and keys of earlier blocks are not in the stream: the text must be
 * known, unless no block is evaluated. */
Test(reference_derivatives, inputs_of_blocks_need_the_text)
{
    enum { INPUTS = 27 };
    fixture f = open_fixture(INPUTS, NULL);
    geodec_err err = {0};
    geodec_reference *r = NULL;
    geodec_reference_point *p = NULL;
    const int32_t layers = f.m->config.n_layer;
    const int64_t size = (int64_t)LENGTH * f.m->config.d_model;
    double *y = geodec_mem_new(LENGTH * f.m->config.n_vocab, sizeof *y);
    test_ok(geodec_reference_create(f.m, NULL, &r, &err), &err);
    for (int32_t from = 0; from <= layers; from++) {
        const geodec_status want = from < layers ? GEODEC_UNSUPPORTED : GEODEC_OK;
        cr_assert_eq(geodec_reference_run(r, from, layers + 1, LENGTH, f.state + from * size, NULL, y, NULL), want);
        cr_assert_eq(geodec_reference_linearise(r, from, layers + 1, LENGTH, f.state + from * size, 0, NULL, &p, NULL),
                     want);
        geodec_reference_point_destroy(p);
        p = NULL;
    }
    test_ok(geodec_reference_forward(r, f.token, LENGTH, NULL, y, &err), &err);
    cr_assert_eq(geodec_reference_run(f.r, 0, 1, LENGTH + 1, f.state, NULL, y, NULL), GEODEC_RANGE);
    geodec_mem_free(y);
    geodec_reference_destroy(r);
    close_fixture(&f);
}

/* Without memory the call returns an error and leaks nothing (checked by the address sanitizer). */
static void out_of_memory(int kind)
{
    fixture f = open_fixture(kind, NULL);
    const int32_t head = f.m->config.n_layer + 1, last = LENGTH - 1;
    const geodec_reference_rows rows = {1, &last};
    double *dy = check_random(f.m->config.n_vocab, 1);
    double *dx = check_random((int64_t)LENGTH * f.m->config.d_model, 2);
    int failures = 0;
    geodec_status st = GEODEC_NOMEM;
    for (int64_t k = 1; st == GEODEC_NOMEM; k++, failures++) {
        geodec_reference_point *p = NULL;
        geodec_mem_fail_after(k);
        st = geodec_reference_forward(f.r, f.token, LENGTH, NULL, f.logits, NULL);
        if (st == GEODEC_OK) st = geodec_reference_run(f.r, 0, head, LENGTH, f.state, &rows, f.logits, NULL);
        if (st == GEODEC_OK) st = geodec_reference_linearise(f.r, 0, head, LENGTH, f.state, 0, &rows, &p, NULL);
        if (st == GEODEC_OK) st = geodec_reference_jvp(p, 1, dx, dy, NULL);
        if (st == GEODEC_OK) st = geodec_reference_vjp(p, 1, dy, dx, NULL);
        geodec_mem_fail_after(0);
        geodec_reference_point_destroy(p);
    }
    cr_assert_eq(st, GEODEC_OK);
    cr_assert_gt(failures, 200);
    geodec_mem_free(dx);
    geodec_mem_free(dy);
    close_fixture(&f);
}

Test(reference_derivatives, without_memory)
{
    enum { QWEN3MOE = 9, GATES = 17, EMBEDDING_ADDED = 19, OWN_INPUT = 22, RAW, ADJUGATE, MIXTURE_NORMS, INPUTS = 27 };
    static const int kinds[] = {QWEN3MOE, GATES, EMBEDDING_ADDED, OWN_INPUT, ADJUGATE, MIXTURE_NORMS,
                                INPUTS,   RAW,   MODEL_STREAMS};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) out_of_memory(kinds[i]);
}
