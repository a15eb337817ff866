/* Loads of experts, against single passes that count by hand. */
#include "base/mem.h"
#include "evaluate/routing.h"
#include "session/synthetic.h"
#include "support/support.h"

#include <criterion/criterion.h>

static const char text[] = "One day a bird saw a cat, and the cat saw the bird; then it rained all day and all night.";

static geodec_model *open_mixture(const char *name, int32_t experts)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    const synthetic s = {.n_layer = 2,
                         .d_model = 16,
                         .n_head = 4,
                         .n_kv_head = 2,
                         .d_ff = 8,
                         .n_vocab = 300,
                         .n_ctx = 64,
                         .n_expert = experts,
                         .n_expert_used = experts ? 2 : 0,
                         .tied = true,
                         .seed = 5};
    const char *path = test_tmp(name);
    test_ok(synthetic_write(path, &s, &err), &err);
    test_ok(geodec_model_open(path, &m, &err), &err);
    return m;
}

static double gini_of(int64_t n, const int64_t *count)
{
    geodec_err err = {0};
    double g = 0;
    test_ok(geodec_routing_gini(n, count, &g, &err), &err);
    return g;
}

Test(routing, gini_coefficients_of_known_loads)
{
    cr_assert_float_eq(gini_of(4, (int64_t[]){5, 5, 5, 5}), 0, 1e-15);
    cr_assert_float_eq(gini_of(4, (int64_t[]){0, 9, 0, 0}), 0.75, 1e-15);
    cr_assert_float_eq(gini_of(2, (int64_t[]){3, 1}), 0.25, 1e-15);
    /* half of the mean absolute difference over the mean */
    cr_assert_float_eq(gini_of(3, (int64_t[]){6, 1, 2}), 2.0 * (5 + 4 + 1) / (2 * 9 * 3.0), 1e-15);
    cr_assert(isnan(gini_of(2, (int64_t[]){0, 0})));
}

Test(routing, equals_counts_of_single_windows)
{
    enum { WINDOW = 12, EXPERTS = 6, LAYERS = 2, USED = 2 };
    geodec_err err = {0};
    geodec_model *m = open_mixture("routing.gguf", EXPERTS);
    const geodec_routing_options o = {.window = WINDOW};
    const geodec_scorer_evaluation e = {.model = m};
    geodec_routing_profile p = {0}, other = {0};
    geodec_session *s = NULL;
    geodec_pool *pool = NULL;
    int64_t count[LAYERS][EXPERTS] = {0}, repeat[LAYERS] = {0}, pairs = 0, tokens = 0, n = 0;
    int32_t *ids = NULL;
    const int32_t bos = geodec_tokenizer_start(geodec_model_tokenizer(m));
    cr_assert_geq(bos, 0);
    test_ok(geodec_routing_run(&e, &o, text, strlen(text), NULL, NULL, &p, &err), &err);
    test_ok(geodec_scorer_tokens(geodec_model_tokenizer(m), text, strlen(text), false, &ids, &n, &err), &err);
    test_ok(geodec_session_create(m, NULL, &s, &err), &err);
    for (int64_t at = 0; at < n; at += WINDOW - 1) {
        int32_t before[LAYERS * USED] = {0};
        geodec_session_truncate(s, 0);
        for (int64_t i = -1; i < WINDOW - 1 && at + i < n; i++) { /* one token a pass */
            const int32_t token = i < 0 ? bos : ids[at + i];
            test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = &token}, NULL, NULL, &err), &err);
            const int32_t *id = geodec_session_expert_ids(s);
            for (int l = 0; l < LAYERS; l++)
                for (int j = 0; j < USED; j++) {
                    count[l][id[l * USED + j]]++;
                    for (int q = 0; i >= 0 && q < USED; q++) repeat[l] += before[l * USED + q] == id[l * USED + j];
                }
            memcpy(before, id, sizeof before);
            pairs += i >= 0;
            tokens++;
        }
    }
    cr_assert_gt(n, 3 * WINDOW);
    cr_assert_eq(p.tokens, tokens);
    cr_assert_eq(p.windows, tokens - n);
    cr_assert_float_eq(p.random_repeat, 1.0 / 3, 1e-15);
    for (int l = 0; l < LAYERS; l++) {
        cr_assert_eq(memcmp(p.count + l * EXPERTS, count[l], sizeof count[l]), 0);
        cr_assert_float_eq(p.layer[l].repeat, (double)repeat[l] / (double)(pairs * USED), 1e-15);
        cr_assert_float_eq(p.layer[l].gini, gini_of(EXPERTS, count[l]), 1e-15);
        cr_assert(p.layer[l].least < 1.0 / EXPERTS && p.layer[l].most > 1.0 / EXPERTS);
        cr_assert(p.layer[l].entropy > 0 && p.layer[l].entropy < log2(EXPERTS));
    }
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_routing_run(&e, &o, text, strlen(text), pool, NULL, &other, &err), &err);
    cr_assert_eq(memcmp(other.count, p.count, sizeof count), 0);
    cr_assert_eq(memcmp(other.layer, p.layer, LAYERS * sizeof *p.layer), 0);
    geodec_routing_free(&p);
    geodec_routing_free(&other);
    geodec_pool_destroy(pool);
    geodec_session_destroy(s);
    geodec_mem_free(ids);
    geodec_model_close(m);
}

