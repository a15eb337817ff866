/* Streamed experts: the logits of the resident model, bit for bit, whatever the budget, the policy and the reads. */
#include "base/mem.h"
#include "session/model_internal.h"
#include "session/opened.h"
#include "session/store_build.h"
#include "session/streamed.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PROMPT = 21, STEPS = 5, TREE = 6, PASSES = STEPS + 2 };

static const int32_t tree_parent[TREE] = {-1, 0, 0, 1, -1, 4};

/* Logits of a prompt in one wide pass, of single tokens, and of a tree: [PROMPT + STEPS + TREE][n_vocab]. */
static float *logits_of(const geodec_model *m, const geodec_session_options *o)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const int32_t n_vocab = geodec_model_configuration(m)->n_vocab;
    int32_t token[PROMPT + STEPS + TREE];
    float *out = geodec_mem_new((int64_t)(PROMPT + STEPS + TREE) * n_vocab, sizeof *out);
    for (int i = 0; i < PROMPT + STEPS + TREE; i++) token[i] = (i * 37 + 11) % n_vocab;
    test_ok(geodec_session_create(m, o, &s, &err), &err);
    test_ok(geodec_forward(s, &(geodec_batch){.n = PROMPT, .token = token}, out, NULL, &err), &err);
    for (int i = PROMPT; i < PROMPT + STEPS; i++)
        test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = token + i}, out + (int64_t)i * n_vocab, NULL, &err),
                &err);
    const geodec_batch tree = {.n = TREE, .token = token + PROMPT + STEPS, .parent = tree_parent};
    test_ok(geodec_forward(s, &tree, out + (int64_t)(PROMPT + STEPS) * n_vocab, NULL, &err), &err);
    geodec_session_destroy(s);
    return out;
}

static geodec_session_options session_of(geodec_arithmetic a, geodec_pool *pool)
{
    return (geodec_session_options){.n_ctx = 64, .max_batch = 32, .arithmetic = a, .pool = pool};
}

/* One way of streaming against the resident logits. */
static void compare(const char *path, geodec_arithmetic a, geodec_pool *pool, const geodec_streaming *how,
                    const float *resident)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_stream_counters k = {0};
    geodec_streaming o = *how;
    o.arithmetic = a;
    const geodec_session_options so = session_of(a, pool);
    test_ok(geodec_model_open(path, &m, &err), &err);
    test_ok(geodec_streamed_begin(m, &o, &err), &err);
    float *got = logits_of(m, &so);
    const int64_t bytes = (int64_t)(PROMPT + STEPS + TREE) * geodec_model_configuration(m)->n_vocab * 4;
    cr_assert(memcmp(got, resident, (size_t)bytes) == 0, "%s: %s arithmetic, %d slots, %s, %s: other logits", path,
              a == GEODEC_FAST ? "fast" : "exact", o.slots, geodec_eviction_name(o.eviction),
              geodec_streamed_lookahead_name(o.lookahead));
    if (!o.mapped) {
        cr_assert(geodec_streamed_counted(m, &k));
        const geodec_slots_counters *c = &k.slots;
        cr_assert(c->passes == PASSES && c->needed > 0);
        cr_assert(c->needed == c->resident + c->in_time + c->late + c->missed);
        cr_assert(k.disk.reads >= c->missed && k.rows == PROMPT + STEPS + TREE);
    }
    geodec_mem_free(got);
    geodec_model_close(m);
}

/* Every policy with every look-ahead, and every way to read, at the smallest number of slots, some, and all: each pair
 * at one of them, which is another one in each of the three turns. */
static void compare_all(const char *path, geodec_arithmetic a, geodec_pool *pool, int turn)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    const geodec_model_config c = *geodec_model_configuration(m);
    const geodec_session_options so = session_of(a, pool);
    float *resident = logits_of(m, &so);
    geodec_model_close(m);
    const int32_t all = c.n_layer * c.n_expert, least = 2 * c.n_expert_used + 2;
    const int32_t slots[] = {least < all ? least : all, (least + all) / 2, all};
    for (int i = 0; i < 3; i++) {
        geodec_streaming o = {.slots = slots[i], .prefetch_least = 0.3F, .prefetch_most = 3};
        for (int e = 0; e < GEODEC_EVICTION_BELADY; e++)
            for (int ahead = 0; ahead < GEODEC_LOOKAHEAD_KINDS; ahead++) {
                if ((e + ahead + turn) % 3 != i) continue;
                o.eviction = (geodec_eviction)e;
                o.lookahead = (geodec_lookahead)ahead;
                o.shared = (e + ahead) % 2;
                compare(path, a, pool, &o, resident);
            }
        o.disk.io = GEODEC_DISK_BUFFERED;
        compare(path, a, pool, &o, resident);
        o.disk.engine = GEODEC_DISK_THREADS;
        compare(path, a, pool, &o, resident);
        o.disk.io = GEODEC_DISK_DIRECT;
        compare(path, a, pool, &o, resident);
    }
    compare(path, a, pool, &(geodec_streaming){.mapped = true}, resident);
    geodec_mem_free(resident);
}

