#include "base/mem.h"
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/ngram_drafter.h"
#include "io/h5.h"
#include "measure/bench.h"
#include "measure/bench_file.h"
#include "measure/gain.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PROMPTS = 7, LENGTH = 5, TOKENS = 40 };

static geodec_status make_ngram(void *ctx, geodec_drafter **out, geodec_err *err)
{
    (void)ctx;
    return geodec_ngram_drafter_create(NULL, 8, out, err);
}

static geodec_status make_bigram(void *ctx, geodec_drafter **out, geodec_err *err)
{
    (void)ctx;
    return geodec_ngram_drafter_create(NULL, 1, out, err);
}

static int32_t prompt_token[PROMPTS * LENGTH];
static int64_t prompt_offset[PROMPTS + 1];
static const geodec_prompts prompts = {.token = prompt_token, .offset = prompt_offset, .n = PROMPTS};

static geodec_bench_plan make_plan(void)
{
    geodec_rng r = geodec_rng_stream(6, 6);
    for (int i = 0; i < PROMPTS * LENGTH; i++) prompt_token[i] = (int32_t)geodec_rng_below(&r, TOY_VOCAB);
    for (int i = 0; i <= PROMPTS; i++) prompt_offset[i] = i * LENGTH;
    return (geodec_bench_plan){
        .prompts = &prompts,
        .max_tokens = TOKENS,
        .n_drafters = 3,
        .drafter = {{"ngram", make_ngram, NULL}, {"bigram", make_bigram, NULL}, {"oracle", NULL, NULL}},
        .n_gammas = 3,
        .gamma = {1, 3, 6},
        .greedy = true,
        .sampled = true,
        .sampling = {0.5, 0, 1, 0},
        .n_seeds = 2,
        .seed = 5,
        .resamples = 200};
}

static const geodec_bench_row *row_of(const geodec_bench_counts *c, int32_t drafter, int32_t gamma, bool sampled,
                                      bool every)
{
    for (int64_t i = 0; i < c->n; i++) {
        const geodec_bench_row *r = &c->row[i];
        if (r->drafter == drafter && r->gamma == gamma && r->sampled == sampled && r->every_position == every) return r;
    }
    cr_assert_fail("no such row");
    return NULL;
}

/* Drafts at each position of the plain output, by a separate drafter. */
static void every_position(const toy *t, int32_t order, int32_t gamma, int64_t accepted[16], int64_t *positions)
{
    geodec_err err = {0};
    *positions = 0;
    memset(accepted, 0, 16 * sizeof *accepted);
    for (int p = 0; p < PROMPTS; p++) {
        int32_t text[LENGTH + TOKENS];
        geodec_end end;
        geodec_drafter *d = NULL;
        geodec_decode_options o = geodec_decode_options_default();
        o.max_tokens = TOKENS;
        memcpy(text, prompt_token + p * LENGTH, sizeof(int32_t) * LENGTH);
        const int64_t n = toy_plain(t, text, LENGTH, &o, text + LENGTH, &end);
        test_ok(geodec_ngram_drafter_create(NULL, order, &d, &err), &err);
        for (int64_t at = 0; at + gamma <= n; at++) {
            geodec_draft draft[16];
            int32_t k;
            if (at + 1 == n) continue; /* the last token is never drafted */
            int32_t label[LENGTH + TOKENS];
            /* Prompt rows have no label of their own; later ones are those of greedy decoding. */
            for (int64_t i = 0; i < LENGTH + at - 1; i++) label[i] = i < LENGTH - 1 ? -1 : text[i + 1];
            const geodec_draft_rows rows = {.n = LENGTH + at - 1, .token = text, .argmax = label};
            test_ok(geodec_drafter_begin(d, &err), &err);
            test_ok(geodec_drafter_observe(d, &rows, &err), &err);
            const geodec_draft_request q = {.context = text, .n_context = LENGTH + at, .gamma = gamma, .index = at};
            test_ok(geodec_drafter_propose(d, &q, draft, &k, &err), &err);
            ++*positions;
            for (int32_t i = 0; i < k && draft[i].token == text[LENGTH + at + i]; i++) accepted[i]++;
        }
        geodec_drafter_destroy(d);
    }
}

