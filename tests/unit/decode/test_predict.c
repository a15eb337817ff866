#include "base/rng.h"
#include "decode/adapt.h"
#include "decode/predict.h"
#include "decode/toy.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

Test(predict, closed_form_equals_the_series_and_the_specification)
{
    for (int g = 0; g <= 16; g++) {
        cr_assert_float_eq(geodec_predict_tokens(1, g), g + 1, 1e-12);
        cr_assert_float_eq(geodec_predict_tokens(0, g), 1, 0);
        for (double a = 0.05; a < 1; a += 0.05) {
            double beta[16];
            for (int i = 0; i < g; i++) beta[i] = a;
            const double want = (1 - pow(a, g + 1)) / (1 - a);
            cr_assert_float_eq(geodec_predict_tokens(a, g), want, 1e-12 * want);
            cr_assert_float_eq(geodec_predict_tokens_by_position(beta, g), want, 1e-12 * want);
        }
    }
    /* A drafter at a twentieth of the price: c = 0.05, alpha = 0.385, gamma = 4, v = 1 give 1.61 tokens and 1.34x. */
    geodec_cost flat = geodec_cost_linear(0);
    flat.c = 0.05;
    cr_assert_float_eq(geodec_predict_tokens(0.385, 4), 1.61, 0.005);
    cr_assert_float_eq(geodec_predict_speedup(&flat, geodec_predict_tokens(0.385, 4), 4), 1.34, 0.005);
    /* The measured v(b) of a processor, free drafter. */
    const geodec_cost cpu = {.n = 8, .v = {0, 1, 1.26, 1.57, 1.67, 2.00, 2.22, 2.365, 2.51}};
    cr_assert_float_eq(geodec_predict_speedup(&cpu, geodec_predict_tokens(0.3, 1), 1), 1.03, 0.006);
    cr_assert_float_eq(geodec_predict_speedup(&cpu, geodec_predict_tokens(0.7, 3), 3), 1.52, 0.006);
    cr_assert_float_eq(geodec_predict_speedup(&cpu, geodec_predict_tokens(0.9, 7), 7), 2.27, 0.006);
    /* Overhead of both sides cancels when drafts are free and useless. */
    flat = (geodec_cost){.n = 1, .v = {0, 1}, .o = 0.2, .o_plain = 0.2};
    cr_assert_float_eq(geodec_predict_speedup(&flat, 1, 0), 1, 1e-15);
    const int64_t rounds[] = {1, 0, 3};
    flat.c = 0.5;
    cr_assert_float_eq(geodec_predict_round(&flat, rounds, 2), (1 + 3 * (2 * 0.5 + 1)) / 4.0 + 0.2, 1e-15);
    cr_assert_float_eq(geodec_cost_pass(&cpu, 9), cpu.v[8] + (cpu.v[8] - cpu.v[7]), 1e-12);
}

/* E against a simulated walk with independent acceptances of the given probability. */
Test(predict, expectation_equals_simulation)
{
    const double beta[] = {0.8, 0.7, 0.5, 0.9};
    geodec_rng r = geodec_rng_stream(2, 2);
    const int n = 400000;
    double tokens = 0;
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < 4 && geodec_rng_uniform(&r) < beta[k]) k++;
        tokens += k + 1;
    }
    cr_assert_float_eq(tokens / n, geodec_predict_tokens_by_position(beta, 4), 0.01);
}

/* Plays `rounds` rounds of a loop with chains of `n` drafts of confidence `claim` that are right with probability
 * `truth`. Times are those of the cost model. Returns the time in one-row passes; *tokens: the tokens of all rounds. */
static double play(geodec_adapt *g, const geodec_cost *cost, int32_t n, double claim, double truth, double asking,
                   int rounds, uint64_t seed, int64_t *tokens, int *asked)
{
    geodec_rng r = geodec_rng_stream(seed, 4);
    double time = 0;
    for (int i = 0; i < rounds; i++) {
        geodec_draft d[16];
        bool right[16];
        int32_t want = geodec_adapt_ask(g, n), sent = 0, accepted = 0;
        double ask = 0;
        for (int32_t k = 0; k < 16; k++) {
            d[k] = (geodec_draft){.token = 1, .parent = k - 1, .confidence = claim};
            right[k] = geodec_rng_uniform(&r) < truth;
        }
        if (want > 0) {
            ask = asking;
            sent = geodec_adapt_send(g, d, want);
            ++*asked;
        }
        cr_assert_leq(sent, want);
        while (accepted < sent && right[accepted]) accepted++;
        for (int32_t k = 0; k < want && k <= accepted; k++) geodec_adapt_learn(g, &d[k], right[k]);
        time += ask + geodec_cost_pass(cost, sent + 1);
        *tokens += 1 + accepted;
        if (i > 0) geodec_pace_observe(&g->pace, sent, ask, geodec_cost_pass(cost, sent + 1), 0);
        geodec_adapt_settle(g, sent, 1 + accepted);
    }
    return time;
}

