/* Multi-perspective decoding: the base alone is plain decoding, and perspectives leave nothing in the session. */
#include "base/mem.h"
#include "decode/loop.h"
#include "decode/perspectives.h"
#include "decode/tiny.h"
#include "session/opened.h"
#include "session/tail.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static geodec_session *open_session(const geodec_model *m, geodec_session_options o)
{
    if (o.n_ctx == 0) o.n_ctx = 300;
    return opened_session(m, o);
}

static geodec_perspectives *open_perspectives(geodec_session *s, const char *text, bool always, uint64_t seed)
{
    geodec_err err = {0};
    geodec_perspectives *p = NULL;
    geodec_perspectives_options o = {.always = always, .seed = seed};
    test_ok(geodec_perspectives_parse(text, &o, &err), &err);
    test_ok(geodec_perspectives_create(s, &o, &p, &err), &err);
    return p;
}

static const char *const some[] = {"llama-3",          "mistral",           "gemma2",
                                   "mixtral",          "qwen3moe",          "bailingmoe2",
                                   "perspective",      "perspective-angle", "perspective-softmax",
                                   "perspective-dense"};
enum { SOME = sizeof some / sizeof *some, PROMPT = 70, TOKENS = 30 };

/* The last layers again with the stream that they had: the logits of the pass, bit for bit, in every row. After that,
 * and after rows of other streams and experts, the session goes on with the bits of one in which nothing ran again. */
Test(perspectives, the_session_stays_as_it_is, .timeout = 300)
{
    geodec_err err = {0};
    for (size_t f = 0; f < SOME; f++) {
        geodec_model *m = opened_family(some[f]);
        const geodec_model_config *c = geodec_model_configuration(m);
        const int64_t v = c->n_vocab, d = c->d_model;
        const geodec_session_options how = {.kv = f % 2 ? GEODEC_KV_F16 : GEODEC_KV_F32};
        geodec_session *s = open_session(m, how), *control = open_session(m, how);
        int32_t text[PROMPT + TOKENS];
        float *a = geodec_mem_new(v, sizeof *a), *b = geodec_mem_new(v, sizeof *b),
              *rows = geodec_mem_new(4 * v, sizeof *rows);
        float *stream = geodec_mem_new(4 * d, sizeof *stream);
        drawn_text(m, 5, text, PROMPT + TOKENS);
        test_ok(geodec_forward_prefill(s, text, PROMPT, NULL, &err), &err);
        test_ok(geodec_forward_prefill(control, text, PROMPT, NULL, &err), &err);
        for (int32_t i = 0; i < TOKENS; i++) {
            const int32_t first = i % c->n_layer;
            const geodec_capture capture = {1, &first, stream};
            const geodec_batch one = {.n = 1, .token = text + PROMPT + i};
            test_ok(geodec_forward(s, &one, a, &capture, &err), &err);
            test_ok(geodec_forward(control, &one, b, NULL, &err), &err);
            cr_assert_eq(memcmp(a, b, (size_t)v * sizeof *a), 0, "%s: token %d", some[f], i);
            const geodec_tail_route own[4] = {0}, other[4] = {GEODEC_TAIL_ROUTE_OWN, GEODEC_TAIL_ROUTE_SECOND,
                                                              GEODEC_TAIL_ROUTE_ANTIPODE, GEODEC_TAIL_ROUTE_RANDOM};
            for (int r = 1; r < 4; r++) memcpy(stream + r * d, stream, (size_t)d * sizeof *stream);
            test_ok(geodec_session_tail(s, &(geodec_tail){first, 4, stream, own, 1}, rows, &err), &err);
            for (int r = 0; r < 4; r++)
                cr_assert_eq(memcmp(rows + r * v, b, (size_t)v * sizeof *b), 0, "%s: row %d", some[f], r);
            for (int64_t k = 0; k < d; k++) stream[d + k] *= -1.5f; /* row 1: another stream */
            test_ok(geodec_session_tail(s, &(geodec_tail){first, 4, stream, other, 1}, rows, &err), &err);
            cr_assert_eq(memcmp(rows, b, (size_t)v * sizeof *b), 0);
            cr_assert_neq(memcmp(rows + v, b, (size_t)v * sizeof *b), 0, "%s: the control: another stream", some[f]);
            if (first == 0 && geodec_session_tail_routes(s, 0))
                cr_assert_neq(memcmp(rows + 2 * v, b, (size_t)v * sizeof *b), 0, "%s: other experts", some[f]);
            cr_assert_eq(geodec_session_length(s), PROMPT + i + 1);
        }
        /* a return over tokens at which rows ran again */
        geodec_session_truncate(s, PROMPT + 3);
        test_ok(geodec_forward_prefill(s, text + PROMPT + 3, TOKENS - 3, a, &err), &err);
        cr_assert_eq(memcmp(a, b, (size_t)v * sizeof *a), 0, "%s: a return", some[f]);
        geodec_session_destroy(s);
        geodec_session_destroy(control);
        geodec_model_close(m);
        GEODEC_FREE(a, b, rows, stream);
    }
}

