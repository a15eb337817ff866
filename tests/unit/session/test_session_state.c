/* Sessions in files: the bits of decoding that goes on, damaged files, files of another model. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/file.h"
#include "session/attnres.h"
#include "session/opened.h"
#include "session/recurrence_states_internal.h"
#include "session/rewrite.h"
#include "session/session_state.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 150, AT = 131, MORE = TEXT - AT };

static geodec_session *open_session(const geodec_model *m, geodec_session_options o)
{
    if (o.n_ctx == 0) o.n_ctx = 400;
    return opened_session(m, o);
}

/* Logits of the rows after AT, in a chain of single tokens and one of several. */
static void go_on(geodec_session *s, const int32_t *text, float *logits)
{
    geodec_err err = {0};
    const int64_t v = geodec_model_configuration(geodec_session_model(s))->n_vocab;
    cr_assert_eq(geodec_session_length(s), AT);
    for (int32_t i = 0; i < 5; i++)
        test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = text + AT + i}, logits + i * v, NULL, &err), &err);
    test_ok(geodec_forward(s, &(geodec_batch){.n = MORE - 5, .token = text + AT + 5}, logits + 5 * v, NULL, &err),
            &err);
}

/* A session that wandered (a tree, a return) to AT, its file, and another session that goes on from it. */
static void round_trip(const char *name, const synthetic *shape, geodec_session_options o, geodec_session_options other)
{
    geodec_err err = {0};
    geodec_model *m = opened_model(shape);
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    int32_t text[TEXT];
    const int32_t parent[6] = {-1, 0, 0, 1, -1, 4}, path[3] = {0, 1, 3};
    geodec_session_text got = {0};
    const char *file = test_tmp("session.state");
    drawn_text(m, 3, text, TEXT);
    float *want = geodec_mem_new(MORE * v, sizeof *want), *have = geodec_mem_new(MORE * v, sizeof *have);
    geodec_session *s = open_session(m, o);
    test_ok(geodec_forward_prefill(s, text, 100, NULL, &err), &err);
    int32_t tree[6] = {text[100], text[101], 7, text[102], 9, 11};
    test_ok(geodec_forward(s, &(geodec_batch){.n = 6, .token = tree, .parent = parent}, have, NULL, &err), &err);
    geodec_session_compact(s, 100, path, 3);
    test_ok(geodec_forward_prefill(s, text + 103, TEXT - 103, NULL, &err), &err);
    geodec_session_truncate(s, AT);
    test_ok(geodec_session_save(s, file, &(geodec_session_text){text, AT + 1, 17}, &err), &err);
    go_on(s, text, want);
    geodec_session_destroy(s);

    s = open_session(m, other);
    test_ok(geodec_forward_prefill(s, text + 5, 60, NULL, &err), &err); /* of another text: forgotten */
    test_ok(geodec_session_load(s, file, &got, &err), &err);
    cr_assert(got.n == AT + 1 && got.n_given == 17 && memcmp(got.token, text, (AT + 1) * sizeof *text) == 0);
    go_on(s, text, have);
    cr_assert_eq(memcmp(have, want, (size_t)(MORE * v) * sizeof *have), 0, "%s: other logits", name);
    /* returns after, to and before the length of the file */
    static const int32_t back[] = {AT + 2, AT, 77, 0};
    for (size_t i = 0; i < sizeof back / sizeof *back; i++) {
        geodec_session_truncate(s, back[i]);
        test_ok(geodec_forward_prefill(s, text + back[i], AT + 5 - back[i], have, &err), &err);
        cr_assert_eq(memcmp(have, want + 4 * v, (size_t)v * sizeof *have), 0, "%s: a return to %d", name, back[i]);
    }
    geodec_session_destroy(s);
    geodec_model_close(m);
    GEODEC_FREE(want, have, got.token);
}

Test(model_session_state, every_family_goes_on_with_the_same_bits, .timeout = 300)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    for (size_t i = 0; i < N_FAMILIES; i++) {
        const geodec_session_options other = {.pool = pool, .max_batch = 15, .n_ctx = 333};
        round_trip(families[i].name, &families[i].s, (geodec_session_options){0}, other);
    }
    geodec_pool_destroy(pool);
}

