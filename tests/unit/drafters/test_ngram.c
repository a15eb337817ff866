#include "base/mem.h"
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/ngram_drafter.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

enum { N = 600, ALPHABET = 5 };

typedef struct corpus {
    int32_t token[N], sequence[N], argmax[N];
} corpus;

static void make_corpus(corpus *c, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, 1);
    int32_t sequence = 0;
    for (int i = 0; i < N; i++) {
        if (geodec_rng_below(&r, 40) == 0) sequence++;
        c->sequence[i] = sequence;
        c->token[i] = (int32_t)geodec_rng_below(&r, ALPHABET);
        c->argmax[i] = geodec_rng_below(&r, 10) == 0 ? -1 : (int32_t)geodec_rng_below(&r, ALPHABET);
    }
}

/* The token after position i of a text, -1 = unknown. */
static int32_t label(const int32_t *token, const int32_t *sequence, const int32_t *argmax, int64_t n, int64_t i)
{
    if (argmax[i] >= 0) return argmax[i];
    return i + 1 < n && (!sequence || sequence[i + 1] == sequence[i]) ? token[i + 1] : -1;
}

static void count_matches(const int32_t *token, const int32_t *sequence, const int32_t *argmax, int64_t n,
                          const int32_t *context, int32_t m, int64_t count[ALPHABET])
{
    for (int64_t i = m - 1; i < n; i++) {
        bool match = true;
        for (int32_t k = 0; k < m && match; k++)
            match = token[i - k] == context[-1 - k] && (!sequence || sequence[i - k] == sequence[i]);
        const int32_t next = label(token, sequence, argmax, n, i);
        if (match && next >= 0) count[next]++;
    }
}

/* Brute force: scan store and text at every order, longest first. context points past its last token. */
static bool reference(const corpus *c, const int32_t *text, const int32_t *text_argmax, int64_t n_text,
                      const int32_t *context, int64_t n_context, int32_t order, geodec_draft *out, int64_t *best_count,
                      int64_t *total)
{
    for (int32_t m = n_context < order ? (int32_t)n_context : order; m >= 1; m--) {
        int64_t store[ALPHABET] = {0}, local[ALPHABET] = {0}, all = 0, in_store = 0;
        if (c) count_matches(c->token, c->sequence, c->argmax, N, context, m, store);
        count_matches(text, NULL, text_argmax, n_text, context, m, local);
        int best = 0;
        for (int a = 0; a < ALPHABET; a++) {
            all += store[a] + local[a];
            in_store += store[a];
            if (store[a] + local[a] > store[best] + local[best]) best = a;
        }
        if (all == 0) continue;
        out->token = best;
        out->source = in_store > 0 ? m - 1 : GEODEC_NGRAM_ORDER + m - 1;
        *best_count = store[best] + local[best];
        *total = all;
        return true;
    }
    return false;
}

static double agreement(const corpus *c, int32_t m)
{
    int64_t pairs = 0, agree = 0;
    for (int64_t i = m - 1; i < N; i++)
        for (int64_t j = m - 1; j < N; j++) {
            bool same = i != j;
            for (int32_t k = 0; k < m && same; k++)
                same = c->token[i - k] == c->token[j - k] && c->sequence[i - k] == c->sequence[i] &&
                       c->sequence[j - k] == c->sequence[j];
            const int32_t a = label(c->token, c->sequence, c->argmax, N, i),
                          b = label(c->token, c->sequence, c->argmax, N, j);
            if (!same || a < 0 || b < 0) continue;
            pairs++;
            agree += a == b;
        }
    return pairs > 0 ? (double)agree / (double)pairs : 0.5;
}

/* Leave-one-out predictions of the store: hits and predictions by order and tenth of the claim. */
typedef struct calibration {
    int64_t n[GEODEC_NGRAM_ORDER + 1][10], hit[GEODEC_NGRAM_ORDER + 1][10];
} calibration;

