/* Recurrent layers of published models: the peer's logits, and the same bits in every order of rows. */
#include "base/mem.h"
#include "base/rng.h"
#include "geodec/matrix.h"
#include "io/file.h"
#include "session/hybrid.h"
#include "session/model_internal.h"
#include "session/opened.h"
#include "session/recurrence_states_internal.h"
#include "session/streamed.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Files of golden/arch in the shared folder (its README.md): random weights, 48 tokens. */
static const char *const names[] = {"lfm2",          "lfm2moe-moe",   "mamba",          "mamba2",    "jamba",
                                    "granitehybrid", "nemotron_h",    "nemotron_h_moe", "falcon-h1", "qwen3next-moe",
                                    "qwen35",        "qwen35moe-moe", "plamo2"};
enum { NAMES = sizeof names / sizeof *names, PEER = NAMES - 1 /* the peer cannot build plamo2 */, TEXT = 48 };

typedef struct golden {
    geodec_model *m;
    int64_t v;
    int32_t text[TEXT];
    float *all; /* [TEXT][v] logits of one batch */
} golden;

static const char *path_of(const char *name, const char *suffix)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s%s", test_shared("golden/arch"), name, suffix);
    return path;
}

static geodec_session *open_session(const golden *g, geodec_session_options o)
{
    if (o.n_ctx == 0) o.n_ctx = 64;
    return opened_session(g->m, o);
}

/* Logits of the text in one batch. */
static void read_all(golden *g)
{
    geodec_err err = {0};
    g->v = geodec_model_configuration(g->m)->n_vocab;
    g->all = geodec_mem_new(TEXT * g->v, sizeof *g->all);
    geodec_session *s = open_session(g, (geodec_session_options){0});
    test_ok(geodec_forward(s, &(geodec_batch){.n = TEXT, .token = g->text}, g->all, NULL, &err), &err);
    geodec_session_destroy(s);
}

/* A random model (hybrid.h). */
static golden made(const char *arch, int type)
{
    geodec_err err = {0};
    golden g = {0};
    const char *path = test_tmp("hybrid.gguf");
    test_ok(hybrid_write(path, arch, type, &err), &err);
    test_ok(geodec_model_open(path, &g.m, &err), &err);
    drawn_text(g.m, 4, g.text, TEXT);
    read_all(&g);
    return g;
}

static golden opened(const char *name)
{
    geodec_err err = {0};
    golden g = {0};
    test_ok(geodec_model_open(path_of(name, ".gguf"), &g.m, &err), &err);
    drawn_text(g.m, 4, g.text, TEXT); /* of plamo2, which has none */
    FILE *f = fopen(path_of(name, ".ids"), "r");
    for (int i = 0; f && i < TEXT; i++) cr_assert_eq(fscanf(f, "%d", &g.text[i]), 1);
    if (f) (void)fclose(f);
    read_all(&g);
    return g;
}

static void closed(golden *g)
{
    geodec_model_close(g->m);
    geodec_mem_free(g->all);
}

/* 1e-4 is the bar of golden/arch: two correct programs differ by about 1e-5. */
Test(session_recurrent, logits_of_the_peer)
{
    for (int i = 0; i < PEER; i++) {
        geodec_err err = {0};
        golden g = opened(names[i]);
        geodec_matrix want = {0};
        double worst = 0;
        test_ok(geodec_matrix_read(path_of(names[i], ".logits.npy"), "npy", NULL, &want, &err), &err);
        cr_assert(want.rows >= TEXT && want.cols == g.v); /* of a longer text its first rows */
        for (int64_t k = 0; k < TEXT * g.v; k++) worst = fmax(worst, fabs((double)g.all[k] - want.x[k]));
        (void)fprintf(stderr, "%s: largest difference from the peer %.2g\n", names[i], worst);
        cr_assert_lt(worst, 1e-4, "%s: %g", names[i], worst);
        geodec_matrix_clear(&want);
        closed(&g);
    }
}

static void same(const golden *g, const float *have, int32_t first, int32_t n, const char *what)
{
    cr_assert_eq(memcmp(have, g->all + first * g->v, (size_t)(n * g->v) * sizeof *have), 0, "%s: rows %d .. %d", what,
                 first, first + n - 1);
}

/* In passes of `size` rows, each as a chain, or as a tree whose other rows are dropped. */
static void in_parts(const golden *g, geodec_session *s, int32_t first, int32_t size, bool tree, const char *what)
{
    enum { MOST = 2 * TEXT };
    geodec_err err = {0};
    float *have = geodec_mem_new(MOST * g->v, sizeof *have);
    for (int32_t at = first; at < TEXT; at += size) {
        const int32_t n = TEXT - at < size ? TEXT - at : size;
        int32_t token[MOST], parent[MOST], row[TEXT], rows = 0;
        for (int32_t i = 0; i < n; i++) {
            const int32_t before = i ? row[i - 1] : -1;
            if (tree) { /* a brother of the row, whose child comes later */
                token[rows] = (g->text[at + i] + 7) % (int32_t)g->v;
                parent[rows++] = before;
            }
            token[rows] = g->text[at + i];
            parent[rows] = before;
            row[i] = rows++;
        }
        test_ok(geodec_forward(s, &(geodec_batch){.n = rows, .token = token, .parent = tree ? parent : NULL}, have,
                               NULL, &err),
                &err);
        for (int32_t i = 0; i < n; i++) same(g, have + row[i] * g->v, at + i, 1, what);
        if (tree) geodec_session_compact(s, at, row, n);
        cr_assert_eq(geodec_session_length(s), at + n);
    }
    geodec_mem_free(have);
}