Test(bench, counts_are_exact_and_independent_of_threads)
{
    geodec_err err = {0};
    toy t[3];
    geodec_target target[3];
    const geodec_bench_plan plan = make_plan();
    geodec_bench_counts one, three;
    geodec_pool *pool = NULL;
    for (int i = 0; i < 3; i++) target[i] = toy_target(&t[i], TOY_MARKOV, 12, 100);
    test_ok(geodec_bench_count(&plan, target, 1, NULL, &one, &err), &err);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_bench_count(&plan, target, 3, pool, &three, &err), &err);
    cr_assert_eq(one.n, 2 * (3 * 3 + 2 * 3));
    cr_assert_eq(one.n, three.n);
    cr_assert_eq(memcmp(one.row, three.row, (size_t)one.n * sizeof *one.row), 0, "threads changed a count");
    for (int64_t i = 0; i < one.n; i++) {
        const geodec_bench_row *r = &one.row[i];
        cr_assert_eq(r->mismatches, 0);
        cr_assert_eq(r->compared, r->every_position ? 0 : PROMPTS * TOKENS * (r->sampled ? 2 : 1));
        if (r->every_position) continue;
        cr_assert_eq(r->rounds, r->passes);
        cr_assert_float_eq(r->tokens_per_pass.value, (double)r->decided / (double)r->passes, 1e-15);
        cr_assert_leq(r->tokens_per_pass.low, r->tokens_per_pass.value + 1e-12);
        cr_assert_geq(r->tokens_per_pass.high, r->tokens_per_pass.value - 1e-12);
    }
    for (int g = 0; g < 3; g++) {
        const int32_t gamma = plan.gamma[g];
        const geodec_bench_row *o = row_of(&one, 2, gamma, false, false);
        cr_assert_eq(o->passes, PROMPTS * ((TOKENS + gamma) / (gamma + 1)), "oracle replay");
        const int32_t orders[] = {8, 1};
        for (int32_t d = 0; d < 2; d++) {
            int64_t accepted[16], positions, sum = 0;
            every_position(&t[0], orders[d], 6, accepted, &positions);
            const geodec_bench_row *r = row_of(&one, d, gamma, false, true);
            cr_assert_eq(r->rounds, positions);
            for (int32_t i = 0; i < gamma; i++) {
                cr_assert_eq(r->position[i].accepted, accepted[i]);
                cr_assert_eq(r->position[i].reached, r->position[i].accepted + r->position[i].rejected);
                sum += accepted[i];
            }
            cr_assert_float_eq(r->mean_accepted.value, (double)sum / (double)positions, 1e-15);
        }
    }
    /* The rows are the sums over the texts. */
    cr_assert_eq(one.prompts, PROMPTS);
    for (int64_t i = 0; i < one.n; i++) {
        int64_t accepted = 0, rounds = 0, decided = 0, passes = 0, of_positions = 0;
        for (int64_t p = i * PROMPTS; p < (i + 1) * PROMPTS; p++) {
            accepted += one.accepted[p];
            rounds += one.rounds[p];
            decided += one.decided[p];
            passes += one.passes[p];
            cr_assert_eq(one.accepted[p], three.accepted[p]);
        }
        for (int g = 0; g < 6; g++) of_positions += one.row[i].position[g].accepted;
        cr_assert_eq(accepted, of_positions);
        cr_assert_eq(rounds, one.row[i].rounds);
        cr_assert_eq(decided, one.row[i].decided);
        cr_assert_eq(passes, one.row[i].passes);
        /* Positions with a longest draft of tokens after them, of one greedy text and of two sampled ones. */
        if (one.row[i].every_position) cr_assert_eq(rounds, PROMPTS * (TOKENS - 5) * (one.row[i].sampled ? 2 : 1));
    }
    geodec_bench_counts_free(&one);
    geodec_bench_counts_free(&three);
    geodec_pool_destroy(pool);
}

