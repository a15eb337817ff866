/* The state machine of the slots: each rule by hand, and random runs against the counters and limits. */
#include "base/mem.h"
#include "driver.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static geodec_err err;

static geodec_slots *make(geodec_slots_options o)
{
    geodec_slots *s = NULL;
    test_ok(geodec_slots_create(&o, &s, &err), &err);
    return s;
}

/* Begins and ends all reads; returns their number. */
static int32_t read_all(geodec_slots *s)
{
    geodec_slots_read r;
    int32_t n = 0;
    for (; geodec_slots_next(s, &r); n++) geodec_slots_finished(s, r.slot, true);
    return n;
}

/* A visit in which every read ends at once. */
static void visit(geodec_slots *s, int32_t layer, int32_t n, const int32_t *expert)
{
    int32_t slot[64];
    geodec_slots_need(s, layer, n, expert);
    while (geodec_slots_waiting(s)) {
        (void)read_all(s);
        const int32_t got = geodec_slots_take(s, slot, 64);
        cr_assert_gt(got, 0);
        for (int32_t i = 0; i < got; i++) geodec_slots_release(s, slot[i]);
    }
}
#define VISIT(s, layer, ...)                                                                                           \
    visit(s, layer, (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (int32_t[]){__VA_ARGS__})

Test(slots, options_are_checked)
{
    geodec_slots *s = NULL;
    const uint8_t none[2] = {0};
    const float bad[4] = {0, NAN, 0, 0};
    geodec_slots_options o = {.n_layer = 2, .n_expert = 2, .n_slots = 1};
    cr_assert_eq(geodec_slots_create(&o, &s, &err), GEODEC_LIMIT);
    o.n_slots = 2;
    o.routed = none;
    cr_assert_eq(geodec_slots_create(&o, &s, &err), GEODEC_INVAL);
    o.routed = NULL;
    o.usage = bad;
    cr_assert_eq(geodec_slots_create(&o, &s, &err), GEODEC_INVAL);
    o.usage = NULL;
    o.eviction = GEODEC_EVICTION_BELADY;
    cr_assert_eq(geodec_slots_create(&o, &s, &err), GEODEC_INVAL);
    o.eviction = GEODEC_EVICTION_LRU;
    o.n_layer = INT32_MAX;
    o.n_expert = INT32_MAX;
    cr_assert_eq(geodec_slots_create(&o, &s, &err), GEODEC_LIMIT);
    for (int64_t k = 1; k < 40; k++) { /* no leak and no crash when memory runs out */
        o = (geodec_slots_options){.n_layer = 2, .n_expert = 4, .n_slots = 4};
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_slots_create(&o, &s, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) break;
        cr_assert_eq(st, GEODEC_NOMEM);
        cr_assert_lt(k, 39);
    }
    geodec_slots_destroy(s);
    geodec_slots_destroy(NULL);
}

/* Prefetches of probability p, in a layer n layers from here, in the order of p - .2 (n - 1), and two at a time. */
Test(slots, reads_of_a_demand_come_in_ascending_order_and_then_prefetches)
{
    geodec_slots *s = make((geodec_slots_options){
        .n_layer = 3, .n_expert = 8, .n_slots = 12, .prefetch_most = 4, .prefetch_least = 0.3F, .prefetch_far = 0.2F});
    geodec_slots_read r;
    geodec_slots_pass(s);
    geodec_slots_foretell(s, 2, 2, (int32_t[]){5, 1}, (float[]){.65F, .55F});
    geodec_slots_foretell(s, 1, 3, (int32_t[]){7, 6, 0}, (float[]){.5F, .4F, .2F});
    geodec_slots_need(s, 0, 3, (int32_t[]){6, 2, 4});
    const struct {
        int32_t layer, expert;
        bool demand;
    } wanted[] = {{0, 2, true}, {0, 4, true}, {0, 6, true}, {1, 7, false}, {2, 5, false}, {1, 6, false}, {2, 1, false}};
    int32_t reading[7];
    for (int i = 0; i < 7; i++) {
        if (i >= 5) cr_assert_not(geodec_slots_next(s, &r));
        if (i >= 5) geodec_slots_finished(s, reading[i - 2], true);
        cr_assert(geodec_slots_next(s, &r), "read %d", i);
        reading[i] = r.slot;
        cr_assert_eq(r.layer, wanted[i].layer);
        cr_assert_eq(r.expert, wanted[i].expert);
        cr_assert_eq(r.demand, wanted[i].demand);
    }
    for (int i = 5; i < 7; i++) geodec_slots_finished(s, reading[i], true);
    cr_assert_not(geodec_slots_next(s, &r)); /* probability .2 is below the least */
    geodec_slots_destroy(s);
}

Test(slots, needs_are_counted_as_resident_in_time_late_or_missed)
{
    geodec_slots *s = make((geodec_slots_options){.n_layer = 2, .n_expert = 8, .n_slots = 8, .prefetch_most = 4});
    geodec_slots_read a, b;
    geodec_slots_pass(s);
    VISIT(s, 0, 0, 1);
    geodec_slots_foretell(s, 1, 3, (int32_t[]){3, 4, 5}, (float[]){.9F, .8F, .7F});
    cr_assert(geodec_slots_next(s, &a));
    geodec_slots_finished(s, a.slot, true);
    cr_assert(geodec_slots_next(s, &a)); /* of expert 4: late */
    cr_assert(geodec_slots_next(s, &b)); /* of expert 5: for nothing */
    geodec_slots_need(s, 1, 3, (int32_t[]){3, 4, 6});
    cr_assert_eq(geodec_slots_recall(s), a.slot); /* what is needed now comes first */
    geodec_slots_recalled(s, a.slot, false);
    cr_assert_eq(geodec_slots_recall(s), b.slot);
    geodec_slots_recalled(s, b.slot, true);
    cr_assert_eq(geodec_slots_recall(s), -1);
    geodec_slots_finished(s, a.slot, true);
    (void)read_all(s);
    int32_t slot[4];
    cr_assert_eq(geodec_slots_take(s, slot, 4), 3);
    for (int i = 0; i < 3; i++) geodec_slots_release(s, slot[i]);
    geodec_slots_pass(s);
    VISIT(s, 0, 1, 2);
    const geodec_slots_counters c = geodec_slots_counted(s), l = geodec_slots_counted_layer(s, 1);
    cr_assert_eq(c.needed, 7);
    cr_assert_eq(c.resident, 1);
    cr_assert_eq(c.in_time, 1);
    cr_assert_eq(c.late, 1);
    cr_assert_eq(c.missed, 4);
    cr_assert_eq(c.demand_reads, 4);
    cr_assert_eq(c.prefetch_reads, 2);
    cr_assert_eq(c.cancelled, 1);
    cr_assert_eq(c.wasted, 0);
    cr_assert_eq(c.evictions, 0);
    cr_assert_eq(l.needed, 3);
    cr_assert_eq(l.late, 1);
    geodec_slots_destroy(s);
}

Test(slots, a_late_read_that_is_taken_back_is_a_miss)
{
    geodec_slots *s = make((geodec_slots_options){.n_layer = 1, .n_expert = 4, .n_slots = 4, .prefetch_most = 2});
    geodec_slots_read r;
    geodec_slots_pass(s);
    geodec_slots_foretell(s, 0, 1, (int32_t[]){2}, (float[]){1});
    cr_assert(geodec_slots_next(s, &r));
    geodec_slots_need(s, 0, 1, (int32_t[]){2});
    cr_assert_eq(geodec_slots_counted(s).late, 1);
    cr_assert_eq(geodec_slots_recall(s), r.slot);
    geodec_slots_recalled(s, r.slot, true);
    cr_assert(geodec_slots_next(s, &r));
    cr_assert(r.demand && r.expert == 2);
    const geodec_slots_counters c = geodec_slots_counted(s);
    cr_assert(c.late == 0 && c.missed == 1 && c.prefetch_reads == 0 && c.demand_reads == 1 && c.cancelled == 1);
    geodec_slots_destroy(s);
}

Test(slots, a_failed_read_is_begun_again)
{
    geodec_slots *s = make((geodec_slots_options){.n_layer = 1, .n_expert = 4, .n_slots = 2});
    geodec_slots_read r;
    int32_t slot;
    geodec_slots_pass(s);
    geodec_slots_need(s, 0, 1, (int32_t[]){3});
    cr_assert(geodec_slots_next(s, &r));
    cr_assert_not(geodec_slots_next(s, &r));
    geodec_slots_finished(s, r.slot, false);
    cr_assert_eq(geodec_slots_take(s, &slot, 1), 0);
    cr_assert(geodec_slots_waiting(s));
    cr_assert(geodec_slots_next(s, &r));
    geodec_slots_finished(s, r.slot, true);
    cr_assert_eq(geodec_slots_take(s, &slot, 1), 1);
    cr_assert_eq(geodec_slots_counted(s).failed, 1);
    geodec_slots_destroy(s);
}

Test(slots, prefetches_hold_no_more_slots_than_allowed_and_replace_stale_ones)
{
    geodec_slots *s = make((geodec_slots_options){.n_layer = 2, .n_expert = 16, .n_slots = 4, .prefetch_most = 2});
    const int32_t first[4] = {1, 2, 3, 4}, second[3] = {5, 6, 7};
    const float p[4] = {.9F, .8F, .7F, .6F};
    geodec_slots_pass(s);
    geodec_slots_foretell(s, 1, 4, first, p);
    cr_assert_eq(read_all(s), 2);
    VISIT(s, 1, 9, 10); /* 1 and 2 were not needed: stale */
    geodec_slots_foretell(s, 1, 3, second, p);
    cr_assert_eq(read_all(s), 2);
    cr_assert(geodec_slots_resident(s, 1, 5) && geodec_slots_resident(s, 1, 6));
    cr_assert_not(geodec_slots_resident(s, 1, 1) || geodec_slots_resident(s, 1, 2));
    const geodec_slots_counters c = geodec_slots_counted(s);
    cr_assert_eq(c.wasted, 4); /* two evicted, two not used yet */
    cr_assert_eq(c.evictions, 2);
    geodec_slots_destroy(s);
}

Test(slots, a_prefetch_evicts_nothing_that_is_needed_now_or_foretold_with_higher_probability)
{
    geodec_slots *s = make((geodec_slots_options){
        .n_layer = 1, .n_expert = 8, .n_slots = 4, .prefetch_most = 2, .eviction = GEODEC_EVICTION_MAP});
    geodec_slots_read r;
    geodec_slots_pass(s);
    VISIT(s, 0, 0, 1, 2, 3);
    geodec_slots_foretell(s, 0, 5, (int32_t[]){0, 1, 2, 4, 3}, (float[]){.9F, .8F, .7F, .6F, .5F});
    cr_assert(geodec_slots_next(s, &r));
    cr_assert_eq(r.expert, 4); /* in place of 3, which is less probable */
    cr_assert_not(geodec_slots_resident(s, 0, 3));
    cr_assert_not(geodec_slots_next(s, &r));
    geodec_slots_finished(s, r.slot, true);
    geodec_slots_need(s, 0, 3, (int32_t[]){0, 1, 5});
    cr_assert(geodec_slots_next(s, &r)); /* of 2 and 4, no longer foretold: both free; 4 was never used */
    cr_assert_eq(r.expert, 5);
    cr_assert(geodec_slots_resident(s, 0, 0) && geodec_slots_resident(s, 0, 1));
    geodec_slots_destroy(s);
}

Test(slots, a_prefetch_of_any_policy_spares_what_is_foretold_with_higher_probability)
{
    for (geodec_eviction e = 0; e < GEODEC_EVICTION_BELADY; e++) {
        geodec_slots *s =
            make((geodec_slots_options){.n_layer = 1, .n_expert = 16, .n_slots = 6, .prefetch_most = 3, .eviction = e});
        geodec_slots_pass(s);
        VISIT(s, 0, 0, 1, 2, 3, 4, 5);
        /* 0 to 3 would leave first by every policy */
        geodec_slots_foretell(s, 0, 6, (int32_t[]){0, 1, 2, 3, 6, 7}, (float[]){.9F, .9F, .8F, .8F, .7F, .6F});
        cr_assert_eq(read_all(s), 2);
        for (int32_t k = 0; k < 8; k++)
            cr_assert_eq(geodec_slots_resident(s, 0, k), k != 4 && k != 5, "%s, expert %d", geodec_eviction_name(e), k);
        geodec_slots_destroy(s);
    }
}

Test(slots, a_layer_keeps_its_quota)
{
    geodec_slots *s = make((geodec_slots_options){.n_layer = 4, .n_expert = 64, .n_slots = 70});
    for (int32_t pass = 0; pass < 2; pass++) {
        geodec_slots_pass(s);
        for (int32_t l = 0; l < 4; l++) {
            int32_t e[17];
            for (int32_t i = 0; i < 17; i++) e[i] = i;
            visit(s, l, 17, e);
        }
    }
    /* a pass over all experts of layer 0 leaves the others what they own */
    int32_t all[64];
    for (int32_t i = 0; i < 64; i++) all[i] = i;
    geodec_slots_pass(s);
    visit(s, 0, 64, all);
    for (int32_t l = 1; l < 4; l++) {
        int32_t held = 0;
        for (int32_t e = 0; e < 64; e++) held += geodec_slots_resident(s, l, e);
        cr_assert_geq(held, 17);
    }
    geodec_slots_destroy(s);
}

Test(slots, layers_without_experts_own_nothing)
{
    const uint8_t routed[4] = {0, 1, 0, 1};
    geodec_slots *s = make((geodec_slots_options){.n_layer = 4, .n_expert = 8, .n_slots = 8, .routed = routed});
    geodec_slots_pass(s);
    geodec_slots_need(s, 0, 1, (int32_t[]){1});
    cr_assert_not(geodec_slots_waiting(s));
    VISIT(s, 1, 0, 1, 2, 3, 4, 5);
    VISIT(s, 3, 0, 1, 2, 3);
    geodec_slots_pass(s);
    VISIT(s, 3, 0, 1, 2, 3);
    cr_assert_eq(geodec_slots_counted_layer(s, 3).resident, 4);
    geodec_slots_destroy(s);
}

Test(slots, warm_start_fills_what_a_layer_owns)
{
    geodec_slots *s = make((geodec_slots_options){.n_layer = 3, .n_expert = 8, .n_slots = 10});
    geodec_slots_read r;
    int32_t n[3] = {0};
    for (int32_t l = 0; l < 3; l++)
        for (int32_t e = 0; e < 8; e++)
            if (geodec_slots_warm(s, l, e, &r)) {
                cr_assert_not(r.demand);
                geodec_slots_finished(s, r.slot, true);
                n[l]++;
            }
    cr_assert(n[0] == 4 && n[1] == 3 && n[2] == 3); /* the first takes the remainder */
    geodec_slots_pass(s);
    cr_assert_not(geodec_slots_warm(s, 2, 7, &r));
    VISIT(s, 0, 0, 1);
    const geodec_slots_counters c = geodec_slots_counted(s);
    cr_assert(c.resident == 2 && c.demand_reads == 0 && c.prefetch_reads == 0);
    geodec_slots_destroy(s);
}

Test(slots, a_visit_that_is_abandoned_leaves_a_working_machine)
{
    geodec_slots *s = make((geodec_slots_options){.n_layer = 2, .n_expert = 8, .n_slots = 4});
    geodec_slots_read r;
    int32_t slot[4];
    geodec_slots_pass(s);
    geodec_slots_need(s, 0, 4, (int32_t[]){0, 1, 2, 3});
    cr_assert(geodec_slots_next(s, &r));
    geodec_slots_finished(s, r.slot, true);
    cr_assert_eq(geodec_slots_take(s, slot, 4), 1); /* pinned, and not released */
    cr_assert(geodec_slots_next(s, &r));            /* and one is being read */
    geodec_slots_pass(s);
    geodec_slots_need(s, 1, 4, (int32_t[]){4, 5, 6, 7});
    geodec_slots_finished(s, r.slot, true);
    while (geodec_slots_waiting(s)) {
        (void)read_all(s);
        const int32_t got = geodec_slots_take(s, slot, 4);
        cr_assert_gt(got, 0);
        for (int32_t i = 0; i < got; i++) geodec_slots_release(s, slot[i]);
    }
    cr_assert_eq(geodec_slots_counted(s).needed, 8);
    geodec_slots_destroy(s);
}

Test(slots, calls_that_the_state_does_not_allow_change_nothing)
{
    geodec_slots *s = make((geodec_slots_options){.n_layer = 1, .n_expert = 4, .n_slots = 4});
    int32_t layer, expert;
    geodec_slots_pass(s);
    VISIT(s, 0, 0, 1);
    const geodec_slots_counters before = geodec_slots_counted(s);
    for (int32_t i = -2; i < 8; i++) {
        geodec_slots_release(s, i);
        geodec_slots_finished(s, i, true);
        geodec_slots_recalled(s, i, true);
    }
    geodec_slots_need(s, 3, 1, (int32_t[]){0});
    geodec_slots_foretell(s, -1, 1, (int32_t[]){0}, (float[]){1});
    geodec_slots_foretell(s, 0, 2, (int32_t[]){-4, 9}, (float[]){1, NAN});
    const geodec_slots_counters after = geodec_slots_counted(s);
    cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
    cr_assert_not(geodec_slots_content(s, 3, &layer, &expert) || geodec_slots_content(s, 9, &layer, &expert));
    geodec_slots_destroy(s);
}

Test(slots, frequencies_and_uses)
{
    geodec_slots *s = make((geodec_slots_options){.n_layer = 1, .n_expert = 4, .n_slots = 4});
    double f[4] = {.25, .25, .25, .25};
    for (int i = 0; i < 50; i++) {
        const int32_t e = i % 3;
        geodec_slots_pass(s);
        VISIT(s, 0, e);
        for (int k = 0; k < 4; k++) f[k] = 0.999 * f[k] + 0.001 * (k == e);
    }
    for (int k = 0; k < 4; k++) cr_assert_float_eq((double)geodec_slots_frequency(s)[k], f[k], 1e-6);
    cr_assert(geodec_slots_uses(s)[0] == 17 && geodec_slots_uses(s)[3] == 0);
    geodec_slots_destroy(s);
}

/* ---- random runs ------------------------------------------------------------------------------------------------ */

static void check_sums(const geodec_slots_counters *c)
{
    cr_assert_eq(c->needed, c->resident + c->in_time + c->late + c->missed);
    cr_assert_geq(c->demand_reads, c->missed);
    cr_assert_leq(c->demand_reads + c->prefetch_reads, c->missed + c->in_time + c->late + c->wasted + c->failed);
    cr_assert_geq(c->demand_reads + c->prefetch_reads, c->missed + c->in_time + c->late + c->wasted);
}

Test(slots, random_runs_of_every_policy_and_budget_end)
{
    for (uint64_t seed = 0; seed < 120; seed++) {
        const int32_t used = 1 + (int32_t)(seed % 4), layers = 1 + (int32_t)(seed % 7),
                      experts = 8 + 8 * (int32_t)(seed % 3);
        const int32_t few[5] = {2, 2 * used + 2, layers * 2 + 1, layers * 6, layers * experts + 3};
        const driver d = {.n_layer = layers,
                          .n_expert = experts,
                          .n_used = used,
                          .passes = 40,
                          .seed = seed,
                          .zipf = 0.5 * (double)(seed % 4),
                          .keep = seed % 2 ? 0.4 : 0,
                          .ahead = (int32_t)(seed % 5),
                          .right = 0.7,
                          .fails = seed % 6 == 5 ? 0.1 : 0,
                          .cancels = 0.5,
                          .wide = seed % 3 == 1 ? 0.3 : 0,
                          .lazy = seed % 5 == 2};
        for (int i = 0; i < 5; i++) {
            driver_next next = {.d = &d};
            const bool belady = d.wide <= 0 && seed % 7 == 6;
            const geodec_slots_options o = {.n_layer = layers,
                                            .n_expert = experts,
                                            .n_slots = few[i],
                                            .eviction = belady ? GEODEC_EVICTION_BELADY
                                                               : (geodec_eviction)(seed % GEODEC_EVICTION_BELADY),
                                            .shared = seed % 11 == 3,
                                            .prefetch_least = 0.5F,
                                            .prefetch_most = (int32_t)(seed % 9),
                                            .next_use = driver_next_use,
                                            .next_use_ctx = &next};
            geodec_slots *s = make(o);
            next.s = s;
            driver_run(&d, s);
            const geodec_slots_counters c = geodec_slots_counted(s);
            check_sums(&c);
            cr_assert_eq(c.visits, (int64_t)layers * d.passes);
            if (i == 4) cr_assert_eq(c.evictions, 0); /* room for all */
            geodec_slots_destroy(s);
        }
    }
}

/* 48 layers of 128 experts, 8 used: a pass has 384 needs. A linear search of 4,000 slots would take 1.5 million steps a
 * pass; 500 passes take well below a second here. */
Test(slots, many_slots, .timeout = 60)
{
    const driver d = {.n_layer = 48,
                      .n_expert = 128,
                      .n_used = 8,
                      .passes = 100,
                      .seed = 1,
                      .zipf = 0.8,
                      .ahead = 2,
                      .right = 0.8,
                      .cancels = 0.5};
    for (geodec_eviction e = 0; e < GEODEC_EVICTION_BELADY; e++) {
        geodec_slots *s = make((geodec_slots_options){
            .n_layer = 48, .n_expert = 128, .n_slots = 4000, .eviction = e, .prefetch_most = 64, .shared = e % 2 == 1});
        driver_run(&d, s);
        cr_assert_eq(geodec_slots_counted(s).needed, 38400);
        geodec_slots_destroy(s);
    }
}

/* ---- slots that are given up ------------------------------------------------------------------------------------ */

Test(slots, empty_ones_are_given_up_first_then_what_leaves_first)
{
    int32_t layer, expert;
    geodec_slots *s = make((geodec_slots_options){.n_layer = 1, .n_expert = 8, .n_slots = 6});
    geodec_slots_pass(s);
    VISIT(s, 0, 1, 2, 3);
    VISIT(s, 0, 4, 1);
    for (int32_t left = 5; left >= 4; left--) {
        const int32_t slot = geodec_slots_give(s);
        cr_assert(slot >= 0 && !geodec_slots_content(s, slot, &layer, &expert));
        cr_assert_eq(geodec_slots_left(s), left);
    }
    cr_assert_eq(geodec_slots_counted(s).evictions, 0);
    cr_assert_geq(geodec_slots_give(s), 0); /* the least recently used: 2 and 3 were, and 2 is the lower */
    cr_assert(!geodec_slots_resident(s, 0, 2) && geodec_slots_resident(s, 0, 3) && geodec_slots_resident(s, 0, 1));
    cr_assert_geq(geodec_slots_give(s), 0);
    cr_assert(!geodec_slots_resident(s, 0, 3));
    cr_assert_eq(geodec_slots_give(s), -1); /* two are left */
    cr_assert_eq(geodec_slots_counted(s).evictions, 2);
    geodec_slots_pass(s);
    VISIT(s, 0, 0, 1, 2, 3, 4, 5, 6, 7); /* and they are enough */
    cr_assert_eq(geodec_slots_left(s), 2);
    for (int32_t slot = 0; slot < 6; slot++) geodec_slots_back(s, slot); /* those that were not given up stay */
    cr_assert_eq(geodec_slots_left(s), 6);
    geodec_slots_pass(s);
    VISIT(s, 0, 0, 1, 2, 3, 4, 5);
    for (int32_t e = 0; e < 6; e++) cr_assert(geodec_slots_resident(s, 0, e));
    geodec_slots_destroy(s);
}

Test(slots, what_is_read_or_computed_is_not_given_up)
{
    geodec_slots_read r;
    int32_t slot[2];
    geodec_slots *s = make((geodec_slots_options){.n_layer = 1, .n_expert = 4, .n_slots = 3});
    geodec_slots_pass(s);
    const int32_t need[3] = {0, 1, 2};
    geodec_slots_need(s, 0, 3, need);
    while (geodec_slots_next(s, &r))
        if (r.expert < 2) geodec_slots_finished(s, r.slot, true);
    cr_assert_eq(geodec_slots_take(s, slot, 2), 2);
    cr_assert_eq(geodec_slots_give(s), -1);
    geodec_slots_release(s, slot[1]);
    cr_assert_eq(geodec_slots_give(s), slot[1]);
    geodec_slots_destroy(s);
}

Test(slots, runs_go_on_with_fewer_slots)
{
    for (uint64_t i = 0; i < 40; i++) {
        const driver d = {.n_layer = 1 + (int32_t)(i % 5),
                          .n_expert = 12,
                          .n_used = 3,
                          .passes = 60,
                          .seed = 70 + i,
                          .zipf = i % 2 ? 1 : 0,
                          .ahead = (int32_t)(i % 3),
                          .right = 0.7,
                          .cancels = 0.5,
                          .fails = i % 3 ? 0 : 0.03,
                          .wide = i % 4 ? 0 : 0.2,
                          .gives = 0.1 + 0.1 * (double)(i % 3),
                          .lazy = i % 7 == 0};
        geodec_slots *s = make((geodec_slots_options){.n_layer = d.n_layer,
                                                      .n_expert = 12,
                                                      .n_slots = 8 + 6 * (int32_t)(i % 6),
                                                      .eviction = (geodec_eviction)(i % GEODEC_EVICTION_BELADY),
                                                      .shared = i % 5 == 1,
                                                      .prefetch_least = 0.4F,
                                                      .prefetch_most = (int32_t)(i % 6)});
        driver_run(&d, s);
        const geodec_slots_counters c = geodec_slots_counted(s);
        cr_assert(geodec_slots_left(s) >= 5 && geodec_slots_left(s) < 8 + 6 * (int32_t)(i % 6));
        cr_assert_eq(c.needed, c.resident + c.in_time + c.late + c.missed);
        geodec_slots_destroy(s);
    }
}

/* Nearly certain ones may be more: sixteen. */
Test(slots, nearly_certain_prefetches_may_be_sixteen)
{
    geodec_slots *s = make((geodec_slots_options){
        .n_layer = 2, .n_expert = 32, .n_slots = 64, .prefetch_most = 32, .prefetch_least = 0.3F});
    geodec_slots_read r;
    int32_t expert[20];
    float probability[20];
    for (int32_t i = 0; i < 20; i++) {
        expert[i] = 31 - i;
        probability[i] = 0.95F;
    }
    geodec_slots_pass(s);
    geodec_slots_need(s, 0, 1, (int32_t[]){3});
    geodec_slots_foretell(s, 1, 20, expert, probability);
    cr_assert(geodec_slots_next(s, &r) && r.demand);
    for (int i = 0; i < 16; i++) cr_assert(geodec_slots_next(s, &r) && !r.demand && r.expert == 31 - i);
    cr_assert_not(geodec_slots_next(s, &r));
    geodec_slots_destroy(s);
}

/* The next read is a demand of this expert; it ends, and the expert is used. */
static void read_and_use(geodec_slots *s, int32_t expert)
{
    geodec_slots_read r;
    int32_t got;
    cr_assert(geodec_slots_next(s, &r) && r.expert == expert && r.demand);
    geodec_slots_finished(s, r.slot, true);
    cr_assert_eq(geodec_slots_take(s, &got, 1), 1);
    geodec_slots_release(s, got);
}

/* A prefetch that was kept may be broken off later; if it is wanted by then, it is read on demand. */
Test(slots, a_dropped_prefetch_is_read_again_if_it_is_wanted)
{
    geodec_slots *s = make(
        (geodec_slots_options){.n_layer = 2, .n_expert = 8, .n_slots = 8, .prefetch_most = 4, .prefetch_least = 0.3F});
    geodec_slots_read r;
    geodec_slots_pass(s);
    geodec_slots_foretell(s, 0, 1, (int32_t[]){5}, (float[]){.9F});
    cr_assert(geodec_slots_next(s, &r) && r.expert == 5 && !r.demand);
    const int32_t slot = r.slot;
    geodec_slots_dropped(s, slot); /* nobody asked */
    cr_assert_eq(geodec_slots_counted(s).cancelled, 0);
    geodec_slots_need(s, 0, 1, (int32_t[]){2});
    cr_assert(!geodec_slots_wanted(s, slot));
    cr_assert_eq(geodec_slots_recall(s), slot);
    geodec_slots_recalled(s, slot, false);
    read_and_use(s, 2);
    geodec_slots_need(s, 1, 1, (int32_t[]){0});
    read_and_use(s, 0);
    geodec_slots_need(s, 0, 1, (int32_t[]){5}); /* while the read is being broken off */
    cr_assert(geodec_slots_wanted(s, slot));
    cr_assert_eq(geodec_slots_counted(s).late, 1);
    geodec_slots_dropped(s, slot);
    read_and_use(s, 5);
    const geodec_slots_counters c = geodec_slots_counted(s);
    cr_assert_eq(c.cancelled, 1);
    cr_assert_eq(c.late, 0);
    cr_assert_eq(c.missed, 3);
    cr_assert_eq(c.prefetch_reads, 0);
    geodec_slots_destroy(s);
}

/* What is worth more may begin although two others are under way; the pace changes what is worth it. */
Test(slots, a_prefetch_of_more_worth_does_not_wait_and_the_pace_can_change)
{
    geodec_slots *s = make(
        (geodec_slots_options){.n_layer = 3, .n_expert = 8, .n_slots = 24, .prefetch_most = 8, .prefetch_least = 0.3F});
    geodec_slots_read r;
    geodec_slots_pass(s);
    geodec_slots_need(s, 0, 0, NULL);
    geodec_slots_foretell(s, 2, 3, (int32_t[]){5, 1, 2}, (float[]){.6F, .5F, .4F});
    cr_assert(geodec_slots_next(s, &r) && r.expert == 5);
    cr_assert_float_eq(r.worth, 0.6F, 1e-6);
    cr_assert(geodec_slots_next(s, &r) && r.expert == 1);
    cr_assert_not(geodec_slots_next(s, &r));
    geodec_slots_foretell(s, 1, 1, (int32_t[]){4}, (float[]){.55F});
    cr_assert(geodec_slots_next(s, &r) && r.layer == 1); /* one better is under way */
    geodec_slots_foretell(s, 1, 2, (int32_t[]){4, 6}, (float[]){.55F, .52F});
    cr_assert_not(geodec_slots_next(s, &r)); /* two are */
    geodec_slots_pace(s, 0.3F, 1);           /* the next layer alone */
    geodec_slots_foretell(s, 1, 2, (int32_t[]){4, 6}, (float[]){.55F, .1F});
    cr_assert_not(geodec_slots_next(s, &r));
    geodec_slots_pace(s, 0.05F, 1);
    geodec_slots_foretell(s, 2, 1, (int32_t[]){7}, (float[]){.85F});
    for (int32_t k = 0; k < 24; k++) geodec_slots_finished(s, k, true);
    cr_assert(geodec_slots_next(s, &r) && r.layer == 1 && r.expert == 6);
    cr_assert_not(geodec_slots_next(s, &r));
    geodec_slots_pace(s, -1, 2); /* out of range: unchanged */
    cr_assert_not(geodec_slots_next(s, &r));
    geodec_slots_destroy(s);
}