/* For any cost of drafting and any overconfident drafter, losses stay within the budget. */
Test(adapt, what_does_not_pay_costs_next_to_nothing)
{
    for (int kind = 0; kind < 36; kind++) {
        geodec_adapt g;
        const geodec_cost cost = geodec_cost_linear(0.2 + 0.3 * (kind % 3));
        const double asking = (const double[]){0.01, 0.1, 0.5, 3}[kind / 3 % 4];
        const double claim = (const double[]){0.9, 0.5, 0.2}[kind / 12];
        int64_t tokens = 0;
        int asked = 0;
        geodec_adapt_init(&g, 8, &cost);
        const double time = play(&g, &cost, 8, claim, 0.1, asking, 4000, (uint64_t)kind, &tokens, &asked);
        cr_assert_lt(time, 1.02 * (double)tokens, "kind %d: %g passes for %d tokens", kind, time, (int)tokens);
        cr_assert_gt(asked, 4, "but it is tried again");
    }
}

/* A change of the text is detected, and a good drafter is used: at least nine tenths of the closed form's best. */
Test(adapt, finds_what_pays)
{
    for (double alpha = 0.5; alpha < 1; alpha += 0.1) {
        geodec_adapt g;
        const geodec_cost cost = geodec_cost_linear(0.2);
        int64_t tokens = 0;
        int asked = 0;
        double best = 1;
        geodec_adapt_init(&g, 8, &cost);
        (void)play(&g, &cost, 8, 0.55, 0.01, 0.05, 1000, 5, &tokens, &asked);
        (void)play(&g, &cost, 8, 0.55, alpha, 0.05, 400, 6, &tokens, &asked); /* to notice */
        tokens = 0;
        const double time = play(&g, &cost, 8, 0.55, alpha, 0.05, 2000, 7, &tokens, &asked);
        for (int32_t n = 1; n <= 8; n++)
            best = fmax(best, geodec_predict_tokens(alpha, n) / (0.05 + geodec_cost_pass(&cost, n + 1)));
        cr_assert_gt((double)tokens / time, 0.9 * best, "alpha %g: %g of %g", alpha, (double)tokens / time, best);
    }
}

/* The length of a suspension is known in advance, and includes the cost of its end. */
Test(adapt, suspensions_end_on_time)
{
    for (int k = 0; k < 20; k++) {
        geodec_adapt g;
        const geodec_cost cost = geodec_cost_linear(0.3);
        const geodec_draft wrong = {1, 0, -1, 0.9};
        geodec_adapt_init(&g, 8, &cost);
        while (geodec_adapt_ask(&g, 8) > 0) {
            cr_assert_eq(geodec_adapt_wait(&g), 0);
            const int32_t sent = geodec_adapt_send(&g, &wrong, 1);
            geodec_adapt_learn(&g, &wrong, false);
            geodec_pace_observe(&g.pace, sent, 0.1, geodec_cost_pass(&cost, sent + 1), 0);
            geodec_adapt_settle(&g, sent, 1);
        }
        const int64_t first = geodec_adapt_wait(&g);
        int64_t rounds = 1;
        geodec_adapt_suspend(&g, 1);
        while (geodec_adapt_begin(&g)) rounds++;
        cr_assert_eq(rounds, first - 1);
        cr_assert_eq(geodec_adapt_ask(&g, 8), 0);
        cr_assert_eq(geodec_adapt_wait(&g), 1);
        geodec_adapt_suspend(&g, 1);
        cr_assert_eq(g.suspended, 0, "no notice is left");
        geodec_adapt_settle(&g, 0, 2);
        cr_assert_gt(geodec_adapt_ask(&g, 8), 0, "asked again after %d tokens", (int)first);
        geodec_adapt_resumed(&g, 0.2 * k); /* all of it is charged */
        while (geodec_adapt_ask(&g, 8) > 0) geodec_adapt_settle(&g, 0, 1);
        if (k > 2) cr_assert_gt(geodec_adapt_wait(&g), first, "where resuming costs much it is rare");
    }
}