/* Alone, in passes of every size, as trees; on 1 thread, and on `most`; with every instruction set. */
static void check_orders(const golden *g, const char *name, int most)
{
    for (int threads = 1; threads <= most; threads += 2) {
        geodec_err err = {0};
        geodec_pool *pool = NULL;
        if (threads > 1) test_ok(geodec_pool_create(threads, &pool, &err), &err);
        for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
            if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
            for (int32_t size = 1; size <= TEXT; size += size < 6 ? 1 : 7)
                for (int tree = 0; tree < 2 && (1 + tree) * size <= 64; tree++) {
                    char what[80];
                    (void)snprintf(what, sizeof what, "%s, %d threads, set %d, %d rows", name, threads, isa, size);
                    geodec_session *s =
                        open_session(g, (geodec_session_options){.isa = (geodec_isa)isa, .pool = pool, .n_ctx = 128});
                    in_parts(g, s, 0, size, tree, what);
                    geodec_session_destroy(s);
                }
        }
        geodec_pool_destroy(pool);
    }
}

/* Returns to earlier lengths, and files. */
static void check_returns(const golden *g, const char *name)
{
    geodec_err err = {0};
    geodec_session *s = open_session(g, (geodec_session_options){0}), *t = open_session(g, (geodec_session_options){0});
    geodec_session_text got = {0};
    const char *file = test_tmp("recurrent.state");
    static const int32_t lengths[] = {47, 44, 31, 30, 2, 1, 0, 17};
    in_parts(g, s, 0, 9, false, name);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        geodec_session_truncate(s, lengths[k]);
        in_parts(g, s, lengths[k], 5, k % 2, name);
    }
    geodec_session_truncate(s, 20);
    int32_t text[TEXT];
    memcpy(text, g->text, sizeof text);
    test_ok(geodec_session_save(s, file, &(geodec_session_text){text, 20, 20}, &err), &err);
    test_ok(geodec_session_load(t, file, &got, &err), &err);
    in_parts(g, t, 20, 4, true, name);
    in_parts(g, s, 20, 3, false, name);
    geodec_session_truncate(t, 12); /* before the file: the text is read again */
    in_parts(g, t, 12, 6, false, name);
    geodec_mem_free(got.token);
    geodec_session_destroy(s);
    geodec_session_destroy(t);
}

Test(session_recurrent, same_bits_in_every_order, .timeout = 300)
{
    for (int i = 0; i < NAMES; i++) {
        golden g = opened(names[i]);
        check_orders(&g, names[i], 3);
        check_returns(&g, names[i]);
        closed(&g);
    }
}

/* Heads, states and ranks that are no whole vectors, in two types of weights. */
Test(session_recurrent, same_bits_of_random_models, .timeout = 300)
{
    for (int i = 0; i < N_HYBRIDS; i++)
        for (int packed = 0; packed < 2; packed++) {
            golden g = made(hybrids[i], packed ? GEODEC_GGML_F16 : GEODEC_GGML_F32);
            check_orders(&g, hybrids[i], packed ? 1 : 3);
            check_returns(&g, hybrids[i]);
            closed(&g);
        }
}

/* A log that holds the newest rows alone: a return further back reads the text again. */
Test(session_recurrent, a_long_context_forgets_rows)
{
    enum { LONG = 700 };
    static const char *const few[] = {"mamba", "qwen35"};
    for (int i = 0; i < 2; i++) {
        geodec_err err = {0};
        golden g = made(few[i], GEODEC_GGML_F32);
        int32_t text[LONG];
        float *want = geodec_mem_new(2 * g.v, sizeof *want), *have = want + g.v;
        for (int32_t k = 0; k < LONG; k++) text[k] = g.text[k % TEXT];
        geodec_session *s = open_session(&g, (geodec_session_options){.n_ctx = 1 << 21}),
                       *whole = open_session(&g, (geodec_session_options){.n_ctx = LONG, .back = LONG});
        cr_assert_lt(s->recur->rows, s->n_ctx);
        cr_assert_eq(whole->recur->rows, LONG);
        test_ok(geodec_forward_prefill(s, text, LONG, have, &err), &err);
        test_ok(geodec_forward_prefill(whole, text, LONG, want, &err), &err);
        cr_assert_eq(memcmp(have, want, (size_t)g.v * sizeof *have), 0);
        static const int32_t lengths[] = {LONG - 3, LONG - 200, 50, 40, 600, 0};
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            if (lengths[k] > geodec_session_length(s))
                test_ok(geodec_forward_prefill(s, text + geodec_session_length(s),
                                               lengths[k] - geodec_session_length(s) + 10, NULL, &err),
                        &err);
            geodec_session_truncate(s, lengths[k]);
            geodec_session_truncate(whole, 0);
            test_ok(geodec_forward_prefill(s, text + lengths[k], 2, have, &err), &err);
            test_ok(geodec_forward_prefill(whole, text, lengths[k] + 2, want, &err), &err);
            cr_assert_eq(memcmp(have, want, (size_t)g.v * sizeof *have), 0, "%s: length %d", few[i], lengths[k]);
        }
        geodec_session_destroy(s);
        geodec_session_destroy(whole);
        geodec_mem_free(want);
        closed(&g);
    }
}

