/* Adaptive length alone, at scripted costs and outcomes: every decision of thousands of rounds equals the recorded
 * one. A changed rule or constant shows here; a new one needs a new record (the failing test prints the row). */
#include "base/rng.h"
#include "decode/adapt.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>

enum { ROUNDS = 6000, PHASES = 4, NOTICE = 12 };

/* Decisions of a run: `digest` covers requested and sent drafts of each round, and the length of each suspension. */
typedef struct record {
    int64_t asked, sent, suspensions, skipped;
    double budget, rate; /* in the end */
    uint64_t digest;
} record;

static void note(record *x, int64_t value)
{
    x->digest = (x->digest ^ (uint64_t)value) * UINT64_C(0x100000001b3);
    x->digest ^= x->digest >> 29;
}

/* One run: the acceptance changes with the text; requests, passes and catching up take scripted times, with an
 * outlier now and then. */
typedef struct script {
    int32_t max;
    double slope, claim, asking, other;
    double truth[PHASES]; /* acceptance of a draft */
    bool tree;            /* drafts are pairs of siblings */
} script;

static double jitter(geodec_rng *r)
{
    const double u = geodec_rng_uniform(r);
    return geodec_rng_below(r, 97) == 0 ? 12 : 0.9 + 0.2 * u;
}

static int32_t draft(const script *s, geodec_rng *r, int32_t want, geodec_draft *d)
{
    for (int32_t i = 0; i < want; i++) {
        const double u = geodec_rng_uniform(r);
        d[i] =
            (geodec_draft){.token = i, .source = i % 3, .parent = i - 1, .confidence = fmin(s->claim * (0.5 + u), 1)};
        if (!s->tree) continue;
        d[i].parent = i < 2 ? -1 : (i - 2) / 2 * 2;
        if (i % 2 == 1) d[i].confidence *= 0.4;
    }
    return want;
}

/* One round with a request: returns its number of tokens. */
static int64_t ask(const script *s, geodec_adapt *g, geodec_rng *r, double truth, int32_t want, record *out)
{
    geodec_draft d[GEODEC_DRAFT_MAX];
    bool right[GEODEC_DRAFT_MAX];
    int64_t tokens = 1;
    const int32_t n = draft(s, r, want, d), sent = geodec_adapt_send(g, d, n);
    for (int32_t i = 0; i < n; i++) {
        const bool reached = d[i].parent < 0 || right[d[i].parent];
        right[i] = geodec_rng_uniform(r) < (s->tree && i % 2 == 1 ? 0.2 * truth : truth);
        if (s->tree && i % 2 == 1 && right[i - 1]) right[i] = false; /* siblings differ */
        right[i] = right[i] && reached;
        tokens += right[i] && i < sent;
        if (reached) geodec_adapt_learn(g, &d[i], right[i]);
    }
    geodec_pace_observe(&g->pace, sent, s->asking * jitter(r), (1 + s->slope * sent) * jitter(r), s->other * jitter(r));
    geodec_adapt_settle(g, sent, tokens);
    out->asked++;
    out->sent += sent;
    note(out, want);
    note(out, sent);
    return tokens;
}

static record play(const script *s, uint64_t seed)
{
    record out = {.digest = UINT64_C(0xcbf29ce484222325)};
    geodec_adapt g;
    geodec_rng r = geodec_rng_stream(seed, 12);
    const geodec_cost cost = geodec_cost_linear(s->slope);
    bool was_suspended = false;
    geodec_adapt_init(&g, s->max, &cost);
    for (int64_t at = 0; at < ROUNDS;) {
        const double truth = s->truth[at * PHASES / ROUNDS];
        const int32_t room = geodec_rng_below(&r, 50) == 0 ? 1 + (int32_t)geodec_rng_below(&r, 4) : s->max,
                      want = geodec_adapt_ask(&g, room);
        if (want > 0) {
            if (was_suspended) geodec_adapt_resumed(&g, (0.2 + s->asking) * jitter(&r));
            was_suspended = false;
            at += ask(s, &g, &r, truth, want, &out);
            continue;
        }
        out.suspensions += !was_suspended;
        was_suspended = true;
        note(&out, NOTICE - geodec_adapt_wait(&g));
        geodec_adapt_suspend(&g, NOTICE);
        if (g.suspended > 0) {
            int64_t rest = 1;
            while (geodec_adapt_begin(&g)) rest++;
            out.skipped += rest;
            at += rest;
            continue;
        }
        geodec_pace_observe(&g.pace, 0, 0, jitter(&r), s->other * jitter(&r));
        geodec_adapt_settle(&g, 0, 1);
        at++;
    }
    out.budget = g.budget;
    out.rate = g.rate;
    return out;
}