static void calibrate(const corpus *c, int32_t order, const double *prior, calibration *out)
{
    memset(out, 0, sizeof *out);
    for (int64_t i = 0; i < N; i++) {
        const int32_t truth = label(c->token, c->sequence, c->argmax, N, i);
        if (truth < 0) continue;
        for (int32_t m = order; m >= 1; m--) {
            int64_t count[ALPHABET] = {0}, all = 0;
            if (i - m + 1 < 0 || c->sequence[i - m + 1] != c->sequence[i]) continue;
            count_matches(c->token, c->sequence, c->argmax, N, c->token + i + 1, m, count);
            count[truth]--;
            int best = 0;
            for (int a = 0; a < ALPHABET; a++) {
                all += count[a];
                if (count[a] > count[best]) best = a;
            }
            if (all == 0) continue;
            int b = (int)(10 * (((double)count[best] + prior[m]) / ((double)all + 1)));
            if (b > 9) b = 9;
            out->n[m][b]++;
            out->hit[m][b] += best == truth;
            break;
        }
    }
}

Test(ngram, equals_brute_force)
{
    for (uint64_t seed = 0; seed < 6; seed++)
        for (int32_t order = 1; order <= GEODEC_NGRAM_ORDER; order += seed < 3 ? 7 : 3) {
            enum { T = 90, GAMMA = 4 };
            geodec_err err = {0};
            geodec_ngram *store = NULL;
            geodec_drafter *d = NULL;
            static corpus c;
            int32_t text[T], argmax[T];
            const bool with_store = seed != 1;
            double prior[GEODEC_NGRAM_ORDER + 1];
            calibration cal = {0};
            make_corpus(&c, seed);
            for (int32_t m = 1; m <= order; m++) prior[m] = with_store ? agreement(&c, m) : 0.5;
            if (with_store) calibrate(&c, order, prior, &cal);
            geodec_rng r = geodec_rng_stream(seed, 9);
            for (int i = 0; i < T; i++) {
                text[i] = i % 7 == 3 ? (int32_t)geodec_rng_below(&r, ALPHABET) : (int32_t)(i % 4);
                argmax[i] = i < 30 ? -1 : (int32_t)geodec_rng_below(&r, ALPHABET);
            }
            if (with_store) test_ok(geodec_ngram_create(c.token, c.sequence, c.argmax, N, order, &store, &err), &err);
            test_ok(geodec_ngram_drafter_create(store, order, &d, &err), &err);
            for (int pass = 0; pass < 2; pass++) { /* begin forgets the first text */
                test_ok(geodec_drafter_begin(d, &err), &err);
                for (int64_t n = 1; n < T;) {
                    const int64_t step = 1 + (int64_t)geodec_rng_below(&r, 4);
                    /* rows 0 .. n-2 observed, text[n-1] newest */
                    geodec_draft got[GAMMA];
                    int32_t k;
                    int32_t window[T + GAMMA];
                    const geodec_draft_request q = {.context = text, .n_context = n, .gamma = GAMMA};
                    test_ok(geodec_drafter_propose(d, &q, got, &k, &err), &err);
                    memcpy(window, text, (size_t)n * sizeof *text);
                    for (int32_t i = 0; i < GAMMA; i++) {
                        geodec_draft want = {0};
                        int64_t best = 0, total = 0;
                        /* The row before the newest has no label yet when its argmax is unknown. */
                        const bool any = reference(with_store ? &c : NULL, text, argmax, n - 1, window + n + i, n + i,
                                                   order, &want, &best, &total);
                        cr_assert_eq(any, i < k, "seed %d order %d n %d", (int)seed, order, (int)n);
                        if (!any) break;
                        cr_assert_eq(got[i].token, want.token);
                        cr_assert_eq(got[i].source, want.source);
                        const int32_t m = want.source % GEODEC_NGRAM_ORDER + 1;
                        double claim = ((double)best + prior[m]) / ((double)total + 1);
                        const int bin = claim >= 1 ? 9 : (int)(10 * claim);
                        if (with_store) claim = ((double)cal.hit[m][bin] + 4 * claim) / ((double)cal.n[m][bin] + 4);
                        cr_assert_float_eq(got[i].confidence, claim, 1e-12);
                        window[n + i] = got[i].token;
                    }
                    const int64_t next = n + step < T ? n + step : T;
                    const geodec_draft_rows rows = {.n = next - n, .token = text + n - 1, .argmax = argmax + n - 1};
                    test_ok(geodec_drafter_observe(d, &rows, &err), &err);
                    n = next;
                }
            }
            geodec_drafter_destroy(d);
            geodec_ngram_destroy(store);
        }
}