/* A suspension that ends with its request counts only for its actual length. */
Test(adapt, suspensions_end_early)
{
    geodec_adapt g;
    const geodec_cost cost = geodec_cost_linear(0.3);
    geodec_adapt_init(&g, 8, &cost);
    geodec_pace_observe(&g.pace, 0, 0.1, 1, 0);
    while (geodec_adapt_ask(&g, 8) > 0) geodec_adapt_settle(&g, 0, 1);
    const int64_t wait = geodec_adapt_wait(&g);
    geodec_adapt_suspend(&g, 12);
    cr_assert_eq(g.suspended, wait - 12);
    for (int k = 0; k < 9; k++) cr_assert(geodec_adapt_begin(&g));
    geodec_adapt_end_suspension(&g);
    cr_assert_eq(g.suspended, 0);
    cr_assert_eq(geodec_adapt_wait(&g), wait - 10);
    geodec_adapt_end_suspension(&g);
    cr_assert_eq(geodec_adapt_wait(&g), wait - 10, "once is enough");
    cr_assert_not(geodec_adapt_begin(&g));
}

/* The measured times of the loop replace the given ones, for any speed of the machine. */
Test(adapt, learns_what_passes_take)
{
    for (double pace = 0.5; pace < 3; pace *= 2) {
        geodec_adapt g;
        geodec_cost cost = geodec_cost_linear(0.2);
        geodec_adapt_init(&g, 8, &cost);
        for (int i = 0; i < 400; i++) {
            (void)geodec_adapt_ask(&g, 8);
            geodec_pace_observe(&g.pace, 3, 0.25 * pace, 2.4 * pace, 0.3 * pace);
            geodec_adapt_settle(&g, 3, 2);
            geodec_pace_observe(&g.pace, 0, 0, pace, 0.1 * pace);
            geodec_adapt_settle(&g, 0, 1);
        }
        cr_assert_float_eq(geodec_pace_pass(&g.pace, 4), 2.4, 0.02, "%g", geodec_pace_pass(&g.pace, 4));
        cr_assert_float_eq(geodec_pace_pass(&g.pace, 1), 1, 0);
        cr_assert_float_eq(g.pace.asking.mean, 0.25, 3e-3);
        cr_assert_float_eq(g.pace.cost.o, 0.3, 4e-3);
        cr_assert_float_eq(g.pace.cost.o_plain, 0.1, 2e-3);
        const double before = geodec_pace_pass(&g.pace, 4);
        geodec_pace_observe(&g.pace, 3, 0.25, 1000, 1000); /* the machine did something else */
        cr_assert_lt(geodec_pace_pass(&g.pace, 4), 1.3 * before);
        cr_assert_lt(g.pace.cost.o, 0.4);
    }
}

/* At the first request caches are cold; the time of a pass is known after a few passes. */
Test(adapt, begins_in_spite_of_a_cold_start)
{
    geodec_adapt g;
    const geodec_cost cost = geodec_cost_linear(0.2);
    const geodec_draft right = {1, 0, -1, 0.9};
    geodec_adapt_init(&g, 8, &cost);
    for (int i = 0; i < 12; i++) {
        cr_assert_gt(geodec_adapt_ask(&g, 8), 0, "round %d", i);
        const int32_t sent = geodec_adapt_send(&g, &right, 1);
        cr_assert_eq(sent, 1);
        geodec_adapt_learn(&g, &right, true);
        geodec_pace_observe(&g.pace, sent, i == 0 ? 4 : 0.02, 1.2, 0);
        geodec_adapt_settle(&g, sent, 2);
    }
    geodec_adapt_init(&g, 8, &cost); /* a pass of two rows takes 1.5 times the measured time */
    for (int i = 0; i < 4; i++) {
        geodec_pace_observe(&g.pace, 0, 0, 1, 0);
        geodec_adapt_settle(&g, 0, 1);
        geodec_pace_observe(&g.pace, 1, 0.02, 1.8, 0);
        geodec_adapt_settle(&g, 1, 1);
    }
    cr_assert_float_eq(geodec_pace_pass(&g.pace, 2), 1.8, 0.15, "%g", geodec_pace_pass(&g.pace, 2));
}

