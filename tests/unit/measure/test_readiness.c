#include "base/mem.h"
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/ngram_drafter.h"
#include "io/json.h"
#include "measure/readiness.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* ---- the levels ------------------------------------------------------------------------------------------------- */

static geodec_readiness everything_holds(void)
{
    geodec_readiness r = geodec_readiness_none();
    r.model_sha256 = r.artifact_model_sha256 = "ab";
    r.drafter = "flowmap";
    r.n_compared = 100;
    r.prompts = 10;
    r.proposed = 80;
    r.reached = 60;
    r.accepted = 50;
    r.tokens = r.decided = 100;
    r.target_passes = 50;
    r.tokens_per_pass = 2;
    r.acceptance = (geodec_estimate){0.62, 0.6, 0.65};
    r.control = "bigram";
    r.control_acceptance = (geodec_estimate){0.5, 0.4, 0.59};
    r.speedup = (geodec_estimate){1.3, 1.2, 1.4};
    return r;
}

#define LEVEL(r, want)                                                                                                 \
    cr_assert_eq(geodec_readiness_judge(&(r)), want, "%s", geodec_readiness_name(geodec_readiness_judge(&(r))))

Test(readiness, top_level_needs_each_condition)
{
    geodec_readiness r = everything_holds();
    LEVEL(r, GEODEC_GEODESIC_READY);
    r.artifact_model_sha256 = "ac";
    LEVEL(r, GEODEC_HYBRID_READY);
    r = everything_holds();
    r.artifact_model_sha256 = ""; /* no artifact at all */
    LEVEL(r, GEODEC_HYBRID_READY);
    r.model_sha256 = ""; /* two unknown fingerprints are not equal ones */
    LEVEL(r, GEODEC_HYBRID_READY);
    r = everything_holds();
    r.acceptance.low = 0.5; /* not above the control */
    LEVEL(r, GEODEC_HYBRID_READY);
    r = everything_holds();
    r.control = NULL;
    LEVEL(r, GEODEC_HYBRID_READY);
    r = everything_holds();
    r.speedup.low = 1;
    LEVEL(r, GEODEC_HYBRID_READY);
}

Test(readiness, lower_levels)
{
    geodec_readiness r = everything_holds();
    r.tokens_per_pass = 1; /* exact, without a gain */
    LEVEL(r, GEODEC_DEGRADED_GEODESIC);
    r = everything_holds();
    r.n_different = 1;
    LEVEL(r, GEODEC_NOT_READY);
    r = everything_holds();
    r.n_compared = 0; /* not compared is not exact */
    LEVEL(r, GEODEC_NOT_READY);
    r = geodec_readiness_none();
    LEVEL(r, GEODEC_NOT_READY);
}

Test(readiness, what_was_not_measured_does_not_pass)
{
    geodec_readiness r = everything_holds();
    r.speedup.low = NAN;
    LEVEL(r, GEODEC_HYBRID_READY);
    r = everything_holds();
    r.acceptance.low = NAN;
    LEVEL(r, GEODEC_HYBRID_READY);
    r = everything_holds();
    r.control_acceptance.value = NAN;
    LEVEL(r, GEODEC_HYBRID_READY);
    r = everything_holds();
    r.tokens_per_pass = NAN;
    LEVEL(r, GEODEC_DEGRADED_GEODESIC);
}

/* By the published rule (share >= 0.08, consistency >= 0.85) the replayed counters would be ready. */
Test(readiness, the_papers_counters_do_not_pass)
{
    geodec_readiness r = everything_holds();
    r.accepted = 30;
    r.decided = r.tokens = r.target_passes = 64;
    r.tokens_per_pass = 1;
    r.consistency = 1;
    LEVEL(r, GEODEC_DEGRADED_GEODESIC);
}

static const geodec_json *inside(const geodec_json *v, const char *key)
{
    const geodec_json *m = geodec_json_member(v, key);
    cr_assert_not_null(m, "%s", key);
    return m;
}

static bool is_true(const geodec_json *v, const char *key)
{
    const geodec_json *m = inside(v, key);
    cr_assert(json_is_boolean(m), "%s", key);
    return json_is_true(m);
}