/* On a repetitive target the drafter must save passes, and the text must not change. */
Test(ngram, drafts_a_markov_target)
{
    static int32_t plain[4096];
    geodec_err err = {0};
    toy t, reference_toy;
    geodec_end end;
    geodec_drafter *d = NULL;
    geodec_decode_options o = geodec_decode_options_default();
    const int32_t prompt[] = {1, 2, 3};
    const geodec_target target = toy_target(&t, TOY_MARKOV, 8, 400);
    toy_target(&reference_toy, TOY_MARKOV, 8, 400);
    test_ok(geodec_ngram_drafter_create(NULL, 8, &d, &err), &err);
    for (int sampled = 0; sampled < 2; sampled++) {
        geodec_decoded got;
        o.max_tokens = 300;
        o.gamma = 4;
        o.sampling.temperature = sampled ? 0.4 : 0;
        const int64_t n = toy_plain(&reference_toy, prompt, 3, &o, plain, &end);
        test_ok(geodec_decode(&target, prompt, 3, d, &o, &got, &err), &err);
        cr_assert_eq(got.n, n);
        cr_assert_eq(memcmp(got.token, plain, (size_t)n * sizeof *plain), 0);
        if (!sampled)
            cr_assert_gt(geodec_decode_tokens_per_pass(&got.counters), 3.0, "%g",
                         geodec_decode_tokens_per_pass(&got.counters));
        geodec_decode_free(&got);
    }
    geodec_drafter_destroy(d);
}

/* A weighted token equals the same number of single tokens; after a sort counts decrease. */
Test(ngram, weights_are_counts)
{
    enum { CONTEXTS = 40, SORTS = 300 };
    geodec_err err = {0};
    geodec_ngram_table *weighed, *added;
    geodec_rng r = geodec_rng_stream(4, 4);
    uint64_t hash[GEODEC_NGRAM_ORDER + 1];
    test_ok(geodec_ngram_table_create(2, &weighed, &err), &err);
    test_ok(geodec_ngram_table_create(2, &added, &err), &err);
    for (int i = 0; i < CONTEXTS * SORTS; i++) {
        int32_t context[2] = {i % 5, i % 8}, next[3], weight[3];
        for (int k = 0; k < 3; k++) {
            next[k] = (int32_t)geodec_rng_below(&r, SORTS);
            weight[k] = (int32_t)geodec_rng_below(&r, 4);
            for (int c = 0; c < weight[k]; c++) test_ok(geodec_ngram_table_add(added, context, 2, next[k], &err), &err);
        }
        test_ok(geodec_ngram_table_weigh(weighed, context, 2, 3, next, weight, &err), &err);
    }
    geodec_ngram_table_sort(weighed);
    for (int i = 0; i < CONTEXTS; i++) {
        const int32_t context[2] = {i % 5, i % 8};
        cr_assert_eq(geodec_ngram_hashes(context, 2, 2, hash), 2);
        for (int m = 1; m <= 2; m++) {
            const geodec_ngram_hit a = geodec_ngram_find(weighed, hash[m]), b = geodec_ngram_find(added, hash[m]);
            int64_t total = 0, last = INT64_MAX;
            int32_t before = -1;
            cr_assert_eq(a.total, b.total);
            cr_assert_eq(a.top_count, b.top_count);
            cr_assert_eq(a.top, b.top);
            for (int64_t at = a.first; at >= 0;) {
                int32_t token;
                int64_t count;
                at = geodec_ngram_next(weighed, at, &token, &count);
                cr_assert(count < last || (count == last && token > before));
                cr_assert_eq(count, geodec_ngram_count(added, &b, token));
                last = count;
                before = token;
                total += count;
            }
            cr_assert_eq(total, a.total, "the sort lost some");
        }
    }
    geodec_ngram_table_destroy(weighed);
    geodec_ngram_table_destroy(added);
}

