/* The simulator against runs of a driver, closed cases and statistics. */
#include "base/mem.h"
#include "driver.h"
#include "streaming/closed_form.h"
#include "streaming/simulate.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static geodec_err err;

static geodec_slots_counters record(const char *path, const driver *d, geodec_slots_options o)
{
    geodec_slots *s = NULL;
    geodec_trace_writer *w = NULL;
    int64_t blob[64];
    for (int32_t l = 0; l < o.n_layer; l++) blob[l] = 1000000;
    test_ok(geodec_trace_create(path, &o, blob, &w, &err), &err);
    o.observe = geodec_trace_observe;
    o.observe_ctx = w;
    test_ok(geodec_slots_create(&o, &s, &err), &err);
    driver_run(d, s);
    const geodec_slots_counters c = geodec_slots_counted(s);
    const geodec_trace_totals totals = {.slots = c, .rows = d->passes};
    test_ok(geodec_trace_commit(w, &totals, &err), &err);
    geodec_slots_destroy(s);
    return c;
}

static driver random_run(uint64_t i)
{
    return (driver){.n_layer = 2 + (int32_t)(i % 5),
                    .n_expert = 16,
                    .n_used = 2 + (int32_t)(i % 3),
                    .passes = 60,
                    .seed = 900 + i,
                    .zipf = 0.3 * (double)(i % 4),
                    .keep = i % 2 ? 0.3 : 0,
                    .ahead = (int32_t)(i % 4),
                    .right = 0.75,
                    .expects = i % 3 != 0,
                    .fails = i % 5 == 4 ? 0.05 : 0,
                    .cancels = 0.5,
                    .wide = i % 4 == 3 ? 0.2 : 0,
                    .gives = i % 4 == 2 ? 0.2 : 0,
                    .lazy = i % 3 == 1};
}

static geodec_slots_options options_of(const driver *d, uint64_t i, const float *usage)
{
    return (geodec_slots_options){.n_layer = d->n_layer,
                                  .n_expert = d->n_expert,
                                  .n_slots = 2 * d->n_used + 2 + 5 * (int32_t)(i % 7),
                                  .eviction = (geodec_eviction)(i % GEODEC_EVICTION_BELADY),
                                  .shared = i % 6 == 2,
                                  .usage = i % 2 ? usage : NULL,
                                  .prefetch_least = 0.6F,
                                  .prefetch_most = (int32_t)(i % 8)};
}

Test(simulate, a_replay_equals_the_run_in_every_counter_on_twenty_traces)
{
    const char *path = test_tmp("run.trace");
    float usage[8 * 16];
    for (int k = 0; k < 8 * 16; k++) usage[k] = (float)(k * 37 % 16) / 16;
    int64_t cancelled = 0, failed = 0, late = 0, wasted = 0, others = 0;
    for (uint64_t i = 0; i < 20; i++) {
        const driver d = random_run(i);
        geodec_trace t = {0};
        geodec_slots_counters c;
        const geodec_slots_counters run = record(path, &d, options_of(&d, i, usage));
        test_ok(geodec_trace_read(path, &t, &err), &err);
        test_ok(geodec_simulate_replay(&t, &c, &err), &err);
        cr_assert_eq(memcmp(&c, &run, sizeof c), 0, "trace %d", (int)i);
        test_ok(geodec_simulate_check(&t, &err), &err);
        t.totals.slots.evictions++;
        cr_assert_eq(geodec_simulate_check(&t, &err), GEODEC_CHECK);
        t.slots.n_slots += 3; /* another machine decides otherwise, where slots are scarce */
        others += geodec_simulate_replay(&t, &c, &err) == GEODEC_CHECK || memcmp(&c, &run, sizeof c) != 0;
        geodec_trace_clear(&t);
        cancelled += run.cancelled;
        failed += run.failed;
        late += run.late;
        wasted += run.wasted;
    }
    cr_assert_geq(others, 15);
    cr_assert(cancelled > 20 && failed > 20 && late > 20 && wasted > 20); /* the traces have all of it */
}

