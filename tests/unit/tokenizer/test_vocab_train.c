#include "base/mem.h"
#include "support/support.h"
#include "tokenizer/vocab_train.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define M "\xe2\x96\x81"

/* The parts of a text between separators, white space around them left out. */
static int64_t parts_of(const char *text, size_t n, const char *separator, geodec_span part[64])
{
    const char *const end = text + n;
    int64_t parts = 0;
    for (const char *at = text, *stop; at < end; at = stop + (stop < end ? strlen(separator) : 0)) {
        stop = separator ? memmem(at, (size_t)(end - at), separator, strlen(separator)) : NULL;
        if (!stop) stop = end;
        const char *from = at, *to = stop;
        while (from < to && strchr(" \n", *from)) from++;
        while (to > from && strchr(" \n", to[-1])) to--;
        if (to > from) part[parts++] = (geodec_span){from - text, to - text};
    }
    return parts;
}

static geodec_tokenizer *train(const char *text, size_t n, const char *separator, int32_t size)
{
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    geodec_span part[64];
    const int64_t parts = parts_of(text, n, separator, part);
    test_ok(geodec_vocab_train(text, part, parts, size, NULL, &t, &err), &err);
    return t;
}

static void expect_piece(const geodec_tokenizer *t, int32_t id, const char *piece)
{
    size_t n = 0;
    const char *p = geodec_tokenizer_piece(t, id, &n);
    cr_assert(n == strlen(piece) && !memcmp(p, piece, n), "piece %d is '%.*s', not '%s'", (int)id, (int)n, p, piece);
}

/* By hand. Words: M aab x3, M ab x2. Neighbours: aa 3, ab 5, Ma 5: the tie between "ab" and M"a" goes to the smaller
 * bytes, "ab". Then M a ab x3, M ab x2: "Ma" 3, "aab" 3, "Mab" 2: "aab". Then "Maab" 3, then "Mab" 2. */
Test(vocab_train, merges_of_a_small_text_are_those_made_by_hand)
{
    const char text[] = "aab ab aab ab aab";
    geodec_tokenizer *t = train(text, strlen(text), NULL, 259 + 7);
    static const char *const want[] = {"ab", "aab", M "aab", M "ab", "a", "b", M};
    cr_assert_eq(geodec_tokenizer_size(t), 259 + 7);
    for (int i = 0; i < 7; i++) expect_piece(t, 259 + i, want[i]);
    expect_piece(t, 3 + 0x41, "<0x41>");
    geodec_err err = {0};
    int32_t ids[64];
    int64_t n = 0;
    test_ok(geodec_tokenizer_encode(t, text, strlen(text), true, ids, &n, &err), &err);
    static const int32_t wanted[] = {1, 261, 262, 261, 262, 261};
    cr_assert_eq(n, 6);
    for (int i = 0; i < 6; i++) cr_assert_eq(ids[i], wanted[i]);
    geodec_tokenizer_destroy(t);
}

/* A text with many words, two parts, line feeds, characters outside ASCII and bytes that are no UTF-8. */
static size_t mixed_text(char *text)
{
    static const char *const word[] = {"tree",
                                       "house",
                                       "the",
                                       "then",
                                       "there",
                                       "other",
                                       "caf\xc3\xa9",
                                       "na\xc3\xafve",
                                       "in",
                                       "inner",
                                       "\xe6\xbc\xa2\xe5\xad\x97"};
    size_t n = 0;
    uint32_t x = 12345;
    for (int i = 0; i < 3000; i++) {
        x = x * 1664525u + 1013904223u;
        n += (size_t)sprintf(text + n, "%s%s", word[(x >> 16) % 11 * ((x >> 24) % 3 != 0)],
                             i % 13 == 12     ? ".\n"
                             : i % 500 == 499 ? "\n<|end|>\n"
                                              : " ");
    }
    text[n++] = (char)0xff;
    text[n++] = 'x';
    return n;
}

Test(vocab_train, scores_fall_pieces_keep_to_words_and_text_round_trips)
{
    static char text[65536];
    geodec_err err = {0};
    size_t n = mixed_text(text);
    geodec_tokenizer *t = train(text, n, "<|end|>", 340), *again = train(text, n, "<|end|>", 340);
    cr_assert_str_eq(geodec_tokenizer_fingerprint(t), geodec_tokenizer_fingerprint(again));
    for (int32_t i = GEODEC_VOCAB_FIRST_PIECE; i < geodec_tokenizer_size(t); i++) {
        size_t m = 0;
        const char *p = geodec_tokenizer_piece(t, i, &m);
        for (size_t k = 1; k + 3 <= m; k++) cr_assert(memcmp(p + k, M, 3), "a mark inside piece %d", (int)i);
        cr_assert(!memchr(p, '\n', m) && !memmem(p, m, "|end|", 5));
    }
    int32_t *ids = geodec_mem_new((int64_t)n + 2, sizeof *ids);
    int64_t count = 0, bytes = 0, tokens = 0;
    char *back = NULL;
    size_t m = 0;
    test_ok(geodec_tokenizer_encode(t, text, n, false, ids, &count, &err), &err);
    test_ok(geodec_tokenizer_decode(t, ids, count, &back, &m, &err), &err);
    cr_assert(m == n && !memcmp(back, text, n));
    geodec_span part[64];
    const int64_t parts = parts_of(text, n, "<|end|>", part);
    cr_assert_eq(parts, 7);
    test_ok(geodec_vocab_measure(t, text, part, parts, &tokens, &bytes, &err), &err);
    cr_assert_lt(tokens * 3, bytes); /* every frequent word is one token by now */
    cr_assert_lt(bytes, (int64_t)n - 6 * 7);
    geodec_mem_free(back);
    geodec_mem_free(ids);
    geodec_tokenizer_destroy(t);
    geodec_tokenizer_destroy(again);
}

Test(vocab_train, refuses_empty_text_and_bad_sizes_and_stops_when_nothing_repeats)
{
    geodec_tokenizer *t = NULL;
    const geodec_span one = {0, 1};
    cr_assert_eq(geodec_vocab_train("", NULL, 0, 300, NULL, &t, NULL), GEODEC_FORMAT);
    cr_assert_eq(geodec_vocab_train("a", &one, 1, 259, NULL, &t, NULL), GEODEC_RANGE);
    t = train("abc", 3, NULL, 1024);
    cr_assert_eq(geodec_tokenizer_size(t), 259 + 4);
    geodec_tokenizer_destroy(t);
}

/* Every allocation may fail: a clean error each time, and no leak (the sanitizer build looks). */
Test(vocab_train, survives_short_memory)
{
    const char text[] = "one two two three three three";
    int k = 1;
    for (;; k++) {
        geodec_tokenizer *t = NULL;
        geodec_mem_fail_after(k);
        geodec_status st =
            geodec_vocab_train(text, &(geodec_span){0, (int64_t)sizeof text - 1}, 1, 280, NULL, &t, NULL);
        geodec_mem_fail_after(0);
        geodec_tokenizer_destroy(t);
        if (st == GEODEC_OK) break;
        cr_assert_eq(st, GEODEC_NOMEM);
    }
    cr_assert_gt(k, 10);
}
