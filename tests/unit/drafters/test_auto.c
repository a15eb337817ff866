#include "base/mem.h"
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/auto_drafter.h"
#include "drafters/lookup_drafter.h"
#include "drafters/ngram_drafter.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

/* A clock that advances by a fixed step for each call, and by the time that the parts add. */
static double ticks;
static double tick(void) { return ticks += 1e-9; }

/* A part of known acceptance: right with `percent`, wrong otherwise, with a cost for each request. */
typedef struct fake {
    geodec_drafter base;
    const int32_t *truth; /* [n] of the whole text */
    int64_t n, asked, observed, begun;
    int32_t percent;
    double price;
} fake;

static geodec_status fake_begin(geodec_drafter *d, geodec_err *err)
{
    (void)err;
    ((fake *)d)->observed = 0;
    ((fake *)d)->begun++;
    return GEODEC_OK;
}

static geodec_status fake_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    fake *f = (fake *)d;
    cr_assert_not_null(rows->state);
    f->observed += rows->n;
    return GEODEC_OK;
}

static geodec_status fake_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                  geodec_err *err)
{
    (void)err;
    fake *f = (fake *)d;
    f->asked++;
    ticks += f->price;
    if (f->begun == 1) cr_assert_eq(f->observed, q->n_context - 1, "every row before the newest was shown");
    *n = 0;
    for (int64_t i = q->n_context; i < q->n_context + q->gamma && i < f->n; i++) {
        geodec_rng r = geodec_rng_stream((uint64_t)f->percent, (uint64_t)i);
        const bool right = (int32_t)geodec_rng_below(&r, 100) < f->percent;
        out[(*n)++] =
            (geodec_draft){.token = (f->truth[i] + !right) % TOY_VOCAB, .confidence = 0.5}; /* for any value */
    }
    return GEODEC_OK;
}

static void fake_destroy(geodec_drafter *d) { (void)d; }

static const char *const fake_source[] = {"fake"};
static const geodec_drafter_ops fake_ops = {.name = "fake",
                                            .wants_state = true,
                                            .n_sources = 1,
                                            .source_name = fake_source,
                                            .begin = fake_begin,
                                            .observe = fake_observe,
                                            .propose = fake_propose,
                                            .destroy = fake_destroy};

enum { PROMPT = 5, LENGTH = 2000 };

typedef struct trial {
    toy t;
    int32_t text[PROMPT + LENGTH];
    geodec_decode_options o;
    geodec_end end;
} trial;

static void set_up(trial *x, uint64_t seed, double slope)
{
    geodec_rng r = geodec_rng_stream(seed, 6);
    toy_target(&x->t, TOY_HISTORY, seed, 4000);
    x->o = geodec_decode_options_default();
    x->o.gamma = 8;
    x->o.max_tokens = LENGTH;
    x->o.adaptive = true;
    x->o.clock = tick;
    x->o.cost = geodec_cost_linear(slope);
    x->o.cost.seconds = 1;
    for (int i = 0; i < PROMPT; i++) x->text[i] = (int32_t)geodec_rng_below(&r, TOY_VOCAB);
    cr_assert_eq(toy_plain(&x->t, x->text, PROMPT, &x->o, x->text + PROMPT, &x->end), LENGTH);
}

/* A pass takes the time of the cost model. */
static geodec_target inner;
static double slope_of;
static int64_t with_states; /* passes that gave them */
static geodec_status timed_forward(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                                   float *state, geodec_err *err)
{
    ticks += 1 + slope_of * (n - 1);
    with_states += state != NULL;
    return inner.forward(self, token, parent, n, logits, state, err);
}

static geodec_decode_counters run(trial *x, geodec_drafter *d)
{
    geodec_err err = {0};
    geodec_decoded got;
    geodec_target target = inner = toy_target(&x->t, x->t.kind, x->t.seed, x->t.n_ctx);
    target.forward = timed_forward;
    slope_of = x->o.cost.v[2] - x->o.cost.v[1];
    test_ok(geodec_decode(&target, x->text, PROMPT, d, &x->o, &got, &err), &err);
    cr_assert_eq(got.n, LENGTH);
    cr_assert_eq(memcmp(got.token, x->text + PROMPT, LENGTH * sizeof *got.token), 0);
    const geodec_decode_counters c = got.counters;
    geodec_decode_free(&got);
    return c;
}

