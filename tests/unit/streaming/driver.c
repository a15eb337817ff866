#include "driver.h"

#include "base/mem.h"
#include "base/rng.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MOST = 4096 };

static bool has(const int32_t *list, int32_t n, int32_t x)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == x) return true;
    return false;
}

/* A permutation of the experts for each layer gives the popular ones. */
static int32_t draw(const driver *d, int32_t layer, geodec_rng *r)
{
    const double u = geodec_rng_uniform(r), a = 1 - d->zipf, n = d->n_expert;
    if (d->zipf <= 0) return (int32_t)geodec_rng_below(r, (uint64_t)d->n_expert);
    const double x = fabs(a) < 1e-9 ? pow(n + 1, u) : pow(1 + u * (pow(n + 1, a) - 1), 1 / a);
    const int32_t rank = (int32_t)fmin(x - 1, n - 1);
    return (rank + 7 * layer) % d->n_expert;
}

int32_t driver_route(const driver *d, int32_t pass, int32_t layer, int32_t *expert)
{
    geodec_rng r = geodec_rng_stream(d->seed, geodec_rng_id("route", (uint64_t)pass * 1000 + (uint64_t)layer));
    if (pass > 0 && geodec_rng_uniform(&r) < d->keep) return driver_route(d, pass - 1, layer, expert);
    int32_t want = d->n_used, n = 0;
    if (geodec_rng_uniform_at(d->seed, geodec_rng_id("wide", 0), (uint64_t)pass) < d->wide)
        want = 1 + (int32_t)geodec_rng_below(&r, (uint64_t)d->n_expert);
    while (n < want) {
        const int32_t e = d->zipf > 0 && n < d->n_expert / 2 ? draw(d, layer, &r)
                                                             : (int32_t)geodec_rng_below(&r, (uint64_t)d->n_expert);
        if (!has(expert, n, e)) expert[n++] = e;
    }
    return n;
}

int64_t driver_next_use(void *ctx, int32_t layer, int32_t expert)
{
    const driver_next *const next = ctx;
    const geodec_slots_counters all = geodec_slots_counted(next->s);
    const geodec_slots_counters own = geodec_slots_counted_layer(next->s, layer);
    int32_t list[MOST];
    (void)all;
    for (int32_t pass = (int32_t)own.visits; pass < next->d->passes; pass++)
        if (has(list, driver_route(next->d, pass, layer, list), expert)) return pass;
    return INT64_MAX;
}

/* ---- the disk: a bag of reads ----------------------------------------------------------------------------------- */

typedef struct bag {
    const driver *d;
    geodec_slots *s;
    geodec_rng r;
    int32_t slot[MOST], n;
    bool given[MOST], kept[MOST];
} bag;

static void begin_all(bag *b)
{
    geodec_slots_read read;
    for (int32_t slot; (slot = geodec_slots_recall(b->s)) >= 0;) {
        const bool cancelled = geodec_rng_uniform(&b->r) < b->d->cancels;
        cr_assert(has(b->slot, b->n, slot), "recall of a slot that is not being read");
        geodec_slots_recalled(b->s, slot, cancelled);
        b->kept[slot] = !cancelled;
        for (int32_t i = 0; cancelled && i < b->n; i++)
            if (b->slot[i] == slot) b->slot[i] = b->slot[--b->n];
    }
    while (geodec_slots_next(b->s, &read)) {
        int32_t layer, expert;
        cr_assert(!has(b->slot, b->n, read.slot), "a slot is read twice at a time");
        cr_assert(!b->given[read.slot], "a read into a slot that was given up");
        cr_assert(geodec_slots_content(b->s, read.slot, &layer, &expert) && layer == read.layer &&
                  expert == read.expert);
        cr_assert(!geodec_slots_resident(b->s, layer, expert));
        b->slot[b->n++] = read.slot;
    }
}

static void finish_one(bag *b)
{
    const int32_t i = (int32_t)geodec_rng_below(&b->r, (uint64_t)b->n), slot = b->slot[i];
    b->slot[i] = b->slot[--b->n];
    const bool kept = b->kept[slot];
    b->kept[slot] = false;
    if (kept && geodec_rng_uniform(&b->r) < 0.5) { /* also if it is wanted meanwhile: it comes again */
        geodec_slots_dropped(b->s, slot);
        return;
    }
    geodec_slots_finished(b->s, slot, geodec_rng_uniform(&b->r) >= b->d->fails);
}

/* ---- the decoder ------------------------------------------------------------------------------------------------ */

