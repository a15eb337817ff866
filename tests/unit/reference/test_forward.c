/* The two evaluations of every architecture, written apart from each other: the forward pass in exact mode and the
 * reference. */
#include "base/mem.h"
#include "linalg/lapack.h"
#include "reference/models.h"
#include "reference/reference.h"
#include "session/opened.h"
#include "session/store_build.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

/* Largest |a - b| over n values, relative to the largest |b|. */
static double error(int64_t n, const float *a, const double *b)
{
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        const double e = fabs((double)a[i] - b[i]);
        if (!(e <= worst)) worst = e;
        if (fabs(b[i]) > largest) largest = fabs(b[i]);
    }
    return worst / largest;
}

/* The experts of both, in the same order, and their weights. */
static void same_experts(const geodec_session *s, int64_t count, const int32_t *id, const double *weight)
{
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(s));
    const int32_t *other = geodec_session_expert_ids(s);
    const float *w = geodec_session_expert_weights(s);
    cr_assert_eq(other != NULL, c->n_expert > 0);
    for (int64_t i = 0; other && i < count; i++) {
        cr_assert_eq(other[i], id[i], "%s: choice %d is expert %d, not %d", c->arch, (int)i, other[i], id[i]);
        cr_assert_float_eq((double)w[i], weight[i], 1e-5, "%s: weight %d", c->arch, (int)i);
    }
}

/* Every boundary and the logits; n_ctx as that of the session. Returns the largest relative error. */
static double compare(const geodec_model *m, const int32_t *token, int32_t n, int32_t n_ctx)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec_err err = {0};
    geodec_session *s = NULL;
    geodec_reference *r = NULL;
    const int64_t states = (int64_t)(c->n_layer + 1) * n * c->d_model, size = (int64_t)n * c->n_vocab;
    double *want_state = geodec_mem_new(states, sizeof *want_state), *want = geodec_mem_new(size, sizeof *want);
    float *state = geodec_mem_new(states, sizeof *state), *logits = geodec_mem_new(size, sizeof *logits);
    const int64_t choices = (int64_t)n * c->n_layer * c->n_expert_used;
    int32_t *layers = geodec_mem_new(c->n_layer + 1, sizeof *layers), *id = geodec_mem_new(choices + 1, sizeof *id);
    double *weight = geodec_mem_new(choices + 1, sizeof *weight);
    geodec_reference_trace trace = {.state = want_state, .expert_id = id, .expert_weight = weight};
    for (int32_t l = 0; l <= c->n_layer; l++) layers[l] = l;
    test_ok(geodec_session_create(m, &(geodec_session_options){.n_ctx = n_ctx}, &s, &err), &err);
    test_ok(geodec_reference_create(m, &(geodec_reference_options){.n_ctx = n_ctx}, &r, &err), &err);
    test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = token}, logits,
                           &(geodec_capture){c->n_layer + 1, layers, state}, &err),
            &err);
    test_ok(geodec_reference_forward(r, token, n, &trace, want, &err), &err);
    same_experts(s, choices, id, weight);
    double worst = error(size, logits, want);
    for (int32_t l = 0; l <= c->n_layer; l++) {
        const int64_t at = l * n * c->d_model;
        const double e = error((int64_t)n * c->d_model, state + at, want_state + at);
        if (!(e <= worst)) worst = e;
    }
    geodec_session_destroy(s);
    geodec_reference_destroy(r);
    void *const all[] = {want_state, want, state, logits, layers, id, weight};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    return worst;
}

Test(reference_forward, exact_mode_agrees_on_models_built_by_hand)
{
    enum { N = 40 };
    geodec_linalg_init();
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        geodec_model *m = models_create(kind);
        int32_t token[N];
        models_tokens(m, token, N);
        for (int32_t n_ctx = 256; n_ctx <= 257; n_ctx++) { /* both tables of divisors */
            const double e = compare(m, token, N, n_ctx);
            cr_assert_lt(e, 1e-5, "%s: error %g", models_name(kind), e);
        }
        models_destroy(m);
    }
}

Test(reference_forward, exact_mode_agrees_on_files)
{
    enum { N = 60 };
    geodec_linalg_init();
    for (size_t i = 0; i < N_FAMILIES; i++) {
        if (family_is_perspective(i)) continue;
        geodec_model *m = opened_model(&families[i].s);
        int32_t token[N];
        for (int t = 0; t < N; t++) token[t] = (37 * t + t * t + 11) % families[i].s.n_vocab;
        const double e = compare(m, token, N, 0);
        cr_assert_lt(e, 1e-5, "%s: error %g", families[i].name, e);
        geodec_model_close(m);
    }
}

Test(reference_forward, a_store_of_experts_is_refused)
{
    geodec_err err = {0};
    geodec_model *m = opened_family("olmoe"), *s = NULL;
    geodec_reference *r = NULL;
    test_ok(geodec_store_build(m, GEODEC_EXACT, test_tmp("olmoe.experts"), NULL, NULL, &err), &err);
    test_ok(geodec_model_open(test_tmp("olmoe.experts"), &s, &err), &err);
    cr_assert_eq(geodec_reference_create(s, NULL, &r, &err), GEODEC_UNSUPPORTED);
    test_ok(geodec_reference_create(m, NULL, &r, &err), &err);
    geodec_reference_destroy(r);
    geodec_model_close(m);
    geodec_model_close(s);
}
