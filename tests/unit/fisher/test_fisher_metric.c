/* The Fisher metric in a chart, for a model of every architecture: against the divergence it is the second derivative
 * of, against the metric of the whole stream, and along directions the output cannot feel. */
#include "../reference/check.h"
#include "../reference/models.h"
#include "fisher/fisher_metric.h"
#include "linalg/blas.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <string.h>

enum { TOKENS = 7, N = 3, COUNT = 3 };

typedef struct setting {
    geodec_model *m;
    geodec_reference *r;
    int64_t d, v;
    int32_t last;
    int32_t token[2 * TOKENS];
    int64_t first[COUNT];
    int32_t position[COUNT];
    double *basis, *state;
    geodec_fisher_states s;
} setting;

/* Rows of b [n][d] made orthonormal. */
static void orthonormal(int64_t n, int64_t d, double *b)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            const double dot = geodec_blas_dot(d, b + i * d, b + j * d);
            for (int64_t k = 0; k < d; k++) b[i * d + k] -= dot * b[j * d + k];
        }
        const double norm = sqrt(geodec_blas_dot(d, b + i * d, b + i * d));
        for (int64_t k = 0; k < d; k++) b[i * d + k] /= norm;
    }
}

/* Three states at a boundary: two of one text, the later first, and one of another. */
static setting begin(int kind, int32_t layer)
{
    geodec_err err = {0};
    setting t = {.m = models_create(kind), .first = {0, 0, TOKENS}, .position = {5, 2, 3}};
    geodec_linalg_init();
    test_ok(geodec_reference_create(t.m, NULL, &t.r, &err), &err);
    const geodec_model_config *c = geodec_model_configuration(t.m);
    t.d = c->d_model;
    t.v = c->n_vocab;
    t.last = c->n_layer;
    if (layer < 0) layer = t.last + 1 + layer;
    models_tokens(t.m, t.token, 2 * TOKENS);
    t.basis = check_random(N * t.d, 5);
    orthonormal(N, t.d, t.basis);
    t.state = geodec_mem_new(COUNT * t.d, sizeof(double));
    double *x = geodec_mem_new(TOKENS * t.d, sizeof *x), *y = geodec_mem_new(TOKENS * t.d, sizeof *y);
    for (int64_t i = 0; i < COUNT; i++) {
        test_ok(geodec_reference_embed(t.r, t.token + t.first[i], TOKENS, x, &err), &err);
        geodec_reference *own = models_reference(t.m, t.token + t.first[i], TOKENS);
        test_ok(geodec_reference_run(own, 0, layer, TOKENS, x, NULL, y, &err), &err);
        geodec_reference_destroy(own);
        memcpy(t.state + i * t.d, y + t.position[i] * t.d, (size_t)t.d * sizeof *y);
    }
    geodec_mem_free(x);
    geodec_mem_free(y);
    t.s = (geodec_fisher_states){.layer = layer, .count = COUNT, .token = t.token, .tokens = 2 * TOKENS};
    return t;
}

/* The pointers into the setting, once it has come to rest. */
static geodec_fisher_states *states(setting *t)
{
    t->s.state = t->state;
    t->s.token = t->token;
    t->s.first = t->first;
    t->s.position = t->position;
    return &t->s;
}

static void end(setting *t)
{
    geodec_mem_free(t->basis);
    geodec_mem_free(t->state);
    geodec_reference_destroy(t->r);
    models_destroy(t->m);
}

