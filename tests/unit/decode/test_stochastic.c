/* Candidates sampled from a drafter's distribution: the rule by enumeration, the loop by counting. */
#include "base/rng.h"
#include "decode/toy.h"
#include "decode/verify_stochastic.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* ---- the rule, every sample and every decision weighted with its probability --------------------------------------
 */

enum { N = 6, PAIRS = 200 };

/* Small whole numbers over their sum; some zero. */
static void random_distribution(geodec_rng *r, double *p)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        p[i] = geodec_rng_below(r, 4) ? (double)geodec_rng_below(r, 9) : 0;
        sum += p[i];
    }
    if (sum <= 0) sum = p[geodec_rng_below(r, N)] = 1;
    for (int i = 0; i < N; i++) p[i] /= sum;
}

/* Adds to out what `left` candidates at a node emit, and returns the probability that one of them is accepted. */
static double enumerate(const double *p, const double *q, int left, bool replacement, double weight, double *out)
{
    double accepted = 0, mass = 0;
    for (int i = 0; i < N; i++) mass += q[i];
    if (left == 0 || mass <= 0) {
        for (int y = 0; y < N; y++) out[y] += weight * p[y];
        return 0;
    }
    for (int x = 0; x < N; x++) {
        if (q[x] <= 0) continue;
        const double acceptance = geodec_verify_acceptance(p, q, x), w = weight * q[x];
        double rest[N], others[N];
        out[x] += w * acceptance;
        accepted += w * acceptance;
        if (acceptance >= 1) continue;
        memcpy(rest, p, sizeof rest);
        memcpy(others, q, sizeof others);
        geodec_verify_reject(rest, others, N, x, replacement);
        accepted += enumerate(rest, others, left - 1, replacement, w * (1 - acceptance), out);
    }
    return accepted;
}

Test(stochastic, enumeration_returns_the_target)
{
    geodec_rng r = geodec_rng_stream(4, 1);
    double gain = 0;
    for (int pair = 0; pair < PAIRS; pair++) {
        double p[N], q[N], overlap = 0, single = 0;
        random_distribution(&r, p);
        random_distribution(&r, q);
        for (int i = 0; i < N; i++) overlap += fmin(p[i], q[i]);
        for (int replacement = 0; replacement < 2; replacement++) {
            double before = 0;
            for (int k = 1; k <= 4; k++) {
                double out[N] = {0};
                const double accepted = enumerate(p, q, k, replacement, 1, out);
                for (int y = 0; y < N; y++)
                    cr_assert_float_eq(out[y], p[y], 1e-12, "pair %d, %d candidates: token %d", pair, k, y);
                cr_assert_geq(accepted, before - 1e-12);
                if (k == 1) single = accepted;
                before = accepted;
            }
            cr_assert_float_eq(single, overlap, 1e-12);
            gain += before - single;
        }
    }
    cr_assert_gt(gain / PAIRS, 0.1); /* more candidates do help */
}

/* Two levels: K candidates at the newest token, the first J of them with K2 candidates of their own. */
static void tree_enumerate(double p2[N][N], double q2[N][N], const double *p, const double *q, int left, int rank,
                           int j, int k2, double weight, double out[N][N])
{
    double mass = 0;
    for (int i = 0; i < N; i++) mass += q[i];
    if (left == 0 || mass <= 0) { /* correction: the next tokens are the target's, in the next round */
        for (int y = 0; y < N; y++)
            for (int z = 0; z < N; z++) out[y][z] += weight * p[y] * p2[y][z];
        return;
    }
    for (int x = 0; x < N; x++) {
        if (q[x] <= 0) continue;
        const double acceptance = geodec_verify_acceptance(p, q, x);
        double rest[N], others[N];
        (void)enumerate(p2[x], q2[x], rank < j ? k2 : 0, false, weight * q[x] * acceptance, out[x]);
        if (acceptance >= 1) continue;
        memcpy(rest, p, sizeof rest);
        memcpy(others, q, sizeof others);
        geodec_verify_reject(rest, others, N, x, false);
        tree_enumerate(p2, q2, rest, others, left - 1, rank + 1, j, k2, weight * q[x] * (1 - acceptance), out);
    }
}

