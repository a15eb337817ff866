/* Perspectives: divergences and their bounds, mixtures, the rule, the published vote; calibration and temperature. */
#include "base/mem.h"
#include "base/rng.h"
#include "mixture/calibration.h"
#include "mixture/mix.h"
#include "mixture/temperature.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { V = 50, N = 4 };
static geodec_err err;

/* Rows of random distributions; a larger spread makes them more peaked. */
static void rows(int n, uint64_t seed, double spread, double *logp)
{
    float logits[V];
    for (int k = 0; k < n; k++) {
        geodec_rng r = geodec_rng_stream(seed, (uint64_t)k);
        for (int i = 0; i < V; i++) logits[i] = (float)(spread * geodec_rng_normal(&r));
        test_ok(geodec_mix_log_softmax(V, logits, 1, logp + k * V, &err), &err);
    }
}

/* The definition, in long double, from probabilities. */
static double js_by_definition(int n, const double *const *logp)
{
    long double js = 0;
    for (int i = 0; i < V; i++) {
        long double mean = 0, h = 0;
        for (int k = 0; k < n; k++) {
            const long double p = expl((long double)logp[k][i]);
            mean += p / n;
            if (p > 0) h -= p * logl(p) / n;
        }
        if (mean > 0) js += -mean * logl(mean) - h;
    }
    return (double)js;
}

Test(mixture, divergences_are_those_of_the_definition)
{
    double p[N * V], worst = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        rows(N, seed, 0.5 + 0.2 * (double)seed, p);
        const double *const all[] = {p, p + V, p + 2 * V, p + 3 * V};
        worst = fmax(worst, fabs(geodec_mix_js(N, V, p) - js_by_definition(N, all)));
        double pairs = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < i; j++) pairs += js_by_definition(2, (const double *[]){all[i], all[j]}) / 6;
        worst = fmax(worst, fabs(geodec_mix_js_pairs(N, V, p) - pairs));
        cr_assert(geodec_mix_js(N, V, p) > 0 && geodec_mix_js(N, V, p) < log(N));
        cr_assert(pairs < log(2) && pairs > 0);
        cr_assert_geq(geodec_mix_js(N, V, p), geodec_mix_js_pairs(N, V, p)); /* of more than two it is larger */
    }
    printf("divergence against long double: %.2g\n", worst);
    cr_assert_lt(worst, 1e-13);
}

Test(mixture, bounds)
{
    /* four certain tokens: ln 4 and ln 2, the largest there are; entropies of a uniform row and of a certain one */
    double p[N * V], uniform[V];
    for (int i = 0; i < N * V; i++) p[i] = i / V == i % V ? 0 : -INFINITY;
    for (int i = 0; i < V; i++) uniform[i] = -log(V);
    cr_assert_float_eq(geodec_mix_js(N, V, p), log(4), 1e-15);
    cr_assert_float_eq(geodec_mix_js_pairs(N, V, p), log(2), 1e-15);
    cr_assert_float_eq(geodec_mix_entropy(V, uniform), log(V), 1e-14);
    cr_assert_float_eq(geodec_mix_entropy(V, p), 0, 0);
    cr_assert_float_eq(geodec_mix_js(1, V, p), 0, 0);
    cr_assert_float_eq(geodec_mix_js_pairs(1, V, p), 0, 0);
    double top;
    cr_assert_eq(geodec_mix_top(V, p + 3 * V, &top), 3);
    cr_assert_float_eq(top, 1, 0);
    /* they share no token */
    double out[V];
    cr_assert_eq(geodec_mix_geometric(N, V, p, out, &err), GEODEC_NUMERIC);
    geodec_mix_arithmetic(N, V, p, out);
    for (int i = 0; i < V; i++) cr_assert(i < 4 ? fabs(out[i] + log(4)) < 1e-15 : out[i] == -INFINITY);
}

/* Equal inputs: no divergence, and the input; 1e-15 is the sum of V probabilities rounded. */
Test(mixture, equal_inputs_give_the_input)
{
    double p[N * V], out[V];
    geodec_mix_report r;
    const geodec_mix_rule rule = geodec_mix_defaults();
    rows(1, 3, 2, p);
    for (int k = 1; k < N; k++) memcpy(p + k * V, p, V * sizeof *p);
    cr_assert_float_eq(geodec_mix_js(N, V, p), 0, 1e-15);
    cr_assert_float_eq(geodec_mix_js_pairs(N, V, p), 0, 1e-15);
    test_ok(geodec_mix_decide(&rule, N, V, p, NULL, 0, out, &r, &err), &err);
    cr_assert_lt(test_max_abs_diff(p, out, V), 1e-14);
    cr_assert(r.way == GEODEC_MIX_GEOMETRIC && r.confidence > 1 - 1e-14);
    geodec_mix_arithmetic(N, V, p, out);
    cr_assert_lt(test_max_abs_diff(p, out, V), 1e-15);
}

