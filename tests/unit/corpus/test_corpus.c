/* The corpus as a stream: pure stories, shards, figures, the n-gram control. */
#include "base/mem.h"
#include "lab/corpus/control.h"
#include "lab/corpus/corpus.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(corpus, a_story_is_a_pure_function_of_seed_and_index)
{
    geodec_err err = {0};
    for (uint64_t i = 0; i < 200; i++) {
        char *a = NULL, *b = NULL, *c = NULL;
        size_t n = 0, m = 0, k = 0;
        double x = 0, y = 0, z = 0;
        test_ok(geodec_corpus_story(5, i, &a, &n, &x, &err), &err);
        test_ok(geodec_corpus_story(5, i, &b, &m, &y, &err), &err);
        test_ok(geodec_corpus_story(6, i, &c, &k, &z, &err), &err);
        cr_assert(n == m && x == y && !memcmp(a, b, n) && strlen(a) == n);
        cr_assert_str_neq(a, c);
        geodec_mem_free(a);
        geodec_mem_free(b);
        geodec_mem_free(c);
    }
}

/* Stories first .. first+n-1 as a file in memory (free with free). */
static char *written(uint64_t first, int64_t n, int64_t bytes, int threads, geodec_corpus_stats *stats)
{
    geodec_err err = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(threads, &pool, &err), &err);
    test_ok(geodec_corpus_write(3, first, n, bytes, f, pool, NULL, stats, &err), &err);
    geodec_pool_destroy(pool);
    fclose(f);
    return text;
}

Test(corpus, shards_and_threads_do_not_change_a_byte)
{
    geodec_corpus_stats whole = {0}, one = {0}, two = {0}, again = {0};
    /* 1000 stories cross the boundary of a batch */
    char *all = written(0, 1000, 0, 1, &whole), *threads = written(0, 1000, 0, 3, &again),
         *a = written(0, 437, 0, 2, &one), *b = written(437, 563, 0, 1, &two);
    cr_assert_str_eq(all, threads);
    size_t n = strlen(a) - 1, m = strlen(GEODEC_STORY_SEPARATOR); /* without the final line feed */
    cr_assert(!memcmp(all, a, n) && !memcmp(all + n, GEODEC_STORY_SEPARATOR, m) && !strcmp(all + n + m, b));
    cr_assert_eq(whole.bytes, one.bytes + two.bytes);
    cr_assert_eq(whole.words, one.words + two.words);
    cr_assert_lt(fabs(whole.bits - one.bits - two.bits), 1e-9 * whole.bits);
    cr_assert(whole.bits == again.bits && whole.bits_per_byte_error == again.bits_per_byte_error);
    cr_assert_eq((int64_t)strlen(all), whole.bytes + 999 * (int64_t)m + 1);
    free(all);
    free(threads);
    free(a);
    free(b);
}

