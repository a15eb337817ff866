/* The decoding loop and the scheduler at scripted costs and outcomes: the rows and requests of every drafter, and the
 * input of every pass, equal the recorded ones, event by event. A changed rule or constant shows here; a new one needs
 * a new record (the failing test prints the row). */
#include "base/mem.h"
#include "base/rng.h"
#include "decode/toy.h"
#include "decode/verify_stochastic.h"
#include "drafters/auto_drafter.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PHASES = 4, ARMS = 3, LENGTH = 1200, TEXT = 2048 };

/* Events of a run. `digest` covers every call of a drafter (rows one by one, requested drafts) and every pass. */
typedef struct record {
    int64_t asks, sent, accepted; /* of the loop */
    int64_t begun, shown;         /* calls of begin and rows shown, all drafters */
    int64_t with_states;          /* passes that gave states */
    int64_t readings;             /* of the clock */
    uint64_t digest;
} record;

/* The one run under way: the clock, and the record. */
static struct {
    double clock;
    record is;
    geodec_rng noise;
    geodec_target inner;
    double slope;
} run;

static void note(int64_t value)
{
    run.is.digest = (run.is.digest ^ (uint64_t)value) * UINT64_C(0x100000001b3);
    run.is.digest ^= run.is.digest >> 29;
}

static double scripted_clock(void)
{
    run.is.readings++;
    return run.clock;
}

/* Time passes: about `seconds`, now and then much more. */
static void spend(double seconds)
{
    const double u = geodec_rng_uniform(&run.noise);
    run.clock += seconds * (geodec_rng_below(&run.noise, 97) == 0 ? 12 : 0.9 + 0.2 * u);
}

static geodec_status forward(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                             float *state, geodec_err *err)
{
    note(-1);
    note(n);
    note(state != NULL);
    for (int32_t i = 0; i < n; i++) {
        note(token[i]);
        note(parent ? parent[i] : i - 1);
    }
    run.is.with_states += state != NULL;
    spend(1 + run.slope * (n - 1));
    return run.inner.forward(self, token, parent, n, logits, state, err);
}

/* A drafter whose drafts are right as often as scripted. */
typedef struct fake {
    geodec_drafter base;
    geodec_drafter_ops ops;
    int32_t id;
    const int32_t *truth; /* [n] of the whole text */
    int64_t n;
    double right[PHASES];
    double price, row; /* seconds an ask, and a row shown */
    int32_t last[GEODEC_DRAFT_MAX], n_last;
} fake;

static geodec_status fake_begin(geodec_drafter *d, geodec_err *err)
{
    (void)err;
    note(-2);
    note(((fake *)d)->id);
    run.is.begun++;
    return GEODEC_OK;
}

static void note_top(const int32_t *top, int64_t n)
{
    for (int64_t i = 0; top && i < n * GEODEC_DRAFT_TOP; i++) note(top[i]);
}

static geodec_status fake_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    const fake *f = (const fake *)d;
    for (int64_t i = 0; i < rows->n; i++) {
        note(-3);
        note(f->id);
        note(rows->token[i]);
        note(rows->argmax[i]);
        for (int k = 0; k < TOY_STATE && f->ops.wants_state; k++)
            note((int64_t)(rows->state[i * TOY_STATE + k] * 1e6F));
        spend(f->row);
    }
    note_top(rows->top, rows->n);
    for (int64_t i = 0; i < rows->n_rejected; i++) note(rows->rejected_token[i]);
    note_top(rows->rejected_top, rows->n_rejected);
    run.is.shown += rows->n;
    return GEODEC_OK;
}

/* Right drafts are the text's; in a tree every second one is a sibling of the one before it. */
static geodec_status fake_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                  geodec_err *err)
{
    (void)err;
    fake *f = (fake *)d;
    const bool tree = q->budget > 0;
    const int32_t most = tree ? q->budget : q->gamma;
    double path = 1;
    note(-4);
    note(f->id);
    note(q->gamma);
    note(q->budget);
    note(q->n_context);
    spend(f->price);
    *n = 0;
    for (int32_t i = 0, depth = 0, parent = -1; i < most && depth < q->gamma; i++) {
        const int64_t at = q->n_context + depth;
        if (at >= f->n) break;
        geodec_rng r = geodec_rng_stream((uint64_t)f->id + 40, (uint64_t)at);
        const bool right = geodec_rng_uniform(&r) < f->right[at * PHASES / f->n], second = tree && i % 2 == 1;
        const double claim = fmin(0.3 + 0.5 * geodec_rng_uniform(&r) + 0.2 * right, 1);
        geodec_draft *x = &out[(*n)++];
        *x = (geodec_draft){.token = (f->truth[at] + !right + second) % TOY_VOCAB,
                            .source = right,
                            .parent = parent,
                            .confidence = second ? 0.3 * claim : claim};
        f->last[i] = x->token;
        f->n_last = *n;
        if (!second) path *= claim;
        if (q->least && path < q->least[i]) break;
        if (tree && !second) continue;
        parent = tree ? i - 1 : i;
        depth++;
    }
    return GEODEC_OK;
}