Test(bench, a_target_that_is_not_batch_invariant_is_caught)
{
    geodec_err err = {0};
    toy t;
    geodec_bench_plan plan = make_plan();
    geodec_bench_counts c;
    const geodec_target target = toy_target(&t, TOY_HISTORY, 12, 100);
    t.broken = true;
    plan.drafter[0] = plan.drafter[2];
    plan.n_drafters = 1;
    test_ok(geodec_bench_count(&plan, &target, 1, NULL, &c, &err), &err);
    cr_assert_gt(row_of(&c, 0, 6, false, false)->mismatches, 0);
    geodec_bench_counts_free(&c);

    /* Outputs of different length: the additional tokens are compared and differ. */
    const int32_t stop[] = {0};
    int64_t plain = 0, of_prompt[PROMPTS], shorter = 0;
    plan.stop = stop;
    plan.n_stop = 1;
    for (int p = 0; p < PROMPTS; p++) {
        geodec_decoded d;
        geodec_decode_options o = geodec_decode_options_default();
        o.max_tokens = TOKENS;
        o.stop = stop;
        o.n_stop = 1;
        test_ok(geodec_decode(&target, prompt_token + p * LENGTH, LENGTH, NULL, &o, &d, &err), &err);
        plain += d.n;
        of_prompt[p] = d.counters.decided;
        geodec_decode_free(&d);
    }
    test_ok(geodec_bench_count(&plan, &target, 1, NULL, &c, &err), &err);
    for (int64_t i = 0; i < c.n; i++) {
        const geodec_bench_row *r = &c.row[i];
        if (r->sampled || r->every_position) continue;
        cr_assert_geq(r->compared, plain);
        cr_assert_geq(r->compared, r->decided - PROMPTS); /* a stop token is decided and not compared */
        for (int p = 0; p < PROMPTS; p++) shorter += c.decided[i * PROMPTS + p] < of_prompt[p];
    }
    cr_assert_gt(shorter, 0);
    geodec_bench_counts_free(&c);
}

/* A drafter whose most probable first token is wrong and is followed by what would come second: of its tree the
 * first token alone, after the wrong one, is right. */
typedef struct astray {
    geodec_drafter base;
    const toy *toy;
    int32_t text[LENGTH + TOKENS + 2], truth;
    int64_t n;
} astray;
static geodec_status astray_begin(geodec_drafter *d, geodec_err *err)
{
    (void)d;
    (void)err;
    return GEODEC_OK;
}
static geodec_status astray_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)d;
    (void)rows;
    (void)err;
    return GEODEC_OK;
}
static int32_t says(const astray *a, int64_t n)
{
    float row[TOY_VOCAB];
    toy_logits(a->toy, a->text, n, row);
    return geodec_argmax(row, TOY_VOCAB);
}
static geodec_status astray_root(geodec_drafter *d, const geodec_draft_request *q, geodec_err *err)
{
    (void)err;
    astray *a = (astray *)d;
    a->n = q->n_context;
    memcpy(a->text, q->context, (size_t)a->n * sizeof *a->text);
    a->truth = says(a, a->n);
    a->text[a->n] = a->truth;
    return GEODEC_OK;
}
static geodec_status astray_children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                     geodec_err *err)
{
    (void)err;
    astray *a = (astray *)d;
    *n = 0;
    if (node == 0) {
        out[(*n)++] = (geodec_draft){.token = (a->truth + 1) % TOY_VOCAB, .confidence = 0.6};
        if (most > 1) out[(*n)++] = (geodec_draft){.token = a->truth, .confidence = 0.3};
    } else if (node == 1) {
        out[(*n)++] = (geodec_draft){.token = says(a, a->n + 1), .confidence = 0.4}; /* after the right one */
    }
    return GEODEC_OK;
}
static geodec_status astray_adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    (void)d;
    (void)parent;
    (void)token;
    (void)err;
    return GEODEC_OK;
}
static void astray_destroy(geodec_drafter *d) { geodec_mem_free(d); }
static geodec_status make_astray(void *of, geodec_drafter **out, geodec_err *err)
{
    static const char *const source[] = {"astray"};
    static const geodec_drafter_ops ops = {.name = "astray",
                                           .n_sources = 1,
                                           .source_name = source,
                                           .begin = astray_begin,
                                           .observe = astray_observe,
                                           .propose = geodec_tree_chain,
                                           .destroy = astray_destroy,
                                           .root = astray_root,
                                           .children = astray_children,
                                           .adopt = astray_adopt};
    geodec_status st = GEODEC_OK;
    astray *a = NULL;
    GEODEC_NEW(a, 1);
    a->base.ops = &ops;
    a->toy = of;
    *out = &a->base;
done:
    return st;
}