Test(readiness, modes_of_the_papers_are_what_ran)
{
    static const struct {
        const char *drafter, *attnres, *mode;
        int32_t gamma;
        bool adaptive, full, theorem, perfect;
    } list[] = {
        {"flowmap+onedecode", "damp:0.35", "greedy", 4, false, true, false, false},
        {"onedecode+rollout", "damp:0.35", "greedy", 4, true, true, false, false},
        {"flowmap+onedecode", "none", "greedy", 4, false, false, false, false},
        {"flowmap+onedecode", "damp:0.45", "greedy", 4, false, false, false, false},
        {"ngram+onedecode", "damp:0.35", "greedy", 4, false, false, false, false}, /* no geometry */
        {"flowmap", "damp:0.35", "greedy", 4, false, false, false, false},         /* no OneDecode */
        {"flowmaps+onedecode", "damp:0.35", "greedy", 4, false, false, false, false},
        {"none", "damp:0.45+depth_attn:0.55", "not compared", 0, false, false, true, false},
        {"none", "damp:0.35+depth_attn:0.55", "not compared", 0, false, false, false, false},
        {"none", "depth_attn:0.55", "not compared", 0, false, false, false, false},
        {"oracle", "none", "greedy", 16, false, false, false, true},
        {"oracle", "none", "greedy", 8, false, false, false, false},
        {"oracle", "none", "greedy", 16, true, false, false, false},
        {"oracle", "none", "greedy and sampled", 16, false, false, false, false},
        {"oracle:0.5", "none", "greedy", 16, false, false, false, false}, /* drafts that are not all right */
        {"ngram", "none", "greedy", 16, false, false, false, false},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        geodec_err err = {0};
        geodec_readiness r = everything_holds();
        r.drafter = list[i].drafter;
        r.gamma = list[i].gamma;
        r.adaptive = list[i].adaptive;
        r.exactness_mode = list[i].mode;
        if (strcmp(list[i].attnres, "none") != 0)
            test_ok(geodec_attnres_parse(list[i].attnres, &r.attnres, &err), &err);
        const geodec_ott_modes m = geodec_readiness_modes(&r);
        cr_assert(m.full == list[i].full && m.theorem == list[i].theorem && m.perfect == list[i].perfect,
                  "%zu: %s, %s: %d %d %d", i, list[i].drafter, list[i].attnres, m.full, m.theorem, m.perfect);
        /* and the file has the same */
        const char *path = test_tmp("modes.json");
        geodec_json *root = NULL;
        test_ok(geodec_readiness_write(path, &r, &err), &err);
        test_ok(geodec_json_read(path, 1 << 20, &root, &err), &err);
        cr_assert(is_true(root, "ott_full") == m.full && is_true(root, "ott_theorem") == m.theorem &&
                  is_true(root, "ott_perfect") == m.perfect);
        geodec_json_free(root);
    }
}

Test(readiness, file_has_the_papers_names_and_null_for_what_is_not_known)
{
    static const char *const names[] = {"ott_full",        "ott_theorem",
                                        "ott_perfect",     "ready",
                                        "hybrid_ready",    "status",
                                        "model",           "generation",
                                        "geodesic",        "axiom",
                                        "attnres",         "depth_attention",
                                        "schema_version",  "model_sha256",
                                        "drafter",         "target_passes",
                                        "tokens_per_pass", "proposed",
                                        "accepted",        "acceptance",
                                        "exactness",       "degraded_geodesic",
                                        "speedup_ci95",    "baseline_tok_per_s"};
    geodec_err err = {0};
    geodec_json *root = NULL;
    const char *status = NULL;
    double x = 0;
    int64_t n = 0;
    geodec_readiness r = everything_holds();
    r.speedup = geodec_readiness_none().speedup;
    const char *path = test_tmp("readiness.json");
    test_ok(geodec_readiness_write(path, &r, &err), &err);
    test_ok(geodec_json_read(path, 1 << 20, &root, &err), &err);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) inside(root, names[i]);
    test_ok(geodec_json_get_str(root, "status", &status, &err), &err);
    cr_assert_str_eq(status, "hybrid_ready");
    cr_assert_neq(geodec_json_get_f64(root, "speedup", &x, &err), GEODEC_OK, "null");
    const geodec_json *g = inside(root, "geodesic");
    test_ok(geodec_json_get_i64(g, "runtime_tokens", &n, &err), &err);
    cr_assert_eq(n, 50);
    test_ok(geodec_json_get_f64(g, "runtime_share", &x, &err), &err);
    cr_assert_float_eq(x, 0.5, 1e-15); /* of 100 decided */
    test_ok(geodec_json_get_f64(g, "runtime_reject_rate", &x, &err), &err);
    cr_assert_float_eq(x, 10.0 / 60, 1e-15);
    cr_assert(is_true(inside(root, "exactness"), "verified_bool"));
    cr_assert(!is_true(inside(root, "axiom"), "ran"), "no consistency was measured");
    geodec_json_free(root);
    r.consistency = 0.5;
    r.consistency_control = 0.25;
    r.flow_consistency = 0.75;
    test_ok(geodec_readiness_write(path, &r, &err), &err);
    test_ok(geodec_json_read(path, 1 << 20, &root, &err), &err);
    cr_assert(is_true(inside(root, "axiom"), "ran"));
    test_ok(geodec_json_get_f64(inside(root, "axiom"), "consistency", &x, &err), &err);
    cr_assert_eq(x, 0.5);
    test_ok(geodec_json_get_f64(inside(root, "axiom"), "consistency_shuffled", &x, &err), &err);
    cr_assert_eq(x, 0.25);
    test_ok(geodec_json_get_f64(inside(root, "flow_map"), "consistency", &x, &err), &err);
    cr_assert_eq(x, 0.75);
    geodec_json_free(root);
}