/* SECOND takes rank 2 of one expert, ranks 2 .. k + 1 of several: the ids that a session with the best one closed has.
 */
Test(perspectives, second_takes_the_next_ranks)
{
    static const char *const list[] = {"mixtral", "perspective-angle", "olmoe"};
    geodec_err err = {0};
    for (size_t f = 0; f < 3; f++) {
        geodec_model *m = opened_family(list[f]);
        const geodec_model_config *c = geodec_model_configuration(m);
        const int32_t k = c->n_expert_used, zero = 0, token = 17;
        geodec_session *s = open_session(m, (geodec_session_options){0});
        float *stream = geodec_mem_new(2 * c->d_model, sizeof *stream),
              *logits = geodec_mem_new(2 * (int64_t)c->n_vocab, sizeof *logits);
        const geodec_capture capture = {1, &zero, stream};
        test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = &token}, logits, &capture, &err), &err);
        memcpy(stream + c->d_model, stream, (size_t)c->d_model * sizeof *stream);
        const geodec_tail_route route[2] = {GEODEC_TAIL_ROUTE_OWN, GEODEC_TAIL_ROUTE_SECOND};
        test_ok(geodec_session_tail(s, &(geodec_tail){0, 2, stream, route, 1}, logits, &err), &err);
        int32_t layer = 0;
        while (geodec_session_expert_ids(s)[layer * k] < 0) layer++;
        const int32_t *own = geodec_session_expert_ids(s) + layer * k, *other = own + c->n_layer * k;
        for (int32_t j = 0; j + 1 < k; j++) cr_assert_eq(other[j], own[j + 1], "%s: rank %d", list[f], j + 1);
        for (int32_t j = 0; j < k; j++) cr_assert_neq(other[k - 1], own[j]);
        float sum = 0;
        for (int32_t j = 0; j < k; j++) sum += geodec_session_expert_weights(s)[(c->n_layer + layer) * k + j];
        if (!c->expert_keep_weights) cr_assert_float_eq(sum, 1, 1e-5);
        geodec_session_destroy(s);
        geodec_model_close(m);
        GEODEC_FREE(stream, logits);
    }
}

static geodec_decoded decode(const geodec_target *t, const int32_t *prompt, int32_t n, geodec_sampling how)
{
    geodec_err err = {0};
    geodec_decoded out = {0};
    geodec_decode_options o = geodec_decode_options_default();
    o.sampling = how;
    o.max_tokens = TOKENS;
    test_ok(geodec_decode(t, prompt, n, NULL, &o, &out, &err), &err);
    return out;
}

/* The base alone, and perspectives that are never asked, are plain decoding; the same seed is the same text. */
Test(perspectives, base_alone_is_plain_decoding, .timeout = 300)
{
    int other = 0;
    for (size_t f = 0; f < SOME; f++)
        for (int sampled = 0; sampled < 2; sampled++) {
            geodec_model *m = opened_family(some[f]);
            int32_t prompt[12];
            const geodec_sampling how = {.temperature = sampled, .top_p = 1, .seed = 3};
            drawn_text(m, 5, prompt, 12);
            geodec_session *s = open_session(m, (geodec_session_options){0});
            const geodec_target plain = geodec_target_session(s, 64);
            geodec_decoded want = decode(&plain, prompt, 12, how);
            static const char *const list[] = {"base", "default,top=0,entropy=100", "default", "default"};
            geodec_decoded got[4];
            for (int i = 0; i < 4; i++) {
                geodec_perspectives *p = open_perspectives(s, list[i], false, 9);
                const geodec_target t = geodec_perspectives_target(p, 64);
                got[i] = decode(&t, prompt, 12, how);
                const geodec_perspectives_counters k = geodec_perspectives_counted(p);
                cr_assert_eq(k.tokens, TOKENS);
                cr_assert_eq(k.asked > 0, i >= 2, "%s: a model with random weights is never sure", some[f]);
                geodec_perspectives_destroy(p);
            }
            for (int i = 0; i < 2; i++)
                cr_assert(got[i].n == want.n && memcmp(got[i].token, want.token, (size_t)want.n * 4) == 0, "%s: %s",
                          some[f], list[i]);
            cr_assert(got[2].n == got[3].n && memcmp(got[2].token, got[3].token, (size_t)got[2].n * 4) == 0, "%s: seed",
                      some[f]);
            other += memcmp(got[2].token, want.token, (size_t)want.n * 4) != 0;
            for (int i = 0; i < 4; i++) geodec_decode_free(&got[i]);
            geodec_decode_free(&want);
            geodec_session_destroy(s);
            geodec_model_close(m);
        }
    cr_assert_gt(other, 0, "the control: perspectives change some text");
}