static void compare_model(const char *path)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    compare_all(path, GEODEC_EXACT, NULL, 0);
    compare_all(path, GEODEC_EXACT, pool, 1);
    compare_all(path, GEODEC_FAST, pool, 2);
    geodec_pool_destroy(pool);
}

Test(streamed, mixture_of_22m_parameters) { compare_model(test_shared("models/moe22m-f16.gguf")); }
Test(streamed, eight_experts_f16) { compare_model(test_shared("models/stories-moe8x2-f16.gguf")); }
Test(streamed, eight_experts_q4_0) { compare_model(test_shared("models/stories-moe8x2-q4_0.gguf")); }
Test(streamed, eight_experts_q8_0) { compare_model(test_shared("models/stories-moe8x2-q8_0.gguf")); }
Test(streamed, eight_experts_k_quants) { compare_model(test_shared("models/stories-moe8x2-rot256-q4_k_m.gguf")); }

Test(streamed, shape_of_olmoe_q4_0) { compare_model(small_olmoe("q4_0")); }
Test(streamed, shape_of_olmoe_q4_k_m) { compare_model(small_olmoe("q4_k_m")); }

/* The resident weights of the GGUF are the reference of its store, too. */
static void compare_store(const char *path, geodec_arithmetic layout, geodec_arithmetic a, geodec_pool *pool, int turn)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    const char *store = test_tmp("streamed.experts");
    test_ok(geodec_model_open(path, &m, &err), &err);
    const geodec_model_config c = *geodec_model_configuration(m);
    const geodec_session_options so = session_of(a, pool);
    float *resident = logits_of(m, &so);
    test_ok(geodec_store_build(m, layout, store, pool, NULL, &err), &err);
    geodec_model_close(m);
    const int32_t all = c.n_layer * c.n_expert, slots[] = {2 * c.n_expert_used + 2, all / 2, all};
    for (int i = 0; i < 3; i++)
        for (int e = 0; e < GEODEC_EVICTION_BELADY; e++)
            for (int ahead = 0; ahead < GEODEC_LOOKAHEAD_KINDS; ahead++)
                if ((e + ahead + turn) % 3 == i)
                    compare(store, a, pool,
                            &(geodec_streaming){.slots = slots[i],
                                                .prefetch_least = 0.3F,
                                                .prefetch_most = 3,
                                                .eviction = (geodec_eviction)e,
                                                .lookahead = (geodec_lookahead)ahead,
                                                .shared = (e + ahead) % 2,
                                                .disk.io = e % 2 ? GEODEC_DISK_BUFFERED : GEODEC_DISK_DIRECT},
                            resident);
    compare(store, a, pool, &(geodec_streaming){.mapped = true}, resident);
    geodec_mem_free(resident);
}

/* Few keys and values, heads whose width is not d / n with a norm of each, weights of the used experts of sum 1. */
static void compare_qwen3moe(int type)
{
    const synthetic shape = {.arch = "qwen3moe",
                             .n_layer = 3,
                             .d_model = 256,
                             .n_head = 4,
                             .n_kv_head = 2,
                             .head_dim = 128,
                             .d_ff = 256,
                             .n_vocab = 600,
                             .n_ctx = 256,
                             .type = type,
                             .n_expert = 16,
                             .n_expert_used = 4,
                             .norm_experts = 1,
                             .rope_base = 1000000,
                             .seed = 131};
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_model *m = NULL;
    const char *path = test_tmp("small-qwen3moe.gguf");
    test_ok(synthetic_write(path, &shape, &err), &err);
    test_ok(geodec_model_open(path, &m, &err), &err);
    const geodec_model_config *c = geodec_model_configuration(m);
    cr_assert(c->n_head * c->head_dim != c->d_model && !c->expert_keep_weights);
    cr_assert(geodec_gguf_find(geodec_model_gguf(m), "blk.2.attn_k_norm.weight") != NULL);
    geodec_model_close(m);
    compare_model(path);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    compare_store(path, GEODEC_EXACT, GEODEC_EXACT, NULL, 0);
    compare_store(path, GEODEC_EXACT, GEODEC_EXACT, pool, 1);
    compare_store(path, GEODEC_FAST, GEODEC_FAST, pool, 2);
    compare_store(path, GEODEC_EXACT, GEODEC_FAST, pool, 0);
    geodec_pool_destroy(pool);
}

