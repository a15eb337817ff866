/* A residual of several streams (gemma3n): the peer's logits, the keys of published files, what is captured, saved and
 * refused. Bits in every order of rows: test_architectures.c; against the float64 reference: tests/unit/reference. */
#include "base/mem.h"
#include "geodec/matrix.h"
#include "session/attnres.h"
#include "session/model_internal.h"
#include "session/opened.h"
#include "session/rewrite.h"
#include "session/tail.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 48, LAYERS = 22, CUT = 10 };

static const char *golden(const char *suffix)
{
    char name[64];
    (void)snprintf(name, sizeof name, "golden/arch/gemma3n%s", suffix);
    return test_shared(name);
}

static geodec_model *opened(const char *path)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    return m;
}

static void read_text(int32_t *text)
{
    FILE *f = fopen(golden(".ids"), "r");
    cr_assert(f);
    for (int i = 0; i < TEXT; i++) cr_assert_eq(fscanf(f, "%d", &text[i]), 1);
    (void)fclose(f);
}

/* Logits of the text in one batch. */
static float *logits_of(const geodec_model *m, const int32_t *text, const geodec_capture *capture)
{
    geodec_err err = {0};
    float *all = geodec_mem_new(TEXT * geodec_model_configuration(m)->n_vocab, sizeof *all);
    geodec_session *s = opened_session(m, (geodec_session_options){.n_ctx = TEXT});
    test_ok(geodec_forward(s, &(geodec_batch){.n = TEXT, .token = text}, all, capture, &err), &err);
    geodec_session_destroy(s);
    return all;
}

/* Few of the 48 gates of the first layers are above the cut, some by a thousandth of what was subtracted: one cut
 * multiplies a relative change by up to 180. A change of the embedding by 1e-7 of itself moves the logits by 1.7e-3,
 * and without cuts by 8e-5, so that two programs in float32 differ by 6e-3. In the first rows, where no gate is so
 * near, the bar is that of the other architectures. */
Test(session_streams, logits_of_the_peer)
{
    enum { SURE = 3 };
    geodec_err err = {0};
    geodec_model *m = opened(golden(".gguf"));
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    geodec_matrix want = {0};
    int32_t text[TEXT];
    double worst[2] = {0};
    read_text(text);
    float *have = logits_of(m, text, NULL);
    test_ok(geodec_matrix_read(golden(".logits.npy"), "npy", NULL, &want, &err), &err);
    cr_assert(want.rows == TEXT && want.cols == v);
    for (int64_t i = 0; i < TEXT * v; i++)
        worst[i / v >= SURE] = fmax(worst[i / v >= SURE], fabs((double)have[i] - want.x[i]));
    (void)fprintf(stderr, "largest difference from the peer %.2g, of the first rows %.2g\n", worst[1], worst[0]);
    cr_assert(worst[0] < 1e-4 && worst[1] < 2e-2);
    geodec_matrix_clear(&want);
    geodec_mem_free(have);
    geodec_model_close(m);
}

/* What a copy of the golden says beside it. */
typedef struct sayings {
    int32_t streams, active, shared;
    int32_t n_cuts;    /* 0: none are said */
    float cut, behind; /* of the first CUT layers, and of the others */
    bool flags;        /* of the layers that slide, in place of the period */
} sayings;