/* Four equal inputs: no divergence, and the mixture is the base. */
Test(perspectives, equal_perspectives)
{
    geodec_err err = {0};
    geodec_model *m = opened_family("llama-3");
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    geodec_session *s = open_session(m, (geodec_session_options){0});
    geodec_perspectives *p = open_perspectives(s, "jitter+jitter+dropout,sigma=0,dropout=0", true, 1);
    cr_assert_eq(geodec_perspectives_n(p), 4);
    for (int32_t i = 0; i < 20; i++) {
        geodec_perspectives_token t;
        test_ok(geodec_perspectives_next(p, i * 7, &t, &err), &err);
        cr_assert(t.asked && t.report.js < 1e-12 && t.report.pairs < 1e-12 && t.report.way == GEODEC_MIX_GEOMETRIC);
        for (int64_t k = 0; k < v; k++) cr_assert_float_eq(t.mixed[k], t.base[k], 1e-9);
    }
    geodec_perspectives_destroy(p);
    geodec_session_destroy(s);
    geodec_model_close(m);
}

/* The order of the perspectives changes nothing but rounding. */
Test(perspectives, order)
{
    geodec_err err = {0};
    geodec_model *m = opened_family("perspective-angle");
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    geodec_session *s[2];
    geodec_perspectives *p[2];
    for (int i = 0; i < 2; i++) {
        s[i] = open_session(m, (geodec_session_options){0});
        p[i] = open_perspectives(
            s[i], i ? "random+dropout+antipode+second+jitter,m=2" : "second+jitter+dropout+antipode+random,m=2", true,
            4);
        cr_assert_eq(geodec_perspectives_n(p[i]), 6);
    }
    double largest = 0;
    for (int32_t k = 0; k < 25; k++) {
        geodec_perspectives_token t[2];
        for (int i = 0; i < 2; i++) test_ok(geodec_perspectives_next(p[i], k * 11, &t[i], &err), &err);
        cr_assert_float_eq(t[0].report.js, t[1].report.js, 1e-12);
        cr_assert_float_eq(t[0].report.pairs, t[1].report.pairs, 1e-12);
        for (int64_t j = 0; j < v; j++) cr_assert_float_eq(t[0].mixed[j], t[1].mixed[j], 1e-9);
        largest = fmax(largest, t[0].report.js);
        cr_assert(t[0].report.js >= 0 && t[0].report.js <= log(6) && t[0].report.pairs <= log(2));
    }
    cr_assert_gt(largest, 1e-6, "the control: the perspectives differ");
    for (int i = 0; i < 2; i++) {
        geodec_perspectives_destroy(p[i]);
        geodec_session_destroy(s[i]);
    }
    geodec_model_close(m);
}

/* A dense model has no other experts; a full cache has no room for perspectives. */
Test(perspectives, where_there_are_none)
{
    geodec_err err = {0};
    geodec_model *m = opened_family("llama-3");
    geodec_session *s = open_session(m, (geodec_session_options){.n_ctx = 6});
    geodec_perspectives *p = open_perspectives(s, "default", true, 1);
    cr_assert_eq(geodec_perspectives_n(p), 3, "jitter and dropout");
    for (int32_t i = 0; i < 6; i++) {
        geodec_perspectives_token t;
        test_ok(geodec_perspectives_next(p, i, &t, &err), &err);
        cr_assert_eq(t.asked, i < 4, "token %d", i);
    }
    geodec_perspectives_destroy(p);
    geodec_perspectives_options o;
    test_ok(geodec_perspectives_parse("default", &o, &err), &err);
    static const char *const bad[] = {"",      "third",     "second+", "default,m=0", "default,sigma=", "default,tau=x",
                                      "base,", "second,n=3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_eq(geodec_perspectives_parse(bad[i], &o, &err), GEODEC_INVAL, "'%s'", bad[i]);
        geodec_err_clear(&err);
    }
    geodec_session_destroy(s);
    s = open_session(m, (geodec_session_options){.arithmetic = GEODEC_INTEGER});
    cr_assert_eq(geodec_perspectives_create(s, &o, &p, &err), GEODEC_UNSUPPORTED);
    geodec_session_destroy(s);
    geodec_model_close(m);
}
