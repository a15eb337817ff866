/* Verifiers with planted faults: the comparison with plain decoding detects each of them where it has an effect, and
 * only there. */
#include "base/rng.h"
#include "decode/tiny.h"
#include "decode/toy.h"
#include "drafters/ngram_drafter.h"
#include "measure/bench.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

enum { PROMPTS = 12, LENGTH = 5, TOKENS = 40, WRONG = 0, REPLAY = 1 };

static geodec_status make_ngram(void *ctx, geodec_drafter **out, geodec_err *err)
{
    (void)ctx;
    return geodec_ngram_drafter_create(NULL, 8, out, err);
}

static int32_t prompt_token[PROMPTS * LENGTH];
static int64_t prompt_offset[PROMPTS + 1];
static const geodec_prompts prompts = {.token = prompt_token, .offset = prompt_offset, .n = PROMPTS};

/* Differing tokens of one drafter by [sampled][tree]. */
typedef struct counts {
    int64_t wrong[3][2][2], compared;
} counts;

static counts run(geodec_fault fault, const geodec_target *target)
{
    geodec_err err = {0};
    geodec_bench_counts c;
    counts sum = {0};
    geodec_rng r = geodec_rng_stream(6, 6);
    for (int i = 0; i < PROMPTS * LENGTH; i++)
        prompt_token[i] = (int32_t)geodec_rng_below(&r, (uint64_t)target->n_vocab);
    for (int i = 0; i <= PROMPTS; i++) prompt_offset[i] = i * LENGTH;
    const geodec_bench_plan plan = {
        .prompts = &prompts,
        .max_tokens = TOKENS,
        .n_drafters = 3,
        .drafter = {{"oracle:0.6", NULL, NULL, 0.6}, {"oracle", NULL, NULL, 1}, {"ngram", make_ngram, NULL}},
        .n_gammas = 3,
        .gamma = {1, 3, 6},
        .n_budgets = 2,
        .budget = {4, 12},
        .greedy = true,
        .sampled = true,
        .loop_only = true,
        .sampling = {0.5, 0, 1, 0},
        .n_seeds = 1,
        .seed = 5,
        .resamples = 1,
        .fault = fault};
    test_ok(geodec_bench_count(&plan, target, 1, NULL, &c, &err), &err);
    for (int64_t i = 0; i < c.n; i++) {
        sum.wrong[c.row[i].drafter][c.row[i].sampled][c.row[i].budget > 0] += c.row[i].mismatches;
        sum.compared += c.row[i].compared;
    }
    geodec_bench_counts_free(&c);
    return sum;
}

Test(faults, have_names)
{
    for (int f = 0; f < GEODEC_FAULTS; f++) {
        cr_assert_eq(geodec_faults_named(geodec_faults_name((geodec_fault)f)), f);
        if (f > 0) cr_assert_not_null(strstr(GEODEC_FAULT_NAMES, geodec_faults_name((geodec_fault)f)));
    }
    cr_assert_eq(geodec_faults_named("none of these"), GEODEC_FAULTS);
    cr_assert_str_eq(geodec_faults_name(GEODEC_FAULTS), "?");
}

static void no_difference(const counts *c)
{
    cr_assert_eq(c->compared, (int64_t)PROMPTS * TOKENS * 3 * 5 * 2);
    for (int d = 0; d < 3; d++)
        for (int m = 0; m < 4; m++) cr_assert_eq(c->wrong[d][m / 2][m % 2], 0);
}

static void differs(const counts *c, geodec_fault f)
{
    for (int sampled = 0; sampled < 2; sampled++) {
        cr_assert_gt(c->wrong[WRONG][sampled][1], 0, "%s, sampled %d: trees", geodec_faults_name(f), sampled);
        if (f == GEODEC_FAULT_SIBLING)
            cr_assert_eq(c->wrong[WRONG][sampled][0], 0, "a chain has no siblings");
        else
            cr_assert_gt(c->wrong[WRONG][sampled][0], 0, "%s, sampled %d: chains", geodec_faults_name(f), sampled);
    }
    /* Where no draft is wrong no rule can accept a wrong one, and no row of one can stay. */
    if (f == GEODEC_FAULT_MARGIN || f == GEODEC_FAULT_STALE)
        cr_assert_eq(c->wrong[REPLAY][0][0], 0, "%s", geodec_faults_name(f));
}

Test(faults, each_is_seen_and_no_sound_verifier_is_accused)
{
    toy t;
    const geodec_target target = toy_target(&t, TOY_HISTORY, 12, 100);
    counts c = run(GEODEC_FAULT_NONE, &target);
    no_difference(&c);
    for (int f = GEODEC_FAULT_MARGIN; f <= GEODEC_FAULT_SIBLING; f++) {
        c = run((geodec_fault)f, &target);
        differs(&c, (geodec_fault)f);
    }
    c = run(GEODEC_FAULT_ROUNDING, &target); /* the toy's logits are multiples of a half: rounding leaves them */
    no_difference(&c);
}

Test(faults, rounded_rows_of_a_transformer_are_seen)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    test_ok(geodec_model_open(tiny_model("rounded.gguf", 3), &m, &err), &err);
    test_ok(geodec_session_create(m, NULL, &s, &err), &err);
    const geodec_target target = geodec_target_session(s, 32);
    counts c = run(GEODEC_FAULT_NONE, &target);
    no_difference(&c);
    c = run(GEODEC_FAULT_ROUNDING, &target);
    differs(&c, GEODEC_FAULT_ROUNDING);
    geodec_session_destroy(s);
    geodec_model_close(m);
}