static const char *saying(const sayings *k)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_gguf_writer *out = NULL;
    const char *path = test_tmp("streams.gguf");
    float cut[LAYERS];
    int32_t slides[LAYERS];
    for (int i = 0; i < LAYERS; i++) {
        cut[i] = i < CUT ? k->cut : k->behind;
        slides[i] = i % 2 == 0;
    }
    test_ok(geodec_gguf_open(golden(".gguf"), &g, &err), &err);
    test_ok(geodec_gguf_writer_create(path, &out, &err), &err);
    for (int64_t i = 0; i < geodec_gguf_n_keys(g); i++)
        if (!k->flags || !strstr(geodec_gguf_key_at(g, i), "sliding_window_pattern"))
            test_ok(geodec_gguf_put_copy(out, g, geodec_gguf_key_at(g, i), &err), &err);
    test_ok(geodec_gguf_put_u32(out, "gemma3n.altup.num_inputs", (uint32_t)k->streams, &err), &err);
    test_ok(geodec_gguf_put_u32(out, "gemma3n.altup.active_idx", (uint32_t)k->active, &err), &err);
    test_ok(geodec_gguf_put_u32(out, "gemma3n.embedding_length_per_layer_input", 256, &err), &err);
    test_ok(geodec_gguf_put_u32(out, "gemma3n.attention.shared_kv_layers", (uint32_t)k->shared, &err), &err);
    if (k->n_cuts > 0)
        test_ok(geodec_gguf_put_f32_array(out, "gemma3n.activation_sparsity_scale", cut, k->n_cuts, &err), &err);
    if (k->flags)
        test_ok(geodec_gguf_put_i32_array(out, "gemma3n.attention.sliding_window_pattern", slides, LAYERS, &err), &err);
    for (int pass = 0; pass < 2; pass++) /* names and shapes, then values */
        for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
            const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
            if (pass == 0)
                test_ok(geodec_gguf_plan_tensor(out, t->name, t->type, t->n_dims, t->dim, &err), &err);
            else
                test_ok(geodec_gguf_stream(out, t->data, t->bytes, &err), &err);
        }
    test_ok(geodec_gguf_writer_commit(out, &err), &err);
    geodec_gguf_close(g);
    return path;
}

static const float usual = 1.6448533535003662f; /* 95 of 100 numbers of a normal distribution are below */

Test(session_streams, keys_of_published_files)
{
    const sayings published = {4, 0, 2, LAYERS, usual, -INFINITY, true};
    geodec_model *m = opened(golden(".gguf")), *same = opened(saying(&published));
    int32_t text[TEXT];
    read_text(text);
    for (int32_t i = 0; i < LAYERS; i++) {
        const geodec__layer *l = &m->layer[i];
        cr_assert(l->cut == (i < CUT) && l->cut_at == (i < CUT ? usual : 0) && (l->window > 0) == (i % 2 == 0));
        cr_assert_eq(l->kv_layer, i < 20 ? i : i - 2);
    }
    cr_assert(m->config.n_streams == 4 && m->config.laurel_rank == 64 && m->config.d_inputs == 256);
    cr_assert(m->config.final_softcap == 30 && m->config.attn_scale == 1);
    const int64_t size = TEXT * m->config.n_vocab;
    float *want = logits_of(m, text, NULL), *have = logits_of(same, text, NULL);
    cr_assert_eq(memcmp(have, want, (size_t)size * sizeof *want), 0);
    geodec_mem_free(have);
    geodec_model_close(same);
    /* the cuts are read */
    const sayings fewer = {4, 0, 2, LAYERS, usual / 2, -INFINITY, false};
    same = opened(saying(&fewer));
    have = logits_of(same, text, NULL);
    cr_assert_neq(memcmp(have, want, (size_t)size * sizeof *want), 0);
    geodec_mem_free(have);
    geodec_mem_free(want);
    geodec_model_close(same);
    geodec_model_close(m);
}

