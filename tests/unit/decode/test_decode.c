#include "base/rng.h"
#include "decode/toy.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Runs one request and compares it with a separate plain decoding; returns the counters. */
static geodec_decode_counters run_case(toy_kind kind, uint64_t seed, int32_t n_ctx, const int32_t *prompt, int64_t n,
                                       const geodec_decode_options *o, int hostile_index, const char *what)
{
    static int32_t plain[4096];
    toy t, reference;
    hostile h;
    geodec_err err = {0};
    geodec_end end;
    geodec_decoded got;
    toy_target(&reference, kind, seed, n_ctx);
    const geodec_target target = toy_target(&t, kind, seed, n_ctx);
    const int64_t want = toy_plain(&reference, prompt, n, o, plain, &end);
    geodec_drafter *d = hostile_index < 0 ? NULL
                                          : hostile_make(&h, (hostile_kind)hostile_index, &reference, seed, plain, want,
                                                         n, end == GEODEC_END_STOP ? o->stop[0] : -1);
    if (d) h.opt = o;
    test_ok(geodec_decode(&target, prompt, n, d, o, &got, &err), &err);
    cr_assert_eq(got.n, want, "%s: %lld tokens, plain %lld", what, (long long)got.n, (long long)want);
    for (int64_t i = 0; i < want; i++) cr_assert_eq(got.token[i], plain[i], "%s: token %lld", what, (long long)i);
    cr_assert_eq(got.end, end, "%s: end %s", what, geodec_decode_end_name(got.end));
    const geodec_decode_counters c = got.counters;
    cr_assert_eq(c.emitted, want);
    cr_assert_eq(c.decided, want + (end == GEODEC_END_STOP));
    cr_assert_eq(c.rounds, c.target_passes, "passes are counted by the target");
    /* Every round decides its accepted drafts and one token more, unless the last accepted draft was the stop itself.
     */
    const int64_t missing = c.rounds + c.total.accepted - c.decided;
    cr_assert(missing == 0 || (missing == 1 && end == GEODEC_END_STOP), "%s: %lld", what, (long long)missing);
    cr_assert_eq(c.total.reached, c.total.accepted + c.total.rejected);
    cr_assert_geq(c.total.proposed, c.total.reached);
    if (o->budget == 0) cr_assert_leq(c.total.rejected, c.rounds);
    int64_t proposed = 0, by_source = 0;
    for (int i = 0; i < GEODEC_DRAFT_MAX; i++) {
        proposed += c.position[i].proposed;
        if (i > 0) cr_assert_leq(c.position[i].reached, c.position[i - 1].accepted);
    }
    for (int i = 0; i < GEODEC_DRAFT_SOURCES_MAX; i++) by_source += c.source[i].proposed;
    if (o->budget == 0) cr_assert_eq(proposed, c.total.proposed);
    cr_assert_eq(by_source, c.total.proposed);
    /* The cache holds rows of the text, all but perhaps the newest token's. */
    cr_assert(t.length == n + want - 1 || t.length == n + want, "%s: %d rows for %lld tokens", what, t.length,
              (long long)(n + want));
    for (int32_t i = 0; i < t.length; i++) cr_assert_eq(t.token[i], i < n ? prompt[i] : plain[i - n]);
    geodec_decode_free(&got);
    return c;
}

static void random_prompt(uint64_t seed, int32_t *prompt, int64_t n)
{
    geodec_rng r = geodec_rng_stream(seed, 77);
    for (int64_t i = 0; i < n; i++) prompt[i] = (int32_t)geodec_rng_below(&r, TOY_VOCAB);
}

/* Every hostile drafter, draft lengths 1..16, greedy and three seeds, two kinds of target. */
Test(decode, output_equals_plain_for_every_drafter)
{
    for (int kind = TOY_HISTORY; kind <= TOY_MARKOV; kind++)
        for (int foe = -1; foe < HOSTILE_KINDS; foe++)
            for (int32_t gamma = 1; gamma <= 16; gamma++)
                for (uint64_t mode = 0; mode < 4; mode++) {
                    int32_t prompt[5], stop[] = {0};
                    char what[96];
                    geodec_decode_options o = geodec_decode_options_default();
                    o.gamma = gamma;
                    o.max_tokens = 60;
                    o.stop = stop;
                    o.n_stop = gamma % 2; /* with and without stop tokens */
                    if (mode > 0) o.sampling = (geodec_sampling){0.9, mode == 2 ? 10 : 0, mode == 3 ? 0.9 : 1, mode};
                    random_prompt(mode, prompt, 5);
                    snprintf(what, sizeof what, "kind %d drafter %d gamma %d mode %d", kind, foe, gamma, (int)mode);
                    run_case((toy_kind)kind, 40 + mode, 200, prompt, 5, &o, foe, what);
                }
}

