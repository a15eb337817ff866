/* Models in integers: files, quality on trained models, refusals. */
#include "base/mem.h"
#include "integer/engine/network_file.h"
#include "io/file.h"
#include "session/integer_network.h"
#include "session/integer_session.h"
#include "session/opened.h"
#include "session/rewrite.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static geodec_session *session(const geodec_model *m, geodec_arithmetic a)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_session_options o = {.n_ctx = 200, .arithmetic = a};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    return s;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static geodec_model *converted(const geodec_model *m, const geodec_integer_options *o, const char *path)
{
    geodec_err err = {0};
    geodec_network *n = NULL;
    geodec_model *back = NULL;
    test_ok(geodec_integer_network_make(m, o, NULL, &n, &err), &err);
    test_ok(geodec_network_file_write(path, n, geodec_model_gguf(m), geodec_model_fingerprint(m), &err), &err);
    geodec_network_free(n);
    test_ok(geodec_model_open(path, &back, &err), &err);
    return back;
}

Test(integer, files_give_the_logits_of_the_model_in_memory)
{
    enum { N = 20 };
    for (size_t i = 0; i < N_FAMILIES; i++) {
        if (!synthetic_has_integers(&families[i].s)) continue;
        geodec_err err = {0};
        geodec_model *m = opened_model(&families[i].s), *f = converted(m, NULL, test_tmp("family.int.gguf"));
        const int64_t v = geodec_model_configuration(m)->n_vocab;
        int32_t token[N];
        for (int k = 0; k < N; k++) token[k] = (int32_t)(geodec_rng_at(i, 1, (uint64_t)k) % (uint64_t)v);
        float *a = geodec_mem_new(N * v, sizeof *a), *b = geodec_mem_new(N * v, sizeof *b);
        geodec_session *s = session(m, GEODEC_INTEGER), *t = session(f, GEODEC_EXACT); /* in integers in any case */
        cr_assert_eq(geodec_session_arithmetic(t), GEODEC_INTEGER);
        const geodec_batch batch = {.n = N, .token = token};
        test_ok(geodec_forward(s, &batch, a, NULL, &err), &err);
        test_ok(geodec_forward(t, &batch, b, NULL, &err), &err);
        cr_assert_eq(memcmp(a, b, (size_t)(N * v) * sizeof *a), 0, "%s", families[i].name);
        GEODEC_FREE(a, b);
        geodec_session_destroy(s);
        geodec_session_destroy(t);
        geodec_model_close(f);
        geodec_model_close(m);
    }
}

static void overwrite(const char *path, int64_t at, uint8_t byte)
{
    FILE *f = fopen(path, "r+b");
    cr_assert_not_null(f);
    cr_assert_eq(fseek(f, (long)at, SEEK_SET), 0);
    (void)fputc(byte, f);
    (void)fclose(f);
}

/* The high byte of the first shift of a tensor. */
static int64_t shift_of(const geodec_model *m, const char *name)
{
    const geodec_gguf *g = geodec_model_gguf(m);
    const geodec_gguf_tensor *t = geodec_gguf_find(g, name);
    cr_assert_not_null(t);
    return geodec_gguf_offset(g, t->data) + 1;
}

Test(integer, threads_load_the_same_model_and_name_the_same_error)
{
    enum { N = 6, FAMILY = 3 /* with experts */ };
    geodec_err err = {0};
    const char *path = test_tmp("threads.int.gguf");
    const int32_t token[N] = {1, 5, 3, 9, 2, 4};
    geodec_model *m = opened_model(&families[FAMILY].s), *f = converted(m, NULL, path), *loaded = NULL;
    const int64_t v = geodec_model_configuration(m)->n_vocab, first = shift_of(f, "blk.0.attn_q.weight.shift"),
                  last = shift_of(f, "blk.1.attn_output.weight.shift");
    float *logits[2] = {geodec_mem_new(N * v, sizeof(float)), geodec_mem_new(N * v, sizeof(float))};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    char digest[GEODEC_SHA256_HEX] = "", wanted[GEODEC_SHA256_HEX];
    const geodec_model_open_options o = {.pool = pool, .digest = digest};
    test_ok(geodec_model_open_with(path, &o, &loaded, &err), &err);
    test_ok(geodec_file_sha256(path, wanted, &err), &err);
    cr_assert_str_eq(digest, wanted);
    for (int i = 0; i < 2; i++) {
        geodec_session *s = session(i ? loaded : f, GEODEC_INTEGER);
        test_ok(geodec_forward(s, &(geodec_batch){.n = N, .token = token}, logits[i], NULL, &err), &err);
        geodec_session_destroy(s);
    }
    cr_assert_eq(memcmp(logits[0], logits[1], (size_t)(N * v) * sizeof(float)), 0);
    geodec_model_close(loaded);
    geodec_model_close(f);
    overwrite(path, last, 0x7f);
    overwrite(path, first, 0x7f);
    for (int threads = 0; threads < 2; threads++) {
        char text[512];
        cr_assert_eq(geodec_model_open_with(path, threads ? &o : &(geodec_model_open_options){0}, &loaded, &err),
                     GEODEC_FORMAT);
        (void)geodec_err_line(&err, text, sizeof text);
        cr_assert_not_null(strstr(text, "blk.0.attn_q.weight"), "%s", text);
        geodec_err_clear(&err);
    }
    const char *plain = geodec_model_path(m);
    test_ok(geodec_model_open_with(plain, &o, &loaded, &err), &err);
    test_ok(geodec_file_sha256(plain, wanted, &err), &err);
    cr_assert_str_eq(digest, wanted, "of a file that is not in integers, too");
    geodec_model_close(loaded);
    geodec_model_close(m);
    geodec_pool_destroy(pool);
    GEODEC_FREE(logits[0], logits[1]);
}

