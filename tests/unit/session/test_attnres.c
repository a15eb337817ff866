/* Residual streams recombined over depth: against the float64 evaluation, off at strength 0, and bit for bit the same
 * in every batch, tree, instruction set and number of threads. */
#include "base/mem.h"
#include "session/opened.h"
#include "session/reference.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static const synthetic models[] = {
    {.n_layer = 5,
     .d_model = 40,
     .n_head = 5,
     .n_kv_head = 1,
     .d_ff = 87,
     .n_vocab = 300,
     .n_ctx = 128,
     .type = GEODEC_GGML_F32,
     .tied = true,
     .seed = 1},
    {.n_layer = 3,
     .d_model = 64,
     .n_head = 4,
     .n_kv_head = 2,
     .d_ff = 52,
     .n_vocab = 333,
     .n_ctx = 160,
     .type = GEODEC_GGML_F32,
     .n_expert = 6,
     .n_expert_used = 2,
     .seed = 5},
};
enum { N_MODELS = 2, LENGTH = 40 };

static const char *const options[] = {
    "damp:0.35",
    "damp:1",
    "rescale:0.8",
    "depth_attn:0.55",
    "depth_attn:1:window=2",
    "damp:0.45+depth_attn:0.55",
    "block_softmax:0.35",
    "block_softmax:1:blocks=2:tau=0.3",
    "block_softmax:0.5:blocks=3:query=zero",
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static geodec_model *open_model(int i) { return opened_model(&models[i]); }

static geodec_session *open_session(const geodec_model *m, const char *text, geodec_isa isa, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    geodec_session_options o = {.isa = isa, .pool = pool};
    test_ok(geodec_attnres_parse(text, &o.attnres, &err), &err);
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    return s;
}

static void random_tokens(const geodec_model *m, int32_t *token, int n, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("tokens", 0));
    for (int i = 0; i < n; i++)
        token[i] = (int32_t)geodec_rng_below(&r, (uint64_t)geodec_model_configuration(m)->n_vocab);
}

/* Rows in passes of `step`. */
static float *run(geodec_session *s, const int32_t *token, int n, int step)
{
    geodec_err err = {0};
    const int64_t v = geodec_model_configuration(geodec_session_model(s))->n_vocab;
    float *logits = geodec_mem_new(n * v, sizeof *logits);
    geodec_session_truncate(s, 0);
    for (int at = 0; at < n; at += step)
        test_ok(geodec_forward(s, &(geodec_batch){.n = n - at < step ? n - at : step, .token = token + at},
                               logits + at * v, NULL, &err),
                &err);
    return logits;
}

Test(attnres, equals_the_plain_evaluation)
{
    enum { N = 16 };
    for (int i = 0; i < N_MODELS; i++) {
        geodec_model *m = open_model(i);
        const geodec_model_config *c = geodec_model_configuration(m);
        int32_t token[N], layers[8];
        random_tokens(m, token, N, 3);
        for (int l = 0; l <= c->n_layer; l++) layers[l] = l;
        const int64_t v = c->n_vocab, states = (int64_t)(c->n_layer + 1) * N * c->d_model;
        double *residual = calloc((size_t)states, sizeof *residual), *plain = reference_logits(m, token, N, NULL);
        float *logits = geodec_mem_new(N * v, sizeof *logits), *state = geodec_mem_new(states, sizeof *state);
        for (int k = 0; k < N_OPTIONS; k++) {
            geodec_err err = {0};
            geodec_attnres a;
            test_ok(geodec_attnres_parse(options[k], &a, &err), &err);
            double *want = reference_attnres(m, &a, token, N, residual), moved = 0;
            geodec_session *s = open_session(m, options[k], GEODEC_ISA_AUTO, NULL);
            const geodec_capture capture = {.n_layers = c->n_layer + 1, .layer = layers, .state = state};
            test_ok(geodec_forward(s, &(geodec_batch){.n = N, .token = token}, logits, &capture, &err), &err);
            for (int64_t j = 0; j < N * v; j++) {
                cr_assert_lt(fabs((double)logits[j] - want[j]), 3e-5, "%s: logit %d is %g, not %g", options[k], (int)j,
                             (double)logits[j], want[j]);
                moved = fmax(moved, fabs(want[j] - plain[j]));
            }
            for (int64_t j = 0; a.rescale <= 0 && j < states; j++)
                cr_assert_lt(fabs((double)state[j] - residual[j]), 2e-5, "%s: state %d is %g, not %g", options[k],
                             (int)j, (double)state[j], residual[j]);
            /* equal weights and the sum's length are the sum itself */
            cr_assert(a.rescale > 0 || a.zero_query ? moved < 1e-9 : moved > 1e-3, "%s moves logits by %g", options[k],
                      moved);
            geodec_session_destroy(s);
            free(want);
        }
        free(residual);
        free(plain);
        geodec_mem_free(logits);
        geodec_mem_free(state);
        geodec_model_close(m);
    }
}

