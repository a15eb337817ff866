#include "base/rng.h"
#include "decode/sampler.h"
#include "decode/verify.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { V = 12 };

static void random_row(uint64_t seed, uint64_t stream, float *row)
{
    geodec_rng r = geodec_rng_stream(seed, stream);
    for (int i = 0; i < V; i++) {
        row[i] = (float)geodec_rng_below(&r, 9) * 0.5f - 2.0f; /* coarse: ties */
        if (geodec_rng_below(&r, 7) == 0) row[i] = -INFINITY;
    }
    row[geodec_rng_below(&r, V)] = 1.0f;
}

/* A slow implementation of the rule: full selection sort by (logit desc, id asc), cut at k, renormalise, cut at p. */
static int reference(const geodec_sampling *o, const float *row, int id[V], double p[V])
{
    int n = 0;
    for (int i = 0; i < V; i++)
        if (row[i] != -INFINITY) id[n++] = i;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (row[id[j]] > row[id[i]] || (row[id[j]] == row[id[i]] && id[j] < id[i])) {
                int x = id[i];
                id[i] = id[j];
                id[j] = x;
            }
    for (int i = 0; i < n; i++) p[i] = exp(((double)row[id[i]] - (double)row[id[0]]) / o->temperature);
    if (o->top_k > 0 && o->top_k < n) n = o->top_k;
    double sum = 0, cut = 0;
    for (int i = 0; i < n; i++) sum += p[i];
    int k = 0;
    while (k < n && (o->top_p >= 1 || cut < o->top_p * sum)) cut += p[k++];
    for (int i = 0; i < k; i++) p[i] /= cut;
    return k;
}

/* The shortest prefix whose mass is at least top_p. */
Test(sampler, a_mass_that_is_reached_exactly_is_enough)
{
    geodec_err err = {0};
    const geodec_sampling o = {1, 0, 0.5, 3};
    const float row[4] = {2, 2, 2, 2};
    geodec_sampler *s = NULL;
    double p[4];
    test_ok(geodec_sampler_create(&o, 4, &s, &err), &err);
    test_ok(geodec_sampler_distribution(s, row, p, &err), &err);
    cr_assert(p[0] == 0.5 && p[1] == 0.5 && p[2] == 0 && p[3] == 0, "%g %g %g %g", p[0], p[1], p[2], p[3]);
    for (int64_t i = 0; i < 200; i++) {
        int32_t id = -1;
        test_ok(geodec_sampler_next(s, i, row, &id, &err), &err);
        cr_assert(id == 0 || id == 1);
    }
    geodec_sampler_destroy(s);
}

Test(sampler, equals_full_enumeration)
{
    geodec_err err = {0};
    const double temperature[] = {0.3, 1.0, 1.7}, top_p[] = {1.0, 0.9, 0.5, 0.05};
    const int32_t top_k[] = {0, 1, 3, 7, 100};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 5; b++)
            for (int c = 0; c < 4; c++) {
                geodec_sampling o = {temperature[a], top_k[b], top_p[c], 11};
                geodec_sampler *s = NULL;
                test_ok(geodec_sampler_create(&o, V, &s, &err), &err);
                for (uint64_t trial = 0; trial < 60; trial++) {
                    float row[V];
                    int id[V];
                    double p[V], got[V], all = 0;
                    random_row(5, trial, row);
                    int n = reference(&o, row, id, p);
                    test_ok(geodec_sampler_distribution(s, row, got, &err), &err);
                    for (int i = 0; i < V; i++) all += got[i];
                    cr_assert_float_eq(all, 1, 1e-12);
                    for (int i = 0; i < n; i++) {
                        cr_assert_float_eq(got[id[i]], p[i], 1e-12);
                        all -= got[id[i]];
                    }
                    cr_assert_float_eq(all, 0, 1e-12); /* nothing outside the reference set */
                    /* Inverse of the cumulative distribution at the index's uniform. */
                    const double u = geodec_sampler_uniform(o.seed, (int64_t)trial);
                    double sum = 0;
                    int want = -1;
                    bool close = false; /* within rounding of a step: either side is right */
                    for (int i = 0; i < n; i++) {
                        sum += p[i];
                        if (fabs(sum - u) < 1e-12) close = true;
                        if (want < 0 && sum > u) want = id[i];
                    }
                    int32_t sampled = -1, again = -2;
                    test_ok(geodec_sampler_next(s, (int64_t)trial, row, &sampled, &err), &err);
                    test_ok(geodec_sampler_next(s, (int64_t)trial, row, &again, &err), &err);
                    cr_assert_eq(sampled, again);
                    cr_assert(close || sampled == want);
                }
                geodec_sampler_destroy(s);
            }
}

