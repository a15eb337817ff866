#include "decode/stoptext.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Feeds in all splits into pieces of one and two sizes; against a plain search. */
Test(stoptext, equals_a_plain_search_for_every_split)
{
    geodec_err err = {0};
    static const char *const needles[] = {"a", "ab", "aab", "abab", "aaa", "zz", "abaabaab"};
    static const char *const texts[] = {"",      "a",      "xaab",     "aaab",  "ababaab", "abaabaabaab",
                                        "bbbbb", "aabaab", "ab\nabab", "abaaba"};
    for (size_t i = 0; i < sizeof needles / sizeof *needles; i++)
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
            for (size_t piece = 1; piece <= 4; piece++) {
                char got[64], want[64];
                size_t n = 0, length = strlen(texts[j]);
                bool done = false;
                geodec_stoptext *s = NULL;
                snprintf(want, sizeof want, "%s", texts[j]);
                char *at = strstr(want, needles[i]);
                if (at) *at = '\0';
                test_ok(geodec_stoptext_create(&needles[i], 1, &s, &err), &err);
                for (size_t k = 0; k < length; k += piece) {
                    size_t out;
                    const bool hit =
                        geodec_stoptext_feed(s, texts[j] + k, length - k < piece ? length - k : piece, got + n, &out);
                    cr_assert(!done || (hit && out == 0));
                    done = hit;
                    n += out;
                }
                n += geodec_stoptext_flush(s, got + n);
                got[n] = '\0';
                cr_assert_str_eq(got, want, "needle %s text %s piece %zu: %s", needles[i], texts[j], piece, got);
                cr_assert_eq(done, at != NULL);
                geodec_stoptext_destroy(s);
            }
    geodec_stoptext *s = NULL;
    cr_assert_eq(geodec_stoptext_create(&(const char *){""}, 1, &s, &err), GEODEC_INVAL);
}

/* Of several needles the one that is complete first ends the stream; a held byte of one is passed on when another
 * cannot match either. */
Test(stoptext, the_first_of_several)
{
    static const char *const needles[] = {"User:", "\n\n", "se", "zzzz"};
    static const struct {
        const char *text, *want;
    } list[] = {{"a User: b", "a U"}, {"a Uzzz\n\nx", "a Uzzz"}, {"zzzyzzz", "zzzyzzz"}, {"U\n", "U\n"}, {"zzzzz", ""}};
    geodec_err err = {0};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (size_t piece = 1; piece <= 3; piece++) {
            geodec_stoptext *s = NULL;
            char got[64];
            size_t n = 0;
            test_ok(geodec_stoptext_create(needles, 4, &s, &err), &err);
            for (size_t k = 0, length = strlen(list[i].text); k < length; k += piece) {
                size_t out;
                (void)geodec_stoptext_feed(s, list[i].text + k, length - k < piece ? length - k : piece, got + n, &out);
                n += out;
            }
            n += geodec_stoptext_flush(s, got + n);
            got[n] = '\0';
            cr_assert_str_eq(got, list[i].want, "%s: %s", list[i].text, got);
            geodec_stoptext_destroy(s);
        }
}
