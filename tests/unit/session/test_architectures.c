/* One small model of every architecture (golden/arch of the shared folder): a token's logits have the same bits alone,
 * in batches, in a prompt of any chunks, in a tree, with any number of threads and on every instruction set. Files that
 * say the same with other tensors give the same bits. */
#include "base/mem.h"
#include "gguf/gguf.h"
#include "kernels/settings.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 40, PATH_BYTES = 4096, LEAST_FILES = 100 /* that opened when this was written */ };

/* How the tokens of a text are run. */
typedef struct way {
    const char *name;
    int32_t chunk;
    geodec_isa isa;
    int threads;
    bool tree; /* two other branches beside the text */
} way;

static const way ways[] = {
    {"one batch", TOKENS, GEODEC_ISA_AUTO, 1, false}, {"chunks of 7", 7, GEODEC_ISA_AUTO, 1, false},
    {"3 threads", TOKENS, GEODEC_ISA_AUTO, 3, false}, {"chunks of 5, 3 threads", 5, GEODEC_ISA_AUTO, 3, false},
    {"scalar", TOKENS, GEODEC_ISA_SCALAR, 1, false},  {"AVX2", 9, GEODEC_ISA_AVX2, 1, false},
    {"trees of 4", 4, GEODEC_ISA_AUTO, 1, true},      {"trees of 6, 3 threads", 6, GEODEC_ISA_AUTO, 3, true},
};

static const int32_t text[TOKENS] = {3,  17,  99,  250, 4,   61, 5,   300, 12, 13, 200, 7,  7,   31,
                                     64, 128, 256, 9,   80,  22, 111, 60,  2,  19, 83,  41, 310, 6,
                                     90, 150, 33,  45,  201, 8,  310, 77,  14, 26, 5,   39};

/* A branch of other tokens before and behind each token of the text; the text's rows are compared, and kept. */
static void run_tree(geodec_session *s, const int32_t *token, int32_t n, int64_t vocab, float *out)
{
    enum { MOST = 3 * TOKENS };
    geodec_err err = {0};
    int32_t all[MOST], parent[MOST], row[TOKENS], rows = 0;
    float *logits = geodec_mem_new(MOST * vocab, sizeof *logits);
    for (int32_t i = 0; i < n; i++) {
        const int32_t before = i > 0 ? row[i - 1] : -1;
        all[rows] = (token[i] + 1) % 300;
        parent[rows++] = before;
        row[i] = rows;
        all[rows] = token[i];
        parent[rows++] = before;
        all[rows] = (token[i] + 2) % 300;
        parent[rows++] = row[i];
    }
    test_ok(geodec_forward(s, &(geodec_batch){.n = rows, .token = all, .parent = parent}, logits, NULL, &err), &err);
    for (int32_t i = 0; i < n; i++) memcpy(out + i * vocab, logits + row[i] * vocab, (size_t)vocab * sizeof *out);
    geodec_session_compact(s, geodec_session_length(s) - rows, row, n);
    geodec_mem_free(logits);
}

static float *run(const geodec_model *m, const way *w, geodec_kv_type kv, int64_t vocab)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_session *s = NULL;
    float *out = geodec_mem_new(TOKENS * vocab, sizeof *out);
    if (w->threads > 1) test_ok(geodec_pool_create(w->threads, &pool, &err), &err);
    const geodec_session_options o = {.isa = w->isa, .pool = pool, .kv = kv, .n_ctx = 3 * TOKENS};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    for (int32_t at = 0; at < TOKENS; at += w->chunk) {
        const int32_t n = TOKENS - at < w->chunk ? TOKENS - at : w->chunk;
        if (w->tree)
            run_tree(s, text + at, n, vocab, out + at * vocab);
        else
            test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = text + at}, out + at * vocab, NULL, &err), &err);
    }
    geodec_session_destroy(s);
    geodec_pool_destroy(pool);
    return out;
}

static int check_file(const char *path)
{
    static const way alone = {"alone", 1, GEODEC_ISA_AUTO, 1, false};
    const char *name = strrchr(path, '/') + 1;
    geodec_err err = {0};
    geodec_model *m = NULL;
    if (geodec_model_open(path, &m, &err) != GEODEC_OK) {
        (void)fprintf(stderr, "%s does not open: %.100s\n", name, err.frame[0].text);
        return 0;
    }
    const int64_t vocab = geodec_model_size_of(m).n_vocab;
    static const geodec_kv_type types[] = {GEODEC_KV_F32, GEODEC_KV_Q8_0};
    for (int t = 0; t < 2; t++) {
        float *want = run(m, &alone, types[t], vocab);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            if (!geodec_kernels_isa_available(ways[i].isa)) continue;
            float *got = run(m, &ways[i], types[t], vocab);
            cr_expect(memcmp(want, got, (size_t)(TOKENS * vocab) * sizeof *got) == 0, "%s, cache %d: %s differs", name,
                      t, ways[i].name);
            geodec_mem_free(got);
        }
        geodec_mem_free(want);
    }
    geodec_model_close(m);
    return 1;
}