Test(model_session_state, types_of_the_cache_and_arithmetic, .timeout = 300)
{
    static const char *const some[] = {"llama-3", "gemma2", "qwen3moe", "perspective", "perspective-dense"};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        for (int kv = GEODEC_KV_F16; kv <= GEODEC_KV_Q4_0; kv++) {
            const geodec_session_options o = {.kv = (geodec_kv_type)kv, .arithmetic = GEODEC_FAST};
            round_trip(some[i], family_named(some[i]), o, o);
        }
}

/* Sessions with the same text are saved as the same bytes, whatever was forwarded and dropped in between. */
Test(model_session_state, bytes_depend_on_the_text_alone)
{
    static const char *const some[] = {"perspective", "gemma2"};
    geodec_err err = {0};
    for (size_t i = 0; i < 2; i++) {
        geodec_model *m = opened_model(family_named(some[i]));
        char *bytes[2] = {0};
        size_t n[2];
        int32_t text[TEXT];
        drawn_text(m, 4, text, TEXT);
        for (int k = 0; k < 2; k++) {
            geodec_session *s =
                open_session(m, (geodec_session_options){.kv = GEODEC_KV_Q8_0, .max_batch = k ? 9 : 64});
            test_ok(geodec_forward_prefill(s, text, k ? TEXT : 120, NULL, &err), &err);
            geodec_session_truncate(s, 120);
            test_ok(geodec_session_save(s, test_tmp("session.state"), &(geodec_session_text){text, 120, 0}, &err),
                    &err);
            test_ok(geodec_file_read(test_tmp("session.state"), 1 << 24, &bytes[k], &n[k], &err), &err);
            geodec_session_destroy(s);
        }
        cr_assert(n[0] == n[1] && memcmp(bytes[0], bytes[1], n[0]) == 0, "%s", some[i]);
        geodec_mem_free_all((void *const[]){bytes[0], bytes[1]}, 2);
        geodec_model_close(m);
    }
}

/* With a window everywhere, the file of a recurrent model does not grow with the text, but for 4 bytes a token. */
Test(model_session_state, size_of_a_recurrent_session)
{
    geodec_err err = {0};
    geodec_model *m = opened_model(family_named("perspective"));
    int32_t text[400];
    int64_t size[2];
    drawn_text(m, 5, text, 400);
    for (int k = 0; k < 2; k++) {
        const int32_t n = k ? 384 : 128;
        char *bytes;
        size_t got;
        geodec_session *s = open_session(m, (geodec_session_options){0});
        test_ok(geodec_forward_prefill(s, text, n, NULL, &err), &err);
        test_ok(geodec_session_save(s, test_tmp("session.state"), &(geodec_session_text){text, n, 0}, &err), &err);
        test_ok(geodec_file_read(test_tmp("session.state"), 1 << 24, &bytes, &got, &err), &err);
        size[k] = (int64_t)got;
        geodec_mem_free(bytes);
        geodec_session_destroy(s);
    }
    cr_assert_eq(size[1] - size[0], 4 * (384 - 128));
    geodec_model_close(m);
}

static void spoil(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert(f && (n == 0 || fwrite(bytes, n, 1, f) == 1) && fclose(f) == 0);
}

/* Flipped bits, all of them in the header and a sample of the rest, and every kind of end: refused with one line that
 * names the file, and the session goes on as before. */