Test(attnres, strength_zero_is_off)
{
    static const char *const zero[] = {"damp:0", "depth_attn:0", "block_softmax:0", "damp:0+depth_attn:0", "off"};
    for (int i = 0; i < N_MODELS; i++) {
        geodec_model *m = open_model(i);
        const int64_t v = geodec_model_configuration(m)->n_vocab;
        int32_t token[LENGTH];
        random_tokens(m, token, LENGTH, 4);
        geodec_session *plain = open_session(m, NULL, GEODEC_ISA_AUTO, NULL);
        float *want = run(plain, token, LENGTH, 7);
        for (size_t k = 0; k < sizeof zero / sizeof *zero; k++) {
            geodec_session *s = open_session(m, zero[k], GEODEC_ISA_AUTO, NULL);
            float *got = run(s, token, LENGTH, 9);
            cr_assert_eq(memcmp(got, want, (size_t)(LENGTH * v) * sizeof *got), 0, "%s", zero[k]);
            geodec_mem_free(got);
            geodec_session_destroy(s);
        }
        geodec_mem_free(want);
        geodec_session_destroy(plain);
        geodec_model_close(m);
    }
}

Test(attnres, rows_do_not_depend_on_batch_tree_threads_or_isa)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (int i = 0; i < N_MODELS; i++) {
        geodec_model *m = open_model(i);
        const int64_t v = geodec_model_configuration(m)->n_vocab;
        int32_t token[LENGTH];
        random_tokens(m, token, LENGTH, 5);
        for (int k = 0; k < N_OPTIONS; k++) {
            geodec_session *s = open_session(m, options[k], GEODEC_ISA_AUTO, NULL);
            float *want = run(s, token, LENGTH, 1), *got;
            for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
                if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
                geodec_session *other = open_session(m, options[k], (geodec_isa)isa, isa % 2 ? pool : NULL);
                for (int step = 3; step <= LENGTH; step += 18) {
                    got = run(other, token, LENGTH, step);
                    cr_assert_eq(memcmp(got, want, (size_t)(LENGTH * v) * sizeof *got), 0, "%s: %s, passes of %d rows",
                                 options[k], geodec_kernels_isa_name((geodec_isa)isa), step);
                    geodec_mem_free(got);
                }
                geodec_session_destroy(other);
            }
            /* a tree of two twins a level: every second row is the chain */
            enum { BASE = 12, DEEP = 8 };
            int32_t node[2 * DEEP], parent[2 * DEEP], keep[DEEP];
            for (int d = 0; d < DEEP; d++) {
                node[2 * d] = token[(BASE + d + 1) % LENGTH];
                node[2 * d + 1] = token[BASE + d];
                parent[2 * d] = parent[2 * d + 1] = 2 * d - 1;
                keep[d] = 2 * d + 1;
            }
            parent[0] = parent[1] = -1;
            got = geodec_mem_new(2 * DEEP * v, sizeof *got);
            geodec_session_truncate(s, BASE);
            test_ok(geodec_forward(s, &(geodec_batch){.n = 2 * DEEP, .token = node, .parent = parent}, got, NULL, &err),
                    &err);
            for (int d = 0; d < DEEP; d++)
                cr_assert_eq(memcmp(got + (2 * d + 1) * v, want + (BASE + d) * v, (size_t)v * sizeof *got), 0,
                             "%s: node %d", options[k], d);
            geodec_session_compact(s, BASE, keep, DEEP);
            test_ok(geodec_forward(s, &(geodec_batch){.n = 2, .token = token + BASE + DEEP}, got, NULL, &err), &err);
            cr_assert_eq(memcmp(got, want + (BASE + DEEP) * v, (size_t)(2 * v) * sizeof *got), 0, "%s: after the tree",
                         options[k]);
            geodec_mem_free(got);
            geodec_mem_free(want);
            geodec_session_destroy(s);
        }
        geodec_model_close(m);
    }
    geodec_pool_destroy(pool);
}