Test(sampler, frequencies_follow_the_distribution)
{
    geodec_err err = {0};
    geodec_sampling o = {0.8, 8, 0.95, 3};
    geodec_sampler *s = NULL;
    float row[V];
    double p[V], chi = 0;
    int64_t seen[V] = {0};
    int cells = 0;
    const int64_t n = 100000;
    random_row(8, 1, row);
    test_ok(geodec_sampler_create(&o, V, &s, &err), &err);
    test_ok(geodec_sampler_distribution(s, row, p, &err), &err);
    for (int64_t i = 0; i < n; i++) {
        int32_t id;
        test_ok(geodec_sampler_next(s, i, row, &id, &err), &err);
        seen[id]++;
    }
    for (int i = 0; i < V; i++) {
        if (p[i] <= 0) {
            cr_assert_eq(seen[i], 0);
            continue;
        }
        const double e = p[i] * (double)n, d = (double)seen[i] - e;
        chi += d * d / e;
        cells++;
    }
    /* Mean cells-1, variance 2 (cells-1); five standard deviations. */
    cr_assert_gt(cells, 3);
    cr_assert_lt(chi, cells - 1 + 5 * sqrt(2.0 * (cells - 1)), "chi-square %g over %d cells", chi, cells);
    geodec_sampler_destroy(s);
}

Test(sampler, limits_meet_greedy)
{
    geodec_err err = {0};
    const geodec_sampling like_greedy[] = {{0, 0, 1, 1}, {1, 1, 1, 1}, {1, 0, 1e-9, 1}, {1e-6, 0, 1, 1}};
    for (int k = 0; k < 4; k++) {
        geodec_sampler *s = NULL;
        test_ok(geodec_sampler_create(&like_greedy[k], V, &s, &err), &err);
        for (uint64_t trial = 0; trial < 100; trial++) {
            float row[V];
            int32_t id;
            random_row(21, trial, row);
            const int32_t best = geodec_argmax(row, V);
            if (k == 3) row[best] += 0.25f; /* ties are shared at any temperature above 0 */
            test_ok(geodec_sampler_next(s, (int64_t)trial, row, &id, &err), &err);
            cr_assert_eq(id, best);
        }
        geodec_sampler_destroy(s);
    }
}

Test(sampler, refuses_what_cannot_be_sampled)
{
    geodec_err err = {0};
    const geodec_sampling bad[] = {{-1, 0, 1, 1}, {NAN, 0, 1, 1}, {INFINITY, 0, 1, 1}, {1, -1, 1, 1},
                                   {1, 0, 0, 1},  {1, 0, 1.5, 1}, {1, 0, NAN, 1}};
    geodec_sampler *s = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(geodec_sampler_create(&bad[i], V, &s, &err), GEODEC_INVAL);
        cr_assert_null(s);
    }
    for (int greedy = 0; greedy < 2; greedy++) {
        geodec_sampling o = {greedy ? 0 : 1, 0, 1, 1};
        float row[V];
        int32_t id = 77;
        test_ok(geodec_sampler_create(&o, V, &s, &err), &err);
        for (int i = 0; i < V; i++) row[i] = -INFINITY;
        cr_assert_eq(geodec_sampler_next(s, 0, row, &id, &err), GEODEC_NUMERIC);
        row[0] = NAN;
        cr_assert_eq(geodec_sampler_next(s, 0, row, &id, &err), GEODEC_NUMERIC);
        row[0] = INFINITY;
        cr_assert_eq(geodec_sampler_next(s, 0, row, &id, &err), GEODEC_NUMERIC);
        cr_assert_eq(id, 77);
        geodec_sampler_destroy(s);
        s = NULL;
    }
}

/* The rule for a point-mass draft over every cell of the uniform and every draft, counted in integers: the first
 * token that comes out has exactly the target's weights, and the draft is accepted with exactly its own. Each of the
 * W equal cells of the uniform is represented by an output index whose number lies well inside it; weights are
 * fractions over W. */