/* All of it on the token that was drafted: so was it sampled. */
static geodec_status fake_distribution(geodec_drafter *d, int32_t node, double *q, geodec_err *err)
{
    (void)err;
    const fake *f = (const fake *)d;
    for (int32_t i = 0; i < TOY_VOCAB; i++) q[i] = 0;
    q[node < f->n_last ? f->last[node] : 0] = 1;
    return GEODEC_OK;
}

static void fake_destroy(geodec_drafter *d) { (void)d; }

/* A run: requests in turn with drafters that keep their state. */
typedef struct script {
    int arms; /* 0: the first drafter without the scheduler */
    double right[ARMS][PHASES], price[ARMS], slope, row;
    int32_t gamma, budget;
    bool states, learns, top, distribution;
    double temperature, gate;
    int64_t prompt;
    int requests; /* of the last one, greedy, the halves are turns of one text */
    bool untimed; /* the time of a pass is not known */
} script;

static const script scripts[] = {
    {.right = {{0.9, 0.9, 0.9, 0.9}}, .price = {0.05}, .slope = 0.2, .gamma = 8, .prompt = 5, .requests = 1},
    {.right = {{0.1, 0.9, 0.1, 0.8}},
     .price = {0.05},
     .slope = 0.3,
     .gamma = 8,
     .states = true,
     .prompt = 5,
     .requests = 3},
    {.right = {{0.1, 0.1, 0.1, 0.7}},
     .price = {0.4},
     .slope = 0.5,
     .row = 0.01,
     .gamma = 8,
     .states = true,
     .prompt = 300,
     .requests = 3},
    {.right = {{0.1, 0.1, 0.1, 0.7}},
     .price = {0.4},
     .slope = 0.5,
     .row = 0.01,
     .gamma = 8,
     .states = true,
     .learns = true,
     .prompt = 300,
     .requests = 3},
    {.right = {{0.1, 0.1, 0.1, 0.7}},
     .price = {0.2},
     .slope = 0.5,
     .row = 0.001,
     .gamma = 8,
     .prompt = 7,
     .requests = 3},
    {.right = {{0.5, 0.0, 0.9, 0.0}},
     .price = {0.1},
     .slope = 0.4,
     .gamma = 6,
     .top = true,
     .prompt = 9,
     .requests = 2},
    {.right = {{0.7, 0.0, 0.7, 0.5}},
     .price = {0.1},
     .slope = 0.1,
     .gamma = 6,
     .budget = 12,
     .states = true,
     .top = true,
     .gate = 0.2,
     .prompt = 40,
     .requests = 2},
    {.right = {{0.7, 0.1, 0.7, 0.1}},
     .price = {0.1},
     .slope = 0.3,
     .gamma = 6,
     .distribution = true,
     .temperature = 0.9,
     .prompt = 5,
     .requests = 2},
    {.right = {{0.7, 0.1, 0.7, 0.1}},
     .price = {0.1},
     .slope = 0.3,
     .gamma = 6,
     .temperature = 0.9,
     .states = true,
     .prompt = 5,
     .requests = 2},
    {.arms = 3,
     .right = {{0.9, 0.1, 0.1, 0.9}, {0.2, 0.9, 0.2, 0.5}, {0.95, 0.95, 0.95, 0.95}},
     .price = {0.02, 0.05, 2},
     .slope = 0.3,
     .gamma = 8,
     .states = true,
     .prompt = 5,
     .requests = 3},
    {.arms = 3,
     .right = {{0.1, 0.1, 0.1, 0.9}, {0.2, 0.1, 0.2, 0.5}, {0.1, 0.1, 0.95, 0.95}},
     .price = {0.02, 0.05, 0.3},
     .slope = 0.5,
     .row = 0.002,
     .gamma = 8,
     .states = true,
     .prompt = 300,
     .requests = 3},
    {.arms = 3,
     .right = {{0.9, 0.1, 0.1, 0.9}, {0.2, 0.9, 0.2, 0.5}, {0.5, 0.5, 0.95, 0.5}},
     .price = {0.02, 0.05, 0.1},
     .slope = 0.2,
     .row = 0.002,
     .gamma = 8,
     .prompt = 20,
     .requests = 3},
    {.arms = 3,
     .right = {{0.4, 0.1, 0.6, 0.6}, {0.2, 0.9, 0.2, 0.7}, {0.5, 0.5, 0.95, 0.5}},
     .price = {0.02, 0.05, 0.1},
     .slope = 0.1,
     .row = 0.002,
     .gamma = 6,
     .budget = 16,
     .states = true,
     .prompt = 200,
     .requests = 3},
    {.arms = 3,
     .right = {{0.4, 0.1, 0.6, 0.6}, {0.2, 0.9, 0.2, 0.7}, {0.5, 0.5, 0.95, 0.5}},
     .price = {0.02, 0.05, 0.1},
     .slope = 0.3,
     .gamma = 6,
     .states = true,
     .learns = true,
     .prompt = 200,
     .requests = 3},
    {.arms = 2,
     .right = {{0.4, 0.1, 0.6, 0.6}, {0.2, 0.9, 0.9, 0.9}},
     .price = {0.02, 0.05},
     .slope = 0.3,
     .gamma = 6,
     .states = true,
     .prompt = 20,
     .requests = 3,
     .untimed = true},
};