Test(model_session_state, damaged_files, .timeout = 300)
{
    geodec_err err = {0};
    geodec_model *m = opened_model(family_named("perspective"));
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    const char *file = test_tmp("session.state");
    char *bytes = NULL, line[512];
    size_t n = 0;
    int32_t text[TEXT];
    geodec_session_text got = {0};
    float *want = geodec_mem_new(MORE * v, sizeof *want), *have = geodec_mem_new(MORE * v, sizeof *have);
    geodec_rng rng = geodec_rng_stream(9, 1);
    drawn_text(m, 6, text, TEXT);
    geodec_session *s = open_session(m, (geodec_session_options){0});
    test_ok(geodec_forward_prefill(s, text, 90, NULL, &err), &err);
    test_ok(geodec_session_save(s, file, &(geodec_session_text){text, 90, 0}, &err), &err);
    test_ok(geodec_file_read(file, 1 << 24, &bytes, &n, &err), &err);
    test_ok(geodec_forward_prefill(s, text + 90, AT - 90, NULL, &err), &err);
    for (int64_t i = 0; i < 256 * 8 + 3000; i++) {
        const int64_t bit = i < 256 * 8 ? i : (int64_t)geodec_rng_below(&rng, 8 * (uint64_t)n);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        spoil(file, bytes, n);
        const geodec_status st = geodec_session_load(s, file, &got, &err);
        cr_assert(st == GEODEC_FORMAT || st == GEODEC_VERSION || st == GEODEC_CHECKSUM, "bit %lld: status %d",
                  (long long)bit, st);
        cr_assert(strstr(geodec_err_line(&err, line, sizeof line), file) != NULL, "%s", line);
        geodec_err_clear(&err);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    for (int64_t i = 0; i < 300; i++) {
        const size_t cut = i < 260 ? (size_t)i : (size_t)geodec_rng_below(&rng, (uint64_t)n);
        spoil(file, bytes, cut);
        cr_assert_eq(geodec_session_load(s, file, &got, &err), GEODEC_FORMAT, "cut to %zu", cut);
        geodec_err_clear(&err);
    }
    char *longer = geodec_mem_new((int64_t)n + 1, 1);
    memcpy(longer, bytes, n);
    spoil(file, longer, n + 1);
    cr_assert_eq(geodec_session_load(s, file, &got, &err), GEODEC_LIMIT);
    geodec_err_clear(&err);
    (void)unlink(file);
    cr_assert_eq(geodec_session_load(s, file, &got, &err), GEODEC_NOTFOUND);
    geodec_err_clear(&err);
    cr_assert_null(got.token);
    go_on(s, text, have);
    geodec_session_destroy(s);
    s = open_session(m, (geodec_session_options){0});
    test_ok(geodec_forward_prefill(s, text, AT, NULL, &err), &err);
    go_on(s, text, want);
    cr_assert_eq(memcmp(have, want, (size_t)(MORE * v) * sizeof *have), 0);
    geodec_session_destroy(s);
    geodec_model_close(m);
    GEODEC_FREE(bytes, longer, want, have);
}

/* A header with these lengths and right sums: limits hold before memory is allocated. */
static void reseal(char *bytes, int64_t at, uint32_t value)
{
    const uint32_t x = value;
    memcpy(bytes + at, &x, 4);
    const uint32_t crc = geodec_crc32c(0, bytes, 252);
    memcpy(bytes + 252, &crc, 4);
}

Test(model_session_state, files_of_others)
{
    geodec_err err = {0};
    const char *file = test_tmp("session.state");
    int32_t text[TEXT];
    geodec_session_text got = {0};
    char *bytes = NULL;
    size_t n = 0;
    synthetic shape = *family_named("perspective");
    geodec_model *m = opened_model(&shape);
    drawn_text(m, 7, text, TEXT);
    geodec_session *s = open_session(m, (geodec_session_options){0});
    test_ok(geodec_forward_prefill(s, text, 90, NULL, &err), &err);
    test_ok(geodec_session_save(s, file, &(geodec_session_text){text, 91, 3}, &err), &err);
    test_ok(geodec_file_read(file, 1 << 24, &bytes, &n, &err), &err);
    const struct {
        geodec_session_options o;
        geodec_status status;
    } sessions[] = {{{.kv = GEODEC_KV_F16}, GEODEC_CHECKSUM},
                    {{.arithmetic = GEODEC_FAST}, GEODEC_CHECKSUM},
                    {{.n_ctx = 89}, GEODEC_LIMIT},
                    {{.n_blocks = 2}, GEODEC_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof sessions / sizeof *sessions; i++) {
        geodec_session *other = open_session(m, sessions[i].o);
        cr_assert_eq(geodec_session_load(other, file, &got, &err), sessions[i].status, "session %zu", i);
        geodec_err_clear(&err);
        geodec_session_destroy(other);
    }
    static const int64_t field[] = {16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        uint32_t old;
        memcpy(&old, bytes + field[i], 4);
        static const uint32_t values[] = {7, 0x7fffffff, 0xffffffff};
        for (size_t k = 0; k < 3; k++) {
            if (field[i] == 44 && values[k] <= 91) continue;
            reseal(bytes, field[i], values[k]);
            spoil(file, bytes, n);
            cr_assert_neq(geodec_session_load(s, file, &got, &err), GEODEC_OK, "field %lld", (long long)field[i]);
            cr_assert_neq(err.status, GEODEC_NOMEM);
            geodec_err_clear(&err);
        }
        reseal(bytes, field[i], old);
    }
    /* the same weights, another key */
    shape.log_decay_min = -0.6f;
    geodec_model *keys = opened_model(&shape);
    shape = *family_named("perspective");
    shape.seed++;
    geodec_model *weights = opened_model(&shape);
    spoil(file, bytes, n);
    for (int i = 0; i < 2; i++) {
        geodec_session *other = open_session(i ? weights : keys, (geodec_session_options){0});
        cr_assert_eq(geodec_session_load(other, file, &got, &err), GEODEC_CHECKSUM);
        geodec_err_clear(&err);
        geodec_session_destroy(other);
    }
    cr_assert_str_eq(geodec_model_fingerprint(keys), geodec_model_fingerprint(m), "the control: only a key differs");
    geodec_session_destroy(s);
    geodec_model_close(m);
    geodec_model_close(keys);
    geodec_model_close(weights);
    geodec_mem_free(bytes);
}

/* A state is refused by a model of the same weights with another value of any key that a pass depends on. */
Test(model_session_state, files_of_other_keys)
{
    static const struct {
        const char *key;
        int32_t one, other;
    } pairs[] = {
        {"llama.rope.scaling.yarn_beta_fast", 32, 4},
        {"llama.rope.freq_base", 10000, 20000},
    };
    const char *file = test_tmp("session.state");
    int32_t text[TEXT];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        geodec_err err = {0};
        synthetic shape = *family_named("llama-linear");
        shape.rope_type = "yarn";
        shape.number_key = pairs[i].key;
        for (int k = 0; k < 3; k++) {
            geodec_session_text got = {0};
            shape.number_value = k < 2 ? pairs[i].one : pairs[i].other;
            geodec_model *m = opened_model(&shape);
            geodec_session *s = open_session(m, (geodec_session_options){0});
            drawn_text(m, 7, text, TEXT);
            if (k == 0) {
                test_ok(geodec_forward_prefill(s, text, 90, NULL, &err), &err);
                test_ok(geodec_session_save(s, file, &(geodec_session_text){text, 91, 3}, &err), &err);
            } else {
                cr_expect_eq(geodec_session_load(s, file, &got, &err), k == 1 ? GEODEC_OK : GEODEC_CHECKSUM, "%s, %d",
                             pairs[i].key, k);
                geodec_err_clear(&err);
                geodec_mem_free(got.token);
            }
            geodec_session_destroy(s);
            geodec_model_close(m);
        }
    }
}

static void leave(void *ctx, const geodec_rewrite_rows *rows) { (void)ctx, (void)rows; }

Test(model_session_state, what_is_not_saved)
{
    geodec_err err = {0};
    geodec_model *m = opened_model(family_named("llama-3"));
    const int32_t text[2] = {1, 2};
    geodec_session_options list[] = {{.arithmetic = GEODEC_INTEGER}, {.n_blocks = 1}, {0}};
    test_ok(geodec_attnres_parse("damp:0.35", &list[2].attnres, &err), &err);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        geodec_session *s = open_session(m, list[i]);
        cr_assert_eq(geodec_session_save(s, test_tmp("none.state"),
                                         &(geodec_session_text){(int32_t *)(uintptr_t)text, 2, 0}, &err),
                     GEODEC_UNSUPPORTED, "session %zu", i);
        geodec_err_clear(&err);
        cr_assert_neq(access(test_tmp("none.state"), F_OK), 0);
        geodec_session_destroy(s);
    }
    geodec_session *s = open_session(m, (geodec_session_options){0});
    test_ok(geodec_session_rewrite(s, &(geodec_rewrite){.fn = leave, .group = 1}, &err), &err);
    cr_assert_eq(geodec_session_saves(s, &err), GEODEC_UNSUPPORTED);
    geodec_err_clear(&err);
    test_ok(geodec_session_rewrite(s, NULL, &err), &err);
    test_ok(geodec_session_saves(s, &err), &err);
    test_ok(geodec_forward_prefill(s, text, 2, NULL, &err), &err);
    cr_assert_eq(
        geodec_session_save(s, test_tmp("none.state"), &(geodec_session_text){(int32_t *)(uintptr_t)text, 1, 0}, &err),
        GEODEC_INVAL, "a text shorter than the session");
    geodec_session_destroy(s);
    geodec_model_close(m);
}
