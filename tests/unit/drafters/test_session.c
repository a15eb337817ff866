/* The loop on real sessions: cache contents, exactness on transformers, states shown to drafters. */
#include "base/mem.h"
#include "base/rng.h"
#include "decode/loop.h"
#include "decode/prompts.h"
#include "decode/tiny.h"
#include "documents/plan.h"
#include "drafters/ngram_drafter.h"
#include "io/file.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Proposes the plain output with every third token wrong, and keeps the states it is shown. */
typedef struct flaky {
    geodec_drafter base;
    const int32_t *plain;
    int64_t n_plain;
    int32_t n_vocab, d;
    int64_t rows;
    float *state; /* [4096][d] */
} flaky;

static geodec_status flaky_begin(geodec_drafter *d, geodec_err *err)
{
    (void)err;
    ((flaky *)d)->rows = 0;
    return GEODEC_OK;
}
static geodec_status flaky_observe(geodec_drafter *d, const geodec_draft_rows *r, geodec_err *err)
{
    (void)err;
    flaky *f = (flaky *)d;
    memcpy(f->state + f->rows * f->d, r->state, (size_t)(r->n * f->d) * sizeof *f->state);
    f->rows += r->n;
    return GEODEC_OK;
}
static geodec_status flaky_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                   geodec_err *err)
{
    (void)err;
    const flaky *f = (const flaky *)d;
    for (int32_t i = 0; i < q->gamma; i++) {
        const int64_t at = q->index + i;
        const int32_t truth = at < f->n_plain ? f->plain[at] : 3;
        out[i] = (geodec_draft){.token = at % 3 == 2 ? (truth + 1) % f->n_vocab : truth, .confidence = 0.5};
    }
    *n = q->gamma;
    return GEODEC_OK;
}
static void flaky_destroy(geodec_drafter *d) { (void)d; }
static const char *const flaky_sources[] = {"flaky"};
static const geodec_drafter_ops flaky_ops = {.name = "flaky",
                                             .wants_state = true,
                                             .n_sources = 1,
                                             .source_name = flaky_sources,
                                             .begin = flaky_begin,
                                             .observe = flaky_observe,
                                             .propose = flaky_propose,
                                             .destroy = flaky_destroy};

static geodec_session *open_session(const geodec_model *m, int32_t n_ctx)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_session_options o = {.n_ctx = n_ctx};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    return s;
}

/* Plain decoding by geodec_forward_prefill and single forwards: no loop code shared. */
static int64_t plain_decode(geodec_session *s, const int32_t *prompt, int64_t n, const geodec_sampling *o, int64_t max,
                            int32_t *out)
{
    geodec_err err = {0};
    const int32_t v = geodec_model_configuration(geodec_session_model(s))->n_vocab;
    float *row = geodec_mem_new(v, sizeof *row);
    geodec_sampler *sampler = NULL;
    geodec_session_truncate(s, 0);
    test_ok(geodec_sampler_create(o, v, &sampler, &err), &err);
    test_ok(geodec_forward_prefill(s, prompt, n, row, &err), &err);
    for (int64_t k = 0; k < max; k++) {
        test_ok(geodec_sampler_next(sampler, k, row, &out[k], &err), &err);
        const geodec_batch b = {.n = 1, .token = &out[k]};
        if (k + 1 < max) test_ok(geodec_forward(s, &b, row, NULL, &err), &err);
    }
    geodec_sampler_destroy(sampler);
    geodec_mem_free(row);
    return max;
}

/* After a decode the cache must continue exactly as a fresh prefill of its text does, bit for bit, and the states shown
 * to the drafter are those of that prefill. */
