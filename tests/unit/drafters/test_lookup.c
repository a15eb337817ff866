#include "base/mem.h"
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/lookup_drafter.h"
#include "drafters/suffix.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

/* Number of places i < n - 1 where the m tokens end at i and `next` follows (next -1: any end at all, i <= n - 1). */
static int64_t occurrences(const int32_t *text, int64_t n, const int32_t *end, int32_t m, int32_t next)
{
    int64_t count = 0;
    for (int64_t i = m - 1; i < n; i++) {
        if (next >= 0 && (i + 1 >= n || text[i + 1] != next)) continue;
        bool same = true;
        for (int32_t k = 0; k < m && same; k++) same = text[i - k] == end[-k];
        count += same;
    }
    return count;
}

static void check_place(const geodec_suffix *s, const int32_t *text, int64_t n, geodec_suffix_match m,
                        const int32_t *end, int32_t alphabet)
{
    int64_t listed = 0, c;
    int32_t token;
    for (int32_t at = geodec_suffix_first(s, m); at >= 0; listed++) {
        at = geodec_suffix_next(s, at, &token, &c);
        cr_assert_eq(c, occurrences(text, n, end, m.length, token));
    }
    for (int32_t a = 0; a < alphabet; a++) {
        const int64_t want = occurrences(text, n, end, m.length, a);
        cr_assert_eq(geodec_suffix_count(s, m, a), want);
        listed -= want > 0;
    }
    cr_assert_eq(listed, 0, "every continuation once");
}

Test(suffix, equals_brute_force)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        enum { N = 110 };
        const int32_t alphabet = 2 + (int32_t)(seed % 4);
        geodec_err err = {0};
        geodec_suffix *s;
        int32_t text[N + 40];
        geodec_rng r = geodec_rng_stream(seed, 3);
        test_ok(geodec_suffix_create(&s, &err), &err);
        for (int pass = 0; pass < 2; pass++) { /* clear forgets */
            for (int64_t n = 1; n <= N; n++) {
                const bool copy = n > 20 && geodec_rng_below(&r, 3) > 0;
                text[n - 1] = copy ? text[n - 12] : (int32_t)geodec_rng_below(&r, (uint64_t)alphabet);
                test_ok(geodec_suffix_append(s, text[n - 1], &err), &err);
                cr_assert_eq(geodec_suffix_length(s), n);
                int32_t longest = 0;
                while (longest < n - 1 && occurrences(text, n - 1, text + n - 1, longest + 1, -1) > 0) longest++;
                geodec_suffix_match m = geodec_suffix_longest(s);
                cr_assert_eq(m.length, longest, "seed %d, %lld tokens", (int)seed, (long long)n);
                if (n % 9) continue;
                for (; m.length > 0; m = geodec_suffix_shorter(s, m)) {
                    check_place(s, text, n, m, text + n - 1, alphabet);
                    const geodec_suffix_match shorter = geodec_suffix_shorter(s, m);
                    cr_assert_lt(shorter.length, m.length);
                    /* Suffixes between the two have the same places. */
                    cr_assert_eq(occurrences(text, n, text + n - 1, m.length, -1),
                                 occurrences(text, n, text + n - 1, shorter.length + 1, -1));
                }
                /* Past the end of the text, any token. */
                m = geodec_suffix_longest(s);
                for (int64_t k = n; k < n + 30; k++) {
                    text[k] = (int32_t)geodec_rng_below(&r, (uint64_t)alphabet);
                    m = geodec_suffix_step(s, m, text[k]);
                    int32_t want = 0;
                    while (want < k + 1 - n + longest && occurrences(text, n, text + k, want + 1, -1) > 0) want++;
                    cr_assert_eq(m.length, want);
                }
            }
            geodec_suffix_clear(s);
            cr_assert_eq(geodec_suffix_longest(s).length, 0);
            cr_assert_eq(geodec_suffix_first(s, (geodec_suffix_match){0, 0}), -1);
        }
        geodec_suffix_destroy(s);
    }
}

/* A long run of one token: time stays linear, the match exact. */
Test(suffix, long_runs)
{
    enum { N = 200000 };
    geodec_err err = {0};
    geodec_suffix *s;
    test_ok(geodec_suffix_create(&s, &err), &err);
    for (int64_t i = 0; i < N; i++) test_ok(geodec_suffix_append(s, 7, &err), &err);
    cr_assert_eq(geodec_suffix_longest(s).length, N - 1);
    cr_assert_eq(geodec_suffix_count(s, geodec_suffix_longest(s), 7), 1);
    geodec_suffix_destroy(s);
}