/* The observed half layers add up to the stream. */
typedef struct seen {
    int64_t d;
    double sum[64];
    int calls;
} seen;

static void see(void *ctx, int32_t layer, bool feed, int64_t n, const float *const *row)
{
    seen *s = ctx;
    cr_assert_eq(s->calls, 2 * layer + feed);
    cr_assert_eq(n, 3);
    for (int64_t i = 0; i < s->d; i++) s->sum[i] += (double)row[1][i];
    s->calls++;
}

Test(attnres, updates_add_up_to_the_stream)
{
    for (int i = 0; i < N_MODELS; i++) {
        geodec_model *m = open_model(i);
        const geodec_model_config *c = geodec_model_configuration(m);
        geodec_err err = {0};
        const int32_t token[3] = {5, 9, 2}, layers[2] = {0, c->n_layer};
        float state[2 * 3 * 64];
        seen s = {.d = c->d_model};
        geodec_session *session = open_session(m, NULL, GEODEC_ISA_AUTO, NULL);
        test_ok(geodec_session_watch_updates(session, see, &s, &err), &err);
        const geodec_capture capture = {.n_layers = 2, .layer = layers, .state = state};
        test_ok(geodec_forward(session, &(geodec_batch){.n = 3, .token = token}, NULL, &capture, &err), &err);
        cr_assert_eq(s.calls, 2 * c->n_layer);
        for (int64_t k = 0; k < s.d; k++)
            cr_assert_float_eq(s.sum[k], (double)state[(3 + 1) * s.d + k] - (double)state[s.d + k], 1e-5);
        geodec_session_destroy(session);
        geodec_model_close(m);
    }
}

Test(attnres, options_are_read_and_refused)
{
    static const char *const bad[] = {"",
                                      "damp",
                                      "damp:",
                                      "damp:x",
                                      "damp:-0.1",
                                      "damp:1.5",
                                      "damp:nan",
                                      "damp:0.3:window=4",
                                      "drop:0.1",
                                      "damp:0.1+",
                                      "depth_attn:0.5:window=0",
                                      "depth_attn:0.5:window=65",
                                      "depth_attn:0.5:window=2.5",
                                      "depth_attn:0.5:blocks=2",
                                      "block_softmax:0.5:tau=0",
                                      "block_softmax:0.5:blocks=0",
                                      "block_softmax:0.5:blocks=65",
                                      "block_softmax:0.5:query=some",
                                      "damp:0.1+block_softmax:0.2",
                                      "damp:0.1+rescale:0.1",
                                      "damp:0.3 "};
    geodec_err err = {0};
    geodec_attnres a;
    char text[GEODEC_ATTNRES_TEXT];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_neq(geodec_attnres_parse(bad[i], &a, &err), GEODEC_OK, "'%s'", bad[i]);
        geodec_err_clear(&err);
    }
    test_ok(geodec_attnres_parse("depth_attn:0.5:window=3+damp:0.25", &a, &err), &err);
    geodec_attnres_text(&a, text);
    cr_assert_str_eq(text, "damp:0.25+depth_attn:0.5:window=3");
    test_ok(geodec_attnres_parse("block_softmax:0.5:query=zero:tau=0.25", &a, &err), &err);
    geodec_attnres_text(&a, text);
    cr_assert_str_eq(text, "block_softmax:0.5:blocks=8:tau=0.25:query=zero");
    test_ok(geodec_attnres_parse(NULL, &a, &err), &err);
    geodec_attnres_text(&a, text);
    cr_assert_str_eq(text, "off");
}