static void check_cache(geodec_session *s, const int32_t *text, const flaky *f)
{
    geodec_err err = {0};
    const geodec_model *m = geodec_session_model(s);
    const geodec_model_config *c = geodec_model_configuration(m);
    const int32_t rows = geodec_session_length(s);
    geodec_session *fresh = open_session(m, geodec_session_n_ctx(s));
    float *a = geodec_mem_new(c->n_vocab, sizeof *a), *b = geodec_mem_new(c->n_vocab, sizeof *b),
          *state = geodec_mem_new(c->d_model, sizeof *state);
    for (int32_t i = 0; i < rows; i++) {
        const geodec_batch one = {.n = 1, .token = &text[i]};
        const geodec_capture capture = {1, &c->n_layer, state};
        test_ok(geodec_forward(fresh, &one, NULL, &capture, &err), &err);
        if (i < f->rows)
            cr_assert_eq(memcmp(state, f->state + (int64_t)i * f->d, (size_t)c->d_model * sizeof *state), 0,
                         "state of row %d", i);
    }
    const int32_t next = 5;
    const geodec_batch one = {.n = 1, .token = &next};
    test_ok(geodec_forward(fresh, &one, a, NULL, &err), &err);
    test_ok(geodec_forward(s, &one, b, NULL, &err), &err);
    cr_assert_eq(memcmp(a, b, (size_t)c->n_vocab * sizeof *a), 0, "the cache differs from a fresh prefill");
    geodec_session_destroy(fresh);
    geodec_mem_free(a);
    geodec_mem_free(b);
    geodec_mem_free(state);
}

Test(session, cache_after_rounds_equals_a_fresh_prefill)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(tiny_model("tiny.gguf", 3), &m, &err), &err);
    geodec_session *s = open_session(m, 0);
    const geodec_target target = geodec_target_session(s, 64);
    const int32_t d = geodec_model_configuration(m)->d_model;
    for (int sampled = 0; sampled < 2; sampled++)
        for (int32_t gamma = 1; gamma <= 9; gamma++)
            for (int64_t max = 7; max <= 9; max++) {
                int32_t text[64] = {1, 7, 9, 12}, *out = text + 4;
                geodec_decoded got;
                geodec_decode_options o = geodec_decode_options_default();
                o.sampling = (geodec_sampling){sampled ? 0.9 : 0, 0, 1, 4};
                o.max_tokens = max;
                o.gamma = gamma;
                const int64_t n = plain_decode(s, text, 4, &o.sampling, max, out);
                flaky f = {{&flaky_ops}, out, n, TINY_VOCAB, d, 0, geodec_mem_new(64 * d, sizeof(float))};
                test_ok(geodec_decode(&target, text, 4, &f.base, &o, &got, &err), &err);
                cr_assert_eq(got.n, n);
                cr_assert_eq(memcmp(got.token, out, (size_t)n * sizeof *out), 0);
                cr_assert_lt(got.counters.target_passes, n);
                cr_assert_eq(geodec_session_length(s), 4 + n - 1);
                cr_assert_eq(f.rows, 4 + n - 1);
                check_cache(s, text, &f);
                geodec_mem_free(f.state);
                geodec_decode_free(&got);
            }
    geodec_session_destroy(s);
    geodec_model_close(m);
}

Test(session, context_full_and_prompts_too_long)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(tiny_model("tiny.gguf", 3), &m, &err), &err);
    geodec_session *s = open_session(m, 16);
    const geodec_target target = geodec_target_session(s, 64);
    int32_t prompt[17];
    geodec_decoded got;
    geodec_decode_options o = geodec_decode_options_default();
    geodec_drafter *d = NULL;
    for (int i = 0; i < 17; i++) prompt[i] = 3 + i % 5;
    test_ok(geodec_ngram_drafter_create(NULL, 8, &d, &err), &err);
    for (int with = 0; with < 2; with++)
        for (int64_t n = 14; n <= 16; n++) {
            test_ok(geodec_decode(&target, prompt, n, with ? d : NULL, &o, &got, &err), &err);
            cr_assert_eq(got.end, GEODEC_END_CONTEXT);
            cr_assert_eq(got.n, 16 - n + 1);
            geodec_decode_free(&got);
        }
    cr_assert_eq(geodec_decode(&target, prompt, 17, d, &o, &got, &err), GEODEC_LIMIT);
    geodec_drafter_destroy(d);
    geodec_session_destroy(s);
    geodec_model_close(m);
}