Test(suffix, out_of_memory)
{
    for (int64_t k = 1; k < 60; k++) {
        geodec_err err = {0};
        geodec_suffix *s = NULL;
        geodec_mem_fail_after(k);
        geodec_status st = geodec_suffix_create(&s, &err);
        int64_t n = 0;
        for (; st == GEODEC_OK && n < 3000; n++) st = geodec_suffix_append(s, (int32_t)(n * n % 7), &err);
        geodec_mem_fail_after(0);
        if (st != GEODEC_OK) cr_assert_eq(st, GEODEC_NOMEM);
        if (s) {
            const int64_t length = geodec_suffix_length(s);
            test_ok(geodec_suffix_append(s, 3, &err), &err); /* and continues */
            cr_assert_eq(geodec_suffix_length(s), length + 1);
        }
        geodec_suffix_destroy(s);
    }
}

static void ask(geodec_drafter *d, const int32_t *text, int64_t n, int32_t gamma, int32_t budget, geodec_draft *out,
                int32_t *k)
{
    geodec_err err = {0};
    const geodec_draft_request q = {.context = text, .n_context = n, .gamma = gamma, .budget = budget};
    test_ok(geodec_drafter_propose(d, &q, out, k, &err), &err);
}

Test(lookup, copies_what_followed_the_longest_match)
{
    geodec_err err = {0};
    geodec_drafter *d;
    geodec_draft out[8];
    int32_t n;
    /* 3 4 5 was followed by 6; 4 5 by 6 and, twice, by 9; 5 by these and by 2. */
    const int32_t text[] = {3, 4, 5, 6, 8, 4, 5, 9, 1, 4, 5, 9, 7, 5, 2, 0, 3, 4, 5};
    test_ok(geodec_lookup_drafter_create(&d, &err), &err);
    test_ok(geodec_drafter_begin(d, &err), &err);
    ask(d, text, 19, 3, 0, out, &n);
    cr_assert_eq(n, 3);
    cr_assert_eq(out[0].token, 6);
    cr_assert_eq(out[0].source, 2);
    cr_assert_eq(out[1].token, 8);
    cr_assert_eq(out[2].token, 4);
    ask(d, text, 19, 1, 3, out, &n); /* siblings: shorter matches come after */
    cr_assert_eq(n, 3);
    cr_assert_eq(out[0].token, 6);
    cr_assert_eq(out[1].token, 9);
    cr_assert_eq(out[2].token, 2);
    cr_assert_gt(out[1].confidence, out[2].confidence);
    cr_assert_leq(out[0].confidence + out[1].confidence + out[2].confidence, 1);
    test_ok(geodec_drafter_begin(d, &err), &err);
    ask(d, text, 3, 4, 0, out, &n);
    cr_assert_eq(n, 0, "nothing was repeated yet");
    geodec_drafter_destroy(d);
}

/* Claimed confidences of greedy runs over imperfectly repeated text are near the acceptance. */
Test(lookup, confidence_is_calibrated)
{
    enum { N = 30000 };
    static int32_t text[N + 1];
    geodec_err err = {0};
    geodec_drafter *d;
    geodec_rng r = geodec_rng_stream(4, 4);
    double claimed[10] = {0}, right[10] = {0}, trials[10] = {0};
    for (int64_t i = 0; i < N; i++)
        text[i] = i > 50 && geodec_rng_below(&r, 4) > 0 ? text[i - 37] : (int32_t)geodec_rng_below(&r, 40);
    test_ok(geodec_lookup_drafter_create(&d, &err), &err);
    test_ok(geodec_drafter_begin(d, &err), &err);
    for (int64_t n = 1; n < N; n++) {
        geodec_draft out[16];
        int32_t k;
        ask(d, text, n, 1, 4, out, &k);
        for (int32_t i = 0; i < k; i++) {
            const int b = out[i].confidence < 1 ? (int)(10 * out[i].confidence) : 9;
            claimed[b] += out[i].confidence;
            right[b] += out[i].token == text[n];
            trials[b]++;
        }
    }
    for (int b = 0; b < 10; b++)
        if (trials[b] > 500)
            cr_assert_float_eq(claimed[b] / trials[b], right[b] / trials[b], 0.08, "bin %d: %g claimed, %g right", b,
                               claimed[b] / trials[b], right[b] / trials[b]);
    geodec_drafter_destroy(d);
}

/* In the loop: chains and trees, greedy and sampled, fixed and adaptive; the text is plain decoding's, and repeats pay.
 */
Test(lookup, output_equals_plain)
{
    geodec_err err = {0};
    geodec_drafter *d;
    double best = 0;
    test_ok(geodec_lookup_drafter_create(&d, &err), &err);
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
            o.adaptive = mode % 4 == 3;
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
            if (x > best) best = x;
            geodec_decode_free(&got);
        }
    cr_assert_gt(best, 3, "%g tokens a pass", best);
    geodec_drafter_destroy(d);
}