Test(stochastic, enumeration_of_small_trees)
{
    geodec_rng r = geodec_rng_stream(4, 2);
    for (int pair = 0; pair < 40; pair++) {
        double p[N], q[N], p2[N][N], q2[N][N];
        random_distribution(&r, p);
        random_distribution(&r, q);
        for (int i = 0; i < N; i++) {
            random_distribution(&r, p2[i]);
            random_distribution(&r, q2[i]);
        }
        for (int k = 1; k <= 3; k++)
            for (int j = 0; j <= k; j++) {
                double out[N][N] = {{0}};
                tree_enumerate(p2, q2, p, q, k, 0, j, 2, 1, out);
                for (int y = 0; y < N; y++)
                    for (int z = 0; z < N; z++) cr_assert_float_eq(out[y][z], p[y] * p2[y][z], 1e-12);
            }
    }
}

/* ---- the loop --------------------------------------------------------------------------------------------------- */

enum { PROMPT = 3, DRAWS = 100000, SHAPE = 7 };
/* A fixed tree: parents of its drafts. */
static const int32_t shape[SHAPE] = {-1, -1, 0, 0, 1, 2, -1};

typedef struct gambler {
    geodec_drafter base;
    const toy *target;
    toy other;
    bool wrong_drafter; /* reports another distribution than it samples from */
    geodec_sampler *sampler;
    geodec_draft draft[GEODEC_DRAFT_MAX];
    int32_t history[64];
    int64_t n;
} gambler;

static geodec_status nothing(geodec_drafter *d, geodec_err *err)
{
    (void)d;
    (void)err;
    return GEODEC_OK;
}

static geodec_status ignore(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)d;
    (void)rows;
    (void)err;
    return GEODEC_OK;
}

/* A mixture of the target and another distribution. */
static geodec_status true_distribution(gambler *g, int32_t node, double *q, geodec_err *err)
{
    float row[TOY_VOCAB], noise[TOY_VOCAB];
    int32_t above[GEODEC_DRAFT_MAX], depth = 0;
    int64_t n = g->n;
    for (int32_t i = node - 1; i >= 0; i = g->draft[i].parent) above[depth++] = g->draft[i].token;
    while (depth > 0) g->history[n++] = above[--depth];
    toy_logits(g->target, g->history, n, row);
    toy_logits(&g->other, g->history, n, noise);
    for (int i = 0; i < TOY_VOCAB; i++) row[i] = 0.7f * row[i] + 0.5f * noise[i];
    return geodec_sampler_distribution(g->sampler, row, q, err);
}

static geodec_status told_distribution(geodec_drafter *d, int32_t node, double *q, geodec_err *err)
{
    gambler *g = (gambler *)d;
    if (!g->wrong_drafter) return true_distribution(g, node, q, err);
    for (int i = 0; i < TOY_VOCAB; i++) q[i] = 1.0 / TOY_VOCAB;
    return GEODEC_OK;
}

static geodec_status gamble(geodec_drafter *d, const geodec_draft_request *r, geodec_draft *out, int32_t *n,
                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    gambler *g = (gambler *)d;
    int32_t depth[GEODEC_DRAFT_MAX];
    const int32_t most = r->budget > 0 ? (r->budget < SHAPE ? r->budget : SHAPE) : r->gamma;
    *n = 0;
    cr_assert_not_null(r->sampling);
    g->n = r->n_context;
    memcpy(g->history, r->context, (size_t)g->n * sizeof *g->history);
    for (int32_t i = 0; i < most; i++) {
        double q[TOY_VOCAB];
        geodec_draft x = {.parent = r->budget > 0 ? shape[i] : i - 1, .confidence = i % 2 ? 0.9 : 0.6};
        depth[i] = x.parent < 0 ? 0 : depth[x.parent] + 1;
        if (depth[i] >= r->gamma) break;
        test_ok(true_distribution(g, x.parent + 1, q, err), err);
        for (int32_t k = 0; k < i; k++)
            if (g->draft[k].parent == x.parent) cr_assert(geodec_verify_remove(q, TOY_VOCAB, g->draft[k].token));
        x.token = geodec_verify_sample(q, TOY_VOCAB, geodec_verify_draft_uniform(r->sampling->seed, r->index, i));
        g->draft[i] = out[i] = x;
        *n = i + 1;
    }
    return st;
}

static void leave(geodec_drafter *d) { (void)d; }

