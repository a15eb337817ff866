#include "base/mem.h"
#include "corpus/corpus.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
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

/* The bits are exact when the text has one derivation only: then P(text) is the product of the choices' probabilities.
 */
Test(corpus, every_text_has_exactly_one_derivation)
{
    geodec_err err = {0};
    for (uint64_t i = 0; i < 150; i++) {
        char *text = NULL;
        size_t n = 0;
        double bits = 0, summed = 0;
        int64_t count = 0;
        test_ok(geodec_corpus_story(11, i, &text, &n, &bits, &err), &err);
        test_ok(geodec_corpus_derivations(text, n, &count, &summed, &err), &err);
        cr_assert_eq(count, 1, "story %d has %d derivations:\n%s", (int)i, (int)count, text);
        cr_assert_lt(fabs(summed - bits), 1e-9 * bits);
        text[n / 2] = '#'; /* and a text that no derivation gives has none */
        test_ok(geodec_corpus_derivations(text, n, &count, &summed, &err), &err);
        cr_assert_eq(count, 0);
        geodec_mem_free(text);
    }
}
