#include "base/rng.h"
#include "decode/gamma.h"
#include "decode/predict.h"
#include "support/support.h"
#include "toy.h"

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
    /* Section 0.4: c = 0.05, alpha = 0.385, gamma = 4, v = 1 give 1.61 tokens and 1.34x. */
    geodec_cost flat = geodec_cost_linear(0);
    flat.c = 0.05;
    cr_assert_float_eq(geodec_predict_tokens(0.385, 4), 1.61, 0.005);
    cr_assert_float_eq(geodec_predict_speedup(&flat, geodec_predict_tokens(0.385, 4), 4), 1.34, 0.005);
    /* Section 10: the measured v(b), free drafter. */
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

/* Choices of the adaptive length: the best of an exhaustive search, 0 when drafting cannot pay. */
Test(gamma, finds_the_best_length)
{
    for (double alpha = 0.05; alpha < 1; alpha += 0.1) {
        geodec_gamma g;
        geodec_cost cost = geodec_cost_linear(0.3);
        cost.c = 0.02;
        cost.o = 0.05;
        geodec_gamma_init(&g, 16, &cost);
        geodec_draft d = {.source = 0, .confidence = alpha};
        geodec_rng r = geodec_rng_stream(4, 4);
        double ema = 0.7;
        for (int i = 0; i < 300; i++) {
            const int ok = geodec_rng_uniform(&r) < alpha;
            geodec_gamma_learn(&g, &d, ok);
            ema = 0.9 * ema + 0.1 * ok;
        }
        cr_assert_float_eq(g.accepted[0], ema, 1e-12);
        int32_t best = 0;
        double rate = 0;
        for (int32_t n = 0; n <= 16; n++) {
            const double x = (1 - pow(ema, n + 1)) / (1 - ema) / (n * cost.c + 1 + 0.3 * n + cost.o);
            if (x > rate + 1e-12) {
                rate = x;
                best = n;
            }
        }
        cr_assert_eq(geodec_gamma_ask(&g, 16), best, "alpha %g", alpha);
        cr_assert_leq(geodec_gamma_ask(&g, 2), 2);
    }
}

Test(gamma, silent_drafter_is_probed_again_and_recovers)
{
    geodec_gamma g;
    geodec_cost cost = geodec_cost_linear(0.3);
    cost.c = 0.02;
    geodec_gamma_init(&g, 8, &cost);
    geodec_draft d = {.source = 1, .confidence = 0.5};
    for (int i = 0; i < 100; i++) geodec_gamma_learn(&g, &d, 0);
    int probes = 0, silent = 0;
    for (int i = 0; i < 200; i++) {
        const int32_t n = geodec_gamma_ask(&g, 8);
        if (n == 0) {
            silent++;
            continue;
        }
        cr_assert_eq(n, 1);
        probes += geodec_gamma_send(&g, &d, 1);
    }
    cr_assert_gt(silent, 180);
    cr_assert_geq(probes, 10);
    for (int i = 0; i < 100; i++) geodec_gamma_learn(&g, &d, 1);
    const geodec_draft good[8] = {{1, 1, -1, 0.6}, {1, 1, 0, 0.6}, {1, 1, 1, 0.6}, {1, 1, 2, 0.6},
                                  {1, 1, 3, 0.6},  {1, 1, 4, 0.6}, {1, 1, 5, 0.6}, {1, 1, 6, 0.6}};
    for (int i = 0; i < 20; i++) {
        const int32_t n = geodec_gamma_ask(&g, 8);
        if (n > 0) geodec_gamma_send(&g, good, n);
    }
    cr_assert_gt(geodec_gamma_ask(&g, 8), 2);
}

Test(gamma, free_drafts_are_always_asked_for)
{
    geodec_gamma g;
    const geodec_cost cost = geodec_cost_linear(0.3); /* c = 0 */
    geodec_gamma_init(&g, 8, &cost);
    const geodec_draft d = {.source = 1, .parent = -1, .confidence = 0.5};
    for (int i = 0; i < 100; i++) geodec_gamma_learn(&g, &d, 0);
    int sent = 0;
    for (int i = 0; i < 170; i++) {
        cr_assert_eq(geodec_gamma_ask(&g, 8), 8);
        sent += geodec_gamma_send(&g, &d, 1);
    }
    cr_assert_eq(sent, 10, "a probe every 17 rounds, not %d", sent);
}

/* Costly drafts of middling confidence: each round that asks loses, so asking stops, but for the probes. */
Test(gamma, asking_that_does_not_pay_is_given_up)
{
    geodec_gamma g;
    geodec_cost cost = geodec_cost_linear(0.6);
    cost.c = 0.1;
    geodec_gamma_init(&g, 4, &cost);
    const geodec_draft weak[4] = {{1, 0, -1, 0.5}, {1, 0, 0, 0.5}, {1, 0, 1, 0.5}, {1, 0, 2, 0.5}};
    const geodec_draft strong[4] = {{1, 0, -1, 0.97}, {1, 0, 0, 0.97}, {1, 0, 1, 0.97}, {1, 0, 2, 0.97}};
    int asked = 0, outcome = 0;
    for (int i = 0; i < 170; i++) {
        const int32_t n = geodec_gamma_ask(&g, 4);
        asked += n > 0;
        const int32_t sent = n > 0 ? geodec_gamma_send(&g, weak, n) : 0;
        for (int32_t k = 0; k < sent; k++) geodec_gamma_learn(&g, &weak[k], outcome++ % 2); /* as claimed */
    }
    cr_assert_lt(asked, 25, "%d", asked);
    asked = 0;
    for (int i = 0; i < 170; i++) {
        const int32_t n = geodec_gamma_ask(&g, 4);
        asked += n > 0;
        const int32_t sent = n > 0 ? geodec_gamma_send(&g, strong, n) : 0;
        for (int32_t k = 0; k < sent; k++) geodec_gamma_learn(&g, &strong[k], 1);
    }
    cr_assert_gt(asked, 100, "%d", asked);
}

Test(gamma, sends_the_prefix_that_pays)
{
    geodec_gamma g;
    const geodec_cost cost = geodec_cost_linear(0.3);
    geodec_gamma_init(&g, 8, &cost);
    const geodec_draft d[] = {{1, 0, -1, 0.95}, {1, 0, 0, 0.9}, {1, 0, 1, 0.05}, {1, 0, 2, 0.95}};
    cr_assert_eq(geodec_gamma_send(&g, d, 4), 2);
    const geodec_draft hopeless[] = {{1, 0, -1, 0.1}};
    cr_assert_eq(geodec_gamma_send(&g, hopeless, 1), 0);
    cr_assert_eq(geodec_gamma_send(&g, NULL, 0), 0);
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