/* Output equals plain decoding with trees of 2 to 32 drafts. */
Test(decode, output_equals_plain_for_every_tree)
{
    int64_t wider = 0;
    for (int kind = TOY_HISTORY; kind <= TOY_MARKOV; kind++)
        for (int foe = 0; foe < HOSTILE_KINDS; foe++)
            for (int32_t budget = 1; budget <= 32; budget += budget < 8 ? 1 : 6)
                for (uint64_t mode = 0; mode < 4; mode++) {
                    int32_t prompt[5], stop[] = {0};
                    char what[96];
                    geodec_decode_options o = geodec_decode_options_default();
                    o.gamma = 1 + (budget * 7) % 12;
                    o.budget = budget;
                    o.max_tokens = 60;
                    o.stop = stop;
                    o.n_stop = budget % 2;
                    o.adaptive = budget % 3 == 2;
                    o.gate = budget % 4 == 3 ? 0.1 : 0;
                    if (mode > 0) o.sampling = (geodec_sampling){0.9, mode == 2 ? 10 : 0, mode == 3 ? 0.9 : 1, mode};
                    random_prompt(mode, prompt, 5);
                    snprintf(what, sizeof what, "kind %d drafter %d budget %d mode %d", kind, foe, budget, (int)mode);
                    const geodec_decode_counters c = run_case(
                        (toy_kind)kind, 40 + mode, budget % 5 && budget % 6 ? 200 : 40, prompt, 5, &o, foe, what);
                    wider += c.total.rejected > c.rounds;
                }
    cr_assert_gt(wider, 100, "trees with siblings: %lld", (long long)wider);
}

/* A target that counts two passes for every call: the numbers of passes are those of the target, not of the loop. */
static geodec_status (*once)(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                             float *state, geodec_err *err);
static geodec_status twice(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                           float *state, geodec_err *err)
{
    ((toy *)self)->count.passes++;
    ((toy *)self)->count.rows += 10;
    return once(self, token, parent, n, logits, state, err);
}

Test(decode, passes_and_rows_are_those_the_target_counts)
{
    toy t;
    geodec_err err = {0};
    geodec_decoded got;
    const int32_t prompt[] = {1, 2, 3, 4};
    geodec_decode_options o = geodec_decode_options_default();
    geodec_target target = toy_target(&t, TOY_HISTORY, 4, 100);
    once = target.forward;
    target.forward = twice;
    o.max_tokens = 20;
    test_ok(geodec_decode(&target, prompt, 4, NULL, &o, &got, &err), &err);
    const geodec_decode_counters *c = &got.counters;
    cr_assert(c->rounds == 20 && c->target_passes == 40 && c->target_rows == 20 * 11);
    cr_assert(c->prompt_passes == 2 && c->prompt_rows == 3 + 10);
    geodec_decode_free(&got);
}

Test(decode, oracle_replay_reaches_gamma_plus_one_and_wrong_drafts_reach_one)
{
    for (int32_t gamma = 1; gamma <= 16; gamma++)
        for (uint64_t mode = 0; mode < 2; mode++) {
            int32_t prompt[3];
            geodec_decode_options o = geodec_decode_options_default();
            o.gamma = gamma;
            o.max_tokens = 6 * (gamma + 1);
            o.sampling.temperature = mode ? 1.1 : 0;
            random_prompt(9, prompt, 3);
            geodec_decode_counters c = run_case(TOY_HISTORY, 3, 300, prompt, 3, &o, HOSTILE_ORACLE, "oracle");
            cr_assert_eq(c.target_passes, 6);
            cr_assert_float_eq(geodec_decode_tokens_per_pass(&c), gamma + 1, 1e-15);
            cr_assert_eq(c.total.accepted, 6 * gamma);
            cr_assert_eq(c.length[gamma], 6);
            c = run_case(TOY_HISTORY, 3, 300, prompt, 3, &o, HOSTILE_WRONG, "wrong");
            cr_assert_eq(c.target_passes, o.max_tokens);
            cr_assert_eq(c.total.accepted, 0);
            cr_assert_eq(c.position[0].rejected, c.total.rejected);
            c = run_case(TOY_HISTORY, 3, 300, prompt, 3, &o, -1, "plain");
            cr_assert_float_eq(geodec_decode_tokens_per_pass(&c), 1, 0);
            c = run_case(TOY_HISTORY, 3, 300, prompt, 3, &o, HOSTILE_RANDOM, "random");
            cr_assert_lt(geodec_decode_tokens_per_pass(&c), 1.5);
        }
}