/* Layers without experts have no row, and nothing is counted for them. */
Test(routing, leaves_out_layers_without_experts)
{
    enum { EXPERTS = 4, LAYERS = 3, DENSE = 1 };
    geodec_err err = {0};
    geodec_model *m = NULL;
    const synthetic s = {.arch = "deepseek",
                         .n_layer = LAYERS,
                         .d_model = 16,
                         .n_head = 4,
                         .n_kv_head = 4,
                         .d_ff = 8,
                         .d_ff_dense = 24,
                         .n_vocab = 300,
                         .n_ctx = 64,
                         .n_expert = EXPERTS,
                         .n_expert_used = 2,
                         .n_dense = DENSE,
                         .seed = 6};
    const geodec_routing_options o = {.window = 16};
    geodec_scorer_evaluation e = {0};
    geodec_routing_profile p = {0};
    const char *path = test_tmp("routing-lead.gguf"), *loads = test_tmp("routing-lead.tsv");
    FILE *table = tmpfile();
    char line[256];
    int rows = 0;
    test_ok(synthetic_write(path, &s, &err), &err);
    test_ok(geodec_model_open(path, &m, &err), &err);
    e.model = m;
    test_ok(geodec_routing_run(&e, &o, text, strlen(text), NULL, NULL, &p, &err), &err);
    cr_assert_eq(p.n_routed, LAYERS - DENSE);
    for (int l = 0; l < LAYERS; l++) {
        int64_t sum = 0;
        for (int i = 0; i < EXPERTS; i++) sum += p.count[l * EXPERTS + i];
        cr_assert_eq(p.layer[l].routed, l >= DENSE);
        cr_assert_eq(sum, l < DENSE ? 0 : 2 * p.tokens);
    }
    test_ok(geodec_routing_table(table, m, &p, &err), &err);
    rewind(table);
    while (fgets(line, sizeof line, table)) {
        cr_assert_null(strstr(line, "nan"), "%s", line);
        rows++;
    }
    cr_assert_eq(rows, 1 + (LAYERS - DENSE) + 1);
    test_ok(geodec_routing_loads_table(loads, m, &p, &err), &err);
    (void)fclose(table);
    table = fopen(loads, "r");
    cr_assert_not_null(table);
    for (rows = 0; fgets(line, sizeof line, table); rows++) cr_assert_null(strstr(line, "nan"), "%s", line);
    cr_assert_eq(rows, 1 + (LAYERS - DENSE) * EXPERTS);
    (void)fclose(table);
    geodec_routing_free(&p);
    geodec_model_close(m);
}

Test(routing, refusals)
{
    geodec_err err = {0};
    geodec_model *m = open_mixture("routing-refused.gguf", 4), *dense = open_mixture("routing-dense.gguf", 0);
    geodec_routing_options o = {.window = 16};
    geodec_routing_profile p = {0};
    geodec_scorer_evaluation e = {.model = dense};
    cr_assert_eq(geodec_routing_run(&e, &o, text, strlen(text), NULL, NULL, &p, &err), GEODEC_UNSUPPORTED);
    geodec_err_clear(&err);
    e = (geodec_scorer_evaluation){.model = m, .float64 = true};
    cr_assert_eq(geodec_routing_run(&e, &o, text, strlen(text), NULL, NULL, &p, &err), GEODEC_UNSUPPORTED);
    geodec_err_clear(&err);
    e.float64 = false;
    cr_assert_eq(geodec_routing_run(&e, &o, "", 0, NULL, NULL, &p, &err), GEODEC_FORMAT);
    geodec_err_clear(&err);
    cr_assert_eq(geodec_routing_run(&e, &o, "\xff", 1, NULL, NULL, &p, &err), GEODEC_FORMAT);
    geodec_err_clear(&err);
    o.window = 1;
    cr_assert_eq(geodec_routing_run(&e, &o, text, strlen(text), NULL, NULL, &p, &err), GEODEC_RANGE);
    geodec_err_clear(&err);
    geodec_model_close(m);
    geodec_model_close(dense);
}

/* The control: routers that choose at random have about the expected coefficient. */
Test(routing, random_choices_have_the_expected_gini_coefficient)
{
    enum { EXPERTS = 16, USED = 2, TOKENS = 4000, TRIALS = 40 };
    geodec_rng r = geodec_rng_stream(8, 1);
    double mean = 0;
    for (int t = 0; t < TRIALS; t++) {
        int64_t count[EXPERTS] = {0};
        for (int i = 0; i < TOKENS; i++) {
            const uint64_t a = geodec_rng_below(&r, EXPERTS), b = geodec_rng_below(&r, EXPERTS - 1);
            count[a]++;
            count[b + (b >= a)]++;
        }
        mean += gini_of(EXPERTS, count) / TRIALS;
    }
    cr_assert_float_eq(mean / sqrt((EXPERTS - USED) / (acos(-1) * TOKENS * USED)), 1, 0.1);
}