/* Prompts of a text by a rule. */
static geodec_status prompts_of(const geodec_tokenizer *t, const char *text, size_t n, geodec_prompts_options o,
                                geodec_documents_separator rule, geodec_prompts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_documents_options how = {.separator = rule, .tokenizer = t};
    geodec_documents d = {0};
    GEODEC_TRY(geodec_documents_read("text", text, n, &how, &d, err));
    GEODEC_TRY(geodec_prompts_make(t, &d, &o, out, err));
done:
    geodec_documents_free(&d);
    return st;
}

/* Eight prompts on a real model: the n-gram drafter and the flaky oracle, greedy and sampled, against plain decoding.
 */
static void real_model(const char *relative, const char *words)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    char *text = NULL;
    size_t length;
    geodec_prompts prompts;
    enum { PROMPTS = 8, TOKENS = 64 };
    const char *path = test_shared(relative);
    test_ok(geodec_model_open(path, &m, &err), &err);
    test_ok(geodec_file_read(words, 1 << 20, &text, &length, &err), &err);
    test_ok(prompts_of(geodec_model_tokenizer(m), text, length,
                       (geodec_prompts_options){.count = PROMPTS, .length = 16}, GEODEC_SEPARATOR_AUTO, &prompts, &err),
            &err);
    geodec_session *s = open_session(m, 128), *other = open_session(m, 128);
    const geodec_target target = geodec_target_session(s, 64);
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec_drafter *ngram = NULL;
    test_ok(geodec_ngram_drafter_create(NULL, 8, &ngram, &err), &err);
    float *state = geodec_mem_new(128 * (int64_t)c->d_model, sizeof *state);
    for (int64_t p = 0; p < PROMPTS; p++)
        for (int mode = 0; mode < 2; mode++) {
            int32_t plain[TOKENS];
            geodec_decode_options o = geodec_decode_options_default();
            o.max_tokens = TOKENS;
            o.gamma = 1 + (int32_t)p;
            o.sampling = (geodec_sampling){mode ? 0.8 : 0, 0, mode ? 0.95 : 1, (uint64_t)p};
            const int32_t *ids = prompts.token + prompts.offset[p];
            const int64_t n = plain_decode(other, ids, 16, &o.sampling, TOKENS, plain);
            flaky f = {{&flaky_ops}, plain, n, c->n_vocab, c->d_model, 0, state};
            geodec_drafter *const drafters[] = {ngram, &f.base};
            for (int k = 0; k < 2; k++) {
                geodec_decoded got;
                test_ok(geodec_decode(&target, ids, 16, drafters[k], &o, &got, &err), &err);
                cr_assert_eq(got.n, n);
                cr_assert_eq(memcmp(got.token, plain, sizeof plain), 0, "%s prompt %d mode %d drafter %d", relative,
                             (int)p, mode, k);
                if (k == 1 && o.gamma > 1) cr_assert_lt(got.counters.target_passes, TOKENS / 2);
                geodec_decode_free(&got);
            }
        }
    geodec_drafter_destroy(ngram);
    geodec_session_destroy(s);
    geodec_session_destroy(other);
    geodec_prompts_free(&prompts);
    geodec_model_close(m);
    geodec_mem_free(text);
    geodec_mem_free(state);
}

Test(session, geodec_stories_f16_equals_plain)
{
    real_model("models/geodec-stories-f16.gguf", test_golden("text/stories.txt"));
}

Test(session, geodec_stories_q8_0_equals_plain)
{
    real_model("models/geodec-stories-q8_0.gguf", test_golden("text/stories.txt"));
}