Test(decode, adaptive_length_and_gate_leave_the_output_alone)
{
    for (int foe = 0; foe < HOSTILE_KINDS; foe++)
        for (uint64_t mode = 0; mode < 3; mode++) {
            int32_t prompt[4], stop[] = {0};
            geodec_decode_options o = geodec_decode_options_default();
            o.adaptive = true;
            o.gamma = 8;
            o.max_tokens = 120;
            o.min_tokens = 110;
            o.stop = stop;
            o.n_stop = 1;
            o.gate = mode == 2 ? 0.3 : 0;
            o.sampling.temperature = mode ? 0.8 : 0;
            random_prompt(mode, prompt, 4);
            const geodec_decode_counters c = run_case(TOY_HISTORY, 5, 300, prompt, 4, &o, foe, "adaptive");
            if (foe == HOSTILE_WRONG) { /* stops drafting, except for rare requests */
                cr_assert_gt(c.length[0], c.rounds / 2);
                cr_assert_lt(c.length[0], c.rounds);
            }
        }
}

static void forget(geodec_drafter *d) { (void)d; }

/* Never right and in want of states, so that it is suspended: what it is shown when it is asked again is the end of the
 * text, whole or a piece of it. */
typedef struct suspended {
    geodec_drafter base;
    const toy *toy;
    int32_t token[4096];
    float state[4096][TOY_STATE];
    int64_t n, whole, pieces; /* rows shown since begin; requests after all of the text, after a piece of it */
} suspended;
static geodec_status suspended_begin(geodec_drafter *d, geodec_err *err)
{
    (void)err;
    ((suspended *)d)->n = 0;
    return GEODEC_OK;
}
static geodec_status suspended_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    suspended *s = (suspended *)d;
    memcpy(s->token + s->n, rows->token, (size_t)rows->n * sizeof *rows->token);
    memcpy(s->state[s->n], rows->state, (size_t)rows->n * sizeof s->state[0]);
    s->n += rows->n;
    return GEODEC_OK;
}
static geodec_status suspended_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                       geodec_err *err)
{
    (void)err;
    suspended *s = (suspended *)d;
    const int64_t first = q->n_context - 1 - s->n; /* of the text, among those it was shown */
    cr_assert(first >= 0 && s->n > 0, "%lld rows of %lld", (long long)s->n, (long long)q->n_context - 1);
    cr_assert_eq(memcmp(s->token, q->context + first, (size_t)s->n * sizeof *s->token), 0);
    for (int64_t i = 0; i < s->n; i++) {
        float want[TOY_STATE];
        toy_state(s->toy, q->context, first + i + 1, want);
        cr_assert_eq(memcmp(want, s->state[i], sizeof want), 0, "state %lld", (long long)(first + i));
    }
    ++*(first > 0 ? &s->pieces : &s->whole);
    out[0] = (geodec_draft){.token = -1, .confidence = 0.9};
    *n = 1;
    return GEODEC_OK;
}

Test(decode, a_suspended_drafter_is_shown_the_end_of_the_text)
{
    static const char *const source[] = {"suspended"};
    static suspended s;
    const geodec_drafter_ops ops = {.name = "suspended",
                                    .wants_state = true,
                                    .n_sources = 1,
                                    .source_name = source,
                                    .begin = suspended_begin,
                                    .observe = suspended_observe,
                                    .propose = suspended_propose,
                                    .destroy = forget};
    const int32_t prompt[20] = {1, 2};
    s.base.ops = &ops;
    static const double cost[] = {0, 0.4, 0.66, 0.9,
                                  1.06}; /* cost of a round: the higher it is, the longer the back-off */
    for (size_t k = 0; k < sizeof cost / sizeof *cost; k++) {
        toy t;
        geodec_err err = {0};
        geodec_decoded got;
        geodec_decode_options o = geodec_decode_options_default();
        const geodec_target target = toy_target(&t, TOY_HISTORY, 3, 1000);
        o.adaptive = true;
        o.max_tokens = 500;
        o.cost.o = cost[k];
        s.toy = &t;
        s.n = 0;
        test_ok(geodec_decode(&target, prompt, 20, &s.base, &o, &got, &err), &err);
        geodec_decode_free(&got);
    }
    cr_assert(s.whole > 0 && s.pieces > 0, "%lld %lld", (long long)s.whole, (long long)s.pieces);
}