Test(mixture, the_base_alone_is_plain)
{
    double p[V], out[V], memory[V];
    geodec_mix_report r;
    const geodec_mix_rule rule = geodec_mix_defaults();
    rows(1, 3, 2, p);
    rows(1, 4, 2, memory);
    test_ok(geodec_mix_decide(&rule, 1, V, p, memory, 90, out, &r, &err), &err);
    cr_assert_eq(memcmp(p, out, sizeof p), 0);
    cr_assert(r.way == GEODEC_MIX_BASE && r.js <= 0 && r.weight <= 0);
}

/* Sums in another order differ in their last bits. */
Test(mixture, the_order_of_the_perspectives_does_not_matter)
{
    static const int order[][N] = {{1, 0, 2, 3}, {3, 2, 1, 0}, {2, 3, 0, 1}};
    double p[N * V], q[N * V], a[V], b[V], memory[V];
    geodec_mix_report ra, rb;
    rows(1, 99, 1, memory);
    for (int spread = 0; spread < 2; spread++) /* both ways of the rule */
        for (int k = 0; k < 3; k++) {
            const geodec_mix_rule rule = geodec_mix_defaults();
            rows(N, 5, spread ? 3 : 0.3, p);
            for (int i = 0; i < N; i++) memcpy(q + i * V, p + order[k][i] * V, V * sizeof *p);
            test_ok(geodec_mix_decide(&rule, N, V, p, memory, 30, a, &ra, &err), &err);
            test_ok(geodec_mix_decide(&rule, N, V, q, memory, 30, b, &rb, &err), &err);
            cr_assert_eq(ra.way, spread ? GEODEC_MIX_VOTE : GEODEC_MIX_GEOMETRIC);
            cr_assert_eq(ra.way, rb.way);
            cr_assert_float_eq(ra.js, rb.js, 1e-14);
            cr_assert_float_eq(ra.pairs, rb.pairs, 1e-14);
            cr_assert_lt(test_max_abs_diff(a, b, V), 1e-13);
        }
}

static double total(const double *logp)
{
    double s = 0;
    for (int i = 0; i < V; i++) s += exp(logp[i]);
    return s;
}

Test(mixture, mixtures_are_those_of_probabilities)
{
    double p[N * V], memory[V], geometric[V], out[V], sum = 0;
    geodec_mix_rule rule = geodec_mix_defaults();
    geodec_mix_report r;
    rows(N, 8, 2, p);
    rows(1, 9, 2, memory);
    test_ok(geodec_mix_geometric(N, V, p, geometric, &err), &err);
    for (int i = 0; i < V; i++) sum += pow(exp(p[i]) * exp(p[V + i]) * exp(p[2 * V + i]) * exp(p[3 * V + i]), 0.25);
    for (int i = 0; i < V; i++) {
        const double want = pow(exp(p[i]) * exp(p[V + i]) * exp(p[2 * V + i]) * exp(p[3 * V + i]), 0.25) / sum;
        cr_assert_float_eq(exp(geometric[i]), want, 1e-14);
    }
    cr_assert_float_eq(total(geometric), 1, 1e-14);
    rule.tau = 0; /* always the vote */
    test_ok(geodec_mix_decide(&rule, N, V, p, memory, 5 + 95 * 0.4, out, &r, &err), &err);
    cr_assert_float_eq(r.weight, 0.4, 1e-15);
    for (int i = 0; i < V; i++) {
        const double mean = (exp(p[i]) + exp(p[V + i]) + exp(p[2 * V + i]) + exp(p[3 * V + i])) / 4;
        cr_assert_float_eq(exp(out[i]), 0.6 * mean + 0.4 * exp(memory[i]), 1e-14);
    }
    test_ok(geodec_mix_decide(&rule, N, V, p, memory, 4.9, out, &r, &err), &err); /* not accepted: no weight */
    geodec_mix_arithmetic(N, V, p, geometric);
    cr_assert_eq(memcmp(out, geometric, sizeof out), 0);
    geodec_mix_two(V, p, memory, 1, out);
    cr_assert_eq(memcmp(out, memory, sizeof out), 0);
    const double z[] = {NAN, -INFINITY, 5, 100, 1000}, weight[] = {0, 0, 0, 1, 1};
    for (int i = 0; i < 5; i++) cr_assert_float_eq(geodec_mix_weight(&rule, z[i]), weight[i], 0);
}