/* Drafts that cannot save time with any continuation are not requested. */
Test(adapt, least_probabilities_follow_the_cost_of_a_row)
{
    geodec_adapt g;
    geodec_cost cost = geodec_cost_linear(0.3);
    geodec_adapt_init(&g, 8, &cost);
    cr_assert_eq(geodec_adapt_ask(&g, 3), 3);
    for (int i = 0; i < 8; i++) cr_assert(g.least[i] > 0.1 && g.least[i] <= 0.3, "%g", g.least[i]);
    const geodec_draft d[] = {{1, 0, -1, 0.95}, {1, 0, 0, 0.95}, {1, 0, 1, 0.1}};
    double path = 1;
    const int32_t sent = geodec_adapt_send(&g, d, 3);
    for (int32_t i = 0; i < sent; i++) cr_assert_geq(path *= d[i].confidence, g.least[i], "nothing sent is cut off");
    cr_assert_eq(sent, 2);
}

Test(adapt, sends_the_prefix_that_pays)
{
    geodec_adapt g;
    const geodec_cost cost = geodec_cost_linear(0.3);
    geodec_adapt_init(&g, 8, &cost);
    const geodec_draft d[] = {{1, 0, -1, 0.95}, {1, 0, 0, 0.9}, {1, 0, 1, 0.05}, {1, 0, 2, 0.95}};
    cr_assert_eq(geodec_adapt_send(&g, d, 4), 2);
    const geodec_draft hopeless[] = {{1, 0, -1, 0.1}};
    cr_assert_eq(geodec_adapt_send(&g, hopeless, 1), 0);
    cr_assert_eq(geodec_adapt_send(&g, NULL, 0), 0);
}

/* Prices in seconds; plain decoding takes 2 for a token. */
Test(adapt, sends_the_prefix_whose_price_pays)
{
    const double trust[] = {1, 1, 1};
    const geodec_draft chain[] = {{1, 0, -1, 0.8}, {1, 0, 0, 0.5}, {1, 0, 1, 0.9}};
    geodec_price price = {
        .n = 4, .plain = 2, .time = {2, 2.5, 4.5, 5.2}, .alone = {2, 2, 2, 2}, .bytes = {100, 0, 200, 10}};
    /* Work 1, 1.8, 2.2, 2.56 plain passes in 1, 1.25, 2.25, 2.6 of them. */
    geodec_adapt_prefix best = geodec_adapt_best_priced(&price, chain, 3, trust, 0.03, 1e9);
    cr_assert_eq(best.n, 1);
    cr_assert_float_eq(best.tokens, 1.8, 1e-12);
    cr_assert_float_eq(best.time, 1.25, 1e-12);
    price.time[1] = 1.9 * 2; /* the row is dear, and those after it do not make up for it */
    cr_assert_eq(geodec_adapt_best_priced(&price, chain, 3, trust, 0.03, 1e9).n, 0);
    price.alone[1] = 6; /* but so is its token for plain decoding: work 3.4 in 1.9 */
    cr_assert_eq(geodec_adapt_best_priced(&price, chain, 3, trust, 0.03, 1e9).n, 1);
    /* The loss: half of 0.2 times the bytes of the first row, and of 0.6 times those of the second. */
    price = (geodec_price){.n = 3, .plain = 2, .time = {2, 2, 2}, .alone = {2, 2, 2}, .bytes = {100, 1000, 1000}};
    cr_assert_eq(geodec_adapt_best_priced(&price, chain, 2, trust, 0.03, 401).n, 2);
    cr_assert_eq(geodec_adapt_best_priced(&price, chain, 2, trust, 0.03, 399).n, 1);
    cr_assert_eq(geodec_adapt_best_priced(&price, chain, 2, trust, 0.03, 99).n, 0);
    /* A tree: the second draft is a sibling of the first. */
    const geodec_draft tree[] = {{1, 0, -1, 0.6}, {2, 0, -1, 0.3}};
    price.time[2] = 3;
    price.time[1] = 2.4;
    best = geodec_adapt_best_priced(&price, tree, 2, trust, 0.03, 1e9);
    cr_assert_eq(best.n, 1);
    cr_assert_float_eq(best.tokens, 1.6, 1e-12);
    price.time[2] = 2.5;
    best = geodec_adapt_best_priced(&price, tree, 2, trust, 0.03, 1e9);
    cr_assert_eq(best.n, 2);
    cr_assert_float_eq(best.tokens, 1.9, 1e-12);
}

