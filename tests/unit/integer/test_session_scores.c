/* A session in integers whose scores are computed by transforms. */
#include "base/mem.h"
#include "lab/integer/scores/score_cache.h"
#include "session/opened.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

/* Chains, a tree, a path of it, a truncation: scores by transforms give the logits of direct ones, whatever the window,
 * the groups of queries and the size of the heads. */
static void check_scores(const geodec_model *m, geodec_scores_by by, geodec_pool *pool, const char *name)
{
    enum { ROWS = 30, CONTEXT = 120 };
    geodec_err err = {0};
    geodec_session *s[2] = {NULL};
    const geodec_model_config *c = geodec_model_configuration(m);
    const int64_t v = c->n_vocab;
    float *logits[2];
    for (int i = 0; i < 2; i++) {
        const geodec_session_options o = {.n_ctx = CONTEXT,
                                          .arithmetic = GEODEC_INTEGER,
                                          .pool = i ? pool : NULL,
                                          .isa = i ? GEODEC_ISA_AUTO : GEODEC_ISA_SCALAR,
                                          .scores = geodec_score_cache_source(i ? by : GEODEC_SCORES_DIRECT)};
        test_ok(geodec_session_create(m, &o, &s[i], &err), &err);
        logits[i] = geodec_mem_new(ROWS * v, sizeof *logits[i]);
    }
    int64_t room = 16;
    while (room < c->head_dim) room *= 2;
    cr_assert_eq(geodec_session_kv_bytes(s[1]) - geodec_session_kv_bytes(s[0]),
                 (int64_t)c->n_layer * c->n_kv_head * (8 * room + 4));
    for (int step = 0; step < 6; step++) {
        int32_t token[ROWS], parent[ROWS];
        static const int32_t path[3] = {0, 4, 17};
        const int n = step == 5 ? 9 : ROWS - step;
        for (int i = 0; i < n; i++) {
            token[i] = (int32_t)(geodec_rng_at(7, (uint64_t)step, (uint64_t)i) % (uint64_t)v);
            parent[i] = (i - 1) / 4; /* 17 is a child of 4, which is one of 0 */
        }
        parent[0] = -1;
        for (int i = 0; i < 2; i++) {
            if (step == 3) geodec_session_truncate(s[i], 20);
            const geodec_batch b = {.n = n, .token = token, .parent = step % 2 ? parent : NULL};
            const int32_t base = geodec_session_length(s[i]);
            test_ok(geodec_forward(s[i], &b, logits[i], NULL, &err), &err);
            if (step % 2 && step < 5) geodec_session_compact(s[i], base, path, 3);
        }
        cr_assert_eq(memcmp(logits[0], logits[1], (size_t)(n * v) * sizeof **logits), 0, "%s, %s, step %d", name,
                     geodec_scores_name(by), step);
    }
    for (int i = 0; i < 2; i++) {
        geodec_session_destroy(s[i]);
        geodec_mem_free(logits[i]);
    }
}

Test(session_scores, change_no_logit, .timeout = 300)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    int windows = 0, groups = 0;
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    for (size_t i = 0; i < N_FAMILIES; i++) {
        if (!synthetic_has_integers(&families[i].s)) continue;
        geodec_model *m = opened_model(&families[i].s);
        windows += geodec_model_configuration(m)->window > 0;
        groups += geodec_model_configuration(m)->n_kv_head < geodec_model_configuration(m)->n_head;
        check_scores(m, GEODEC_SCORES_NTT_P60, i % 2 ? pool : NULL, families[i].name);
        check_scores(m, GEODEC_SCORES_NTT_CRT, i % 2 ? NULL : pool, families[i].name);
        geodec_model_close(m);
    }
    cr_assert(windows >= 4 && groups >= 8);
    geodec_pool_destroy(pool);
}