Test(streamed, shape_of_qwen3moe_f16) { compare_qwen3moe(GEODEC_GGML_F16); }
Test(streamed, shape_of_qwen3moe_q8_0) { compare_qwen3moe(GEODEC_GGML_Q8_0); }
Test(streamed, shape_of_qwen3moe_q4_0) { compare_qwen3moe(GEODEC_GGML_Q4_0); }

/* A foreseer that foretells at random and records what it was shown. */
typedef struct oracle {
    const geodec_model *model;
    int32_t token[PROMPT + STEPS + TREE];
    int n, begun, asked, mixed, destroyed, remembered, expected;
    uint32_t state;
} oracle;

static float draw(oracle *o)
{
    o->state = o->state * 1664525u + 1013904223u;
    return (float)(o->state >> 8) / 16777216.0F;
}

static void oracle_begin(void *ctx)
{
    oracle *o = ctx;
    o->begun++;
    o->n = 0;
}

static void oracle_observe(void *ctx, int32_t token, const float *state)
{
    oracle *o = ctx;
    float sum = 0;
    for (int32_t i = 0; i < geodec_model_configuration(o->model)->d_model; i++) sum += state[i] * state[i];
    cr_assert(sum > 0 && isfinite(sum));
    cr_assert(o->n < PROMPT + STEPS + TREE);
    o->token[o->n++] = token;
}

static void oracle_ask(void *ctx, int32_t token, bool with_state, float *probability)
{
    oracle *o = ctx;
    const geodec_model_config *c = geodec_model_configuration(o->model);
    cr_assert(token >= 0 && token < c->n_vocab);
    o->asked += with_state ? 1 : 100;
    for (int32_t i = 0; i < c->n_layer * c->n_expert; i++) probability[i] = draw(o);
}

static void oracle_mix(void *ctx, int32_t blocks, int32_t layer, const float *early, const float *logit, float *out)
{
    oracle *o = ctx;
    const geodec_model_config *c = geodec_model_configuration(o->model);
    cr_assert((blocks == 0 || blocks == 1) && layer >= 0 && layer < c->n_layer);
    o->mixed++;
    for (int32_t e = 0; e < c->n_expert; e++) {
        cr_assert(isfinite(logit[e]) && early[e] >= 0);
        out[e] = 0.5F * (early[e] + draw(o));
    }
}

/* Just before the row is observed; each layer with experts used distinct ones. */
static void oracle_remember(void *ctx, int32_t token, const int32_t *expert)
{
    oracle *o = ctx;
    const geodec_model_config *c = geodec_model_configuration(o->model);
    cr_assert_eq(o->remembered++, o->n);
    cr_assert(token >= 0 && token < c->n_vocab);
    for (int32_t i = 0; i < c->n_layer * c->n_expert_used; i++) {
        cr_assert(expert[i] >= 0 && expert[i] < c->n_expert);
        if (i % c->n_expert_used > 0) cr_assert_neq(expert[i], expert[i - 1]);
    }
}

static void oracle_expect(void *ctx, int32_t token, float *share)
{
    oracle *o = ctx;
    const geodec_model_config *c = geodec_model_configuration(o->model);
    cr_assert(token >= 0 && token < c->n_vocab);
    o->expected++;
    for (int32_t i = 0; i < c->n_layer * c->n_expert; i++) share[i] = draw(o);
}

static void oracle_destroy(void *ctx) { ((oracle *)ctx)->destroyed++; }

static geodec_status oracle_of(void *ctx, geodec_foreseer *out, geodec_err *err)
{
    (void)err;
    *out = (geodec_foreseer){.ctx = ctx,
                             .begin = oracle_begin,
                             .observe = oracle_observe,
                             .ask = oracle_ask,
                             .mix = oracle_mix,
                             .remember = oracle_remember,
                             .expect = oracle_expect,
                             .destroy = oracle_destroy};
    return GEODEC_OK;
}