Test(bench, a_right_token_behind_a_wrong_one_is_not_accepted)
{
    geodec_err err = {0};
    toy t;
    geodec_bench_plan plan = make_plan();
    geodec_bench_counts c;
    const geodec_target target = toy_target(&t, TOY_HISTORY, 12, 100);
    plan.n_drafters = plan.n_budgets = 1;
    plan.drafter[0] = (geodec_bench_drafter){"astray", make_astray, &t, 0};
    plan.budget[0] = 3;
    plan.sampled = false;
    test_ok(geodec_bench_count(&plan, &target, 1, NULL, &c, &err), &err);
    int trees = 0;
    for (int64_t i = 0; i < c.n; i++) {
        const geodec_bench_row *r = &c.row[i];
        cr_assert_eq(r->mismatches, 0);
        cr_assert_eq(r->position[1].accepted, 0);
        if (r->budget == 0) continue;
        trees++;
        cr_assert(r->position[0].reached > 0 && r->position[0].accepted == r->position[0].reached);
        cr_assert_float_eq(r->mean_accepted.value, 1, r->every_position ? 0 : 0.05);
    }
    cr_assert_eq(trees, 2, "in the loop, at every position");
    geodec_bench_counts_free(&c);
}

/* The bootstrap over texts against the delta method for a ratio of sums: se^2 = sum (a - r b)^2 / (sum b)^2. */
Test(bench, intervals_are_as_wide_as_texts_differ)
{
    enum { TEXTS = 60 };
    static int32_t token[TEXTS * LENGTH];
    static int64_t offset[TEXTS + 1];
    geodec_err err = {0};
    toy t;
    geodec_bench_plan plan = make_plan();
    geodec_bench_counts c;
    geodec_rng r = geodec_rng_stream(8, 1);
    for (int i = 0; i < TEXTS * LENGTH; i++) token[i] = (int32_t)geodec_rng_below(&r, TOY_VOCAB);
    for (int i = 0; i <= TEXTS; i++) offset[i] = (int64_t)i * LENGTH;
    const geodec_prompts many = {.token = token, .offset = offset, .n = TEXTS};
    plan.prompts = &many;
    plan.n_drafters = 1;
    plan.sampled = false;
    plan.resamples = 2000;
    const geodec_target target = toy_target(&t, TOY_MARKOV, 12, 100);
    test_ok(geodec_bench_count(&plan, &target, 1, NULL, &c, &err), &err);
    for (int64_t i = 0; i < c.n; i++) {
        const int64_t *top = c.accepted + i * TEXTS, *bottom = c.rounds + i * TEXTS;
        const geodec_estimate *v = &c.row[i].mean_accepted;
        double a = 0, b = 0, square = 0;
        for (int p = 0; p < TEXTS; p++) {
            a += (double)top[p];
            b += (double)bottom[p];
        }
        for (int p = 0; p < TEXTS; p++) square += pow((double)top[p] - a / b * (double)bottom[p], 2);
        const double se = sqrt(square * TEXTS / (TEXTS - 1)) / b;
        cr_assert_float_eq(v->value, a / b, 1e-12);
        cr_assert(v->low < v->value && v->value < v->high);
        /* each end two standard errors away, but for skewness and the resampling */
        cr_assert_float_eq((v->value - v->low) / se, 1.96, 0.6, "%g", (v->value - v->low) / se);
        cr_assert_float_eq((v->high - v->value) / se, 1.96, 0.6, "%g", (v->high - v->value) / se);
    }
    geodec_bench_counts_free(&c);
}

