/* The policies, each against a direct search by its definition. */
#include "driver.h"
#include "streaming/eviction.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

static geodec_err err;

enum { LAYERS = 3, EXPERTS = 12, PASSES = 120, SLOTS = 14 };

Test(eviction, names)
{
    for (geodec_eviction e = 0; e < GEODEC_EVICTION_KINDS; e++)
        cr_assert_eq(geodec_eviction_named(geodec_eviction_name(e)), e);
    cr_assert_eq(geodec_eviction_named("none"), GEODEC_EVICTION_KINDS);
    cr_assert_str_eq(geodec_eviction_name(GEODEC_EVICTION_KINDS), "?");
}

/* A cache by the definitions: every number from the start of the run, and a search of all slots. */
typedef struct plain {
    bool in[LAYERS][EXPERTS], wanted[LAYERS][EXPERTS];
    double f[LAYERS][EXPERTS], recent[LAYERS][EXPERTS];
    float expected[LAYERS][EXPERTS];
    int64_t last[LAYERS][EXPERTS], pass[LAYERS][EXPERTS], uses[LAYERS][EXPERTS];
    int32_t n;
    int64_t missed;
} plain;

static double worth(const plain *c, const driver *d, geodec_eviction e, int32_t l, int32_t k, int32_t now, int32_t pass)
{
    int32_t route[EXPERTS];
    switch (e) {
    case GEODEC_EVICTION_LFU:
        return (double)c->uses[l][k];
    case GEODEC_EVICTION_STALE:
        return -(double)(l > now ? l - now : l + LAYERS - now);
    case GEODEC_EVICTION_MAP:
        return ((double)c->expected[l][k] + 0.01) * pow(c->recent[l][k], 0.4);
    case GEODEC_EVICTION_SCORE:
        return c->f[l][k] * exp2(-(double)(pass - c->pass[l][k]) / 64);
    case GEODEC_EVICTION_BELADY:
        for (int32_t p = l <= now ? pass + 1 : pass; p < PASSES; p++) {
            const int32_t n = driver_route(d, p, l, route);
            for (int32_t i = 0; i < n; i++)
                if (route[i] == k) return -(double)(p * LAYERS + l);
        }
        return -INFINITY;
    default:
        return (double)c->last[l][k];
    }
}

static void evict(plain *c, const driver *d, geodec_eviction e, int32_t now, int32_t pass)
{
    int32_t layer = -1, expert = -1;
    double least = 0;
    for (int32_t l = 0; l < LAYERS; l++)
        for (int32_t k = 0; k < EXPERTS; k++) {
            if (!c->in[l][k] || c->wanted[l][k]) continue;
            const double w = worth(c, d, e, l, k, now, pass);
            /* equal up to rounding: the less recently used, then the lowest */
            const bool same =
                layer >= 0 &&
                (w > least - 1e-12 * fabs(least) && w < least + 1e-12 * fabs(least)) + (w <= least && w >= least) > 0;
            if (layer < 0 || (!same && w < least) || (same && c->last[l][k] < c->last[layer][expert])) {
                layer = l;
                expert = k;
                least = w;
            }
        }
    c->in[layer][expert] = false;
    c->n--;
}

static void expect(plain *c, const driver *d, int32_t pass)
{
    float share[EXPERTS];
    for (int32_t l = 0; l < LAYERS; l++) {
        driver_expected(d, pass, l, share);
        for (int32_t k = 0; k < EXPERTS; k++) c->expected[l][k] = c->expected[l][k] * 0.2F + (1 - 0.2F) * share[k];
    }
}

static int64_t misses(const driver *d, geodec_eviction e)
{
    static plain zero;
    plain c = zero;
    int64_t visits = 0;
    for (int32_t l = 0; l < LAYERS; l++)
        for (int32_t k = 0; k < EXPERTS; k++) c.f[l][k] = c.recent[l][k] = 1.0 / EXPERTS;
    for (int32_t pass = 0; pass < PASSES; pass++) {
        if (d->expects) expect(&c, d, pass);
        for (int32_t l = 0; l < LAYERS; l++) {
            int32_t route[EXPERTS];
            bool missing[EXPERTS] = {false};
            const int32_t n = driver_route(d, pass, l, route);
            visits++;
            for (int32_t k = 0; k < EXPERTS; k++) {
                c.f[l][k] *= 0.999;
                c.recent[l][k] *= 0.985;
            }
            for (int32_t i = 0; i < n; i++) {
                const int32_t k = route[i];
                c.f[l][k] += 0.001;
                c.recent[l][k] += 0.015;
                c.uses[l][k]++;
                c.last[l][k] = visits;
                c.pass[l][k] = pass;
                c.wanted[l][k] = true;
                missing[k] = !c.in[l][k];
            }
            for (int32_t k = 0; k < EXPERTS; k++) {
                if (!missing[k]) continue;
                c.missed++;
                if (c.n == SLOTS) evict(&c, d, e, l, pass);
                c.in[l][k] = true;
                c.n++;
            }
            for (int32_t k = 0; k < EXPERTS; k++) c.wanted[l][k] = false;
        }
    }
    return c.missed;
}