/* A foreseer sees every row of the text once, in order, and is asked about every row of narrow passes; what it says has
 * no influence on the logits. */
Test(streamed, a_foreseer_follows_the_text)
{
    geodec_err err = {0};
    const char *path = small_olmoe("q8_0");
    const geodec_session_options so = session_of(GEODEC_EXACT, NULL);
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    const geodec_model_config c = *geodec_model_configuration(m);
    float *resident = logits_of(m, &so), *got;
    geodec_model_close(m);
    for (int i = 0; i < 2 * GEODEC_LOOKAHEAD_KINDS; i++) {
        const int how = i / 2;
        const bool maps = i % 2 == 0; /* otherwise nobody asks what to spare */
        if (how < GEODEC_LOOKAHEAD_TOKEN && !maps) continue;
        oracle o = {.state = 7};
        const geodec_streaming s = {.slots = 12,
                                    .eviction = maps ? GEODEC_EVICTION_MAP : GEODEC_EVICTION_SCORE,
                                    .price = GEODEC_STREAMED_PRICE_NONE,
                                    .lookahead = (geodec_lookahead)how,
                                    .prefetch_least = 0.2F,
                                    .prefetch_most = 6,
                                    .foreseer = oracle_of,
                                    .foreseer_ctx = &o};
        test_ok(geodec_model_open(path, &m, &err), &err);
        o.model = m;
        test_ok(geodec_streamed_begin(m, &s, &err), &err);
        got = logits_of(m, &so);
        cr_assert(memcmp(got, resident, (size_t)(PROMPT + STEPS + TREE) * (size_t)c.n_vocab * 4) == 0);
        cr_assert_eq(o.n, PROMPT + STEPS);
        for (int k = 0; k < o.n; k++) cr_assert_eq(o.token[k], (k * 37 + 11) % c.n_vocab);
        cr_assert_eq(o.begun, 1);
        cr_assert_eq(o.destroyed, 1);
        /* two rows of the tree follow the text; the prompt was too wide to be asked about */
        cr_assert_eq(o.remembered, maps ? o.n : 0);
        cr_assert_eq(o.expected, maps ? STEPS + 1 : 0); /* a pass each; not the prompt's */
        if (how < GEODEC_LOOKAHEAD_TOKEN)
            cr_assert_eq(o.asked, 0);
        else
            cr_assert_eq(o.asked, how == GEODEC_LOOKAHEAD_TOKEN ? 100 * (STEPS + TREE) : STEPS + 2 + 100 * (TREE - 2));
        cr_assert_eq(o.mixed > 0, how == GEODEC_LOOKAHEAD_MIX);
        geodec_mem_free(got);
        geodec_model_close(m);
    }
    geodec_mem_free(resident);
}

/* Where all experts are in memory, the foreseer is not asked. */
Test(streamed, nothing_is_foretold_when_all_experts_are_in_memory)
{
    geodec_err err = {0};
    geodec_stream_counters k;
    const char *path = small_olmoe("q8_0");
    const geodec_session_options so = session_of(GEODEC_EXACT, NULL);
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    const geodec_model_config c = *geodec_model_configuration(m);
    const int32_t all = c.n_layer * c.n_expert;
    geodec_model_close(m);
    for (int less = 0; less < 2; less++) {
        oracle o = {.state = 7};
        const geodec_streaming s = {.slots = all - less,
                                    .eviction = GEODEC_EVICTION_MAP,
                                    .lookahead = GEODEC_LOOKAHEAD_MIX,
                                    .prefetch_least = 0.2F,
                                    .prefetch_most = 6,
                                    .foreseer = oracle_of,
                                    .foreseer_ctx = &o};
        test_ok(geodec_model_open(path, &m, &err), &err);
        o.model = m;
        test_ok(geodec_streamed_begin(m, &s, &err), &err);
        geodec_mem_free(logits_of(m, &so));
        cr_assert(geodec_streamed_counted(m, &k));
        cr_assert_eq(o.asked > 0, less > 0);
        cr_assert_eq(o.mixed > 0, less > 0);
        cr_assert_eq(k.slots.missed + k.slots.late > 0, less > 0);
        geodec_model_close(m);
    }
}

