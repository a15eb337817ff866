/* Export against single forward passes; sources of sequences. */
#include "base/mem.h"
#include "chain/activations.h"
#include "decode/tiny.h"
#include "export/export.h"
#include "export/export_internal.h"
#include "io/file.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

static geodec_model *open_tiny(void)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(tiny_model("export.gguf", 5), &m, &err), &err);
    return m;
}

static geodec_status make(const geodec_model *m, const char *tokens, const char *path, int threads,
                          geodec_export_options o, geodec_export_summary *sum, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pool *pool = NULL;
    geodec_export_source source = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = {
        .tool = "test", .command_line = "test", .model_fingerprint = "", .tokenizer_fingerprint = ""};
    GEODEC_TRY(geodec_pool_create(threads, &pool, err));
    GEODEC_TRY(geodec_export_source_tokens("tokens", tokens, strlen(tokens), geodec_model_configuration(m)->n_vocab,
                                           &source, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_activations_kind, path, &p, &a, err));
    GEODEC_TRY(geodec_export_run(m, &o, &source, a, sum, pool, NULL, err));
    st = geodec_artifact_commit(a, err);
    a = NULL;
done:
    geodec_artifact_close(a);
    geodec_export_source_close(&source);
    geodec_pool_destroy(pool);
    return st;
}

static const char text[] = "1 5 9 13 17 21 25 29 3 7 11\n\n1 4\n1 6 8 10 12 14 16\n";

Test(export, rows_are_what_a_forward_pass_gives)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    const geodec_model_config *c = geodec_model_configuration(m);
    const int32_t layers[] = {0, c->n_layer};
    const geodec_export_options o = {.n_layers = 2, .layer = layers, .window = 6, .top_m = 3, .logits = true};
    geodec_export_summary sum;
    const char *path = test_tmp("export.h5");
    test_ok(make(m, text, path, 1, o, &sum, &err), &err);
    /* 11 tokens in windows of 6: 6 + (BOS and 5); then 2; then 6 + (BOS and 1). */
    cr_assert_eq(sum.rows, 22);
    cr_assert_eq(sum.sequences, 5);

    geodec_artifact *a = NULL;
    int32_t *token, *position, *sequence, *next, *argmax, *top;
    float *state, *logits, *best;
    test_ok(geodec_artifact_open(&geodec_activations_kind, path, &a, &err), &err);
    test_ok(geodec_artifact_read(a, "/token", &token, &err), &err);
    test_ok(geodec_artifact_read(a, "/position", &position, &err), &err);
    test_ok(geodec_artifact_read(a, "/sequence", &sequence, &err), &err);
    test_ok(geodec_artifact_read(a, "/next_token", &next, &err), &err);
    test_ok(geodec_artifact_read(a, "/argmax", &argmax, &err), &err);
    test_ok(geodec_artifact_read(a, "/top_index", &top, &err), &err);
    test_ok(geodec_artifact_read(a, "/top_logit", &best, &err), &err);
    test_ok(geodec_artifact_read(a, "/state", &state, &err), &err);
    test_ok(geodec_artifact_read(a, "/logits", &logits, &err), &err);

    const geodec_session_options so = {.n_ctx = 16};
    geodec_session *s = NULL;
    test_ok(geodec_session_create(m, &so, &s, &err), &err);
    float *row = geodec_mem_new(c->n_vocab, sizeof *row),
          *capture = geodec_mem_new(2 * (int64_t)c->d_model, sizeof *capture);
    for (int64_t r = 0; r < sum.rows; r++) {
        if (position[r] == 0) {
            geodec_session_truncate(s, 0);
            cr_assert_eq(token[r], 1, "every window begins with BOS");
        }
        const geodec_batch b = {.n = 1, .token = &token[r]};
        const geodec_capture cap = {2, layers, capture};
        test_ok(geodec_forward(s, &b, row, &cap, &err), &err);
        cr_assert_eq(memcmp(row, logits + r * c->n_vocab, (size_t)c->n_vocab * sizeof *row), 0);
        cr_assert_eq(memcmp(capture, state + r * 2 * c->d_model, 2 * (size_t)c->d_model * sizeof *row), 0);
        cr_assert_eq(argmax[r], geodec_argmax(row, c->n_vocab));
        cr_assert_eq(top[3 * r], argmax[r]);
        int32_t above = 0; /* the third best has exactly two before it */
        for (int32_t v = 0; v < c->n_vocab; v++)
            above += row[v] > best[3 * r + 2] || (row[v] == best[3 * r + 2] && v < top[3 * r + 2]);
        cr_assert_eq(above, 2);
        const bool last = r + 1 == sum.rows || sequence[r + 1] != sequence[r];
        cr_assert_eq(next[r], last ? -1 : token[r + 1]);
    }
    geodec_session_destroy(s);
    geodec_artifact_close(a);
    void *all[] = {token, position, sequence, next, argmax, top, best, state, logits, row, capture};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    geodec_model_close(m);
}