/* Experts that are read on demand: a prompt layer by layer in parts, single rows, trees and returns. */
Test(session_recurrent, streamed_experts)
{
    /* the last two are random: those of the peer are dense */
    static const char *const mixtures[] = {"lfm2moe-moe", "qwen3next-moe", "qwen35moe-moe", "jamba", "granitehybrid"};
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++) {
        geodec_err err = {0};
        const bool random = i > 2;
        golden g = random ? made(mixtures[i], GEODEC_GGML_F16) : opened(mixtures[i]), streamed = g;
        const char *path = random ? test_tmp("hybrid.gguf") : path_of(mixtures[i], ".gguf");
        const int32_t slots = 2 * geodec_model_size_of(g.m).n_expert_used + 2; /* the fewest that a stream takes */
        float *have = geodec_mem_new(TEXT * g.v, sizeof *have);
        streamed.m = NULL;
        test_ok(geodec_model_open(path, &streamed.m, &err), &err);
        test_ok(geodec_streamed_begin(streamed.m, &(geodec_streaming){.slots = slots}, &err), &err);
        geodec_session *s = open_session(&streamed, (geodec_session_options){.max_batch = 8, .max_pass = TEXT});
        test_ok(geodec_forward(s, &(geodec_batch){.n = TEXT, .token = g.text}, have, NULL, &err), &err);
        same(&g, have, 0, TEXT, mixtures[i]);
        static const int32_t lengths[] = {45, 20, 0};
        for (int k = 0; k < 3; k++) {
            geodec_session_truncate(s, lengths[k]);
            in_parts(&streamed, s, lengths[k], 1 + 2 * k, k == 1, mixtures[i]);
        }
        geodec_session_destroy(s);
        geodec_model_close(streamed.m);
        geodec_mem_free(have);
        closed(&g);
    }
}

/* Values of a key that do not fit the tensors, or each other. */
Test(session_recurrent, damaged_keys)
{
    static const struct {
        const char *name, *key;
        uint32_t value;
    } list[] = {
        {"mamba", "mamba.ssm.conv_kernel", 1},        {"mamba", "mamba.ssm.conv_kernel", 5},
        {"mamba", "mamba.ssm.conv_kernel", 1 << 30},  {"mamba", "mamba.ssm.inner_size", 0},
        {"mamba", "mamba.ssm.inner_size", 63},        {"mamba", "mamba.ssm.state_size", 17},
        {"mamba", "mamba.ssm.time_step_rank", 0},     {"mamba", "mamba.ssm.time_step_rank", 3},
        {"mamba2", "mamba2.ssm.time_step_rank", 3},   {"mamba2", "mamba2.ssm.time_step_rank", 1000},
        {"mamba2", "mamba2.ssm.group_count", 4},      {"mamba2", "mamba2.ssm.group_count", 0},
        {"mamba2", "mamba2.ssm.state_size", 1 << 20}, {"qwen35", "qwen35.ssm.group_count", 1},
        {"qwen35", "qwen35.ssm.group_count", 3},      {"qwen35", "qwen35.ssm.inner_size", 48},
        {"qwen35", "qwen35.ssm.time_step_rank", 64},  {"lfm2", "lfm2.shortconv.l_cache", 2},
        {"lfm2", "lfm2.shortconv.l_cache", 0},        {"plamo2", "plamo2.ssm.time_step_rank", 0},
        {"plamo2", "plamo2.ssm.state_size", 48},      {"plamo2", "plamo2.ssm.time_step_rank", 5},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        size_t n = 0;
        char *bytes = NULL;
        const char *damaged = test_tmp("damaged.gguf");
        const size_t length = strlen(list[i].key);
        test_ok(geodec_file_read(path_of(list[i].name, ".gguf"), 1 << 24, &bytes, &n, &err), &err);
        char *at = memmem(bytes, n, list[i].key, length);
        cr_assert(at, "%s", list[i].key);
        memcpy(at + length + 4, &list[i].value, sizeof list[i].value); /* behind its type */
        FILE *f = fopen(damaged, "wb");
        cr_assert(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
        cr_assert_neq(geodec_model_open(damaged, &m, &err), GEODEC_OK, "%s = %u", list[i].key, list[i].value);
        geodec_err_clear(&err);
        geodec_mem_free(bytes);
    }
}
