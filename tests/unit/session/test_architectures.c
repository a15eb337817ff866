/* One small model of every architecture (golden/arch of the shared folder): a token's logits have the same bits alone,
 * in batches, in a prompt of any chunks, in a tree, with any number of threads and on every instruction set. */
#include "base/mem.h"
#include "kernels/settings.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 40, PATH_BYTES = 4096, LEAST_FILES = 98 /* that opened when this was written */ };

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