/* KL(x + h u) + KL(x - h u) = h^2 u^T G u + O(h^4) in every chart direction and between them. */
static void against_differences(int kind, int32_t layer)
{
    geodec_err err = {0};
    setting t = begin(kind, layer);
    double g[COUNT * N * N], entropy[COUNT];
    enum { PAIRS = 2 * COUNT * 4 };
    test_ok(geodec_fisher_metric(t.r, states(&t), N, t.basis, NULL, NULL, g, NULL, entropy, &err), &err);
    int64_t of[PAIRS];
    double weight[PAIRS][N], kl[PAIRS], form[PAIRS], h[COUNT];
    double *moved = geodec_mem_new(PAIRS * t.d, sizeof *moved);
    static const double directions[4][N] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.6, -0.5, 0.7}};
    for (int64_t i = 0, j = 0; i < COUNT; i++) {
        double trace = 0;
        for (int a = 0; a < N; a++) trace += g[(i * N + a) * N + a];
        h[i] = 2e-3 / sqrt(trace); /* divergences near 1e-6: far above rounding, curvature of third order cancels */
        for (int side = -1; side <= 1; side += 2)
            for (int k = 0; k < 4; k++, j++) {
                of[j] = i;
                memcpy(moved + j * t.d, t.state + i * t.d, (size_t)t.d * sizeof *moved);
                memcpy(weight[j], directions[k], sizeof weight[j]);
                for (int a = 0; a < N; a++)
                    for (int64_t c = 0; c < t.d; c++)
                        moved[j * t.d + c] += side * h[i] * weight[j][a] * t.basis[a * t.d + c];
            }
    }
    test_ok(geodec_fisher_divergence(t.r, states(&t), PAIRS, of, moved, NULL, kl, form, &err), &err);
    for (int64_t i = 0; i < COUNT; i++) {
        cr_assert(entropy[i] > 0 && entropy[i] < log((double)t.v));
        double trace = 0;
        for (int a = 0; a < N; a++) trace += g[(i * N + a) * N + a];
        for (int k = 0; k < 4; k++) {
            const int64_t j = i * 8 + k;
            double want = 0;
            for (int a = 0; a < N; a++)
                for (int b = 0; b < N; b++) want += weight[j][a] * g[(i * N + a) * N + b] * weight[j][b];
            const double got = (kl[j] + kl[j + 4]) / (h[i] * h[i]);
            cr_assert_lt(fabs(got - want), 2e-4 * trace, "%s layer %d state %d: %g, not %g", models_name(kind), layer,
                         (int)i, got, want);
            /* the whole stream's form along the same direction is the chart's */
            cr_assert_lt(fabs(2 * form[j] / (h[i] * h[i]) - want), 1e-8 * trace, "%s", models_name(kind));
        }
    }
    geodec_mem_free(moved);
    end(&t);
}

Test(fisher_metric, is_the_second_derivative_of_the_divergence_everywhere)
{
    for (int kind = 0; kind < MODEL_KINDS; kind++) against_differences(kind, -1);
    for (int kind = 0; kind < MODEL_STREAMS; kind += 3) {
        against_differences(kind, 0);
        against_differences(kind, -2);
    }
}

/* B G B^T of the metric of the whole stream. */
Test(fisher_metric, is_the_stream_s_metric_seen_through_the_chart)
{
    for (int kind = 0; kind < MODEL_STREAMS; kind += 2) {
        geodec_err err = {0};
        setting t = begin(kind, 1);
        double g[COUNT * N * N], want[N * N];
        test_ok(geodec_fisher_metric(t.r, states(&t), N, t.basis, NULL, NULL, g, NULL, NULL, &err), &err);
        double *x = geodec_mem_new(TOKENS * t.d, sizeof *x), *y = geodec_mem_new(TOKENS * t.d, sizeof *y),
               *full = geodec_mem_new(t.d * t.d, sizeof *full), *bg = geodec_mem_new(N * t.d, sizeof *bg);
        for (int64_t i = 0; i < COUNT; i++) {
            const int64_t n = t.position[i] + 1;
            test_ok(geodec_reference_embed(t.r, t.token + t.first[i], n, x, &err), &err);
            geodec_reference *own = models_reference(t.m, t.token + t.first[i], n);
            test_ok(geodec_reference_run(own, 0, 1, n, x, NULL, y, &err), &err);
            test_ok(geodec_reference_fisher(own, 1, n, y, t.d, full, NULL, &err), &err);
            geodec_reference_destroy(own);
            geodec_blas_gemm(false, false, N, t.d, t.d, 1, t.basis, t.d, full, t.d, 0, bg, t.d);
            geodec_blas_gemm(false, true, N, N, t.d, 1, bg, t.d, t.basis, t.d, 0, want, N);
            cr_assert_lt(test_max_abs_diff(g + i * N * N, want, N * N), 1e-10 * test_max_abs(want, N * N), "%s",
                         models_name(kind));
        }
        geodec_mem_free(x);
        geodec_mem_free(y);
        geodec_mem_free(full);
        geodec_mem_free(bg);
        end(&t);
    }
}