/* Routers foretell in the order in which they choose, also with biases, groups and sigmoids. */
Test(streamed, routers_rank_by_what_they_choose_by)
{
    static const char *const names[] = {"deepseek", "qwen2moe", "bailingmoe2", "perspective", "perspective-angle"};
    int differ = 0;
    for (size_t i = 0; i < N_FAMILIES; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            if (strcmp(families[i].name, names[k]) != 0) continue;
            geodec_err err = {0};
            const char *path = test_tmp("ranks.gguf");
            const geodec_session_options so = session_of(GEODEC_EXACT, NULL);
            geodec_model *m = NULL;
            geodec_session *s = NULL;
            test_ok(synthetic_write(path, &families[i].s, &err), &err);
            test_ok(geodec_model_open(path, &m, &err), &err);
            test_ok(geodec_session_create(m, &so, &s, &err), &err);
            const geodec_model_config *c = geodec_model_configuration(m);
            cr_assert_leq(c->n_expert, 64);
            for (int32_t l = 0; l < c->n_layer; l++) {
                if (!m->layer[l].router.data) continue;
                for (int round = 0; round < 50; round++) {
                    float p[2][2 * 64] = {{0}}, logit[64], value[64], weight[64];
                    int32_t chosen[64], order[64], plain[64];
                    for (int32_t e = 0; e < c->n_expert; e++)
                        logit[e] = p[0][e] = p[1][e] = 3 * sinf((float)(round * 37 + e * 11 + l));
                    geodec__experts_choose(s, &m->layer[l], 0, p[0], chosen, weight);
                    (void)geodec_largest(geodec__experts_order(s, &m->layer[l], p[1]), c->n_expert, c->n_expert, order,
                                         value);
                    (void)geodec_largest(logit, c->n_expert, c->n_expert, plain, value);
                    cr_assert_eq(memcmp(chosen, order, (size_t)c->n_expert_used * sizeof *order), 0, "%s", names[k]);
                    differ += memcmp(chosen, plain, (size_t)c->n_expert_used * sizeof *order) != 0;
                }
            }
            geodec_session_destroy(s);
            geodec_model_close(m);
        }
    cr_assert_gt(differ, 0, "a bias or a group changes the order");
}

/* The smallest budget works, one byte less names it. */
Test(streamed, smallest_budget)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    char line[512];
    long long smallest = 0;
    const char *path = small_olmoe("q8_0");
    const geodec_session_options so = session_of(GEODEC_EXACT, NULL);
    test_ok(geodec_model_open(path, &m, &err), &err);
    test_ok(geodec_streamed_begin(m, &(geodec_streaming){.ram = 1}, &err), &err);
    cr_assert(geodec_session_create(m, &so, &s, &err) == GEODEC_LIMIT);
    const char *number = strstr(geodec_err_line(&err, line, sizeof line), "need ");
    cr_assert(number && sscanf(number, "need %lld", &smallest) == 1, "%s", line);
    geodec_model_close(m);
    for (int less = 0; less < 2; less++) {
        geodec_err_clear(&err);
        test_ok(geodec_model_open(path, &m, &err), &err);
        test_ok(geodec_streamed_begin(m, &(geodec_streaming){.ram = smallest - less}, &err), &err);
        cr_assert(geodec_session_create(m, &so, &s, &err) == (less ? GEODEC_LIMIT : GEODEC_OK));
        if (!less) geodec_session_destroy(s);
        geodec_model_close(m);
    }
}

/* Dense layers, a shared network, groups, sigmoids. */
Test(streamed, other_mixtures)
{
    static const char *const names[] = {
        "deepseek",      "qwen2moe",          "bailingmoe2",         "ernie4_5-moe-step",
        "perspective",   "perspective-angle", "perspective-softmax", "grovemoe",
        "gemma4-experts"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; i < N_FAMILIES; i++) {
            if (strcmp(families[i].name, names[k]) != 0) continue;
            geodec_err err = {0};
            const char *path = test_tmp("mixture.gguf");
            test_ok(synthetic_write(path, &families[i].s, &err), &err);
            compare_all(path, GEODEC_EXACT, NULL, (int)k % 3);
        }
}