/* max p = 0.6 with the rest spread over 32,767 tokens: the rule needs a test of the entropy beside that of max p. */
Test(mixture, entropy_beside_a_largest_probability)
{
    enum { WIDE = 32768 };
    static double p[WIDE];
    for (int i = 0; i < WIDE; i++) p[i] = log(i ? 0.4 / (WIDE - 1) : 0.6);
    cr_assert_float_eq(geodec_mix_entropy(WIDE, p), 4.83, 0.01);
}

Test(mixture, softmax_and_refusals)
{
    double p[3], out[3];
    geodec_mix_rule rule = geodec_mix_defaults();
    const float masked[] = {1000, -INFINITY, 998};
    test_ok(geodec_mix_log_softmax(3, masked, 2, p, &err), &err);
    cr_assert(fabs(p[0] + log1p(exp(-1))) < 1e-15 && p[1] == -INFINITY && fabs(p[2] - p[0] + 1) < 1e-15);
    cr_assert_eq(geodec_mix_log_softmax(3, (float[]){1, NAN, 1}, 1, p, &err), GEODEC_NUMERIC);
    cr_assert_eq(geodec_mix_log_softmax(3, (float[]){1, INFINITY, 1}, 1, p, &err), GEODEC_NUMERIC);
    cr_assert_eq(geodec_mix_log_softmax(1, (float[]){-INFINITY}, 1, p, &err), GEODEC_NUMERIC);
    cr_assert_eq(geodec_mix_log_softmax(3, masked, 0, p, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_mix_decide(&rule, 0, 3, p, NULL, 0, out, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_mix_decide(&rule, 17, 3, p, NULL, 0, out, NULL, &err), GEODEC_RANGE);
    p[0] = NAN;
    cr_assert_eq(geodec_mix_decide(&rule, 1, 3, p, NULL, 0, out, NULL, &err), GEODEC_NUMERIC);
}

/* ---- calibration ------------------------------------------------------------------------------------------------- */

Test(calibration, a_sum_by_hand)
{
    /* bins of 0.2: {0.1, 0.15} with 1 of 2 right, {0.5} right, {0.9, 1} with 1 of 2 right */
    const double c[] = {0.1, 0.15, 0.5, 0.9, 1};
    const uint8_t right[] = {0, 1, 1, 0, 1};
    const double want = (fabs(1 - 0.25) + fabs(1 - 0.5) + fabs(1 - 1.9)) / 5;
    geodec_calibration m;
    cr_assert_eq(geodec_calibration_measure(5, (double[]){0, 0, 0, 0, 1.5}, right, 15, 10, 1, &m, &err),
                 GEODEC_NUMERIC);
    cr_assert_eq(geodec_calibration_measure(0, c, right, 5, 10, 1, &m, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_calibration_measure(5, c, right, 0, 10, 1, &m, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_calibration_measure(5, c, right, 15, 0, 1, &m, &err), GEODEC_RANGE);
    test_ok(geodec_calibration_measure(5, c, right, 1, 10, 1, &m, &err), &err);
    cr_assert_float_eq(m.ece.value, fabs(3 - 2.65) / 5, 1e-15);
    test_ok(geodec_calibration_measure(5, c, right, 5, 200, 1, &m, &err), &err);
    cr_assert_float_eq(m.ece.value, want, 1e-15);
    cr_assert_float_eq(m.confidence, 0.53, 1e-15);
    cr_assert_float_eq(m.right, 0.6, 1e-15);
    cr_assert_float_eq(m.brier, (0.01 + 0.7225 + 0.25 + 0.81) / 5, 1e-15);
}

enum { SET = 5000, TOKENS = 20 };
static float logits[SET * TOKENS];
static int32_t target[SET];
static double confidence[SET];
static uint8_t right[SET];

/* Targets drawn from softmax(logits / true temperature). */
static void draw(double true_temperature, uint64_t seed)
{
    double p[TOKENS];
    for (uint64_t i = 0; i < SET; i++) {
        float *const l = logits + i * TOKENS;
        geodec_rng r = geodec_rng_stream(seed, i);
        for (int k = 0; k < TOKENS; k++) l[k] = 40 + (float)(2 * geodec_rng_normal(&r));
        test_ok(geodec_mix_log_softmax(TOKENS, l, true_temperature, p, &err), &err);
        double u = geodec_rng_uniform(&r);
        target[i] = TOKENS - 1;
        for (int k = 0; k < TOKENS && target[i] == TOKENS - 1; k++)
            if ((u -= exp(p[k])) < 0) target[i] = k;
    }
}

static geodec_calibration measured(double temperature)
{
    geodec_calibration c = {0};
    geodec_temperature_apply(SET, TOKENS, logits, target, temperature, confidence, right);
    test_ok(geodec_calibration_measure(SET, confidence, right, GEODEC_CALIBRATION_BINS, 300, 7, &c, &err), &err);
    printf("temperature %.3f: ECE %.4f (%.4f to %.4f), by chance %.4f (to %.4f), confidence %.3f, right %.3f\n",
           temperature, c.ece.value, c.ece.low, c.ece.high, c.chance, c.chance_high, c.confidence, c.right);
    cr_assert(c.ece.low <= c.ece.high && c.chance <= c.chance_high);
    return c;
}

/* A calibrated set has the ECE of chance, and keeps temperature 1; the fit's standard error is 1 / sqrt(n Var l). */
Test(calibration, a_calibrated_set)
{
    draw(1, 5);
    const geodec_calibration c = measured(1);
    cr_assert(c.ece.value < 1.25 * c.chance_high && c.ece.value < 0.03);
    cr_assert_float_eq(c.confidence, c.right, 0.02); /* three standard errors */
    geodec_temperature t;
    test_ok(geodec_temperature_fit(SET, TOKENS, logits, target, &t, NULL, &err), &err);
    printf("fitted temperature %.4f in %d steps, loss %.5f to %.5f\n", t.temperature, t.steps, t.before, t.after);
    cr_assert(fabs(t.temperature - 1) < 0.05 && !t.bounded && t.after <= t.before && t.steps < 20);
}

/* Logits that are twice too large: overconfident, and repaired by a temperature near 2. */
Test(calibration, an_overconfident_set_is_repaired)
{
    geodec_temperature t, threads;
    geodec_pool *pool = NULL;
    draw(2, 6);
    const geodec_calibration before = measured(1);
    cr_assert(before.ece.low > 0.15 && before.ece.value > 5 * before.chance_high && before.confidence > before.right);
    test_ok(geodec_temperature_fit(SET, TOKENS, logits, target, &t, NULL, &err), &err);
    printf("fitted temperature %.4f in %d steps, loss %.5f to %.5f\n", t.temperature, t.steps, t.before, t.after);
    cr_assert_float_eq(t.temperature, 2, 0.1);
    cr_assert_lt(t.after, t.before - 0.1);
    const geodec_calibration after = measured(t.temperature);
    cr_assert_lt(after.ece.value, 1.25 * after.chance_high);
    cr_assert_float_eq(after.right, before.right, 0); /* a temperature changes no choice */
    /* a minimum: the loss is higher on both sides */
    for (int side = -1; side <= 1; side += 2) {
        double loss = 0, p[TOKENS];
        for (int i = 0; i < SET; i++) {
            test_ok(geodec_mix_log_softmax(TOKENS, logits + i * TOKENS, t.temperature * (1 + 1e-3 * side), p, &err),
                    &err);
            loss -= p[target[i]] / SET;
        }
        cr_assert_gt(loss, t.after);
    }
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_temperature_fit(SET, TOKENS, logits, target, &threads, pool, &err), &err);
    cr_assert_eq(memcmp(&t.temperature, &threads.temperature, sizeof t.temperature), 0);
    cr_assert(memcmp(&t.after, &threads.after, sizeof t.after) == 0 && t.steps == threads.steps);
    geodec_pool_destroy(pool);
}

Test(calibration, fits_without_a_minimum)
{
    geodec_temperature t;
    const float l[] = {3, 1, 0, 1, 5, 2}, equal[] = {1, 1, 1, 1, 1, 1};
    test_ok(geodec_temperature_fit(2, 3, l, (int32_t[]){0, 1}, &t, NULL, &err), &err); /* all right: colder is better */
    cr_assert(t.bounded && fabs(t.temperature - 0.01) < 1e-12 && t.after < 1e-12);
    test_ok(geodec_temperature_fit(2, 3, l, (int32_t[]){2, 0}, &t, NULL, &err), &err); /* all wrong */
    cr_assert(t.bounded && fabs(t.temperature - 100) < 1e-9 && t.after < t.before);
    test_ok(geodec_temperature_fit(2, 3, equal, (int32_t[]){2, 0}, &t, NULL, &err), &err);
    cr_assert_float_eq(t.after, log(3), 1e-15);
    cr_assert_eq(geodec_temperature_fit(2, 3, l, (int32_t[]){0, 3}, &t, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_temperature_fit(0, 3, l, NULL, &t, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_temperature_fit(1, 2, (float[]){0, NAN}, (int32_t[]){0}, &t, NULL, &err), GEODEC_NUMERIC);
}