Test(session, shared_models_equal_plain)
{
    const char *words = test_shared("text/tinystories-a.txt");
    real_model("models/stories260K-f32.gguf", words);
    real_model("models/stories260K-ff192-q8_0.gguf", words);
    real_model("models/stories-moe8x2-f16.gguf", words);
}

Test(prompts, pieces_and_lines)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_prompts p;
    test_ok(geodec_model_open(tiny_model("tiny.gguf", 3), &m, &err), &err);
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const char text[] = "abcdefghij\n\nklmno\r\npq";
    const size_t n = sizeof text - 1;
    const geodec_documents_separator line = GEODEC_SEPARATOR_LINE, none = GEODEC_SEPARATOR_NONE;
    test_ok(prompts_of(t, text, n, (geodec_prompts_options){.count = 3, .whole = true}, line, &p, &err), &err);
    cr_assert_eq(p.n, 3);
    for (int i = 0; i < 3; i++) cr_assert_eq(p.token[p.offset[i]], 1, "BOS first");
    cr_assert_eq(p.token[p.offset[3] - 1], 4 + 'q' - 'a');
    cr_assert_eq(p.token[p.offset[2] - 1], 4 + 'o' - 'a', "no carriage return");
    geodec_prompts_free(&p);
    test_ok(prompts_of(t, text, n, (geodec_prompts_options){.count = 4, .whole = true}, line, &p, &err), &err);
    cr_assert_eq(p.n, 3, "fewer lines give fewer prompts");
    geodec_prompts_free(&p);
    test_ok(prompts_of(t, "abcdefghij", 10, (geodec_prompts_options){.count = 2, .length = 4}, none, &p, &err), &err);
    cr_assert_eq(p.offset[2], 8);
    cr_assert_eq(p.token[0], 1);
    cr_assert_eq(p.token[4], 1);
    cr_assert_eq(p.token[5] - p.token[1] != 0, 1);
    geodec_prompts_free(&p);
    const geodec_prompts_options no_text = {.count = 1, .length = 1}, nothing = {.count = 0, .length = 4};
    cr_assert_eq(prompts_of(t, "abcdefghij", 10, no_text, none, &p, &err), GEODEC_INVAL);
    cr_assert_eq(prompts_of(t, "abcdefghij", 10, nothing, none, &p, &err), GEODEC_INVAL);
    geodec_model_close(m);
}

/* Token by token: 26 tokens in three documents of 10, 2 and 14 (each with the word mark of SentencePiece). */
Test(prompts, stay_in_their_document_and_adapt)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_prompts p;
    test_ok(geodec_model_open(tiny_model("tiny.gguf", 3), &m, &err), &err);
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const char text[] = "abcdefghi\n<|endoftext|>\nj\n<|endoftext|>\nklmnopqrstuvw\n";
    const size_t n = sizeof text - 1;
    const geodec_documents_separator mark = GEODEC_SEPARATOR_AUTO;
    int32_t whole[64];
    int64_t count = 0;
    test_ok(prompts_of(t, text, n, (geodec_prompts_options){.count = 5, .length = 6}, mark, &p, &err), &err);
    cr_assert_eq(p.n, 5);
    test_ok(geodec_tokenizer_encode(t, "abcdefghi", 9, false, whole, &count, &err), &err);
    const int64_t first = count;
    test_ok(geodec_tokenizer_encode(t, "klmnopqrstuvw", 13, false, whole + first, &count, &err), &err);
    for (int64_t i = 0; i < p.n; i++) { /* each is a piece of one of the two long documents, or is the short one */
        const int64_t own = p.offset[i + 1] - p.offset[i] - 1;
        bool found = own < 5;
        for (int64_t at = 0; at + own <= first + count; at++)
            if (at >= first || at + own <= first)
                found |= memcmp(whole + at, p.token + p.offset[i] + 1, (size_t)own * sizeof *whole) == 0;
        cr_assert(found, "prompt %lld", (long long)i);
    }
    geodec_prompts_free(&p);
    test_ok(prompts_of(t, text, n, (geodec_prompts_options){.count = 2, .length = 40}, mark, &p, &err), &err);
    cr_assert_eq(p.n, 2, "shorter prompts before fewer");
    cr_assert_lt(geodec_prompts_longest(&p), 40);
    geodec_prompts_free(&p);
    test_ok(prompts_of(t, text, n, (geodec_prompts_options){.count = 50, .length = 16}, mark, &p, &err), &err);
    cr_assert_eq(p.n, (first + count + 2) / GEODEC_PROMPT_LEAST, "%lld", (long long)p.n);
    geodec_prompts_free(&p);
    test_ok(prompts_of(t, "a", 1, (geodec_prompts_options){.count = 50, .length = 16}, mark, &p, &err), &err);
    cr_assert_eq(p.n, 1);
    geodec_prompts_free(&p);
    geodec_model_close(m);
}