/* The good drafter makes the drafts; the bad and the costly one get rare requests. */
Test(scheduler, takes_what_pays)
{
    static trial x;
    geodec_err err = {0};
    geodec_drafter *d;
    set_up(&x, 3, 0.3);
    fake bad = {.base.ops = &fake_ops, .percent = 2, .price = 0.1}, good = bad, costly = bad;
    good.percent = 90;
    good.price = 0.02;
    costly.percent = 95;
    costly.price = 3;
    fake *all[] = {&bad, &good, &costly};
    for (int i = 0; i < 3; i++) {
        all[i]->truth = x.text;
        all[i]->n = PROMPT + LENGTH;
    }
    geodec_drafter *part[] = {&bad.base, &good.base, &costly.base};
    const bool trees[3] = {false};
    test_ok(geodec_auto_drafter_create(3, part, trees, NULL, TOY_STATE, &d, &err), &err);
    const geodec_decode_counters c = run(&x, d);
    cr_assert_gt(geodec_decode_tokens_per_pass(&c), 2);
    cr_assert_gt(10 * c.source[1].accepted, 9 * c.total.accepted);
    cr_assert_gt(2 * good.asked, c.rounds, "%d of %d rounds", (int)good.asked, (int)c.rounds);
    cr_assert_lt(8 * bad.asked, c.rounds, "%d of %d rounds", (int)bad.asked, (int)c.rounds);
    cr_assert_lt(50 * costly.asked, c.rounds, "%d of %d rounds", (int)costly.asked, (int)c.rounds);
    cr_assert_gt(bad.asked, 3, "but it is tried again");
    geodec_drafter_destroy(d);
}

/* A drafter that could not be the best with nine of ten drafts right is not tried; price: cost before it is known. */
Test(scheduler, leaves_the_hopeless_alone)
{
    for (int known = 0; known < 2; known++) {
        static trial x;
        geodec_err err = {0};
        geodec_drafter *d;
        set_up(&x, 6, 0.3);
        fake good = {.base.ops = &fake_ops, .truth = x.text, .n = PROMPT + LENGTH, .percent = 90, .price = 0.02};
        fake costly = good;
        costly.percent = 95;
        costly.price = 2.5;
        geodec_drafter *part[] = {&good.base, &costly.base};
        const bool trees[2] = {false};
        const double price[] = {0.02, known ? 2.5 : 0.02};
        test_ok(geodec_auto_drafter_create(2, part, trees, price, TOY_STATE, &d, &err), &err);
        (void)run(&x, d);
        if (known)
            cr_assert_leq(costly.asked, 1, "asked %d times", (int)costly.asked); /* before the other one is the best */
        else
            cr_assert(costly.asked > 0 && costly.asked < 8, "asked %d times", (int)costly.asked);
        geodec_drafter_destroy(d);
    }
}

/* If no drafter saves time, no draft is sent, and requests take a small share of the time. */
Test(scheduler, never_much_slower)
{
    for (int32_t price = 1; price <= 1000; price *= 10) {
        static trial x;
        geodec_err err = {0};
        geodec_drafter *d;
        set_up(&x, 4, 0.6);
        fake a = {.base.ops = &fake_ops, .truth = x.text, .n = PROMPT + LENGTH, .percent = 30, .price = 1e-3 * price};
        fake b = a;
        geodec_drafter *part[] = {&a.base, &b.base};
        const bool trees[2] = {false};
        b.percent = 0;
        test_ok(geodec_auto_drafter_create(2, part, trees, NULL, TOY_STATE, &d, &err), &err);
        const geodec_decode_counters c = run(&x, d);
        double passes = (double)(a.asked + b.asked) * a.price;
        for (int32_t n = 0; n <= 8; n++) passes += (double)c.length[n] * geodec_cost_pass(&x.o.cost, n + 1);
        cr_assert_lt(passes, 1.02 * LENGTH, "price %g: %g passes", a.price, passes);
        geodec_drafter_destroy(d);
    }
}

/* A suspended drafter takes no time: only the states of the last rows before its next request are computed, and it
 * starts again with those. A drafter that learns receives every row. */
Test(scheduler, suspended_drafters_cost_nothing)
{
    for (int learns = 0; learns < 2; learns++) {
        static trial x;
        geodec_err err = {0};
        geodec_drafter_ops ops = fake_ops;
        set_up(&x, 4, 0.6);
        ops.learns = learns;
        fake bad = {.base.ops = &ops, .truth = x.text, .n = PROMPT + LENGTH, .percent = 2, .price = 0.3};
        geodec_drafter *d, *part[] = {&bad.base};
        const bool trees[1] = {false};
        with_states = 0;
        test_ok(geodec_auto_drafter_create(1, part, trees, NULL, TOY_STATE, &d, &err), &err);
        const geodec_decode_counters c = run(&x, d);
        cr_assert(c.asks > 4 && c.asks < LENGTH / 10, "%d asks", (int)c.asks);
        if (learns) {
            cr_assert_eq(bad.begun, 1);
            cr_assert_eq(bad.observed, PROMPT + LENGTH - 1);
            cr_assert_geq(with_states, c.rounds);
        } else {
            cr_assert(with_states > 0 && 5 * with_states < c.rounds, "%d of %d passes", (int)with_states,
                      (int)c.rounds);
            cr_assert_gt(bad.begun, 1);
        }
        geodec_drafter_destroy(d);
    }
}