Test(bench, artifacts_hold_the_rows)
{
    geodec_err err = {0};
    toy t;
    const geodec_bench_plan plan = make_plan();
    geodec_bench_counts c;
    geodec_bench_timing s;
    geodec_artifact *a = NULL;
    double *tpp = NULL, *speedup = NULL;
    const geodec_provenance p = {
        .tool = "test", .command_line = "test", .seed = 1, .model_fingerprint = "", .tokenizer_fingerprint = ""};
    const geodec_target target = toy_target(&t, TOY_MARKOV, 12, 100);
    test_ok(geodec_bench_count(&plan, &target, 1, NULL, &c, &err), &err);
    test_ok(geodec_bench_speed(&plan, 3, &target, &s, &err), &err);
    cr_assert_eq(s.n, 3 * 4);
    cr_assert_eq(s.prompts, 3);
    /* one prompt has no other to be forecast from */
    geodec_bench_timing one;
    test_ok(geodec_bench_speed(&plan, 1, &target, &one, &err), &err);
    for (int64_t i = 0; i < one.n; i++)
        cr_assert(isnan(one.row[i].predicted) && isnan(one.row[i].forecast_error) && one.row[i].speedup.value > 0);
    geodec_bench_timing_free(&one);
    const char *counts_path = test_tmp("benchdecode.h5"), *speed_path = test_tmp("speed.h5");
    test_ok(geodec_bench_write_counts(counts_path, &p, &plan, &c, &err), &err);
    test_ok(geodec_bench_write_speed(speed_path, &p, &plan, &s, "scalar", &err), &err);
    test_ok(geodec_artifact_open(&geodec_bench_decode_kind, counts_path, &a, &err), &err);
    test_ok(geodec_artifact_read(a, "/tokens_per_pass", &tpp, &err), &err);
    for (int64_t i = 0; i < c.n; i++)
        if (!c.row[i].every_position) cr_assert_float_eq(tpp[3 * i], c.row[i].tokens_per_pass.value, 0);
    geodec_artifact_close(a);
    test_ok(geodec_artifact_open(&geodec_bench_speed_kind, speed_path, &a, &err), &err);
    test_ok(geodec_artifact_read(a, "/speedup", &speedup, &err), &err);
    for (int64_t i = 0; i < s.n; i++) {
        cr_assert_float_eq(speedup[3 * i], s.row[i].speedup.value, 0);
        cr_assert_gt(s.row[i].speedup.value, 0);
        cr_assert_gt(s.row[i].predicted, 0);
        cr_assert(isfinite(s.row[i].forecast_error) && s.row[i].forecast_error > -1);
        cr_assert(s.row[i].adaptive || s.row[i].c > 0);
    }
    geodec_artifact_close(a);
    geodec_mem_free(tpp);
    geodec_mem_free(speedup);
    geodec_bench_counts_free(&c);
    geodec_bench_timing_free(&s);
}