Test(decode, context_full_ends_the_output)
{
    for (int32_t n_ctx = 5; n_ctx < 30; n_ctx++)
        for (int foe = -1; foe < HOSTILE_KINDS; foe++) {
            int32_t prompt[5];
            geodec_decode_options o = geodec_decode_options_default();
            o.gamma = 7;
            o.max_tokens = 100;
            random_prompt(1, prompt, 5);
            /* Each output token except the last needs a row. */
            const geodec_decode_counters c = run_case(TOY_HISTORY, 5, n_ctx, prompt, 5, &o, foe, "full context");
            cr_assert_eq(c.emitted, n_ctx - 5 + 1);
        }
}

Test(decode, prompts_and_options_out_of_range)
{
    toy t;
    geodec_err err = {0};
    geodec_decoded out = {.n = -7};
    const geodec_target target = toy_target(&t, TOY_HISTORY, 1, 8);
    int32_t prompt[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    geodec_decode_options o = geodec_decode_options_default();
    cr_assert_eq(geodec_decode(&target, prompt, 0, NULL, &o, &out, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_decode(&target, prompt, 9, NULL, &o, &out, &err), GEODEC_LIMIT);
    prompt[1] = TOY_VOCAB;
    cr_assert_eq(geodec_decode(&target, prompt, 3, NULL, &o, &out, &err), GEODEC_RANGE);
    prompt[1] = -1;
    cr_assert_eq(geodec_decode(&target, prompt, 3, NULL, &o, &out, &err), GEODEC_RANGE);
    prompt[1] = 2;
    o.gamma = GEODEC_DRAFT_MAX + 1;
    cr_assert_eq(geodec_decode(&target, prompt, 3, NULL, &o, &out, &err), GEODEC_INVAL);
    o.gamma = 2;
    o.max_tokens = -1;
    cr_assert_eq(geodec_decode(&target, prompt, 3, NULL, &o, &out, &err), GEODEC_INVAL);
    o.sampling.top_p = 0;
    o.max_tokens = 1;
    cr_assert_eq(geodec_decode(&target, prompt, 3, NULL, &o, &out, &err), GEODEC_INVAL);
    cr_assert_eq(out.n, -7, "outputs are written on success only");
    o = geodec_decode_options_default();
    o.max_tokens = 0;
    test_ok(geodec_decode(&target, prompt, 3, NULL, &o, &out, &err), &err);
    cr_assert(out.n == 0 && out.end == GEODEC_END_LENGTH && out.counters.target_passes == 0);
    geodec_decode_free(&out);
}

/* The guard is a mask of rows: a model that always wants to stop gives exactly min_tokens. */
Test(guard, always_stop_model_gives_exactly_min_tokens)
{
    int32_t prompt[3], stop[] = {0};
    random_prompt(2, prompt, 3);
    for (int64_t min = 0; min <= 12; min++)
        for (int32_t gamma = 0; gamma <= 8; gamma++)
            for (int foe = 0; foe < HOSTILE_KINDS; foe++) {
                geodec_decode_options o = geodec_decode_options_default();
                o.gamma = gamma;
                o.max_tokens = 40;
                o.min_tokens = min; /* 0: guard off, empty output */
                o.stop = stop;
                o.n_stop = 1;
                const geodec_decode_counters c = run_case(TOY_STOP, 6, 100, prompt, 3, &o, foe, "always stop");
                cr_assert_eq(c.emitted, min);
            }
}

/* A stop token inside an accepted run, at every offset around min_tokens. */
Test(guard, stop_inside_an_accepted_run)
{
    int found = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        static int32_t plain[4096];
        int32_t prompt[3];
        toy t;
        geodec_end end;
        geodec_decode_options o = geodec_decode_options_default();
        toy_target(&t, TOY_HISTORY, seed, 100);
        random_prompt(seed, prompt, 3);
        o.max_tokens = 30;
        toy_plain(&t, prompt, 3, &o, plain, &end);
        const int32_t stop[] = {plain[7]};
        bool earlier = false;
        for (int i = 0; i < 7; i++) earlier = earlier || plain[i] == stop[0];
        if (earlier) continue; /* index 7 must be the first stop */
        o.stop = stop;
        o.n_stop = 1;
        for (int64_t min = 6; min <= 8; min++) /* the stop at min+1, min, min-1 */
            for (int32_t gamma = 1; gamma <= 10; gamma++) {
                o.min_tokens = min;
                o.gamma = gamma;
                const geodec_decode_counters c =
                    run_case(TOY_HISTORY, seed, 100, prompt, 3, &o, HOSTILE_ORACLE, "stop in run");
                if (min == 7) cr_assert_eq(c.emitted, 7);
                found += c.total.accepted > c.emitted - c.rounds; /* the stop itself was an accepted draft */
            }
    }
    cr_assert_gt(found, 100, "%d", found);
}

/* A model that always wants to stop gives exactly min_tokens in trees and with sampled tokens too. */
Test(guard, always_stop_model_gives_exactly_min_tokens_in_trees_and_sampled)
{
    int32_t prompt[3], stop[] = {0};
    random_prompt(2, prompt, 3);
    for (int64_t min = 0; min <= 12; min += 2)
        for (int32_t budget = 0; budget <= 16; budget += 2)
            for (uint64_t mode = 0; mode < 3; mode++)
                for (int foe = 0; foe < HOSTILE_KINDS; foe++) {
                    geodec_decode_options o = geodec_decode_options_default();
                    o.gamma = 1 + budget / 2;
                    o.budget = budget;
                    o.max_tokens = 40;
                    o.min_tokens = min; /* 0: guard off, empty output */
                    o.stop = stop;
                    o.n_stop = 1;
                    /* so cold that the stop token, where it is allowed, is sampled except once in 1e30 */
                    if (mode > 0) o.sampling = (geodec_sampling){0.05, 0, mode == 2 ? 0.9 : 1, mode};
                    const geodec_decode_counters c = run_case(TOY_STOP, 6, 100, prompt, 3, &o, foe, "always stop");
                    cr_assert_eq(c.emitted, min, "%lld tokens, not %lld", (long long)c.emitted, (long long)min);
                    cr_assert_eq(c.decided, min + 1);
                }
}

/* (c) With the guard, plain and speculative strings are the same: chains of 1 to 8, trees of 2 to 16, greedy and
 * sampled.
 */
Test(guard, speculation_changes_no_guarded_string)
{
    int64_t guarded = 0;
    for (uint64_t seed = 0; seed < 6; seed++)
        for (int64_t min = 0; min <= 24; min += 4)
            for (int32_t width = 1; width <= 16; width++)
                for (int tree = width > 8; tree <= (width > 1); tree++)
                    for (uint64_t mode = 0; mode < 3; mode++) {
                        int32_t prompt[4], stop[] = {0, 7, 11};
                        geodec_decode_options o = geodec_decode_options_default();
                        o.gamma = tree ? 6 : width;
                        o.budget = tree ? width : 0;
                        o.max_tokens = 40;
                        o.min_tokens = min;
                        o.stop = stop;
                        o.n_stop = 3;
                        if (mode > 0) o.sampling = (geodec_sampling){1.1, mode == 1 ? 0 : 6, 1, seed};
                        random_prompt(seed, prompt, 4);
                        const geodec_decode_counters c =
                            run_case(TOY_HISTORY, seed, 100, prompt, 4, &o, (int)(seed % HOSTILE_KINDS), "guarded");
                        cr_assert_geq(c.emitted, min);
                        guarded += c.emitted == min;
                    }
    cr_assert_gt(guarded, 20, "texts that end where they may: %lld", (long long)guarded);
}

/* (d) A stop token inside an accepted path of a tree, at every offset around min_tokens, greedy and sampled. */
Test(guard, stop_inside_an_accepted_path_of_a_tree)
{
    int found = 0, cases = 0;
    for (uint64_t seed = 0; seed < 60; seed++)
        for (uint64_t mode = 0; mode < 2; mode++) {
            static int32_t plain[4096];
            int32_t prompt[3];
            toy t;
            geodec_end end;
            geodec_decode_options o = geodec_decode_options_default();
            toy_target(&t, TOY_HISTORY, seed, 100);
            random_prompt(seed, prompt, 3);
            if (mode) o.sampling = (geodec_sampling){0.8, 0, 1, seed};
            o.max_tokens = 30;
            toy_plain(&t, prompt, 3, &o, plain, &end);
            const int32_t stop[] = {plain[7]};
            bool earlier = false;
            for (int i = 0; i < 7; i++) earlier = earlier || plain[i] == stop[0];
            if (earlier) continue; /* index 7 must be the first stop */
            o.stop = stop;
            o.n_stop = 1;
            for (int64_t min = 6; min <= 8; min++) /* the stop at min+1, min, min-1 */
                for (int32_t budget = 2; budget <= 16; budget++) {
                    o.min_tokens = min;
                    o.budget = budget;
                    o.gamma = 10;
                    const geodec_decode_counters c =
                        run_case(TOY_HISTORY, seed, 100, prompt, 3, &o, HOSTILE_ORACLE, "stop in path");
                    /* a mask changes samples before the stop as well */
                    if (min < 8 && mode == 0) cr_assert_eq(c.emitted, 7);
                    cr_assert_geq(c.emitted, min);
                    found += c.total.accepted > c.emitted - c.rounds; /* the stop itself was an accepted draft */
                    cases++;
                }
        }
    cr_assert_gt(cases, 500, "%d", cases);
    cr_assert_gt(found, 100, "%d of %d", found, cases);
}

/* Several turns with a kept cache: the replies are those of a new text of the same tokens. */
Test(decode, a_kept_cache_gives_what_a_new_text_gives)
{
    for (int foe = -1; foe < HOSTILE_KINDS; foe++)
        for (int32_t budget = 0; budget <= 8; budget += 4)
            for (uint64_t mode = 0; mode < 2; mode++) {
                static int32_t plain[4096], text[4096];
                toy t, reference;
                hostile h;
                geodec_err err = {0};
                geodec_end end;
                geodec_decode_options o = geodec_decode_options_default();
                geodec_drafter *d = NULL;
                int32_t stop[] = {0};
                int64_t n = 0;
                toy_target(&reference, TOY_HISTORY, 9, 400);
                const geodec_target target = toy_target(&t, TOY_HISTORY, 9, 400);
                o.gamma = 5;
                o.budget = budget;
                o.max_tokens = 25;
                o.stop = stop;
                o.n_stop = 1;
                if (mode) o.sampling = (geodec_sampling){1, 0, 1, 3};
                for (int64_t turn = 0; turn < 6; turn++) {
                    geodec_decoded got;
                    random_prompt(100 + (uint64_t)turn, text + n, 1 + turn * 3);
                    n += 1 + turn * 3;
                    const int64_t want = toy_plain(&reference, text, n, &o, plain, &end), cached = t.length;
                    if (foe >= 0 && turn == 0)
                        d = hostile_make(&h, (hostile_kind)foe, &reference, 9, plain, want, n, -1);
                    h.n_plain = want;
                    h.n_prompt = n;
                    h.stop = end == GEODEC_END_STOP ? 0 : -1;
                    o.cached = cached;
                    test_ok(geodec_decode(&target, text, n, d, &o, &got, &err), &err);
                    cr_assert_eq(got.n, want, "turn %d", (int)turn);
                    cr_assert_eq(memcmp(got.token, plain, (size_t)want * sizeof *plain), 0);
                    cr_assert_eq(got.counters.prompt_rows, n - 1 - cached, "only new rows are forwarded");
                    memcpy(text + n, got.token, (size_t)got.n * sizeof *text);
                    n += got.n;
                    cr_assert(t.length == n || t.length == n - 1);
                    geodec_decode_free(&got);
                }
            }
}

Test(decode, rows_that_are_not_cached_are_refused)
{
    toy t;
    geodec_err err = {0};
    geodec_decoded got;
    const int32_t prompt[] = {1, 2, 3};
    const geodec_target target = toy_target(&t, TOY_HISTORY, 4, 100);
    geodec_decode_options o = geodec_decode_options_default();
    const int64_t bad[] = {-1, 1, 3};
    for (int i = 0; i < 3; i++) {
        o.cached = bad[i];
        cr_assert_eq(geodec_decode(&target, prompt, 3, NULL, &o, &got, &err), GEODEC_INVAL);
    }
}

static int stop_after(void *ctx, int32_t token)
{
    (void)token;
    return --*(int *)ctx == 0;
}

Test(decode, caller_may_stop_inside_a_run)
{
    for (int after = 1; after <= 9; after++) {
        static int32_t plain[4096];
        toy t, reference;
        hostile h;
        geodec_end end;
        geodec_err err = {0};
        geodec_decoded got;
        int32_t prompt[3];
        int left = after;
        geodec_decode_options o = geodec_decode_options_default();
        random_prompt(4, prompt, 3);
        toy_target(&reference, TOY_HISTORY, 4, 100);
        const geodec_target target = toy_target(&t, TOY_HISTORY, 4, 100);
        o.max_tokens = 20;
        o.gamma = 5;
        const int64_t n = toy_plain(&reference, prompt, 3, &o, plain, &end);
        o.emit = stop_after;
        o.ctx = &left;
        test_ok(geodec_decode(&target, prompt, 3, hostile_make(&h, HOSTILE_ORACLE, &reference, 1, plain, n, 3, -1), &o,
                              &got, &err),
                &err);
        cr_assert_eq(got.n, after);
        cr_assert_eq(got.end, GEODEC_END_CALLER);
        cr_assert_eq(got.counters.decided, after);
        cr_assert_eq(memcmp(got.token, plain, (size_t)after * sizeof *plain), 0);
        cr_assert_eq(t.length, 3 + after - 1);
        cr_assert_leq(got.counters.total.accepted, after, "accepted tokens are counted up to the stop");
        geodec_decode_free(&got);
    }
}

static int interrupt(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx;
    (void)what;
    (void)total;
    return done > 5;
}

Test(decode, can_be_interrupted)
{
    toy t;
    geodec_err err = {0};
    geodec_decoded got = {.n = -1};
    const int32_t prompt[] = {1, 2};
    const geodec_target target = toy_target(&t, TOY_HISTORY, 4, 100);
    const geodec_hooks hooks = {.progress = interrupt};
    geodec_decode_options o = geodec_decode_options_default();
    o.hooks = &hooks;
    cr_assert_eq(geodec_decode(&target, prompt, 2, NULL, &o, &got, &err), GEODEC_INTERRUPTED);
    cr_assert_eq(got.n, -1);
}

/* A drafter that breaks the interface is an error, not a wrong output. */
static geodec_status too_many(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                              geodec_err *err)
{
    (void)d;
    (void)out;
    (void)err;
    *n = q->gamma + 1;
    return GEODEC_OK;
}
static geodec_status nan_confidence(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                    geodec_err *err)
{
    (void)d;
    (void)q;
    (void)err;
    out[0] = (geodec_draft){.confidence = 0.0 / (double)(q->gamma - q->gamma)};
    *n = 1;
    return GEODEC_OK;
}
/* A wrong tree: one path that is longer than requested, or two equal siblings. */
static geodec_status too_deep(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                              geodec_err *err)
{
    (void)d;
    (void)err;
    for (*n = 0; *n <= q->gamma && *n < q->budget; ++*n) out[*n] = (geodec_draft){.parent = *n - 1};
    return GEODEC_OK;
}
static geodec_status twins(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                           geodec_err *err)
{
    (void)d;
    (void)err;
    for (*n = 0; *n < 2 && *n < q->budget; ++*n) out[*n] = (geodec_draft){.token = 3, .parent = -1};
    return GEODEC_OK;
}
static geodec_status nothing(geodec_drafter *d, geodec_err *err)
{
    (void)d;
    (void)err;
    return GEODEC_OK;
}
static geodec_status no_rows(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)d;
    (void)err;
    cr_assert_null(rows->state);
    return GEODEC_OK;
}