static const record recorded[sizeof scripts / sizeof *scripts] = {
    {249, 967, 950, 1, 1204, 0, 753, UINT64_C(0xad291dfc8b2f5b62)},
    {1932, 1473, 1412, 4, 3367, 1946, 6325, UINT64_C(0xd643d104ad1c76a)},
    {300, 354, 349, 12, 1627, 405, 6826, UINT64_C(0xc832fe45a97093ca)},
    {138, 168, 165, 3, 4497, 3459, 7031, UINT64_C(0x40f1a03386875859)},
    {313, 244, 242, 15, 685, 0, 7056, UINT64_C(0x62b10552fe76fde5)},
    {808, 592, 586, 8, 1432, 0, 4451, UINT64_C(0x465a2baa5b25680f)},
    {884, 1776, 1006, 4, 1985, 907, 3686, UINT64_C(0x9f6f0e6ee1b42dd9)},
    {2395, 63, 115, 2, 2408, 0, 7197, UINT64_C(0x566f1d54fd63e8ea)},
    {826, 646, 628, 7, 1488, 858, 4381, UINT64_C(0x2c7c02d1ef4f8a82)},
    {2093, 1586, 1507, 12, 5295, 2096, 8050, UINT64_C(0xcd8fd73d7c390d59)},
    {2114, 976, 968, 13, 8097, 2159, 9097, UINT64_C(0x23cc8ba740d91527)},
    {2166, 2498, 1430, 9, 10680, 0, 8382, UINT64_C(0x43f7b0dc53d94572)},
    {1685, 3775, 1911, 12, 6512, 1704, 6543, UINT64_C(0x61d5cb33e874e552)},
    {2387, 2105, 1209, 12, 9280, 2406, 9258, UINT64_C(0x574766c0c1a96d2a)},
    {1252, 2365, 2345, 51, 5494, 1258, 3778, UINT64_C(0xeaeab934a3043779)},
};

static void make_fakes(const script *s, fake *f, const int32_t *text, int64_t n)
{
    static const char *const source[] = {"wrong", "right"};
    for (int a = 0; a < ARMS; a++) {
        f[a] = (fake){.base = {.ops = &f[a].ops}, .id = a, .truth = text, .n = n, .price = s->price[a], .row = s->row};
        f[a].ops = (geodec_drafter_ops){.name = "fake",
                                        .wants_state = s->states && a != 1,
                                        .wants_top = s->top,
                                        .learns = s->learns && a == 0,
                                        .n_sources = 2,
                                        .source_name = source,
                                        .begin = fake_begin,
                                        .observe = fake_observe,
                                        .propose = fake_propose,
                                        .destroy = fake_destroy,
                                        .distribution = s->distribution ? fake_distribution : NULL,
                                        .plans = true};
        memcpy(f[a].right, s->right[a], sizeof f[a].right);
    }
}