Test(verify, deterministic_draft_rule_returns_the_target)
{
    enum { N = 6, W = 64 };
    static const int weight[][N] = {
        {32, 16, 8, 4, 2, 2}, {2, 2, 4, 8, 16, 32}, {16, 16, 16, 8, 4, 4}, {1, 1, 2, 4, 8, 48}};
    geodec_err err = {0};
    const geodec_sampling o = {1, 0, 1, 5};
    geodec_sampler *s = NULL;
    int64_t index_of[W];
    test_ok(geodec_sampler_create(&o, N, &s, &err), &err);
    for (int cell = 0; cell < W; cell++) {
        index_of[cell] = 0;
        for (double u = -1; u < 0.1 || u > 0.9; index_of[cell]++)
            u = geodec_sampler_uniform(o.seed, index_of[cell] + 1) * W - cell;
    }
    for (int w = 0; w < 4; w++)
        for (int32_t draft = 0; draft < N; draft++) {
            const int *p = weight[w];
            int accepted = 0, count[N] = {0};
            for (int cell = 0; cell < W; cell++) {
                float logits[2 * N];
                int32_t path[2];
                geodec_verdict v;
                for (int i = 0; i < N; i++) logits[i] = logits[N + i] = logf((float)p[i]);
                test_ok(geodec_verify_tree(s, NULL, index_of[cell], logits, N, &draft, NULL, 1, NULL, path, &v, &err),
                        &err);
                accepted += v.accepted;
                count[v.accepted ? draft : v.next]++;
            }
            cr_assert_eq(accepted, p[draft]);
            for (int y = 0; y < N; y++) {
                cr_assert_eq(count[y], p[y]);
                /* Accept x with p(x), else sample from p without x: the same fractions, over W (W - p(x)). */
                const int rest = W - p[draft];
                cr_assert_eq(y == draft ? p[draft] * rest : rest * p[y], count[y] * rest);
            }
        }
    geodec_sampler_destroy(s);
}

/* The walk: for any drafts, the tokens are the plain samples, and the walk continues exactly while the drafts
 * agree. */
Test(verify, walk_follows_the_plain_draws)
{
    enum { G = 5 };
    geodec_err err = {0};
    for (int greedy = 0; greedy < 2; greedy++) {
        geodec_sampling o = {greedy ? 0 : 1.3, 0, 0.98, 99};
        geodec_sampler *s = NULL;
        test_ok(geodec_sampler_create(&o, V, &s, &err), &err);
        for (uint64_t trial = 0; trial < 500; trial++) {
            geodec_rng r = geodec_rng_stream(trial, 12);
            const int32_t stop[] = {4, 9};
            const geodec_guard guard = {.min_tokens = (int64_t)trial + 2, .stop = stop, .n_stop = 2};
            const int64_t index = (int64_t)trial;
            float logits[(G + 1) * V], copy[V];
            int32_t plain[G + 1], draft[G], argmax[G + 1], path[G + 1];
            for (int i = 0; i <= G; i++) {
                random_row(trial + 1000, (uint64_t)i, logits + i * V);
                memcpy(copy, logits + i * V, sizeof copy);
                if (index + i < guard.min_tokens) copy[4] = copy[9] = -INFINITY;
                test_ok(geodec_sampler_next(s, index + i, copy, &plain[i], &err), &err);
            }
            for (int i = 0; i < G; i++)
                draft[i] = geodec_rng_below(&r, 4) ? plain[i] : (int32_t)geodec_rng_below(&r, V);
            const int32_t n = (int32_t)geodec_rng_below(&r, G + 1);
            int32_t draws = 0, accepted = 0;
            bool stopped = false;
            for (int i = 0; i <= n; i++) {
                draws++;
                stopped = plain[i] == 4 || plain[i] == 9;
                if (i < n && plain[i] == draft[i]) accepted++;
                if (stopped || i == n || plain[i] != draft[i]) break;
            }
            geodec_verdict v;
            test_ok(geodec_verify_tree(s, &guard, index, logits, V, draft, NULL, n, argmax, path, &v, &err), &err);
            cr_assert_eq(v.tokens, draws);
            cr_assert_eq(v.accepted, accepted);
            cr_assert_eq(v.next, plain[draws - 1]);
            cr_assert_eq(v.stopped, stopped);
            for (int i = 0; i < draws; i++) cr_assert_eq(argmax[i], geodec_argmax(logits + i * V, V));
        }
        geodec_sampler_destroy(s);
    }
}