Test(simulate, no_policy_is_above_the_bound_on_twenty_traces)
{
    const char *path = test_tmp("run.trace");
    for (uint64_t i = 0; i < 20; i++) {
        driver d = random_run(i);
        d.wide = d.fails = 0;
        geodec_trace t = {0};
        (void)record(path, &d, options_of(&d, i, NULL));
        test_ok(geodec_trace_read(path, &t, &err), &err);
        const int32_t slots[3] = {2 * d.n_used + 2, d.n_layer * 4, d.n_layer * 10};
        for (int k = 0; k < 3; k++) {
            geodec_simulate_result bound, r;
            test_ok(geodec_simulate_bound(&t, slots[k], &bound, &err), &err);
            for (geodec_eviction e = 0; e < GEODEC_EVICTION_KINDS; e++)
                for (int shared = 0; shared < 2; shared++) {
                    geodec_simulate_options o = geodec_simulate_recorded(&t);
                    o.eviction = e;
                    o.shared = shared;
                    o.n_slots = slots[k];
                    o.prefetch_most = 0;
                    test_ok(geodec_simulate_run(&t, &o, &r, &err), &err);
                    cr_assert_geq(r.slots.missed, bound.slots.missed, "%s, %d slots", geodec_eviction_name(e),
                                  slots[k]);
                    cr_assert_eq(r.slots.needed, t.needs);
                    cr_assert_eq(r.bytes, 1000000 * r.slots.demand_reads);
                }
        }
        geodec_trace_clear(&t);
    }
}

static void generate(const char *path, geodec_trace *t, const geodec_simulate_traffic *o)
{
    test_ok(geodec_simulate_generate(path, o, &err), &err);
    test_ok(geodec_trace_read(path, t, &err), &err);
    test_ok(geodec_simulate_check(t, &err), &err);
}

/* Uniform routing: any policy that does not know the future has C/E hits (a static set by symmetry, an LRU by
 * independence). The slots are warm after a short start, which is left out by taking long runs. The hits of one visit
 * are drawn without replacement, so that the variance is below the binomial one. */
Test(simulate, uniform_traffic_hits_the_share_of_slots)
{
    const char *path = test_tmp("run.trace");
    for (int32_t share = 4; share <= 16; share *= 2) {
        geodec_trace t = {0};
        const geodec_simulate_traffic o = {.slots = {.n_layer = 4, .n_expert = 32, .n_slots = 4 * share},
                                           .used = 2,
                                           .passes = 5000,
                                           .blob = 4096,
                                           .seed = (uint64_t)share};
        generate(path, &t, &o);
        for (geodec_eviction e = 0; e < GEODEC_EVICTION_BELADY; e++) {
            geodec_simulate_result r;
            geodec_simulate_options a = geodec_simulate_recorded(&t);
            a.eviction = e;
            test_ok(geodec_simulate_run(&t, &a, &r, &err), &err);
            const double n = (double)r.slots.needed, h = (double)r.slots.resident / n, p = share / 32.0;
            const double start = 4.0 * share / n; /* misses of the empty slots */
            cr_assert(fabs(h - p) < 3 * sqrt(p * (1 - p) / n) + start, "%s, %d slots: %.5f, wanted %.5f",
                      geodec_eviction_name(e), share, h, p);
        }
        geodec_trace_clear(&t);
    }
}

Test(simulate, popular_experts_are_worth_more_than_their_share)
{
    const char *path = test_tmp("run.trace");
    geodec_trace t = {0};
    const geodec_simulate_traffic o = {.slots = {.n_layer = 2, .n_expert = 64, .n_slots = 32},
                                       .used = 1,
                                       .passes = 4000,
                                       .blob = 4096,
                                       .zipf = 1,
                                       .seed = 5};
    generate(path, &t, &o);
    geodec_simulate_options a = geodec_simulate_recorded(&t);
    geodec_simulate_result score, bound;
    a.eviction = GEODEC_EVICTION_SCORE;
    test_ok(geodec_simulate_run(&t, &a, &score, &err), &err);
    test_ok(geodec_simulate_bound(&t, 32, &bound, &err), &err);
    double all = 0, top = 0; /* the best static set of 16: the share of the 16 first ranks */
    for (int k = 1; k <= 64; k++) {
        all += 1.0 / k;
        if (k <= 16) top += 1.0 / k;
    }
    const double h = (double)score.slots.resident / (double)score.slots.needed;
    cr_assert(h > 0.8 * top / all && h < top / all + 0.02, "%.3f of %.3f", h, top / all);
    cr_assert_gt(bound.slots.resident, score.slots.resident);
    geodec_trace_clear(&t);
}