/* With a store of the model's probabilities, a tree for sampled texts has these, by their contexts. */
Test(ngram, sampled_texts_have_the_probabilities_of_the_store)
{
    enum { ESCAPE = 6, SAMPLED = 109, K = 2 };
    geodec_err err = {0};
    geodec_ngram *store = NULL;
    geodec_drafter *d = NULL;
    corpus c;
    int32_t choice[N * K], n, newest = 3;
    uint8_t probability[N * K];
    geodec_draft out[ALPHABET];
    double weight[ALPHABET] = {0}, total = 0;
    int64_t places = 0;
    make_corpus(&c, 2);
    for (int i = 0; i < N; i++) {
        choice[i * K] = (int32_t)(geodec_rng_at(1, 5, (uint64_t)i) % ALPHABET);
        choice[i * K + 1] = i % 4 == 0 ? -1 : (choice[i * K] + 1) % ALPHABET;
        probability[i * K] = (uint8_t)(100 + i % 100);
        probability[i * K + 1] = (uint8_t)(i % 50);
        if (c.token[i] != newest) continue;
        for (int k = 0; k < K; k++)
            if (choice[i * K + k] >= 0) weight[choice[i * K + k]] += probability[i * K + k];
        if (i + 1 < N && c.sequence[i + 1] == c.sequence[i]) weight[c.token[i + 1]] += SAMPLED;
        places += label(c.token, c.sequence, c.argmax, N, i) >= 0;
    }
    for (int t = 0; t < ALPHABET; t++) total += weight[t];
    test_ok(geodec_ngram_create(c.token, c.sequence, c.argmax, N, 1, &store, &err), &err);
    test_ok(geodec_ngram_learn_probabilities(store, c.token, c.sequence, N, K, choice, probability, 1, &err), &err);
    test_ok(geodec_ngram_drafter_create(store, 1, &d, &err), &err);
    test_ok(geodec_drafter_begin(d, &err), &err);
    const geodec_draft_request q = {
        .context = &newest, .n_context = 1, .gamma = 1, .budget = ALPHABET, .sampled = true};
    test_ok(geodec_drafter_propose(d, &q, out, &n, &err), &err);
    cr_assert_eq(n, ALPHABET);
    for (int i = 0; i < n; i++)
        cr_assert_float_eq(out[i].confidence, weight[out[i].token] / total * (double)places / (double)(places + ESCAPE),
                           1e-9);
    geodec_drafter_destroy(d);
    cr_assert_eq(geodec_ngram_learn_probabilities(store, c.token, c.sequence, N, 9, choice, probability, 1, &err),
                 GEODEC_INVAL);
    geodec_ngram_destroy(store);
}

Test(ngram, refuses_bad_orders_and_short_memory)
{
    geodec_err err = {0};
    geodec_ngram *store = NULL;
    geodec_drafter *d = NULL;
    static corpus c;
    make_corpus(&c, 1);
    cr_assert_eq(geodec_ngram_create(c.token, c.sequence, c.argmax, N, 0, &store, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_ngram_create(c.token, c.sequence, c.argmax, N, 9, &store, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_ngram_drafter_create(NULL, 9, &d, &err), GEODEC_INVAL);
    int64_t failures = 0;
    for (int64_t k = 1; k < 60; k++) {
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_ngram_create(c.token, c.sequence, c.argmax, N, 8, &store, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) break;
        cr_assert_eq(st, GEODEC_NOMEM);
        cr_assert_null(store);
        failures++;
    }
    cr_assert_gt(failures, 3);
    cr_assert_not_null(store);
    geodec_ngram_destroy(store);
}