/* Any one allocation may fail. */
Test(integer, conversion_survives_allocation_failures)
{
    geodec_model *m = opened_model(&families[3].s);
    const char *path = test_tmp("failing.int.gguf");
    geodec_model_close(converted(m, NULL, path));
    bool done = false;
    for (int64_t k = 1; !done; k++) {
        geodec_err err = {0};
        geodec_model *f = NULL;
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_model_open(path, &f, &err);
        geodec_mem_fail_after(0);
        done = st == GEODEC_OK;
        if (!done) cr_assert_eq(st, GEODEC_NOMEM, "allocation %lld: status %d", (long long)k, st);
        geodec_model_close(f);
        cr_assert_lt(k, 100000);
    }
    geodec_model_close(m);
}

/* Every byte of the head, and many of the rest, changed: refused, or a model that runs. */
Test(integer, damaged_files_are_refused_or_run, .timeout = 300)
{
    geodec_model *m = opened_model(&families[3].s);
    const char *path = test_tmp("damaged.int.gguf");
    geodec_model_close(converted(m, NULL, path));
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = geodec_mem_new(1 << 22, 1);
    const size_t size = fread(bytes, 1, 1 << 22, f);
    (void)fclose(f);
    int refused = 0, ran = 0;
    for (size_t at = 0; at < size; at += at < 6000 ? 3 : 977) {
        geodec_err err = {0};
        geodec_model *d = NULL;
        bytes[at] ^= 0x41;
        f = fopen(path, "wb");
        (void)fwrite(bytes, 1, size, f);
        (void)fclose(f);
        bytes[at] ^= 0x41;
        if (geodec_model_open(path, &d, &err) != GEODEC_OK) {
            refused++;
            continue;
        }
        const geodec_session_options o = {.n_ctx = 8, .max_batch = 4};
        geodec_session *s = NULL;
        const int32_t token[2] = {1, 2};
        float *logits = geodec_mem_new(2 * (int64_t)geodec_model_configuration(d)->n_vocab, sizeof *logits);
        if (geodec_session_create(d, &o, &s, &err) == GEODEC_OK &&
            geodec_forward(s, &(geodec_batch){.n = 2, .token = token}, logits, NULL, &err) == GEODEC_OK)
            ran++;
        geodec_mem_free(logits);
        geodec_session_destroy(s);
        geodec_model_close(d);
    }
    cr_assert_gt(refused, 50);
    cr_assert_gt(ran, 50);
    geodec_mem_free(bytes);
    geodec_model_close(m);
}