/* Without prefetch nothing overlaps: the closed form of no overlap, exactly. */
Test(simulate, the_clock_without_prefetch_is_the_closed_form)
{
    const char *path = test_tmp("run.trace");
    geodec_trace t = {0};
    const geodec_simulate_traffic o = {
        .slots = {.n_layer = 6, .n_expert = 32, .n_slots = 48}, .used = 2, .passes = 300, .blob = 3000000, .seed = 7};
    generate(path, &t, &o);
    geodec_simulate_options a = geodec_simulate_recorded(&t);
    a.bandwidth = 2.5e9;
    a.latency = 2e-4;
    a.layer_seconds = 1e-3;
    a.pass_seconds = 5e-3;
    geodec_simulate_result r;
    test_ok(geodec_simulate_run(&t, &a, &r, &err), &err);
    const geodec_closed_form f = {.layers = 6,
                                  .used = 2,
                                  .blob = 3e6,
                                  .right = 1,
                                  .hit = (double)r.slots.resident / (double)r.slots.needed,
                                  .bandwidth = 2.5e9,
                                  .latency = 2e-4,
                                  .layer_seconds = 1e-3,
                                  .rest_seconds = 5e-3};
    const geodec_closed_form_times c = geodec_closed_form_of(&f);
    cr_assert_float_eq(r.seconds / 300, c.no_overlap, 1e-9);
    cr_assert_float_eq((double)r.bytes / 300, c.bytes, 1e-3);
    cr_assert_float_eq(r.stall, r.busy, 1e-9);
    /* an oracle one layer ahead: between the wall and no overlap, and never below what the disk needs */
    a.ahead = 1;
    a.prefetch_most = 8;
    geodec_simulate_result p;
    test_ok(geodec_simulate_run(&t, &a, &p, &err), &err);
    cr_assert_lt(p.seconds, r.seconds);
    cr_assert_geq(p.seconds, p.busy - 8 * (2e-4 + 3e6 / 2.5e9));
    cr_assert_eq(p.slots.wasted, 0);
    cr_assert_gt(p.slots.in_time + p.slots.late, 100);
    /* a disk without limits never stalls */
    a.bandwidth = a.latency = 0;
    test_ok(geodec_simulate_run(&t, &a, &p, &err), &err);
    cr_assert_float_eq(p.stall, 0, 1e-12);
    cr_assert_float_eq(p.seconds, 300 * (5e-3 + 6e-3), 1e-9);
    a.n_slots = 1;
    cr_assert_eq(geodec_simulate_run(&t, &a, &p, &err), GEODEC_LIMIT);
    a.n_slots = 48;
    a.latency = NAN;
    cr_assert_eq(geodec_simulate_run(&t, &a, &p, &err), GEODEC_RANGE);
    geodec_trace_clear(&t);
}

Test(simulate, what_if_with_recorded_foretellings)
{
    const char *path = test_tmp("run.trace");
    driver d = random_run(7);
    d.ahead = 2;
    geodec_trace t = {0};
    geodec_slots_options s = options_of(&d, 6, NULL);
    s.prefetch_most = 8;
    (void)record(path, &d, s);
    test_ok(geodec_trace_read(path, &t, &err), &err);
    geodec_simulate_options a = geodec_simulate_recorded(&t);
    geodec_simulate_result with, without;
    a.bandwidth = 1e9; /* 1 ms a read; a layer computes for 5 */
    a.layer_seconds = 5e-3;
    a.n_slots = d.n_layer * 10;
    a.prefetch_most = 16;
    a.prefetch_least = 0;
    test_ok(geodec_simulate_run(&t, &a, &with, &err), &err);
    a.prefetch_most = 0;
    test_ok(geodec_simulate_run(&t, &a, &without, &err), &err);
    cr_assert_gt(with.slots.in_time, 50);
    cr_assert_eq(without.slots.in_time + without.slots.prefetch_reads + without.slots.wasted, 0);
    cr_assert_lt(with.stall, without.stall);
    geodec_trace_clear(&t);
}

Test(simulate, traffic_is_checked)
{
    const char *path = test_tmp("run.trace");
    geodec_simulate_traffic o = {
        .slots = {.n_layer = 2, .n_expert = 8, .n_slots = 4}, .used = 9, .passes = 1, .blob = 1};
    cr_assert_eq(geodec_simulate_generate(path, &o, &err), GEODEC_RANGE);
    o.used = 1;
    o.zipf = NAN;
    cr_assert_eq(geodec_simulate_generate(path, &o, &err), GEODEC_RANGE);
    o.zipf = 0;
    o.slots.n_slots = 1;
    cr_assert_eq(geodec_simulate_generate(path, &o, &err), GEODEC_LIMIT);
    cr_assert_eq(test_other_files(path), 0);
}