Test(decode, broken_drafters_are_errors)
{
    static const char *const source[] = {"only"};
    enum { BROKEN = 4 };
    geodec_drafter_ops ops[BROKEN] = {{.name = "broken", .n_sources = 1, .source_name = source}};
    ops[0].begin = nothing;
    ops[0].observe = no_rows;
    ops[0].destroy = forget;
    for (int i = 1; i < BROKEN; i++) ops[i] = ops[0];
    ops[0].propose = too_many;
    ops[1].propose = nan_confidence;
    ops[2].propose = too_deep;
    ops[3].propose = twins;
    ops[2].plans = ops[3].plans = true;
    for (int i = 0; i < BROKEN; i++) {
        toy t;
        geodec_err err = {0};
        geodec_decoded got;
        geodec_drafter d = {.ops = &ops[i]};
        const int32_t prompt[] = {1, 2};
        const geodec_target target = toy_target(&t, TOY_HISTORY, 4, 100);
        geodec_decode_options o = geodec_decode_options_default();
        o.budget = i < 2 ? 0 : 16;
        cr_assert_eq(geodec_decode(&target, prompt, 2, &d, &o, &got, &err), GEODEC_INTERNAL, "%d", i);
    }
}

/* The tree for given probabilities has the most probable paths, and each prefix is the best of its size. */
typedef struct planted {
    geodec_drafter base;
    int32_t nodes, depth[GEODEC_DRAFT_MAX + 1], token[GEODEC_DRAFT_MAX + 1], parent[GEODEC_DRAFT_MAX + 1];
} planted;
static geodec_status planted_root(geodec_drafter *d, const geodec_draft_request *q, geodec_err *err)
{
    (void)q;
    (void)err;
    ((planted *)d)->nodes = 1;
    return GEODEC_OK;
}
/* Three children of probabilities that depend on the path: .6 .3 .1 after token 0, .5 .25 .125 after 1, .9 .05 .01
 * after 2. */