static void use_one(geodec_slots *s, int32_t expert)
{
    geodec_slots_read r;
    int32_t slot;
    geodec_slots_pass(s);
    geodec_slots_need(s, 0, 1, &expert);
    if (geodec_slots_next(s, &r)) geodec_slots_finished(s, r.slot, true);
    cr_assert_eq(geodec_slots_take(s, &slot, 1), 1);
    geodec_slots_release(s, slot);
}

static int64_t machine(const driver *d, geodec_eviction e, bool shared, const float *usage)
{
    geodec_slots *s = NULL;
    driver_next next = {.d = d};
    const geodec_slots_options o = {.n_layer = LAYERS,
                                    .n_expert = EXPERTS,
                                    .n_slots = SLOTS,
                                    .eviction = e,
                                    .shared = shared,
                                    .usage = usage,
                                    .next_use = driver_next_use,
                                    .next_use_ctx = &next};
    test_ok(geodec_slots_create(&o, &s, &err), &err);
    next.s = s;
    driver_run(d, s);
    const int64_t missed = geodec_slots_counted(s).missed;
    geodec_slots_destroy(s);
    return missed;
}

static driver traffic(uint64_t seed)
{
    return (driver){.n_layer = LAYERS,
                    .n_expert = EXPERTS,
                    .n_used = 2,
                    .passes = PASSES,
                    .seed = seed,
                    .full = true,
                    .expects = seed % 2 == 1,
                    .zipf = 0.4 * (double)(seed % 4),
                    .keep = 0.2 * (double)(seed % 3)};
}

Test(eviction, every_policy_evicts_what_its_definition_says)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        const driver d = traffic(seed);
        for (geodec_eviction e = 0; e < GEODEC_EVICTION_KINDS; e++)
            cr_assert_eq(machine(&d, e, true, NULL), misses(&d, e), "%s, seed %d: %lld, by definition %lld",
                         geodec_eviction_name(e), (int)seed, (long long)machine(&d, e, true, NULL),
                         (long long)misses(&d, e));
    }
}

/* Only the map listens; what is expected before a visit counts from that visit on, and a wide pass takes it back. */
Test(eviction, the_map_keeps_what_is_expected)
{
    const int32_t all[6] = {0, 1, 2, 3, 4, 5};
    for (int with = 0; with < 2; with++)
        for (geodec_eviction e = 0; e < GEODEC_EVICTION_BELADY; e++) {
            geodec_slots *s = NULL;
            const geodec_slots_options o = {.n_layer = 1, .n_expert = 8, .n_slots = 4, .eviction = e};
            const bool keeps = e == GEODEC_EVICTION_MAP && with;
            test_ok(geodec_slots_create(&o, &s, &err), &err);
            for (int32_t k = 0; k < 4; k++) use_one(s, all[k]);
            geodec_slots_expect(s, 0, 3, (int32_t[]){0, 1, 9}, (float[]){0.5F, 0.25F, 1});
            if (!with) geodec_slots_expect(s, 0, 0, NULL, NULL);
            use_one(s, 4);
            use_one(s, 5);
            cr_assert_eq(geodec_slots_resident(s, 0, 0) && geodec_slots_resident(s, 0, 1), keeps, "%s",
                         geodec_eviction_name(e));
            geodec_slots_destroy(s);
        }
}

Test(eviction, no_policy_is_above_belady)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        const driver d = traffic(seed);
        const int64_t least = machine(&d, GEODEC_EVICTION_BELADY, true, NULL);
        for (geodec_eviction e = 0; e < GEODEC_EVICTION_KINDS; e++)
            for (int shared = 0; shared < 2; shared++) cr_assert_geq(machine(&d, e, shared, NULL), least);
    }
}

Test(eviction, the_static_set_stays)
{
    float usage[LAYERS * EXPERTS] = {0};
    const driver d = {.n_layer = LAYERS, .n_expert = EXPERTS, .n_used = 2, .passes = PASSES, .seed = 3, .full = true};
    geodec_slots *s = NULL;
    for (int l = 0; l < LAYERS; l++)
        for (int k = 0; k < 3; k++) usage[l * EXPERTS + 2 + k] = 0.5F; /* 3 of the 4 slots of a layer */
    const geodec_slots_options o = {
        .n_layer = LAYERS, .n_expert = EXPERTS, .n_slots = 18, .usage = usage, .eviction = GEODEC_EVICTION_STATIC};
    test_ok(geodec_slots_create(&o, &s, &err), &err);
    driver_run(&d, s);
    for (int32_t l = 0; l < LAYERS; l++)
        for (int32_t k = 2; k < 5; k++) cr_assert(geodec_slots_resident(s, l, k));
    geodec_slots_destroy(s);
}
