/* Recurrent layers of a session: returns to earlier lengths, trees, kept states. */
#include "base/mem.h"
#include "base/rng.h"
#include "session/model_internal.h"
#include "session/opened.h"
#include "session/recurrence_states_internal.h"
#include "session/rewrite.h"
#include "support/support.h"

#include <criterion/criterion.h>

static geodec_session *open_session(const geodec_model *m, geodec_kv_type kv, geodec_pool *pool)
{
    return opened_session(m, (geodec_session_options){.n_ctx = 2000, .max_batch = 200, .kv = kv, .pool = pool});
}

enum { MOST = 2000, BATCH = 200 };

/* Logits of the last row, of a session that reads the text at once. */
static void at_once(const geodec_model *m, geodec_kv_type kv, const int32_t *text, int32_t n, float *logits)
{
    geodec_err err = {0};
    geodec_session *s = open_session(m, kv, NULL);
    test_ok(geodec_forward_prefill(s, text, n, logits, &err), &err);
    geodec_session_destroy(s);
}

/* Random chains, trees of which a path is kept, and returns; the last logits are those of the text at once. */
static void wander(const char *name, geodec_kv_type kv, geodec_pool *pool, uint64_t seed)
{
    geodec_err err = {0};
    geodec_model *m = opened_family(name);
    const int64_t v = geodec_model_configuration(m)->n_vocab;
    geodec_rng rng = geodec_rng_stream(seed, 1);
    geodec_session *s = open_session(m, kv, pool);
    float *logits = geodec_mem_new(BATCH * v, sizeof *logits), *want = geodec_mem_new(v, sizeof *want);
    int32_t text[MOST], token[BATCH], parent[BATCH], row[BATCH];
    int32_t length = 0, farthest = 0;
    int64_t kept = 0;
    for (int step = 0; step < 60; step++) {
        const int what = (int)geodec_rng_below(&rng, 4);
        if (what == 0 && length > 0) {
            const int32_t to = (int32_t)geodec_rng_below(&rng, (uint64_t)length + 1);
            if (length - to > farthest) farthest = length - to;
            length = to;
            geodec_session_truncate(s, length);
            continue;
        }
        const bool tree = what == 1;
        const int32_t n = 1 + (int32_t)geodec_rng_below(&rng, tree ? 40 : BATCH), base = length;
        if (base + n > MOST) break;
        for (int32_t i = 0; i < n; i++) {
            token[i] = (int32_t)geodec_rng_below(&rng, (uint64_t)v);
            parent[i] = (int32_t)geodec_rng_below(&rng, (uint64_t)i + 1) - 1;
        }
        test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = token, .parent = tree ? parent : NULL}, logits, NULL,
                               &err),
                &err);
        int32_t last = n - 1, depth = 0;
        if (tree) {
            int32_t path[BATCH];
            last = (int32_t)geodec_rng_below(&rng, (uint64_t)n);
            for (int32_t at = last; at >= 0; at = parent[at]) path[depth++] = at;
            for (int32_t i = 0; i < depth; i++) row[i] = path[depth - 1 - i];
            geodec_session_compact(s, base, row, depth);
        } else {
            for (; depth < n; depth++) row[depth] = depth;
        }
        for (int32_t i = 0; i < depth; i++) text[length++] = token[row[i]];
        cr_assert_eq(geodec_session_length(s), length);
        const int64_t now = geodec_session_recurrence_bytes(s).kept;
        if (now > kept) kept = now;
        if (step % 5) continue;
        at_once(m, kv, text, length, want);
        cr_assert_eq(memcmp(want, logits + last * v, (size_t)v * sizeof *want), 0, "%s, step %d, length %d", name, step,
                     length);
    }
    cr_assert_gt(kept, 0, "states are kept");
    cr_assert_gt(farthest, GEODEC__RECUR_KEEP, "and returned to");
    geodec_session_destroy(s);
    GEODEC_FREE(logits, want);
    geodec_model_close(m);
}