/* Drafters of the library under it, as chains and trees, greedy and sampled, with a clock and without. */
Test(scheduler, output_equals_plain)
{
    geodec_err err = {0};
    geodec_drafter *d, *part[2];
    const bool trees[2] = {false, true};
    double best = 0;
    test_ok(geodec_lookup_drafter_create(&part[0], &err), &err);
    test_ok(geodec_ngram_drafter_create(NULL, 8, &part[1], &err), &err);
    test_ok(geodec_auto_drafter_create(2, part, trees, NULL, 0, &d, &err), &err);
    cr_assert_eq(d->ops->n_sources, part[0]->ops->n_sources + part[1]->ops->n_sources);
    cr_assert_str_eq(d->ops->source_name[0], "lookup:1");
    cr_assert_str_eq(d->ops->source_name[part[0]->ops->n_sources], "ngram:store-1");
    for (int kind = TOY_HISTORY; kind <= TOY_MARKOV; kind++)
        for (int mode = 0; mode < 24; mode++) {
            static int32_t plain[4096];
            toy t;
            geodec_end end;
            geodec_decoded got;
            int32_t prompt[6], stop[] = {0};
            geodec_decode_options o = geodec_decode_options_default();
            geodec_rng r = geodec_rng_stream((uint64_t)mode, 6);
            for (int i = 0; i < 6; i++) prompt[i] = (int32_t)geodec_rng_below(&r, TOY_VOCAB);
            o.gamma = 1 + mode % 9;
            o.budget = mode % 3 ? 4 * (mode % 3) : 0;
            o.adaptive = mode % 4 > 1;
            o.cost.seconds = mode % 4 == 3 ? 1e-3 : 0;
            o.max_tokens = 300;
            o.stop = stop;
            o.n_stop = mode % 2;
            o.sampling.temperature = mode % 5 == 4 ? 0.8 : 0;
            o.sampling.seed = (uint64_t)mode;
            const geodec_target target = toy_target(&t, (toy_kind)kind, (uint64_t)mode, 1000);
            const int64_t want = toy_plain(&t, prompt, 6, &o, plain, &end);
            test_ok(geodec_decode(&target, prompt, 6, d, &o, &got, &err), &err);
            cr_assert_eq(got.n, want);
            cr_assert_eq(got.end, end);
            cr_assert_eq(memcmp(got.token, plain, (size_t)want * sizeof *plain), 0, "kind %d mode %d", kind, mode);
            const double x = geodec_decode_tokens_per_pass(&got.counters);
            const int64_t rounds = got.counters.rounds;
            if (x > best) best = x;
            geodec_decode_free(&got);
            if (o.adaptive) continue;
            test_ok(geodec_decode(&target, prompt, 6, d, &o, &got, &err), &err);
            cr_assert_eq(got.counters.rounds, rounds, "begin forgets, and without a cost the choice is the text's");
            geodec_decode_free(&got);
        }
    cr_assert_gt(best, 3, "%g tokens a pass", best);
    geodec_drafter_destroy(d);
}

Test(scheduler, refuses_and_cleans_up)
{
    geodec_err err = {0};
    geodec_drafter *d = NULL, *part[2] = {NULL, NULL};
    const bool trees[2] = {false, true};
    cr_assert_eq(geodec_auto_drafter_create(0, part, trees, NULL, 0, &d, &err), GEODEC_INVAL);
    for (int64_t k = 1; k < 4; k++) {
        test_ok(geodec_lookup_drafter_create(&part[0], &err), &err);
        test_ok(geodec_ngram_drafter_create(NULL, 8, &part[1], &err), &err);
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_auto_drafter_create(2, part, trees, NULL, 0, &d, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK)
            geodec_drafter_destroy(d);
        else
            cr_assert_eq(st, GEODEC_NOMEM); /* the parts are gone: sanitizers would see a leak */
    }
    fake f = {.base.ops = &fake_ops};
    const bool first[2] = {true, false};
    part[0] = part[1] = &f.base;
    cr_assert_eq(geodec_auto_drafter_create(2, part, first, NULL, 3, &d, &err), GEODEC_INVAL, "nobody for chains");
    cr_assert_eq(geodec_auto_drafter_create(1, part, trees, NULL, 0, &d, &err), GEODEC_INVAL, "states of no size");
}