static geodec_status planted_children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                      geodec_err *err)
{
    static const double probability[3][3] = {{0.6, 0.3, 0.1}, {0.5, 0.25, 0.125}, {0.9, 0.05, 0.01}};
    (void)err;
    const int32_t above = node == 0 ? 0 : ((planted *)d)->token[node];
    *n = most < 3 ? most : 3;
    for (int32_t i = 0; i < *n; i++) out[i] = (geodec_draft){.token = i, .confidence = probability[above][i]};
    return GEODEC_OK;
}
static geodec_status planted_adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    (void)err;
    planted *p = (planted *)d;
    p->parent[p->nodes] = parent;
    p->token[p->nodes++] = token;
    return GEODEC_OK;
}

/* Against all 39 paths of three levels in order of their probability: a tree of b drafts holds the b most probable, and
 * is a prefix of the next larger one. */
Test(tree, takes_the_most_probable_paths_first)
{
    static const char *const source[] = {"planted"};
    const geodec_drafter_ops ops = {.name = "planted",
                                    .n_sources = 1,
                                    .source_name = source,
                                    .root = planted_root,
                                    .children = planted_children,
                                    .adopt = planted_adopt};
    planted p = {.base = {.ops = &ops}};
    const int32_t context[] = {5};
    geodec_err err = {0};
    double all[3 + 9 + 27], probability[GEODEC_DRAFT_MAX];
    static const double given[3][3] = {{0.6, 0.3, 0.1}, {0.5, 0.25, 0.125}, {0.9, 0.05, 0.01}};
    int k = 0;
    for (int a = 0; a < 3; a++) {
        all[k++] = given[0][a];
        for (int b = 0; b < 3; b++) {
            all[k++] = given[0][a] * given[a][b];
            for (int c = 0; c < 3; c++) all[k++] = given[0][a] * given[a][b] * given[b][c];
        }
    }
    for (int i = 0; i < k; i++)
        for (int j = i + 1; j < k; j++)
            if (all[j] > all[i]) {
                const double t = all[i];
                all[i] = all[j];
                all[j] = t;
            }
    geodec_draft before[GEODEC_DRAFT_MAX];
    for (int32_t budget = 1; budget <= 39; budget++) {
        geodec_draft got[GEODEC_DRAFT_MAX];
        int32_t n = 0, depth[GEODEC_DRAFT_MAX];
        const geodec_draft_request q = {.context = context, .n_context = 1, .gamma = 3, .budget = budget};
        test_ok(geodec_drafter_propose(&p.base, &q, got, &n, &err), &err);
        cr_assert_eq(n, budget);
        for (int32_t i = 0; i < n; i++)
            probability[i] = got[i].confidence * (got[i].parent < 0 ? 1 : probability[got[i].parent]);
        geodec_tree_depths(got, n, depth);
        for (int32_t i = 0; i < n; i++) {
            cr_assert(got[i].parent < i && depth[i] < 3);
            cr_assert_float_eq(probability[i], all[i], 1e-15, "node %d of %d: %g, %g", i, n, probability[i], all[i]);
            if (i < budget - 1) cr_assert(got[i].token == before[i].token && got[i].parent == before[i].parent);
        }
        memcpy(before, got, sizeof got);
    }
}