/* In memory, the time of a width is that of its mean pass times what this pass differs from it. */
Test(adapt, sends_what_the_experts_of_its_drafts_allow)
{
    geodec_adapt g;
    const geodec_cost cost = geodec_cost_linear(0.75);
    const geodec_draft d[] = {{1, 0, -1, 0.7}, {1, 0, 0, 0.7}};
    geodec_price price = {.n = 3, .plain = 2, .alone = {2, 2, 2}, .time = {2, 3, 4}, .mean = {2, 3, 4}};
    geodec_adapt_init(&g, 8, &cost);
    cr_assert_eq(geodec_adapt_send(&g, d, 2), 0, "a row more takes 0.75, a draft gives 0.7");
    cr_assert_eq(geodec_adapt_send_priced(&g, &price, d, 2), 0, "a mean pass");
    price.time[1] = 2.4; /* the draft uses few further experts: 1.4 */
    cr_assert_eq(geodec_adapt_send_priced(&g, &price, d, 2), 1);
    cr_assert_float_eq(g.time, 1.4, 1e-12);
    price.time[2] = 2.6; /* and the next draft too: 1.625 */
    cr_assert_eq(geodec_adapt_send_priced(&g, &price, d, 2), 2);
    price.time[1] = price.time[2] = 8;
    cr_assert_eq(geodec_adapt_send_priced(&g, &price, d, 2), 0);
    cr_assert_float_eq(g.time, 1, 1e-12);
    geodec_adapt_ask(&g, 8);
    geodec_adapt_settle(&g, 0, 1);
    cr_assert_geq(g.budget, 0);
}

/* What was lost so far is taken from the share. */
Test(adapt, stops_when_too_many_bytes_were_lost)
{
    geodec_adapt g;
    const geodec_cost cost = geodec_cost_linear(0.3);
    const geodec_draft d[] = {{1, 0, -1, 0.9}};
    geodec_price price = {
        .n = 2, .plain = 2, .token = 100, .time = {2, 2.1}, .alone = {2, 2}, .bytes = {100, 100}, .useful = 1e5};
    geodec_adapt_init(&g, 8, &cost);
    price.wasted = 500; /* 0.5 % and 30 bytes are free */
    cr_assert_eq(geodec_adapt_send_priced(&g, &price, d, 1), 1);
    cr_assert_float_eq(g.time, 1.05, 1e-12);
    price.wasted = 570;
    cr_assert_eq(geodec_adapt_send_priced(&g, &price, d, 1), 0);
    cr_assert_eq(geodec_adapt_ask(&g, 8), 0, "drafts would not be sent");
    for (int i = 0; i < 100; i++) geodec_adapt_settle(&g, 0, 1);
    cr_assert_eq(geodec_adapt_ask(&g, 8), 8, "tokens that read nothing too much give 0.5 % each");
    price.wasted = -500; /* wide passes read less than plain ones */
    cr_assert_eq(geodec_adapt_send_priced(&g, &price, d, 1), 1);
}

Test(predict, costs_are_measured_on_the_target)
{
    toy t;
    geodec_err err = {0};
    geodec_cost cost;
    const geodec_target target = toy_target(&t, TOY_HISTORY, 1, 64);
    test_ok(geodec_cost_measure(&target, 30, 9, 2, NULL, &cost, &err), &err);
    cr_assert_eq(cost.n, 9);
    cr_assert_eq(t.length, 0);
    cr_assert_gt(cost.seconds, 0);
    cr_assert_float_eq(cost.v[1], 1, 0);
    for (int b = 1; b <= 9; b++) cr_assert_gt(cost.v[b], 0);
    test_ok(geodec_cost_measure(&target, 1000, 64, 1, NULL, &cost, &err), &err);
    cr_assert_eq(cost.n, 40, "bounded by the rows of one pass");
}