static geodec_drafter *gambler_make(gambler *g, const toy *target, geodec_sampler *sampler, bool wrong_drafter)
{
    static const char *const sources[] = {"dice"};
    static const geodec_drafter_ops ops = {.name = "gambler",
                                           .n_sources = 1,
                                           .source_name = sources,
                                           .begin = nothing,
                                           .observe = ignore,
                                           .propose = gamble,
                                           .destroy = leave,
                                           .distribution = told_distribution};
    memset(g, 0, sizeof *g);
    g->base.ops = &ops;
    g->target = target;
    (void)toy_target(&g->other, TOY_HISTORY, 77, 64);
    g->sampler = sampler;
    g->wrong_drafter = wrong_drafter;
    return &g->base;
}

static double chi_square(const int64_t *seen, const double *p, int64_t n)
{
    double chi = 0;
    for (int i = 0; i < TOY_VOCAB; i++) {
        const double e = p[i] * (double)n, d = (double)seen[i] - e;
        if (p[i] <= 0)
            cr_assert_eq(seen[i], 0);
        else
            chi += d * d / e;
    }
    return chi;
}

typedef struct outcome {
    double chi[2];    /* of the first and the second token */
    double per_round; /* tokens of a round */
} outcome;

/* 22 degrees of freedom: a larger value has probability 0.01. */
static const double CRITICAL = 40.289;

static outcome play(geodec_decode_options o, bool wrong_drafter)
{
    static const int32_t prompt[PROMPT] = {4, 9, 2};
    geodec_err err = {0};
    toy t;
    gambler g;
    geodec_sampler *s = NULL;
    int64_t seen[2][TOY_VOCAB] = {{0}}, rounds = 0, decided = 0, second = 0;
    outcome result = {0};
    const geodec_target target = toy_target(&t, TOY_HISTORY, 5, 64);
    o.sampling.temperature = 1.5;
    o.sampling.top_p = 1;
    o.max_tokens = 4;
    test_ok(geodec_sampler_create(&o.sampling, TOY_VOCAB, &s, &err), &err);
    geodec_drafter *d = gambler_make(&g, &t, s, wrong_drafter);
    for (int64_t k = 0; k < DRAWS; k++) {
        geodec_decoded out = {0};
        o.sampling.seed = 1000 + (uint64_t)k;
        test_ok(geodec_decode(&target, prompt, PROMPT, d, &o, &out, &err), &err);
        cr_assert_eq(t.length, PROMPT + out.n - (out.end == GEODEC_END_STOP ? 0 : 1));
        cr_assert_eq(memcmp(t.token + PROMPT, out.token, (size_t)(t.length - PROMPT) * sizeof *out.token), 0);
        if (out.n > 0)
            seen[0][out.token[0]]++;
        else
            seen[0][out.stop]++;
        if (out.n > 0) seen[1][out.n > 1 ? out.token[1] : out.stop]++;
        second += out.n > 0;
        rounds += out.counters.rounds;
        decided += out.counters.decided;
        geodec_decode_free(&out);
    }
    result.per_round = (double)decided / (double)rounds;

    /* The distribution that they must follow. */
    double first[TOY_VOCAB], then[TOY_VOCAB], sum[TOY_VOCAB] = {0}, mass = 0;
    int32_t text[PROMPT + 1];
    const geodec_guard guard = {o.min_tokens, o.stop, o.n_stop};
    float row[TOY_VOCAB];
    memcpy(text, prompt, sizeof prompt);
    toy_logits(&t, text, PROMPT, row);
    geodec_guard_mask(&guard, 0, NULL, 0, row, TOY_VOCAB);
    test_ok(geodec_sampler_distribution(s, row, first, &err), &err);
    for (int i = 0; i < TOY_VOCAB; i++) {
        if (geodec_guard_is_stop(&guard, i)) continue;
        text[PROMPT] = i;
        toy_logits(&t, text, PROMPT + 1, row);
        geodec_guard_mask(&guard, 1, NULL, 0, row, TOY_VOCAB);
        test_ok(geodec_sampler_distribution(s, row, then, &err), &err);
        for (int y = 0; y < TOY_VOCAB; y++) sum[y] += first[i] * then[y];
        mass += first[i];
    }
    for (int y = 0; y < TOY_VOCAB; y++) sum[y] /= mass;
    result.chi[0] = chi_square(seen[0], first, DRAWS);
    result.chi[1] = chi_square(seen[1], sum, second);
    geodec_sampler_destroy(s);
    return result;
}

