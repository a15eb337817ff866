/* The papers' merging of tokens in the cache. */
#include "base/mem.h"
#include "lab/kv/kv_merge.h"
#include "session/model_internal.h"
#include "session/opened.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const synthetic models[] = {
    {.n_layer = 2,
     .d_model = 96,
     .n_head = 8,
     .n_kv_head = 4,
     .d_ff = 100,
     .n_vocab = 310,
     .n_ctx = 192,
     .type = GEODEC_GGML_F32,
     .seed = 2},
    {.n_layer = 2,
     .d_model = 64,
     .n_head = 2,
     .n_kv_head = 2,
     .d_ff = 50,
     .n_vocab = 290,
     .n_ctx = 192,
     .type = GEODEC_GGML_F32,
     .head_dim = 20,
     .rope_dim = 12,
     .tied = true,
     .seed = 4},
    {.n_layer = 2,
     .d_model = 64,
     .n_head = 4,
     .n_kv_head = 2,
     .d_ff = 52,
     .n_vocab = 333,
     .n_ctx = 192,
     .type = GEODEC_GGML_F32,
     .n_expert = 4,
     .n_expert_used = 2,
     .seed = 5},
};
enum { N_MODELS = 3, LENGTH = 150 };

static float *run(geodec_session *s, const int32_t *token, int n, int step)
{
    geodec_err err = {0};
    const int64_t v = s->model->config.n_vocab;
    float *logits = geodec_mem_new(n * v, sizeof *logits);
    geodec_session_truncate(s, 0);
    for (int at = 0; at < n; at += step)
        test_ok(geodec_forward(s, &(geodec_batch){.n = n - at < step ? n - at : step, .token = token + at},
                               logits + at * v, NULL, &err),
                &err);
    return logits;
}

static geodec_session *open_merging(const geodec_model *m, geodec_kv_merge *g, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_session *s = opened_session(m, (geodec_session_options){.pool = pool});
    test_ok(geodec_session_rewrite(s, geodec_kv_merge_rewrite(g), &err), &err);
    return s;
}

static geodec_kv_merge *merging(const geodec_model *m, double threshold)
{
    geodec_err err = {0};
    geodec_kv_merge *g = NULL;
    test_ok(geodec_kv_merge_create(m, threshold, &g, &err), &err);
    return g;
}

static geodec_kv_merges counts(geodec_kv_merge *g)
{
    geodec_err err = {0};
    geodec_kv_merges k = {0};
    test_ok(geodec_kv_merge_counts(g, &k, &err), &err);
    return k;
}

Test(kv_merge, overwrites_what_is_near)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    for (int i = 0; i < N_MODELS; i++) {
        geodec_model *m = opened_model(&models[i]);
        const geodec_model_config *c = &m->config;
        const int64_t v = c->n_vocab, bytes = LENGTH * v * (int64_t)sizeof(float);
        int32_t token[LENGTH];
        drawn_text(m, 6, token, LENGTH);
        geodec_session *plain = opened_session(m, (geodec_session_options){0});
        float *off = run(plain, token, LENGTH, 10);
        /* nothing is as near as that, but for a token's own twin at the first layer, where positions tell them apart */
        geodec_kv_merge *near[3] = {merging(m, 1e-9), merging(m, 0.9), merging(m, 1e6)};
        geodec_session *fine = open_merging(m, near[0], NULL), *some = open_merging(m, near[1], NULL),
                       *all = open_merging(m, near[2], NULL);
        float *got = run(fine, token, LENGTH, 10);
        cr_assert_eq(memcmp(got, off, (size_t)bytes), 0);
        cr_assert_eq(counts(near[0]).merged, 0);
        cr_assert_eq(counts(near[0]).seen, (int64_t)LENGTH * c->n_layer * c->n_kv_head);
        geodec_mem_free(got);
        /* everything: each key and value is that of the first token */
        got = run(all, token, LENGTH, 10);
        cr_assert_neq(memcmp(got, off, (size_t)bytes), 0);
        cr_assert_eq(counts(near[2]).merged, (int64_t)(LENGTH - 1) * c->n_layer * c->n_kv_head);
        for (int64_t h = 0; h < c->n_kv_head; h++)
            for (int64_t row = 1; row < LENGTH; row += 31) {
                float a[2][64], b[2][64];
                geodec__cache_key(all, 1, h, 0, a[0], 1);
                geodec__cache_value(all, 1, h, 0, a[1]);
                geodec__cache_key(all, 1, h, row, b[0], 1);
                geodec__cache_value(all, 1, h, row, b[1]);
                for (int side = 0; side < 2; side++)
                    cr_assert_eq(memcmp(a[side], b[side], (size_t)c->head_dim * sizeof(float)), 0);
            }
        geodec_mem_free(got);
        /* some: the same in passes of any size, after a rollback, and with threads */
        float *want = run(some, token, LENGTH, 1);
        const geodec_kv_merges counted = counts(near[1]);
        cr_assert(counted.merged > 0 && counted.merged < counted.seen, "model %d: %lld of %lld", i,
                  (long long)counted.merged, (long long)counted.seen);
        geodec_session *threads = open_merging(m, near[1], pool);
        got = run(threads, token, LENGTH, 33);
        cr_assert_eq(memcmp(got, want, (size_t)bytes), 0);
        cr_assert_eq(counts(near[1]).merged, 2 * counted.merged, "each session has tokens of its own");
        cr_assert_eq(counts(near[1]).seen, 2 * counted.seen);
        geodec_session_truncate(threads, 40);
        for (int at = 40; at < LENGTH; at += 11)
            test_ok(geodec_forward(threads,
                                   &(geodec_batch){.n = LENGTH - at < 11 ? LENGTH - at : 11, .token = token + at},
                                   got + at * v, NULL, &err),
                    &err);
        cr_assert_eq(memcmp(got, want, (size_t)bytes), 0);
        const int32_t tree[3] = {-1, -1, 0};
        geodec_session_truncate(some, 20);
        cr_assert_eq(geodec_forward(some, &(geodec_batch){.n = 3, .token = token, .parent = tree}, NULL, NULL, &err),
                     GEODEC_UNSUPPORTED);
        geodec_err_clear(&err);
        geodec_mem_free(got);
        geodec_mem_free(want);
        geodec_mem_free(off);
        geodec_session *const sessions[] = {plain, fine, some, all, threads};
        for (size_t k = 0; k < sizeof sessions / sizeof *sessions; k++) geodec_session_destroy(sessions[k]);
        for (int k = 0; k < 3; k++) geodec_kv_merge_destroy(near[k]);
        geodec_model_close(m);
    }
    geodec_pool_destroy(pool);
}

Test(kv_merge, refusals)
{
    geodec_err err = {0};
    geodec_kv_merge *g = NULL;
    geodec_model *m = opened_model(&models[0]);
    const double bad[] = {0, -1, INFINITY, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_assert_eq(geodec_kv_merge_create(m, bad[i], &g, &err), GEODEC_RANGE);
        geodec_err_clear(&err);
    }
    geodec_model_close(m);
}