/* ---- from a bench ----------------------------------------------------------------------------------------------- */

static geodec_status make_ngram(void *order, geodec_drafter **out, geodec_err *err)
{
    return geodec_ngram_drafter_create(NULL, *(int32_t *)order, out, err);
}

Test(readiness, of_a_bench_takes_the_same_draft_length_of_drafter_and_control)
{
    static int32_t order[] = {1, 8}, token[4 * 5];
    static int64_t offset[] = {0, 5, 10, 15, 20};
    toy t;
    geodec_err err = {0};
    geodec_rng rng = geodec_rng_stream(3, 3);
    for (int i = 0; i < 20; i++) token[i] = (int32_t)geodec_rng_below(&rng, TOY_VOCAB);
    const geodec_prompts prompts = {.token = token, .offset = offset, .n = 4};
    const geodec_bench_plan plan = {.prompts = &prompts,
                                    .max_tokens = 60,
                                    .n_drafters = 2,
                                    .drafter = {{"bigram", make_ngram, &order[0]}, {"ngram", make_ngram, &order[1]}},
                                    .n_gammas = 2,
                                    .gamma = {2, 5},
                                    .n_budgets = 1,
                                    .budget = {6},
                                    .greedy = true,
                                    .resamples = 100,
                                    .seed = 1};
    geodec_bench_counts c;
    geodec_bench_timing s = {0};
    geodec_readiness r;
    const geodec_target target = toy_target(&t, TOY_MARKOV, 2, 300);
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(1, &pool, &err), &err);
    test_ok(geodec_bench_count(&plan, &target, 1, pool, &c, &err), &err);
    test_ok(geodec_readiness_of_bench(&plan, &c, &s, 1, &r, &err), &err);
    cr_assert_eq(r.gamma, 5, "without timings the longest");
    cr_assert_str_eq(r.control, "bigram");
    cr_assert(isnan(r.speedup.low) && r.n_different == 0);
    cr_assert_eq(r.n_compared, 3 * 4 * 60, "every row that sent drafts, and no other");
    cr_assert_str_eq(r.exactness_mode, "greedy");
    geodec_bench_row *other = &c.row[c.n - 1]; /* as of a drafter that samples: not compared */
    other->sampled = true;
    other->compared = 0;
    test_ok(geodec_readiness_of_bench(&plan, &c, &s, 1, &r, &err), &err);
    cr_assert_str_eq(r.exactness_mode, "greedy");
    other->sampled = false;
    cr_assert_float_eq(r.acceptance.value, (double)r.accepted / (double)r.proposed, 1e-15);
    cr_assert(r.acceptance.low <= r.acceptance.value && r.acceptance.value <= r.acceptance.high);
    cr_assert_neq(r.control_acceptance.value, r.acceptance.value);
    test_ok(geodec_bench_speed(&plan, 2, &target, &s, &err), &err);
    cr_assert_eq(s.n, 2 * (2 + 1 + 2), "lengths, a tree, both adaptive");
    test_ok(geodec_readiness_of_bench(&plan, &c, &s, 1, &r, &err), &err);
    cr_assert(r.gamma == 2 || r.gamma == 5);
    cr_assert_gt(r.projected_speedup, 0);
    test_ok(geodec_readiness_of_bench(&plan, &c, &s, 0, &r, &err), &err);
    cr_assert_null(r.control, "bigram is no control of itself");
    cr_assert_eq(geodec_readiness_of_bench(&plan, &c, &s, 2, &r, &err), GEODEC_INVAL);

    /* A single prompt has no interval, so no condition on the lower end holds. */
    geodec_bench_timing_free(&s);
    test_ok(geodec_bench_speed(&plan, 1, &target, &s, &err), &err);
    for (int64_t i = 0; i < s.n; i++) s.row[i].speedup = (geodec_estimate){2, 2, 2};
    test_ok(geodec_readiness_of_bench(&plan, &c, &s, 1, &r, &err), &err);
    cr_assert(r.speedup.value > 1 && isnan(r.speedup.low) && isnan(r.speedup.high));
    cr_assert(!isnan(r.acceptance.low) && !geodec_readiness_conditions(&r).faster);
    geodec_bench_counts_free(&c);
    const geodec_prompts one = {.token = token, .offset = offset, .n = 1};
    geodec_bench_plan single = plan;
    single.prompts = &one;
    test_ok(geodec_bench_count(&single, &target, 1, pool, &c, &err), &err);
    test_ok(geodec_readiness_of_bench(&single, &c, &s, 1, &r, &err), &err);
    cr_assert(!isnan(r.acceptance.value) && isnan(r.acceptance.low) && isnan(r.control_acceptance.low));
    cr_assert_not(geodec_readiness_conditions(&r).above_control);
    geodec_bench_counts_free(&c);
    geodec_bench_timing_free(&s);
    geodec_pool_destroy(pool);
}