static geodec_decode_options options_of(const script *s, geodec_adapt *memory)
{
    geodec_decode_options o = geodec_decode_options_default();
    o.gamma = s->gamma;
    o.budget = s->budget;
    o.gate = s->gate;
    o.max_tokens = LENGTH;
    o.adaptive = true;
    o.clock = scripted_clock;
    o.cost = geodec_cost_linear(s->slope);
    o.cost.seconds = s->untimed ? 0 : 1;
    o.memory = memory;
    o.sampling.temperature = s->temperature;
    o.sampling.seed = 9;
    return o;
}

/* One request; with turns, half of the text first and the rest after the cached rows. */
static void request(const script *s, const geodec_target *target, geodec_drafter *d, int32_t *text, bool turns,
                    geodec_adapt *memory)
{
    geodec_err err = {0};
    geodec_decoded got;
    geodec_decode_options o = options_of(s, memory);
    if (turns) o.max_tokens = LENGTH / 2;
    for (int64_t n = s->prompt; n < s->prompt + LENGTH; n += o.max_tokens) {
        if (n > s->prompt) o.cached = n - 1;
        test_ok(geodec_decode(target, text, n, d, &o, &got, &err), &err);
        cr_assert_eq(got.n, o.max_tokens);
        if (s->distribution)
            memcpy(text + n, got.token, (size_t)got.n * sizeof *text);
        else
            cr_assert_eq(memcmp(got.token, text + n, (size_t)got.n * sizeof *text), 0, "the text is plain decoding's");
        run.is.asks += got.counters.asks;
        run.is.accepted += got.counters.total.accepted;
        for (int32_t k = 1; k <= GEODEC_DRAFT_MAX; k++) run.is.sent += k * got.counters.length[k];
        geodec_decode_free(&got);
    }
}

static record play(const script *s, uint64_t seed)
{
    static toy t;
    static int32_t text[TEXT];
    geodec_err err = {0};
    geodec_adapt memory = {0};
    fake f[ARMS];
    geodec_end end;
    geodec_drafter *d = &f[0].base, *part[] = {&f[0].base, &f[1].base, &f[2].base};
    const bool trees[ARMS] = {false};
    const double price[] = {0.05, 0.05, 0.05};
    const geodec_decode_options plain = options_of(s, NULL);
    memset(&run, 0, sizeof run);
    run.is.digest = UINT64_C(0xcbf29ce484222325);
    run.noise = geodec_rng_stream(seed, 13);
    run.slope = s->slope;
    make_fakes(s, f, text, s->prompt + LENGTH);
    if (s->arms > 0)
        test_ok(geodec_auto_drafter_create(s->arms, part, trees, s->untimed ? NULL : price, TOY_STATE, &d, &err), &err);
    for (int k = 0; k < s->requests; k++) {
        const bool turns = k + 1 == s->requests && k > 0 && !(s->temperature > 0);
        geodec_target target = run.inner = toy_target(&t, TOY_MARKOV, seed + (uint64_t)k, TEXT);
        target.forward = forward;
        for (int64_t i = 0; i < s->prompt; i++) text[i] = (int32_t)(geodec_rng_at(seed, 14, (uint64_t)i) % TOY_VOCAB);
        cr_assert_eq(toy_plain(&t, text, s->prompt, &plain, text + s->prompt, &end), LENGTH);
        request(s, &target, d, text, turns, &memory);
    }
    if (s->arms > 0) geodec_drafter_destroy(d);
    return run.is;
}

Test(decisions, of_the_loop_and_the_scheduler_are_those_recorded)
{
    int wrong = 0;
    for (size_t k = 0; k < sizeof scripts / sizeof *scripts; k++) {
        const record got = play(&scripts[k], k), *want = &recorded[k];
        if (memcmp(&got, want, sizeof got) == 0) continue;
        wrong++;
        cr_log_error("script %zu gave {%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                     ", %" PRId64 ", UINT64_C(0x%" PRIx64 ")},",
                     k, got.asks, got.sent, got.accepted, got.begun, got.shown, got.with_states, got.readings,
                     got.digest);
    }
    cr_assert_eq(wrong, 0, "%d of the runs decided otherwise", wrong);
}