Test(session_streams, keys_that_are_refused)
{
    const struct {
        sayings k;
        const char *why;
    } cases[] = {
        {{3, 0, 2, 0, 0, 0, false}, "altup"},
        {{9, 0, 2, 0, 0, 0, false}, "num_inputs"},
        {{4, 1, 2, 0, 0, 0, false}, "active_idx"},
        {{4, 0, LAYERS, 0, 0, 0, false}, "shared_kv_layers"},
        {{4, 0, 2, CUT, usual, usual, false}, "activation_sparsity_scale"},
        {{4, 0, 2, LAYERS, NAN, usual, false}, "activation_sparsity_scale"},
        {{4, 0, 2, LAYERS, INFINITY, usual, false}, "activation_sparsity_scale"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        cr_assert_neq(geodec_model_open(saying(&cases[i].k), &m, &err), GEODEC_OK, "case %zu", i);
        cr_assert(strstr(err.frame[0].text, cases[i].why), "case %zu: %s", i, err.frame[0].text);
    }
}

/* The first state is the embedding, and the head reads the last one; those between are rows of one stream. */
Test(session_streams, captured_states)
{
    geodec_err err = {0};
    geodec_model *m = opened(golden(".gguf"));
    const int64_t d = m->config.d_model, v = m->config.n_vocab;
    const int32_t layers[] = {0, 5, LAYERS};
    int32_t text[TEXT];
    float *state = geodec_mem_new(3 * TEXT * d, sizeof *state), *have = geodec_mem_new(TEXT * v, sizeof *have);
    read_text(text);
    float *want = logits_of(m, text, &(geodec_capture){.n_layers = 3, .layer = layers, .state = state});
    const float *e = (const float *)(const void *)m->embedding.data;
    for (int64_t i = 0; i < TEXT * d; i++) cr_assert_eq(state[i], e[text[i / d] * d + i % d] * (float)sqrt((double)d));
    geodec_session *s = opened_session(m, (geodec_session_options){.n_ctx = TEXT});
    test_ok(geodec_session_head(s, state + 2 * TEXT * d, TEXT, NULL, have, &err), &err);
    cr_assert_eq(memcmp(have, want, (size_t)(TEXT * v) * sizeof *have), 0);
    geodec_session_destroy(s);
    geodec_mem_free(state);
    geodec_mem_free(have);
    geodec_mem_free(want);
    geodec_model_close(m);
}

Test(session_streams, a_saved_session_goes_on)
{
    enum { AT = 31 };
    geodec_err err = {0};
    geodec_model *m = opened(golden(".gguf"));
    const int64_t v = m->config.n_vocab;
    const char *file = test_tmp("streams.state");
    geodec_session_text got = {0};
    int32_t text[TEXT];
    read_text(text);
    float *want = logits_of(m, text, NULL), *have = geodec_mem_new(TEXT * v, sizeof *have);
    geodec_session *s = opened_session(m, (geodec_session_options){.n_ctx = TEXT});
    test_ok(geodec_forward_prefill(s, text, AT, NULL, &err), &err);
    test_ok(geodec_session_save(s, file, &(geodec_session_text){text, AT, AT}, &err), &err);
    geodec_session_destroy(s);
    s = opened_session(m, (geodec_session_options){.n_ctx = TEXT, .max_batch = 5});
    test_ok(geodec_session_load(s, file, &got, &err), &err);
    for (int32_t i = AT; i < TEXT; i++) {
        test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = text + i}, have, NULL, &err), &err);
        cr_assert_eq(memcmp(have, want + i * v, (size_t)v * sizeof *have), 0, "row %d", i);
    }
    geodec_session_destroy(s);
    geodec_model_close(m);
    GEODEC_FREE(want, have, got.token);
}

static void watch(void *ctx, int32_t layer, bool feed, int64_t n, const float *const *row)
{
    (void)ctx, (void)layer, (void)feed, (void)n, (void)row;
}

static void rewrite(void *ctx, const geodec_rewrite_rows *rows) { (void)ctx, (void)rows; }

/* Each by the name of the part. */
static void refused(geodec_status st, const geodec_err *err)
{
    cr_assert_eq(st, GEODEC_UNSUPPORTED);
    cr_assert(strstr(err->frame[0].text, "several streams"), "%s", err->frame[0].text);
}

Test(session_streams, what_reads_one_stream_is_refused)
{
    geodec_err err = {0};
    geodec_model *m = opened(golden(".gguf"));
    int32_t text[TEXT];
    read_text(text);
    geodec_session *s = opened_session(m, (geodec_session_options){.n_ctx = TEXT}), *other = NULL;
    test_ok(geodec_forward_prefill(s, text, 5, NULL, &err), &err);
    refused(geodec_session_watch_updates(s, watch, NULL, &err), &err);
    float *state = geodec_mem_new(m->config.d_model, sizeof *state);
    const geodec_tail_route route = GEODEC_TAIL_ROUTE_OWN;
    const geodec_tail tail = {.first = 3, .n = 1, .stream = state, .route = &route};
    err = (geodec_err){0};
    refused(geodec_session_tail(s, &tail, state, &err), &err);
    err = (geodec_err){0};
    refused(geodec_session_rewrite(s, &(geodec_rewrite){.group = 1, .fn = rewrite}, &err), &err);
    const geodec_session_options damped = {.attnres = {.damp = 0.5}}, integers = {.arithmetic = GEODEC_INTEGER};
    err = (geodec_err){0};
    refused(geodec_session_create(m, &damped, &other, &err), &err);
    err = (geodec_err){0};
    refused(geodec_session_create(m, &integers, &other, &err), &err);
    geodec_mem_free(state);
    geodec_session_destroy(s);
    geodec_model_close(m);
}
