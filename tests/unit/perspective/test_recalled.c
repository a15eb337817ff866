/* A memory of states and next tokens: on its own text it knows the next token, on other text it must not be trusted. */
#include "base/mem.h"
#include "lab/perspective/memory/recalled.h"
#include "session/opened.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TOKENS = 400, WINDOW = 64 };
static geodec_err error, *const err = &error;

Test(recalled, its_own_text_is_known_and_another_is_not, .timeout = 120)
{
    geodec_model *m = opened_family("perspective-angle");
    geodec_pool *pool = NULL;
    geodec_session *s = NULL;
    int32_t known[TOKENS], other[TOKENS], bytes[TOKENS];
    test_ok(geodec_pool_create(2, &pool, err), err);
    const geodec_session_options so = {.n_ctx = WINDOW, .pool = pool};
    test_ok(geodec_session_create(m, &so, &s, err), err);
    drawn_text(m, 1, known, TOKENS);
    drawn_text(m, 2, other, TOKENS);
    for (int i = 0; i < TOKENS; i++) bytes[i] = 1;

    geodec_recalled_memory *memory = NULL;
    test_ok(geodec_recalled_make(s, known, TOKENS, 1000, 3, &memory, err), err);
    cr_assert_eq(geodec_recalled_pairs(memory), TOKENS - 1);
    const int64_t d = geodec_model_configuration(m)->d_model;
    cr_assert_eq(geodec_recalled_table_bytes(memory), (TOKENS - 1) * (4 * d + 4));

    geodec_recalled_measure k, again;
    test_ok(geodec_recalled_measure_text(s, memory, known, bytes, TOKENS, WINDOW, pool, NULL, &k, err), err);
    const int64_t windows = (TOKENS + WINDOW - 1) / WINDOW;
    cr_assert_eq(k.tokens, TOKENS - windows);
    cr_assert(k.accepted == k.tokens && k.bytes == k.tokens && k.half_tokens == k.half_bytes);
    cr_assert_eq(k.nearest.right, k.tokens, "the same states are nearest");
    cr_assert(k.memory.right > 9 * k.tokens / 10, "%lld of %lld", (long long)k.memory.right, (long long)k.tokens);
    cr_assert(k.random.right < k.tokens / 10 && k.memory.bits < k.model_bits / 2 && k.nearest.bits < k.model_bits / 2);
    cr_assert_float_eq(k.memory.weight, 0.5, 0);
    test_ok(geodec_recalled_measure_text(s, memory, known, bytes, TOKENS, WINDOW, NULL, NULL, &again, err), err);
    cr_assert_eq(memcmp(&k, &again, sizeof k), 0, "the same with one thread");

    /* random tokens follow no state: a memory of others is right as often as chance, and the mixture does not gain more
     * than one with an even distribution would */
    test_ok(geodec_recalled_measure_text(s, memory, other, bytes, TOKENS, WINDOW, pool, NULL, &k, err), err);
    cr_assert(k.memory.right < k.tokens / 10 && k.nearest.right < k.tokens / 10);
    cr_assert(k.memory.bits > k.model_bits - 0.5);

    cr_assert_eq(geodec_recalled_measure_text(s, memory, other, bytes, 50, WINDOW, pool, NULL, &k, err), GEODEC_SCARCE);
    cr_assert_eq(geodec_recalled_measure_text(s, memory, other, bytes, TOKENS, 1, pool, NULL, &k, err), GEODEC_RANGE);
    geodec_recalled_memory *none = NULL;
    cr_assert_eq(geodec_recalled_make(s, known, 1, 1000, 3, &none, err), GEODEC_LIMIT);
    geodec_recalled_destroy(memory);
    geodec_session_destroy(s);
    geodec_pool_destroy(pool);
    geodec_model_close(m);
}

/* What the perspectives ask: a distribution, whose most probable token is the one that followed. */
Test(recalled, an_answer_is_a_distribution)
{
    geodec_model *m = opened_family("perspective-angle");
    geodec_session *s = NULL;
    const geodec_model_config *c = geodec_model_configuration(m);
    const int32_t last = c->n_layer;
    int32_t id[TOKENS];
    float *state = NULL;
    double *logp = NULL, z;
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(state, (int64_t)WINDOW * c->d_model);
    GEODEC_NEW(logp, c->n_vocab);
    const geodec_session_options so = {.n_ctx = WINDOW};
    test_ok(geodec_session_create(m, &so, &s, err), err);
    drawn_text(m, 1, id, TOKENS);
    geodec_recalled_memory *memory = NULL;
    test_ok(geodec_recalled_make(s, id, WINDOW, 1000, 3, &memory, err), err);
    const geodec_batch b = {.n = 40, .token = id};
    const geodec_capture capture = {1, &last, state};
    test_ok(geodec_forward(s, &b, NULL, &capture, err), err);
    for (int i = 0; i < 40; i++) {
        double sum = 0;
        int32_t top = 0;
        geodec_recalled_ask(memory, state + i * c->d_model, logp, &z);
        for (int32_t t = 0; t < c->n_vocab; t++) {
            sum += exp(logp[t]);
            if (logp[t] > logp[top]) top = t;
        }
        cr_assert_float_eq(sum, 1, 1e-12);
        cr_assert(z > 5 && top == id[i + 1], "%d: z %g", i, z);
    }
done:
    test_ok(st, err);
    GEODEC_FREE(state, logp);
    geodec_recalled_destroy(memory);
    geodec_session_destroy(s);
    geodec_model_close(m);
}
