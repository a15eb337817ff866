/* Consistency of a metric, on clouds whose geometry is known. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/consistency/consistency.h"
#include "lab/geodesicity/geodesicity.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TEXTS = 24, LENGTH = 40, POINTS = TEXTS * LENGTH, N = 2 };

static double x[POINTS * N];
static int32_t text[POINTS];

/* Points spread evenly in one of two rectangles, two texts in turn: wide x narrow, and narrow x wide. */
static void make(double narrow, double wide)
{
    geodec_rng r = geodec_rng_stream(4, 4);
    for (int i = 0; i < POINTS; i++) {
        text[i] = i / LENGTH;
        const bool right = text[i] / 2 % 2 != 0;
        x[i * N] = (right ? 40 : 0) + (right ? narrow : wide) * geodec_rng_uniform(&r);
        x[i * N + 1] = (right ? wide : narrow) * geodec_rng_uniform(&r);
    }
}

static geodec_consistency run(double tau, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_consistency c;
    geodec_consistency_options o = geodec_consistency_defaults();
    o.tau = tau;
    o.metric.k = 32;
    test_ok(geodec_consistency_run(POINTS, N, x, text, text, &o, pool, NULL, &c, &err), &err);
    return c;
}

Test(consistency, a_metric_that_depends_on_the_place_is_found_and_its_controls_fall_short)
{
    make(0.5, 8);
    geodec_consistency c = run(0.4, NULL);
    cr_assert_eq(c.fitted + c.held_out, POINTS);
    cr_assert_eq(c.fitted, POINTS / 2, "half of the texts");
    cr_assert_eq(c.units, TEXTS / 2);
    cr_assert_eq(c.steps, c.held_out - c.units, "all but the last of each text");
    const geodec_estimate *score = c.score;
    for (int m = GEODEC_CONSISTENT_SHUFFLED; m < GEODEC_CONSISTENT_METRICS; m++) {
        cr_assert_lt(score[m].high, score[GEODEC_CONSISTENT_FITTED].low, "%s %.3f, fitted %.3f",
                     geodec_consistency_names[m], score[m].value, score[GEODEC_CONSISTENT_FITTED].value);
        cr_assert_gt(c.gain[m].low, 0.2, "%s", geodec_consistency_names[m]);
        cr_assert_float_eq(c.gain[m].value, c.score[GEODEC_CONSISTENT_FITTED].value - c.score[m].value, 1e-12);
    }
    geodec_consistency_clear(&c);
}

Test(consistency, where_the_metric_is_the_same_everywhere_its_controls_are_as_good)
{
    make(1, 1);
    geodec_consistency c = run(0.4, NULL);
    for (int m = GEODEC_CONSISTENT_SHUFFLED; m < GEODEC_CONSISTENT_METRICS; m++)
        cr_assert_lt(c.gain[m].high, 0.1, "%s: %.3f [%.3f, %.3f]", geodec_consistency_names[m], c.gain[m].value,
                     c.gain[m].low, c.gain[m].high);
    cr_assert_gt(c.score[GEODEC_CONSISTENT_CONSTANT].value, 0.5);
    geodec_consistency_clear(&c);
}

/* Variance of the k nearest of the points at `side`, by hand. */
static double nearest_variance(const int64_t *row, int64_t count, int64_t i, int64_t k)
{
    double d[POINTS], y[POINTS], mean = 0, s = 0;
    int64_t n = 0;
    for (int64_t j = 0; j < count; j++) {
        if (j == i) continue;
        int64_t at = n++;
        const double v = x[row[j]], far = fabs(v - x[row[i]]);
        for (; at > 0 && d[at - 1] > far; at--) {
            d[at] = d[at - 1];
            y[at] = y[at - 1];
        }
        d[at] = far;
        y[at] = v;
    }
    for (int64_t j = 0; j < k; j++) mean += y[j] / (double)k;
    for (int64_t j = 0; j < k; j++) s += (y[j] - mean) * (y[j] - mean);
    return s / (double)(k - 1);
}