Test(model_recurrence, returns_and_trees_are_the_text_at_once, .timeout = 300)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    wander("perspective", GEODEC_KV_F32, NULL, 11);
    wander("perspective-angle", GEODEC_KV_F32, pool, 12);
    wander("perspective-dense", GEODEC_KV_F16, pool, 13);
    wander("perspective-softmax", GEODEC_KV_Q8_0, NULL, 14);
    geodec_pool_destroy(pool);
}

Test(model_recurrence, bytes)
{
    geodec_model *m = opened_family("perspective"), *plain = opened_family("qwen2");
    geodec_session *s = open_session(m, GEODEC_KV_F32, NULL), *h = open_session(m, GEODEC_KV_F16, NULL),
                   *p = open_session(plain, GEODEC_KV_F32, NULL);
    /* layers 0, 1, 2 and 4 of 5; 48 channels; rank 20, which is 32 numbers apart */
    cr_assert_eq(geodec_session_recurrence_bytes(s).state, 4 * 48 * 32 * 4);
    cr_assert_eq(geodec_session_recurrence_bytes(h).state, 4 * 48 * 32 * 2);
    cr_assert_eq(geodec_session_recurrence_bytes(s).row, 4 * (48 + 48 + 32) * 4);
    cr_assert_eq(geodec_session_recurrence_bytes(s).kept, 0);
    cr_assert_eq(geodec_session_recurrence_bytes(p).state, 0);
    geodec_session_destroy(s);
    geodec_session_destroy(h);
    geodec_session_destroy(p);
    geodec_model_close(m);
    geodec_model_close(plain);
}

/* Parts that know attention only refuse the architecture. */
Test(model_recurrence, refusals)
{
    geodec_err err = {0};
    geodec_model *m = opened_family("perspective");
    geodec_session *s = NULL;
    const geodec_rewrite rewrite = {.group = 1}; /* refused before it is called */
    geodec_session *floats = opened_session(m, (geodec_session_options){0});
    cr_assert_eq(geodec_session_rewrite(floats, &rewrite, &err), GEODEC_UNSUPPORTED);
    geodec_session_destroy(floats);
    geodec_err_clear(&err);
    cr_assert_eq(geodec_session_create(m, &(geodec_session_options){.arithmetic = GEODEC_INTEGER}, &s, &err),
                 GEODEC_UNSUPPORTED);
    geodec_model_close(m);
}

/* Keys that do not fit. */
Test(model_recurrence, damaged_files)
{
    static const struct {
        const char *skip, *route, *route_at;
        int32_t used;
        float least;
        geodec_status status;
    } list[] = {
        {"perspective.recurrence.rank", "mod", "pre", 1, 0, GEODEC_FORMAT},
        {"blk.1.recur_norm.weight", "mod", "pre", 1, 0, GEODEC_FORMAT},
        {"blk.2.ffn_expert_place.weight", "angle", "pre", 1, 0, GEODEC_FORMAT},
        {"blk.0.ffn_gate_inp.bias", "mod", "post", 1, 0, GEODEC_FORMAT},
        {NULL, "sphere", "pre", 1, 0, GEODEC_UNSUPPORTED},
        {NULL, "mod", "never", 1, 0, GEODEC_UNSUPPORTED},
        {NULL, "mod", "pre", 2, 0, GEODEC_UNSUPPORTED},
        {NULL, "mod", "pre", 1, 1, GEODEC_FORMAT},
        {NULL, "mod", "pre", 1, -200, GEODEC_FORMAT},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        const char *path = test_tmp("damaged.gguf");
        synthetic s = {0};
        for (size_t k = 0; k < N_FAMILIES; k++)
            if (strcmp(families[k].name, "perspective") == 0) s = families[k].s;
        s.skip = list[i].skip;
        s.route = list[i].route;
        s.route_at = list[i].route_at;
        s.n_expert_used = list[i].used;
        if (list[i].least != 0) s.log_decay_min = list[i].least;
        test_ok(synthetic_write(path, &s, &err), &err);
        cr_assert_eq(geodec_model_open(path, &m, &err), list[i].status, "case %zu", i);
    }
}