/* States of all layers of a window, and those of a pass a token. */
static void check_states(const geodec_model *m, const char *name)
{
    enum { MOST_LAYERS = 64, ROWS = 14 };
    geodec_err err = {0};
    geodec_export_summary sum;
    geodec_artifact *a = NULL;
    geodec_session *s = NULL;
    int32_t layer[MOST_LAYERS + 1], *token;
    float *state;
    const int32_t n = geodec_model_configuration(m)->n_layer + 1;
    const int64_t size = (int64_t)n * geodec_model_configuration(m)->d_model;
    cr_assert_leq(n, MOST_LAYERS + 1);
    for (int32_t i = 0; i < n; i++) layer[i] = i;
    const geodec_export_options o = {.n_layers = n, .layer = layer, .window = ROWS};
    test_ok(make(m, "1 5 9 13 17 21 25 29 3 7 11 200 301 8\n", test_tmp("rows.h5"), 2, o, &sum, &err), &err);
    cr_assert_eq(sum.rows, ROWS);
    test_ok(geodec_artifact_open(&geodec_activations_kind, test_tmp("rows.h5"), &a, &err), &err);
    test_ok(geodec_artifact_read(a, "/token", &token, &err), &err);
    test_ok(geodec_artifact_read(a, "/state", &state, &err), &err);
    test_ok(geodec_session_create(m, &(geodec_session_options){.n_ctx = 16}, &s, &err), &err);
    float *row = geodec_mem_new(size, sizeof *row);
    for (int32_t r = 0; r < ROWS; r++) {
        const geodec_capture capture = {n, layer, row};
        test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = token + r}, NULL, &capture, &err), &err);
        cr_expect(memcmp(row, state + r * size, (size_t)size * sizeof *row) == 0, "%s: row %d differs", name, r);
    }
    GEODEC_FREE(token, state, row);
    geodec_session_destroy(s);
    geodec_artifact_close(a);
}

/* The states between the layers of every architecture (golden/arch), also behind recurrences. */
Test(export, states_of_every_architecture, .timeout = 600)
{
    char pattern[4096];
    glob_t found = {0};
    int models = 0;
    (void)snprintf(pattern, sizeof pattern, "%s/*.gguf", test_shared("golden/arch"));
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "no models");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        if (geodec_model_open(found.gl_pathv[i], &m, &err) == GEODEC_OK) {
            check_states(m, strrchr(found.gl_pathv[i], '/') + 1);
            models++;
        }
        geodec_err_clear(&err);
        geodec_model_close(m);
    }
    globfree(&found);
    cr_assert_geq(models, 98, "%d models", models); /* that opened when this was written */
}

Test(export, same_bytes_with_any_threads_and_a_limit)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    const int32_t layer = 1;
    geodec_export_options o = {.n_layers = 1, .layer = &layer, .window = 6, .top_m = 2, .half = true};
    geodec_export_summary sum;
    char hex[2][GEODEC_SHA256_HEX];
    test_ok(make(m, text, test_tmp("a.h5"), 1, o, &sum, &err), &err);
    test_ok(make(m, text, test_tmp("b.h5"), 3, o, &sum, &err), &err);
    test_ok(geodec_file_sha256(test_tmp("a.h5"), hex[0], &err), &err);
    test_ok(geodec_file_sha256(test_tmp("b.h5"), hex[1], &err), &err);
    cr_assert_str_eq(hex[0], hex[1]);
    o.max_tokens = 9;
    test_ok(make(m, text, test_tmp("c.h5"), 3, o, &sum, &err), &err);
    cr_assert_eq(sum.rows, 9);
    geodec_model_close(m);
}

/* A window of the model's whole context takes no room for rows that it does not keep: of large models these are more
 * than the memory. */
Test(export, takes_room_for_the_rows_that_a_window_keeps)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    const geodec_model_config *c = geodec_model_configuration(m);
    const int32_t layer = 1;
    const geodec_export_options o = {
        .n_layers = 1, .layer = &layer, .window = c->n_ctx, .positions = GEODEC_EXPORT_RANGE, .from = 2, .to = 7};
    static const int32_t kept[] = {5, 0, 5}; /* of the sequences of the text */
    geodec_export_source source = {0};
    geodec__plan plan;
    geodec__reader reader = {0};
    geodec__rows rows = {0};
    test_ok(geodec_export_source_tokens("tokens", text, strlen(text), c->n_vocab, &source, &err), &err);
    geodec__export_plan_init(&plan, m, &o, &source);
    test_ok(geodec__export_plan_next(&plan, 8, INT64_MAX, &err), &err);
    cr_assert_eq(plan.n, 3);
    test_ok(geodec__export_reader_init(&reader, m, &o, NULL, &err), &err);
    for (int64_t i = 0; i < plan.n; i++) {
        test_ok(geodec__export_window_read(&reader, &plan, &plan.span[i], &rows, NULL, NULL, &err), &err);
        cr_assert_eq(rows.n, kept[i]);
        cr_assert_eq(rows.capacity, 5);
    }
    geodec__export_rows_clear(&rows);
    geodec__export_reader_clear(&reader);
    geodec__export_plan_clear(&plan);
    geodec_export_source_close(&source);
    geodec_model_close(m);
}

Test(export, refuses_what_is_no_text)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    const geodec_export_options o = {.n_layers = 1, .layer = (const int32_t[]){0}, .window = 6, .top_m = 2};
    geodec_export_summary sum;
    const char *bad[] = {"", "\n \n", "1 2 x\n", "1 -2\n", "1 2.5\n", "1 999999\n", "1 99999999999999999999\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(make(m, bad[i], test_tmp("bad.h5"), 1, o, &sum, &err), GEODEC_FORMAT, "%s", bad[i]);
    geodec_model_close(m);
}
