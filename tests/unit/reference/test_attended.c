/* Gradients of attention weights, for every architecture, against differences of the weights themselves. */
#include "linalg/lapack.h"
#include "reference/attended.h"
#include "reference/check.h"
#include "reference/models.h"
#include "reference/reference_internal.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH = 13, PAIRS = 5 };
static const geodec_reference_pair pairs[PAIRS] = {{6, 5}, {6, 4}, {12, 11}, {12, 10}, {3, 2}};

static void weights(const geodec_reference *r, int32_t block, const double *x, double *score, double *weight)
{
    geodec_err err = {0};
    test_ok(geodec_reference_attended(r, block, LENGTH, x, PAIRS, pairs, score, weight, NULL, NULL, &err), &err);
}

Test(reference_attended, gradients_against_differences, .timeout = 120)
{
    geodec_linalg_init();
    for (int kind = 0; kind < MODEL_STREAMS; kind++) {
        geodec_err err = {0};
        geodec_model *m = models_create(kind);
        int32_t token[LENGTH];
        models_tokens(m, token, LENGTH);
        geodec_reference *r = models_reference(m, token, LENGTH);
        const int64_t d = m->config.d_model, H = m->config.n_head, L = m->config.n_layer;
        double *state = geodec_mem_new((L + 1) * LENGTH * d, sizeof *state), worst = 0;
        double *s = geodec_mem_new(6 * PAIRS * H, sizeof *s), *g = geodec_mem_new(2 * PAIRS * H * d, sizeof *g);
        double *u = check_random(d, 9), *moved = geodec_mem_new(LENGTH * d, sizeof *moved);
        test_ok(geodec_reference_forward(r, token, LENGTH, &(geodec_reference_trace){.state = state}, NULL, &err),
                &err);
        for (int32_t b = 0; b < L; b++) {
            const double *x = state + b * LENGTH * d, h = 1e-5;
            test_ok(
                geodec_reference_attended(r, b, LENGTH, x, PAIRS, pairs, s, s + PAIRS * H, g, g + PAIRS * H * d, &err),
                &err);
            for (int i = 0; i < PAIRS; i++) {
                double *at[2] = {s + 2 * PAIRS * H, s + 4 * PAIRS * H};
                for (int side = 0; side < 2; side++) {
                    memcpy(moved, x, (size_t)(LENGTH * d) * sizeof *x);
                    for (int64_t k = 0; k < d; k++) moved[pairs[i].query * d + k] += (side ? h : -h) * u[k];
                    weights(r, b, moved, at[side], at[side] + PAIRS * H);
                }
                for (int64_t e = i * H; e < (i + 1) * H; e++)
                    for (int form = 0; form < 2; form++) {
                        const double *a = at[1] + form * PAIRS * H, *z = at[0] + form * PAIRS * H;
                        const double change = form ? log(a[e] / z[e]) : a[e] - z[e];
                        const double *gradient = g + (form * PAIRS * H + e) * d;
                        const double want = change / (2 * h), got = check_dot(d, gradient, u);
                        const double scale = sqrt(check_dot(d, gradient, gradient) * check_dot(d, u, u));
                        worst = fmax(worst, fabs(want - got) / (scale + 1e-9));
                    }
            }
        }
        (void)fprintf(stderr, "%s: worst deviation of an attention gradient %.1e\n", models_name(kind), worst);
        cr_assert_lt(worst, 1e-6, "%s", models_name(kind));
        double *const all[] = {state, s, g, u, moved};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
        geodec_reference_destroy(r);
        models_destroy(m);
    }
}

/* Weights are those of the attention operator, whose result for values that are 1 at one key and 0 elsewhere is that
 * key's weight; and scores differ as the logarithms of weights do. */
Test(reference_attended, values_of_the_attention_operator)
{
    geodec_linalg_init();
    for (int kind = 0; kind < MODEL_STREAMS; kind++) {
        geodec_err err = {0};
        geodec_model *m = models_create(kind);
        geodec__ref_tape tape = {0};
        int32_t token[LENGTH];
        models_tokens(m, token, LENGTH);
        geodec_reference *r = models_reference(m, token, LENGTH);
        const int64_t d = m->config.d_model, H = m->config.n_head, dim = m->layer[0].head_dim,
                      kv = m->layer[0].n_kv_head * dim;
        double *x = geodec_mem_new(LENGTH * d, sizeof *x), *v = geodec_mem_new(LENGTH * kv, sizeof *v);
        double *o = geodec_mem_new(LENGTH * H * dim, sizeof *o), *s = geodec_mem_new(2 * PAIRS * H, sizeof *s);
        double *w = s + PAIRS * H;
        test_ok(geodec_reference_embed(r, token, LENGTH, x, &err), &err);
        weights(r, 0, x, s, w);
        test_ok(geodec__reference_tape_create(r, LENGTH, 0, &tape, &err), &err);
        test_ok(geodec__reference_mix(&tape, &m->layer[0], x, &err), &err);
        geodec__ref_attention a = geodec__reference_attention_of(&tape, &m->layer[0]);
        a.v = v;
        for (int i = 0; i < PAIRS; i++) {
            for (int64_t at = 0; at < LENGTH * kv; at++) v[at] = at / kv == pairs[i].key;
            test_ok(geodec__reference_attend(NULL, &a, o, &err), &err);
            for (int64_t h = 0; h < H; h++) {
                const int64_t e = i * H + h, before = e - H;
                cr_assert_lt(fabs(w[e] - o[(pairs[i].query * H + h) * dim]), 1e-13, "%s", models_name(kind));
                if (i == 0 || pairs[i].query != pairs[i - 1].query) continue;
                cr_assert_lt(fabs(log(w[e] / w[before]) - (s[e] - s[before])), 1e-10, "%s", models_name(kind));
            }
        }
        geodec__reference_tape_destroy(&tape);
        double *const all[] = {x, v, o, s};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
        geodec_reference_destroy(r);
        models_destroy(m);
    }
}

Test(reference_attended, what_is_not_there_is_refused)
{
    geodec_err err = {0};
    geodec_model *m = models_create(0);
    geodec_reference *r = NULL;
    geodec_linalg_init();
    test_ok(geodec_reference_create(m, NULL, &r, &err), &err);
    double *x = check_random(LENGTH * m->config.d_model, 3), *w = geodec_mem_new(m->config.n_head, sizeof *w);
    const geodec_reference_pair own = {4, 4}, late = {LENGTH, 2}, good = {4, 0};
    cr_assert_eq(geodec_reference_attended(r, 0, LENGTH, x, 1, &own, NULL, w, NULL, NULL, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_reference_attended(r, 0, LENGTH, x, 1, &late, NULL, w, NULL, NULL, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_reference_attended(r, m->config.n_layer, LENGTH, x, 1, &good, NULL, w, NULL, NULL, NULL),
                 GEODEC_RANGE);
    test_ok(geodec_reference_attended(r, 0, LENGTH, x, 1, &good, NULL, w, NULL, NULL, &err), &err);
    cr_assert(w[0] > 0 && w[0] < 1);
    geodec_model *streams = models_create(MODEL_STREAMS);
    geodec_reference *other = NULL;
    test_ok(geodec_reference_create(streams, NULL, &other, &err), &err);
    cr_assert_eq(geodec_reference_attended(other, 0, LENGTH, x, 1, &good, NULL, w, NULL, NULL, NULL),
                 GEODEC_UNSUPPORTED);
    geodec_reference_destroy(other);
    models_destroy(streams);
    geodec_mem_free(x);
    geodec_mem_free(w);
    geodec_reference_destroy(r);
    models_destroy(m);
}