static void foretell(bag *b, int32_t pass, int32_t layer)
{
    const driver *const d = b->d;
    int32_t truth[MOST], expert[MOST];
    float probability[MOST];
    const int32_t n = driver_route(d, pass, layer, truth);
    int32_t m = 0;
    for (int32_t i = 0; i < n && i < 2 * d->n_used; i++) {
        const int32_t e =
            geodec_rng_uniform(&b->r) < d->right ? truth[i] : (int32_t)geodec_rng_below(&b->r, (uint64_t)d->n_expert);
        if (has(expert, m, e)) continue;
        probability[m] = 1 - 0.02F * (float)m - 0.3F * (float)geodec_rng_uniform(&b->r);
        expert[m++] = e;
    }
    geodec_slots_foretell(b->s, layer, m, expert, probability);
}

void driver_expected(const driver *d, int32_t pass, int32_t layer, float *share)
{
    geodec_rng r = geodec_rng_stream(d->seed, geodec_rng_id("expected", (uint64_t)pass * 1000 + (uint64_t)layer));
    for (int32_t e = 0; e < d->n_expert; e++) {
        const float u = (float)geodec_rng_uniform(&r);
        share[e] = u < 0.3F ? 0 : u * u;
    }
}

/* In descending order of the experts, those above 0. */
static void expect(bag *b, int32_t pass)
{
    int32_t expert[MOST];
    float share[MOST], of[MOST];
    for (int32_t layer = 0; layer < b->d->n_layer; layer++) {
        int32_t n = 0;
        driver_expected(b->d, pass, layer, share);
        for (int32_t e = b->d->n_expert - 1; e >= 0; e--)
            if (share[e] > 0) {
                expert[n] = e;
                of[n++] = share[e];
            }
        geodec_slots_expect(b->s, layer, n, expert, of);
    }
}

static void visit(bag *b, int32_t pass, int32_t layer)
{
    const driver *const d = b->d;
    int32_t expert[MOST], slot[MOST], held = 0, taken = 0;
    const int32_t n = driver_route(d, pass, layer, expert);
    geodec_slots_need(b->s, layer, n, expert);
    for (int64_t turn = 0;; turn++) {
        cr_assert(turn < 1000000, "a visit does not end");
        begin_all(b);
        if (d->full && b->n > 0 && geodec_slots_waiting(b->s)) {
            finish_one(b);
            continue;
        }
        const int32_t got = geodec_slots_take(b->s, slot + held, d->lazy ? 1 : MOST - held);
        for (int32_t i = held; i < held + got; i++) {
            int32_t l = -1, e = -1;
            cr_assert(geodec_slots_content(b->s, slot[i], &l, &e));
            cr_assert(l == layer && has(expert, n, e) && geodec_slots_resident(b->s, l, e));
        }
        held += got;
        taken += got;
        const bool hold = d->lazy && held < 3 && got > 0;
        if (held > 0 && !hold) {
            const int32_t i = (int32_t)geodec_rng_below(&b->r, (uint64_t)held);
            geodec_slots_release(b->s, slot[i]);
            slot[i] = slot[--held];
            continue;
        }
        if (!geodec_slots_waiting(b->s)) {
            if (held > 0) continue;
            break;
        }
        if (got > 0) continue;
        cr_assert(b->n > 0, "a demand waits, and nothing is read or computed");
        finish_one(b);
    }
    cr_assert_eq(taken, n);
}

/* A slot that is given up is empty, and never read into again. */
static void give(bag *b)
{
    int32_t layer, expert;
    const int32_t before = geodec_slots_left(b->s), slot = geodec_slots_give(b->s);
    cr_assert_eq(geodec_slots_left(b->s), before - (slot >= 0));
    if (slot < 0) return;
    cr_assert(!b->given[slot] && !has(b->slot, b->n, slot) && !geodec_slots_content(b->s, slot, &layer, &expert));
    b->given[slot] = true;
}

void driver_run(const driver *d, geodec_slots *s)
{
    bag *b = geodec_mem_new(1, sizeof *b);
    b->d = d;
    b->s = s;
    b->r = geodec_rng_stream(d->seed, geodec_rng_id("events", 0));
    for (int32_t pass = 0; pass < d->passes; pass++) {
        geodec_slots_pass(s);
        if (d->expects) expect(b, pass);
        while (geodec_rng_uniform(&b->r) < d->gives && geodec_slots_left(s) > d->n_used + 2) give(b);
        for (int32_t layer = 0; layer < d->n_layer; layer++) {
            for (int32_t k = 1; k <= d->ahead; k++) {
                const int32_t to = layer + k;
                if (pass + to / d->n_layer < d->passes) foretell(b, pass + to / d->n_layer, to % d->n_layer);
            }
            begin_all(b);
            while (!d->full && b->n > 0 && geodec_rng_uniform(&b->r) < 0.6) finish_one(b);
            visit(b, pass, layer);
        }
    }
    while (b->n > 0) finish_one(b);
    geodec_mem_free(b);
}