Test(bench, refuses_bad_plans)
{
    geodec_err err = {0};
    toy t;
    const geodec_target target = toy_target(&t, TOY_MARKOV, 12, 100);
    geodec_bench_counts c = {.n = -3};
    geodec_bench_plan bad[6];
    for (int i = 0; i < 6; i++) bad[i] = make_plan();
    bad[0].gamma[2] = 17;
    bad[1].gamma[1] = 1;
    bad[2].greedy = bad[2].sampled = false;
    bad[3].max_tokens = 0;
    bad[4].n_seeds = 0;
    bad[5].n_gammas = 0;
    for (int i = 0; i < 6; i++)
        cr_assert_eq(geodec_bench_count(&bad[i], &target, 1, NULL, &c, &err), GEODEC_INVAL, "plan %d", i);
    /* A prompt longer than the context names the prompt. */
    const geodec_bench_plan plan = make_plan();
    const geodec_target small = toy_target(&t, TOY_MARKOV, 12, 3);
    char line[512];
    cr_assert_eq(geodec_bench_count(&plan, &small, 1, NULL, &c, &err), GEODEC_LIMIT);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "prompt 0"));
    cr_assert_eq(c.n, -3);
}

/* Gains, by hand: means of the texts, and intervals that pairing makes narrow. */
Test(bench, gains_are_differences_paired_by_text)
{
    geodec_err err = {0};
    toy t;
    const geodec_bench_plan plan = make_plan();
    geodec_bench_counts c;
    geodec_gain *gain = NULL;
    int64_t n = 0;
    const geodec_provenance p = {
        .tool = "test", .command_line = "test", .seed = 1, .model_fingerprint = "", .tokenizer_fingerprint = ""};
    const geodec_target target = toy_target(&t, TOY_MARKOV, 12, 100);
    test_ok(geodec_bench_count(&plan, &target, 1, NULL, &c, &err), &err);
    const char *path = test_tmp("gain.h5");
    test_ok(geodec_bench_write_counts(path, &p, &plan, &c, &err), &err);

    test_ok(geodec_gain_measure(path, "ngram", path, "bigram", 3, 500, &gain, &n, &err), &err);
    cr_assert_eq(n, 3 * 2 * 2, "draft lengths x settings x modes");
    for (int64_t i = 0; i < n; i++) {
        const geodec_gain *g = &gain[i];
        const geodec_bench_row *a = row_of(&c, 0, g->gamma, g->sampled, g->every_position);
        const geodec_bench_row *b = row_of(&c, 1, g->gamma, g->sampled, g->every_position);
        const double x = g->every_position ? 1 + a->mean_accepted.value : a->tokens_per_pass.value;
        const double y = g->every_position ? 1 + b->mean_accepted.value : b->tokens_per_pass.value;
        cr_assert_float_eq(g->tokens.value, x, 1e-12);
        cr_assert_float_eq(g->control.value, y, 1e-12);
        cr_assert_float_eq(g->difference.value, x - y, 1e-12);
        cr_assert_leq(g->difference.low, g->difference.value);
        cr_assert_geq(g->difference.high, g->difference.value);
    }
    geodec_mem_free(gain);
    /* Compared with itself the gain is 0 in every resample. */
    test_ok(geodec_gain_measure(path, "ngram", path, "ngram", 3, 500, &gain, &n, &err), &err);
    for (int64_t i = 0; i < n; i++) {
        cr_assert_float_eq(gain[i].difference.low, 0, 0);
        cr_assert_float_eq(gain[i].difference.high, 0, 0);
        cr_assert_leq(gain[i].tokens.low, gain[i].tokens.high);
    }
    geodec_mem_free(gain);
    gain = NULL;
    cr_assert_eq(geodec_gain_measure(path, "wish", path, "ngram", 3, 500, &gain, &n, &err), GEODEC_NOTFOUND);

    /* A run of as many texts, but of others. */
    geodec_bench_plan other = plan;
    other.max_tokens = TOKENS - 1;
    geodec_bench_counts_free(&c);
    test_ok(geodec_bench_count(&other, &target, 1, NULL, &c, &err), &err);
    const char *apart = test_tmp("apart.h5");
    test_ok(geodec_bench_write_counts(apart, &p, &other, &c, &err), &err);
    cr_assert_eq(geodec_gain_measure(path, "ngram", apart, "ngram", 3, 500, &gain, &n, &err), GEODEC_INVAL);
    cr_assert_null(gain);
    geodec_bench_counts_free(&c);
}