static const script scripts[] = {
    {8, 0.2, 0.6, 0.05, 0.02, {0.9, 0.9, 0.9, 0.9}, false},
    {8, 0.3, 0.6, 0.05, 0.02, {0.1, 0.9, 0.1, 0.8}, false},
    {8, 0.5, 0.9, 0.10, 0.05, {0.05, 0.05, 0.05, 0.05}, false},
    {8, 0.5, 0.5, 0.50, 0.05, {0.3, 0.6, 0.3, 0.0}, false},
    {4, 0.9, 0.7, 0.02, 0.00, {0.5, 0.5, 0.5, 0.5}, false},
    {16, 0.05, 0.8, 0.30, 0.10, {0.7, 0.2, 0.95, 0.4}, false},
    {1, 0.1, 0.5, 0.01, 0.00, {0.5, 0.0, 0.5, 0.0}, false},
    {64, 0.02, 0.9, 0.60, 0.20, {0.9, 0.5, 0.1, 0.97}, false},
    {8, 0.3, 0.3, 3.00, 0.02, {0.95, 0.95, 0.1, 0.95}, false},
    {8, 0.7, 0.2, 0.001, 0.00, {0.2, 0.4, 0.6, 0.8}, false},
    {16, 0.1, 0.7, 0.10, 0.05, {0.8, 0.4, 0.1, 0.8}, true},
    {32, 0.25, 0.5, 0.20, 0.05, {0.5, 0.7, 0.2, 0.6}, true},
};

static const record recorded[sizeof scripts / sizeof *scripts] = {
    {1475, 6139, 0, 0, 8, 2.02496522985, UINT64_C(0x9808c341d6897336)},
    {1328, 2623, 9, 2692, 8, 1.38502624059, UINT64_C(0xfe8988adfb30f129)},
    {186, 15, 18, 5777, 1.23841064045, 0.870006825957, UINT64_C(0xf492678d2bea7033)},
    {32, 1, 12, 6109, 1.63005084889, 0.660179785192, UINT64_C(0x280997d817b5f812)},
    {1079, 1, 17, 4985, 1.17504894324, 0.981538534374, UINT64_C(0x4afcc63813274ff1)},
    {1719, 7444, 4, 1426, 7.85542063448, 0.917250183547, UINT64_C(0xffbb8ed46f845781)},
    {5011, 5006, 0, 0, 8, 1.15350977272, UINT64_C(0x3b53c7ac3fe9bee6)},
    {925, 7960, 4, 1747, 8, 6.56977474012, UINT64_C(0x6475a201bbb42ab4)},
    {8, 5, 5, 6110, 4.17800274302, 0.76356833442, UINT64_C(0xc037466afc86c8a0)},
    {6000, 0, 0, 0, 8, 0.998936347866, UINT64_C(0xbeb87b3c4faee0ee)},
    {2274, 7699, 4, 1261, 8, 1.83148953698, UINT64_C(0xe9e9116119908e7)},
    {3640, 3619, 2, 604, 8, 1.70171937952, UINT64_C(0x8d5b178a004e7569)},
};

Test(decisions, of_the_adaptive_length_are_those_recorded)
{
    int wrong = 0;
    for (size_t k = 0; k < sizeof scripts / sizeof *scripts; k++) {
        const record got = play(&scripts[k], k), *want = &recorded[k];
        if (got.digest == want->digest && got.asked == want->asked && got.sent == want->sent &&
            got.suspensions == want->suspensions && got.skipped == want->skipped &&
            fabs(got.budget - want->budget) < 1e-9 && fabs(got.rate - want->rate) < 1e-9)
            continue;
        wrong++;
        cr_log_error("script %zu gave {%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                     ", %.12g, %.12g, UINT64_C(0x%" PRIx64 ")},",
                     k, got.asked, got.sent, got.suspensions, got.skipped, got.budget, got.rate, got.digest);
    }
    cr_assert_eq(wrong, 0, "%d of the runs decided otherwise", wrong);
}