Test(model_architectures, bits_do_not_depend_on_batch_tree_threads_or_isa, .timeout = 300)
{
    char pattern[PATH_BYTES];
    glob_t found = {0};
    int models = 0;
    (void)snprintf(pattern, sizeof pattern, "%s/*.gguf", test_shared("golden/arch"));
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "no models");
    for (size_t i = 0; i < found.gl_pathc; i++) models += check_file(found.gl_pathv[i]);
    globfree(&found);
    (void)fprintf(stderr, "%d models\n", models);
    cr_assert_geq(models, LEAST_FILES);
}

/* A file with other tensors: those whose name has `gone` are left out (NULL: none), ".weight" is left out of the
 * names that end in `ending`, and those with `to` have the values of that with `from` in its place. NULL: not so. */
typedef struct rewriting {
    const char *gone, *ending, *to, *from;
} rewriting;

static const geodec_gguf_tensor *values_of(const geodec_gguf *g, const geodec_gguf_tensor *t, const rewriting *w)
{
    char name[128];
    const char *at = w->to ? strstr(t->name, w->to) : NULL;
    if (!at) return t;
    (void)snprintf(name, sizeof name, "%.*s%s%s", (int)(at - t->name), t->name, w->from, at + strlen(w->to));
    return geodec_gguf_find(g, name);
}

static const char *rewritten(const char *golden, const char *name, const rewriting *w)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_gguf_writer *out = NULL;
    const char *path = test_tmp(name);
    test_ok(geodec_gguf_open(golden, &g, &err), &err);
    test_ok(geodec_gguf_writer_create(path, &out, &err), &err);
    for (int64_t i = 0; i < geodec_gguf_n_keys(g); i++)
        test_ok(geodec_gguf_put_copy(out, g, geodec_gguf_key_at(g, i), &err), &err);
    for (int pass = 0; pass < 2; pass++) /* names and shapes, then values */
        for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
            const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i), *from = values_of(g, t, w);
            char own[128];
            size_t n = strlen(t->name), end = w->ending ? strlen(w->ending) : 0;
            if (w->gone && strstr(t->name, w->gone)) continue;
            cr_assert(from && from->bytes == t->bytes);
            if (end > 0 && n > end && strcmp(t->name + n - end, w->ending) == 0) n -= strlen(".weight");
            (void)snprintf(own, sizeof own, "%.*s", (int)n, t->name);
            if (pass == 0)
                test_ok(geodec_gguf_plan_tensor(out, own, t->type, t->n_dims, t->dim, &err), &err);
            else
                test_ok(geodec_gguf_stream(out, from->data, from->bytes, &err), &err);
        }
    test_ok(geodec_gguf_writer_commit(out, &err), &err);
    geodec_gguf_close(g);
    return path;
}

static float *logits_of(const char *path, int64_t *vocab)
{
    static const way batch = {"one batch", TOKENS, GEODEC_ISA_AUTO, 1, false};
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    *vocab = geodec_model_size_of(m).n_vocab;
    float *out = run(m, &batch, GEODEC_KV_F32, *vocab);
    geodec_model_close(m);
    return out;
}

Test(model_architectures, the_same_in_other_tensors)
{
    static const struct {
        const char *file;
        rewriting one, other;
    } pairs[] = {
        /* one norm of both halves (Falcon 7B), or two that are equal */
        {"falcon", {.gone = "attn_norm_2"}, {.to = "attn_norm_2", .from = "attn_norm"}},
        /* names without ".weight" */
        {"cohere2moe-moe", {0}, {.ending = "ffn_gate_up_exps.weight"}},
        {"llama-moe", {0}, {.ending = "ffn_down_exps.weight"}},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char relative[64];
        int64_t vocab, n;
        (void)snprintf(relative, sizeof relative, "golden/arch/%s.gguf", pairs[i].file);
        const char *golden = test_shared(relative);
        float *one = logits_of(rewritten(golden, "one.gguf", &pairs[i].one), &vocab);
        float *other = logits_of(rewritten(golden, "other.gguf", &pairs[i].other), &n);
        cr_expect(n == vocab && memcmp(one, other, (size_t)(TOKENS * vocab) * sizeof *one) == 0, "%s", pairs[i].file);
        geodec_mem_free(one);
        geodec_mem_free(other);
    }
}