/* On a line g is one over the neighbours' variance: orders are those of distance, ratios known in closed form. */
Test(consistency, on_a_line_equals_the_variances)
{
    geodec_err err = {0};
    geodec_rng r = geodec_rng_stream(5, 5);
    geodec_consistency c;
    geodec_consistency_options o = geodec_consistency_defaults();
    int64_t first[POINTS], n_first = 0;
    double log_g = 0;
    int64_t within = 0;
    o.metric.k = 12;
    for (int i = 0; i < POINTS; i++) {
        text[i] = i / LENGTH;
        const double u = geodec_rng_uniform(&r);
        x[i] = u * u * 10;
    }
    test_ok(geodec_consistency_run(POINTS, 1, x, text, text, &o, NULL, NULL, &c, &err), &err);
    geodec_harness_split half = geodec_harness_split_defaults();
    half.seed = o.seed;
    for (int i = 0; i < POINTS; i++)
        if (!geodec_harness_split_held_out(&half, text[i])) first[n_first++] = i;
    cr_assert_eq(n_first, c.fitted);
    for (int64_t i = 0; i < n_first; i++) log_g -= log(nearest_variance(first, n_first, i, 12)) / (double)n_first;
    for (int64_t i = 0; i < c.held_out; i++) {
        const bool last = (c.row[i] + 1) % LENGTH == 0;
        const double own = nearest_variance(c.row, c.held_out, i, 12), ratio = sqrt(exp(log_g) * own);
        const double got = c.step_ratio[GEODEC_CONSISTENT_CONSTANT * c.held_out + i];
        for (int m = 0; m < GEODEC_CONSISTENT_METRICS; m++) cr_assert_eq(c.discordance[m * c.held_out + i], 0);
        if (last)
            cr_assert_eq(got, 0, "no next state");
        else
            cr_assert_float_eq(got, ratio, 1e-9 * ratio);
        within += last || fabs(ratio - 1) <= o.tau;
    }
    cr_assert_float_eq(c.score[GEODEC_CONSISTENT_CONSTANT].value, (double)within / (double)c.held_out, 1e-12);
    cr_assert_gt(c.gain[GEODEC_CONSISTENT_SHUFFLED].low, 0, "the density depends on the place");
    geodec_consistency_clear(&c);
}

Test(consistency, does_not_depend_on_threads_and_leaves_gaps_out)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    int32_t unit[POINTS];
    make(0.5, 1);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    geodec_consistency a = run(0.25, NULL), b = run(0.25, pool);
    cr_assert_eq(memcmp(a.score, b.score, sizeof a.score), 0);
    cr_assert_eq(memcmp(a.discordance, b.discordance, sizeof(double) * GEODEC_CONSISTENT_METRICS * (size_t)a.held_out),
                 0);
    geodec_consistency_clear(&b);
    const geodec_consistency_options o = geodec_consistency_defaults();
    const geodec_split s = geodec_split_rows(POINTS, text, true, unit);
    test_ok(geodec_consistency_run(POINTS, N, x, text, unit, &o, NULL, NULL, &b, &err), &err);
    cr_assert_eq(b.fitted + b.held_out, POINTS - (s.units - 1) * s.gap);
    for (int64_t i = 0; i < b.held_out; i++) cr_assert_neq(unit[b.row[i]], GEODEC_SPLIT_NONE);
    geodec_consistency_clear(&a);
    geodec_consistency_clear(&b);
    geodec_pool_destroy(pool);
}

Test(consistency, refuses_what_it_cannot_measure)
{
    geodec_err err = {0};
    geodec_consistency c;
    geodec_consistency_options o = geodec_consistency_defaults();
    int32_t one[POINTS] = {0}, two[POINTS];
    make(1, 1);
    for (int i = 0; i < POINTS; i++) two[i] = i / (POINTS / 2);
    cr_assert_eq(geodec_consistency_run(POINTS, N, x, text, one, &o, NULL, NULL, &c, &err), GEODEC_SCARCE);
    cr_assert_eq(geodec_consistency_run(POINTS, N, x, text, two, &o, NULL, NULL, &c, &err), GEODEC_SCARCE);
    for (int i = 0; i < POINTS; i++) two[i] = i; /* texts of one state each */
    cr_assert_eq(geodec_consistency_run(POINTS, N, x, two, two, &o, NULL, NULL, &c, &err), GEODEC_SCARCE);
    o.tau = 1;
    cr_assert_eq(geodec_consistency_run(POINTS, N, x, text, text, &o, NULL, NULL, &c, &err), GEODEC_RANGE);
    o.tau = 0.25;
    x[7] = NAN;
    cr_assert_eq(geodec_consistency_run(POINTS, N, x, text, text, &o, NULL, NULL, &c, &err), GEODEC_NUMERIC);
}