Test(corpus, a_number_of_bytes_ends_with_the_story_that_reaches_it)
{
    geodec_corpus_stats s = {0}, t = {0};
    char *a = written(0, 0, 50000, 2, &s), *b = written(0, s.stories - 1, 0, 1, &t);
    cr_assert(s.bytes >= 50000 && t.bytes < 50000);
    cr_assert(!memcmp(a, b, strlen(b) - 1));
    free(a);
    free(b);
    geodec_err err = {0};
    cr_assert_eq(geodec_corpus_write(3, 0, 0, 0, NULL, NULL, NULL, &s, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_corpus_write(3, 0, 5, 5, NULL, NULL, NULL, &s, &err), GEODEC_INVAL);
}

/* The entropy is a property of the source: two seeds agree within their standard errors, and the error is that of a
 * ratio of means, here compared with the spread of 40 independent parts. */
Test(corpus, entropy_is_stable_across_seeds_and_its_error_is_right)
{
    enum { PARTS = 40, PART = 250 };
    geodec_err err = {0};
    geodec_corpus_stats a = {0}, b = {0}, p = {0};
    double mean = 0, square = 0;
    test_ok(geodec_corpus_write(101, 0, PARTS * PART, 0, NULL, NULL, NULL, &a, &err), &err);
    test_ok(geodec_corpus_write(102, 0, PARTS * PART, 0, NULL, NULL, NULL, &b, &err), &err);
    cr_assert_lt(fabs(a.bits_per_byte - b.bits_per_byte), 4 * hypot(a.bits_per_byte_error, b.bits_per_byte_error));
    for (uint64_t i = 0; i < PARTS; i++) {
        test_ok(geodec_corpus_write(101, i * PART, PART, 0, NULL, NULL, NULL, &p, &err), &err);
        mean += p.bits_per_byte / PARTS;
        square += p.bits_per_byte * p.bits_per_byte / PARTS;
    }
    double spread = sqrt((square - mean * mean) / (PARTS - 1)); /* of the mean of the parts */
    cr_assert_float_eq(spread / a.bits_per_byte_error, 1, 0.45, "%g and %g", spread, a.bits_per_byte_error);
    cr_assert(a.bits_per_byte > 0.15 && a.bits_per_byte < 0.9, "%g", a.bits_per_byte);
    cr_assert(a.distinct_words > 800 && a.distinct_words < 4000, "%lld", (long long)a.distinct_words);
}

/* An n-gram model lacks the state of the world: it stays above the entropy, and more context brings it closer. */
Test(corpus, the_ngram_control_stays_above_the_entropy)
{
    geodec_err err = {0};
    geodec_corpus_stats s = {0};
    double b[3] = {0};
    static const int order[3] = {1, 3, 8};
    test_ok(geodec_corpus_write(1, 600, 100, 0, NULL, NULL, NULL, &s, &err), &err);
    for (int i = 0; i < 3; i++) test_ok(geodec_corpus_control(1, 0, 600, 100, order[i], NULL, &b[i], &err), &err);
    cr_assert(b[0] > b[1] && b[1] > b[2] && b[2] > s.bits_per_byte, "%g %g %g, entropy %g", b[0], b[1], b[2],
              s.bits_per_byte);
    cr_assert_lt(b[0], 8);
    cr_assert_eq(geodec_corpus_control(1, 0, 0, 1, 3, NULL, &b[0], &err), GEODEC_RANGE);
    cr_assert_eq(geodec_corpus_control(1, 0, 1, 1, GEODEC_CONTROL_ORDER_MAX + 1, NULL, &b[0], &err), GEODEC_RANGE);
}

/* Counts of a text small enough for a hand calculation: "aab", "ab" and then "b". */
Test(corpus, the_ngram_control_of_given_texts_equals_a_hand_calculation)
{
    geodec_err err = {0};
    geodec_control *c = NULL;
    double bits[2] = {0};
    test_ok(geodec_control_create(1, &c, &err), &err);
    cr_assert_eq(geodec_control_score(c, "b", 1, bits, &err), GEODEC_INVAL);
    test_ok(geodec_control_learn(c, "aab", 3, &err), &err);
    test_ok(geodec_control_learn(c, "ab", 2, &err), &err);
    test_ok(geodec_control_score(c, "b", 1, bits, &err), &err);
    /* order 0: 7 symbols (a 3, b 2, end 2), 3 distinct, uniform over 257; order 1: b is followed by the end twice */
    const double b0 = (2 + 3 / 257.0) / 10, end0 = (2 + 3 / 257.0) / 10, end1 = (2 + 1 * end0) / 3;
    cr_assert_float_eq(bits[0], -log2(b0) - log2(end0), 1e-12);
    cr_assert_float_eq(bits[1], -log2(b0) - log2(end1), 1e-12);
    geodec_control_destroy(c);
    cr_assert_eq(geodec_control_create(0, &c, &err), GEODEC_RANGE);
    cr_assert_null(c);
}

Test(corpus, short_memory_is_a_clean_error)
{
    for (int k = 1; k < 40; k++) {
        geodec_corpus_stats s = {0};
        char *text = NULL;
        size_t n = 0;
        double bits = 0;
        int64_t count = 0;
        geodec_mem_fail_after(k);
        geodec_status st = geodec_corpus_write(3, 0, 20, 0, NULL, NULL, NULL, &s, NULL);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_NOMEM || (st == GEODEC_OK && k > 20));
        geodec_mem_fail_after(k);
        st = geodec_corpus_story(3, 0, &text, &n, &bits, NULL);
        geodec_mem_fail_after(0);
        cr_assert_eq(st, k == 1 ? GEODEC_NOMEM : GEODEC_OK);
        geodec_mem_free(text);
        if (k > 4) continue;
        geodec_mem_fail_after(k);
        st = geodec_corpus_derivations("x", 1, &count, &bits, NULL);
        geodec_mem_fail_after(0);
        cr_assert_eq(st, GEODEC_NOMEM);
    }
}