/* The final norm removes the length of a state, so the form is zero along it (except for the norm's epsilon). The ridge
 * makes it a metric. */
Test(fisher_metric, nothing_where_the_head_cannot_see)
{
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        geodec_err err = {0};
        setting t = begin(kind, -1);
        double g[N * N], trace, condition;
        int32_t floored;
        t.s.count = 1;
        memcpy(t.basis, t.state, (size_t)t.d * sizeof *t.basis);
        orthonormal(N, t.d, t.basis);
        test_ok(geodec_fisher_metric(t.r, states(&t), N, t.basis, NULL, NULL, g, NULL, NULL, &err), &err);
        cr_assert_lt(fabs(g[0]), 1e-6 * g[N + 1], "%s: %g compared with %g", models_name(kind), g[0], g[N + 1]);
        const double before = g[0] + g[N + 1] + g[2 * N + 2], seen = g[N + 1];
        test_ok(geodec_fisher_regularise(1, N, 0.03, g, &trace, &condition, &floored, &err), &err);
        cr_assert_float_eq(trace, before, 1e-12 * before);
        cr_assert_float_eq(g[N + 1], seen + 0.01 * before, 1e-12 * before);
        cr_assert(floored == 0 && condition > 2 && condition < 101);
        end(&t);
    }
}

Test(fisher_metric, control_and_refusals)
{
    geodec_err err = {0};
    setting t = begin(0, -1);
    double g[COUNT * N * N], same[COUNT * N * N], other[COUNT * N * N], zero[2 * N * N] = {0};
    int32_t *swap = geodec_mem_new(t.v, sizeof *swap), *seen = geodec_mem_new(t.v, sizeof *seen);
    for (int64_t i = 0; i < t.v; i++) swap[i] = (int32_t)i;
    test_ok(geodec_fisher_metric(t.r, states(&t), N, t.basis, swap, NULL, g, same, NULL, &err), &err);
    cr_assert_eq(memcmp(g, same, sizeof g), 0);
    geodec_fisher_swap(t.v, 1, swap);
    for (int64_t i = 0; i < t.v; i++) seen[swap[i]]++;
    for (int64_t i = 0; i < t.v; i++) cr_assert_eq(seen[i], 1);
    test_ok(geodec_fisher_metric(t.r, states(&t), N, t.basis, swap, NULL, g, other, NULL, &err), &err);
    cr_assert_gt(test_max_abs_diff(g, other, COUNT * N * N), 0.01 * test_max_abs(g, COUNT * N * N));
    swap[0] = (int32_t)t.v;
    cr_assert_eq(geodec_fisher_metric(t.r, states(&t), N, t.basis, swap, NULL, g, other, NULL, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_fisher_metric(t.r, states(&t), t.d + 1, t.basis, NULL, NULL, g, NULL, NULL, NULL),
                 GEODEC_RANGE);
    t.s.layer = t.last + 1;
    cr_assert_eq(geodec_fisher_metric(t.r, states(&t), N, t.basis, NULL, NULL, g, NULL, NULL, NULL), GEODEC_RANGE);
    t.s.layer = 1;
    t.position[1] = 2 * TOKENS;
    cr_assert_eq(geodec_fisher_metric(t.r, states(&t), N, t.basis, NULL, NULL, g, NULL, NULL, NULL), GEODEC_RANGE);
    t.position[1] = 2;
    t.state[3] = NAN;
    cr_assert_eq(geodec_fisher_metric(t.r, states(&t), N, t.basis, NULL, NULL, g, NULL, NULL, NULL), GEODEC_NUMERIC);
    cr_assert_eq(geodec_fisher_regularise(2, N, 0.1, zero, NULL, NULL, NULL, NULL), GEODEC_SCARCE);
    cr_assert_eq(geodec_fisher_regularise(2, N, -1, zero, NULL, NULL, NULL, NULL), GEODEC_RANGE);
    geodec_mem_free(swap);
    geodec_mem_free(seen);
    end(&t);
}