/* Records as prompts: text cut, conversations whole, in chat format where the model has one. */
Test(prompts, of_json_lines)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_prompts p;
    test_ok(geodec_model_open(tiny_model("tiny.gguf", 3), &m, &err), &err);
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const char text[] = "{\"turns\": [\"abcdefghijkl\", \"m\"]}\n"
                        "{\"messages\": [{\"role\": \"user\", \"content\": \"abc\"}, {\"role\": \"assistant\", "
                        "\"content\": \"de\"}, {\"role\": \"user\", \"content\": \"fg\"}, {\"role\": "
                        "\"assistant\", \"content\": \"h\"}]}\n"
                        "{\"text\": \"abcdefghijklmnopqrstuvw\"}\n";
    const size_t n = sizeof text - 1;
    geodec_prompts_options o = {.count = 9, .length = 6};
    int32_t ids[64];
    int64_t count;
    test_ok(prompts_of(t, text, n, o, GEODEC_SEPARATOR_AUTO, &p, &err), &err);
    cr_assert_eq(p.n, 3);
    cr_assert(!p.in_chat);
    const char *said[] = {"abcdefghijkl", "abc\n\nde\n\nfg", "abcdefghijklmnopqrstuvw"};
    for (int i = 0; i < 3; i++) {
        test_ok(geodec_tokenizer_encode(t, said[i], strlen(said[i]), true, ids, &count, &err), &err);
        if (i == 2) count = 6;
        cr_assert_eq(p.offset[i + 1] - p.offset[i], count, "record %d", i);
        cr_assert_arr_eq(p.token + p.offset[i], ids, (size_t)count * sizeof *ids);
    }
    geodec_prompts_free(&p);
    test_ok(geodec_chat_template_find("chatml", &o.chat, &err), &err);
    test_ok(prompts_of(t, text, n, o, GEODEC_SEPARATOR_AUTO, &p, &err), &err);
    int32_t *wanted = NULL;
    const geodec_chat_message first = {GEODEC_CHAT_USER, "abcdefghijkl", 12};
    test_ok(geodec_chat_encode(o.chat, t, &first, 1, true, &wanted, &count, &err), &err);
    cr_assert(p.in_chat);
    cr_assert_eq(p.offset[1], count, "of turns the first alone");
    cr_assert_arr_eq(p.token, wanted, (size_t)count * sizeof *ids);
    geodec_prompts_free(&p);
    o.most = 8;
    test_ok(prompts_of(t, text, n, o, GEODEC_SEPARATOR_AUTO, &p, &err), &err);
    cr_assert_eq(p.n, 1, "conversations that are too long are left out");
    cr_assert_eq(p.too_long, 2);
    geodec_prompts_free(&p);
    cr_assert_eq(prompts_of(t, "{\"turns\": [\"abcdefghijkl\"]}", 27, o, GEODEC_SEPARATOR_AUTO, &p, &err),
                 GEODEC_SCARCE);
    geodec_mem_free(wanted);
    geodec_model_close(m);
}