static void follows(const outcome *o)
{
    cr_assert_lt(o->chi[0], CRITICAL, "first token: chi-square %g", o->chi[0]);
    cr_assert_lt(o->chi[1], CRITICAL, "second token: chi-square %g", o->chi[1]);
}

Test(stochastic, chains_keep_the_distribution, .timeout = 120)
{
    geodec_decode_options o = geodec_decode_options_default();
    double last = 1;
    for (int32_t gamma = 1; gamma <= 3; gamma += 2) {
        o.gamma = gamma;
        const outcome got = play(o, false);
        follows(&got);
        cr_assert_gt(got.per_round, last);
        last = got.per_round;
    }
}

Test(stochastic, trees_keep_the_distribution, .timeout = 120)
{
    geodec_decode_options o = geodec_decode_options_default();
    o.gamma = 4;
    o.budget = 1;
    const outcome one = play(o, false);
    o.budget = 2; /* a second candidate for the first token */
    const outcome two = play(o, false);
    o.budget = SHAPE;
    const outcome all = play(o, false);
    follows(&one);
    follows(&two);
    follows(&all);
    cr_assert_gt(two.per_round, one.per_round);
    cr_assert_gt(all.per_round, two.per_round);
}

/* Drafts that were sampled and not sent: by the gate, which does not look at them, and by the guard, which does:
 * leaving those out would select samples by their value. */
Test(stochastic, gate_and_guard_keep_the_distribution, .timeout = 200)
{
    static const int32_t stop[] = {1, 6};
    geodec_decode_options o = geodec_decode_options_default();
    o.gamma = 3;
    o.gate = 0.75;
    const outcome gated = play(o, false);
    follows(&gated);
    o.budget = SHAPE;
    o.min_tokens = 1;
    o.stop = stop;
    o.n_stop = 2;
    const outcome both = play(o, false);
    follows(&both);
    o.gate = 0;
    o.min_tokens = 2;
    const outcome guarded = play(o, false);
    follows(&guarded);
    cr_assert_gt(guarded.per_round, 1.2);
}

/* Control of the test: a wrong distribution is detected. */
Test(stochastic, a_wrong_distribution_is_detected, .timeout = 120)
{
    geodec_decode_options o = geodec_decode_options_default();
    o.gamma = 3;
    const outcome got = play(o, true);
    cr_assert_gt(got.chi[0], 10 * CRITICAL);
}

Test(stochastic, runs_are_reproducible_and_rounds_without_drafts_are_plain)
{
    static const int32_t prompt[PROMPT] = {1, 2, 3};
    geodec_err err = {0};
    toy t;
    gambler g;
    geodec_sampler *s = NULL;
    const geodec_target target = toy_target(&t, TOY_HISTORY, 6, 64);
    geodec_decode_options o = geodec_decode_options_default();
    o.sampling = (geodec_sampling){1.2, 0, 1, 31};
    o.max_tokens = 40;
    o.gamma = 4;
    test_ok(geodec_sampler_create(&o.sampling, TOY_VOCAB, &s, &err), &err);
    geodec_drafter *d = gambler_make(&g, &t, s, false);
    geodec_decoded a = {0}, b = {0};
    test_ok(geodec_decode(&target, prompt, PROMPT, d, &o, &a, &err), &err);
    test_ok(geodec_decode(&target, prompt, PROMPT, d, &o, &b, &err), &err);
    cr_assert_eq(a.n, b.n);
    cr_assert_eq(memcmp(a.token, b.token, (size_t)a.n * sizeof *a.token), 0);
    cr_assert_gt(a.counters.total.accepted, 0);
    geodec_decode_free(&a);
    geodec_decode_free(&b);
    o.gamma = 0;
    test_ok(geodec_decode(&target, prompt, PROMPT, d, &o, &a, &err), &err);
    test_ok(geodec_decode(&target, prompt, PROMPT, NULL, &o, &b, &err), &err);
    cr_assert_eq(a.n, b.n);
    cr_assert_eq(memcmp(a.token, b.token, (size_t)a.n * sizeof *a.token), 0);
    geodec_decode_free(&a);
    geodec_decode_free(&b);
    geodec_sampler_destroy(s);
}