/* Prices: what plain decoding would read is followed exactly, also while drafts are rejected. */
Test(streamed, reads_of_plain_decoding_are_followed)
{
    geodec_err err = {0};
    enum { ROWS = 40 };
    geodec_streamed_read k[2] = {{0}};
    const geodec_streaming o = {.slots = 20, .eviction = GEODEC_EVICTION_LRU};
    const geodec_session_options so = session_of(GEODEC_EXACT, NULL);
    for (int drafts = 0; drafts < 2; drafts++) {
        geodec_model *m = NULL;
        geodec_session *s = NULL;
        geodec_price price;
        test_ok(geodec_model_open(small_olmoe("q4_0"), &m, &err), &err);
        test_ok(geodec_streamed_begin(m, &o, &err), &err);
        test_ok(geodec_session_create(m, &so, &s, &err), &err);
        cr_assert_not(geodec_streamed_price(s, (int32_t[]){1}, 1, &price), "no pass was made");
        for (int32_t i = 0; i < ROWS;) {
            /* the rows i and i + 1 are of the text; in the second run they come together, with a wrong one */
            const int32_t token[] = {(i * 37 + 11) % 600, ((i + 1) * 37 + 11) % 600, 5};
            const int32_t n = drafts && i > 0 ? 3 : 1, kept = n == 3 ? 2 : 1;
            if (n == 3) {
                cr_assert(geodec_streamed_price(s, token, n, &price));
                cr_assert_eq(price.n, 3);
                for (int r = 0; r < 3; r++)
                    cr_assert(price.time[r] > (r ? price.time[r - 1] : 0) && price.bytes[r] >= 0 && price.alone[r] > 0);
            }
            test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = token}, NULL, NULL, &err), &err);
            geodec_session_truncate(s, i += kept);
            if (i > ROWS) geodec_session_truncate(s, ROWS);
        }
        cr_assert(geodec_streamed_reads(s, &k[drafts]));
        geodec_session_destroy(s);
        geodec_model_close(m);
    }
    cr_assert(k[0].plain > 0 && k[0].plain == k[0].read && k[0].wasted == 0 && k[0].useful == k[0].read);
    cr_assert(k[1].wasted > 0 && k[1].read != k[1].plain);
    /* the second run has a row more at its end */
    cr_assert(k[1].plain >= k[0].plain, "%lld %lld", (long long)k[1].plain, (long long)k[0].plain);
}

/* Each name is its value's, in the order of the lists; unknown names are the number of values. */
Test(streamed, names)
{
#define X(NAME, name, help)                                                                                            \
    cr_assert_str_eq(geodec_streamed_lookahead_name(GEODEC_LOOKAHEAD_##NAME), #name);                                  \
    cr_assert_eq(geodec_streamed_lookahead_named(#name), GEODEC_LOOKAHEAD_##NAME);
    GEODEC_LOOKAHEADS(X)
#undef X
#define X(NAME, name, help)                                                                                            \
    cr_assert_str_eq(geodec_streamed_price_name(GEODEC_STREAMED_PRICE_##NAME), #name);                                 \
    cr_assert_eq(geodec_streamed_price_named(#name), GEODEC_STREAMED_PRICE_##NAME);
    GEODEC_STREAMED_PRICES(X)
#undef X
#define X(NAME, name, help)                                                                                            \
    cr_assert_str_eq(geodec_streamed_ternary_name(GEODEC_STREAMED_TERNARY_##NAME), #name);                             \
    cr_assert_eq(geodec_streamed_ternary_named(#name), GEODEC_STREAMED_TERNARY_##NAME);
    GEODEC_STREAMED_TERNARY(X)
#undef X
#define X(NAME, name, help)                                                                                            \
    cr_assert_str_eq(geodec_streamed_differences_name(GEODEC_STREAMED_DIFFERENCES_##NAME), #name);                     \
    cr_assert_eq(geodec_streamed_differences_named(#name), GEODEC_STREAMED_DIFFERENCES_##NAME);
    GEODEC_STREAMED_DIFFERENCES(X)
#undef X
    cr_assert_str_eq(geodec_streamed_lookahead_name(GEODEC_LOOKAHEAD_KINDS), "?");
    cr_assert_str_eq(geodec_streamed_differences_name((geodec_streamed_differences)99), "?");
    cr_assert_eq(geodec_streamed_lookahead_named("router"), GEODEC_LOOKAHEAD_KINDS);
    cr_assert_eq(geodec_streamed_price_named(""), GEODEC_STREAMED_PRICE_KINDS);
    cr_assert_eq(geodec_streamed_ternary_named("?"), GEODEC_STREAMED_TERNARY_KINDS);
    cr_assert_eq(geodec_streamed_differences_named("always "), GEODEC_STREAMED_DIFFERENCES_KINDS);
}