Test(integer, refusals)
{
    geodec_err err = {0};
    geodec_model *m = opened_model(&families[0].s), *f = converted(m, NULL, test_tmp("family.int.gguf"));
    geodec_network *n = NULL;
    geodec_session *s = NULL;
    geodec_session_options o = {.arithmetic = GEODEC_INTEGER, .kv = GEODEC_KV_Q8_0};
    cr_assert_eq(geodec_session_create(m, &o, &s, &err), GEODEC_UNSUPPORTED);
    o = (geodec_session_options){.arithmetic = GEODEC_INTEGER};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    const geodec_rewrite rewrite = {.group = 1}; /* refused before it is called */
    cr_assert_eq(geodec_session_rewrite(s, &rewrite, &err), GEODEC_UNSUPPORTED);
    geodec_session_destroy(s);
    s = NULL;
    o = (geodec_session_options){.arithmetic = GEODEC_INTEGER, .n_ctx = 1 << 20};
    cr_assert_eq(geodec_session_create(m, &o, &s, &err), GEODEC_LIMIT);
    const geodec_engine_scores_source scores = {.name = "another way"}; /* refused before it is opened */
    for (int a = GEODEC_EXACT; a <= GEODEC_FAST; a++) {
        o = (geodec_session_options){.arithmetic = (geodec_arithmetic)a, .scores = &scores};
        cr_assert_eq(geodec_session_create(m, &o, &s, &err), GEODEC_UNSUPPORTED);
    }
    cr_assert_eq(geodec_integer_network_make(f, NULL, NULL, &n, &err), GEODEC_UNSUPPORTED);
    cr_assert_eq(geodec_integer_network_make(m, &(geodec_integer_options){.bits = 5}, NULL, &n, &err), GEODEC_INVAL);
    cr_assert_null(s);
    cr_assert_null(n);
    /* What the reader of a file refuses is not converted: 1 / 1e-30 is no factor of the engine. */
    const char *path = test_tmp("scale.gguf");
    geodec_model *large = NULL;
    synthetic scale = {.arch = "granitemoe", .n_layer = 1, .d_model = 32, .n_head = 2, .n_kv_head = 2, .d_ff = 16};
    scale.n_vocab = 300, scale.n_ctx = 64, scale.type = GEODEC_GGML_F32, scale.n_expert = 4, scale.n_expert_used = 2;
    scale.logit_scale = 1e-30f, scale.tied = true;
    test_ok(synthetic_write(path, &scale, &err), &err);
    test_ok(geodec_model_open(path, &large, &err), &err);
    cr_assert_eq(geodec_integer_network_make(large, NULL, NULL, &n, &err), GEODEC_LIMIT);
    cr_assert_not_null(strstr(err.frame[0].text, "logit_factor"));
    geodec_model_close(large);
    geodec_model_close(f);
    geodec_model_close(m);
}

/* ---- quality ----------------------------------------------------------------------------------------------------- */

/* Greedy steps in exact arithmetic whose two best logits are more than 0.1 apart: integers choose the same token. */
static void check_decided(const char *path)
{
    enum { STEPS = 120 };
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    geodec_session *s = session(m, GEODEC_EXACT), *t = session(m, GEODEC_INTEGER);
    float *a = geodec_mem_new(v, sizeof *a), *b = geodec_mem_new(v, sizeof *b);
    int decided = 0, same = 0;
    double worst = 0;
    int32_t token = geodec_tokenizer_bos(geodec_model_tokenizer(m));
    if (token < 0) token = 1;
    for (int i = 0; i < STEPS; i++) {
        int32_t best[2];
        float value[2];
        test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = &token}, a, NULL, &err), &err);
        test_ok(geodec_forward(t, &(geodec_batch){.n = 1, .token = &token}, b, NULL, &err), &err);
        (void)geodec_largest(a, (int32_t)v, 2, best, value);
        for (int64_t k = 0; k < v; k++) worst = fmax(worst, fabs((double)a[k] - (double)b[k]));
        same += geodec_argmax(b, v) == best[0];
        if (value[0] - value[1] > 0.1f) {
            decided++;
            cr_expect_eq(geodec_argmax(b, v), best[0], "%s: step %d, margin %g", path, i,
                         (double)(value[0] - value[1]));
        }
        /* now and then another token than the best one, so that the text does not end in a loop */
        token = i % 7 == 6 ? best[1] : best[0];
    }
    cr_log_info("%s: %d steps, %d the same, %d decided, logits differ by at most %.3g", path, STEPS, same, decided,
                worst);
    cr_assert_gt(decided, STEPS / 2);
    GEODEC_FREE(a, b);
    geodec_session_destroy(s);
    geodec_session_destroy(t);
    geodec_model_close(m);
}

Test(integer, decided_steps_agree_on_the_embedded_models, .timeout = 300)
{
    check_decided("data/model/geodec-stories-q8_0.gguf");
    check_decided("data/model/geodec-stories-f16.gguf");
    check_decided("data/model/geodec-mixture-f16.gguf");
}

Test(integer, decided_steps_agree_on_the_shared_models, .timeout = 600)
{
    static const char *const name[] = {"stories260K-f32",         "stories260K-q4_k_m",      "stories260K-q6_k",
                                       "stories260K-rot256-q8_0", "stories260K-rot256-q4_0", "stories260K-ff192-q4_0",
                                       "stories-moe8x2-f16",      "stories-moe8x2-q4_0",     "moe22m-f16"};
    char path[160];
    (void)test_shared("models/stories260K-f32.gguf");
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        (void)snprintf(path, sizeof path, "models/%s.gguf", name[i]);
        const char *found = test_find(path);
        if (found) check_decided(found);
    }
}
