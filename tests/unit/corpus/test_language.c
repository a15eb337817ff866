/* The language of the stories, checked by rules that are independent of the generator. */
#include "base/mem.h"
#include "lab/corpus/corpus.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { STORIES = 4000 };

typedef void (*check)(const char *text, size_t n, void *ctx);
static void each_story(uint64_t seed, int n_stories, check f, void *ctx)
{
    geodec_err err = {0};
    for (int i = 0; i < n_stories; i++) {
        char *text = NULL;
        size_t n = 0;
        double bits = 0;
        test_ok(geodec_corpus_story(seed, (uint64_t)i, &text, &n, &bits, &err), &err);
        f(text, n, ctx);
        geodec_mem_free(text);
    }
}

static bool vowel(char c) { return strchr("aeiouAEIOU", c) != NULL; }

static void check_spelling(const char *t, size_t n, void *ctx)
{
    int quotes = 0, length = 0;
    (void)ctx;
    cr_assert(n > 200 && n < 2000, "%zu bytes:\n%s", n, t);
    cr_assert(isupper((unsigned char)t[0]) || t[0] == '"');
    cr_assert(strchr(".!?\"", t[n - 1]));
    for (size_t i = 0; i < n; i++) {
        char c = t[i], d = i + 1 < n ? t[i + 1] : '\n', e = i + 2 < n ? t[i + 2] : '\n';
        cr_assert(c == '\n' || (c >= ' ' && c < 127), "byte %d in\n%s", c, t);
        cr_assert(!strchr("[]{}|~^+@", c), "markup in\n%s", t);
        cr_assert(!(c == ' ' && strchr(" .,!?\n", d)), "blank before '%c' in\n%s", d, t);
        cr_assert(!(strchr(".,!?", c) && strchr(".,!?", d)), "'%c%c' in\n%s", c, d, t);
        cr_assert(!(strchr(",;:", c) && d != ' ' && d != '"' && d != '\n'), "'%c' not followed by a blank in\n%s", c,
                  t);
        if (c == '"') quotes++;
        /* a sentence begins with a capital: always outside quotes; "...!" may be followed by its speaker */
        if (strchr(".!?", c) && d == ' ')
            cr_assert(isupper((unsigned char)e) || e == '"', "no capital at '%.20s' in\n%s", t + i, t);
        if (c == '\n') {
            cr_assert(isupper((unsigned char)d) || d == '"', "no capital at '%.20s' in\n%s", t + i, t);
            cr_assert(quotes % 2 == 0, "open quotes in\n%s", t);
        }
        /* articles */
        bool start = i == 0 || !isalpha((unsigned char)t[i - 1]);
        if (start && tolower((unsigned char)c) == 'a' && d == ' ') cr_assert(!vowel(e), "'%.20s' in\n%s", t + i, t);
        if (start && tolower((unsigned char)c) == 'a' && d == 'n' && e == ' ' && i + 3 < n)
            cr_assert(vowel(t[i + 3]) || !strncmp(t + i + 3, "hour", 4), "'%.20s' in\n%s", t + i, t);
        length = isalpha((unsigned char)c) ? length + 1 : 0;
        cr_assert(length < 16);
    }
    cr_assert(quotes % 2 == 0, "open quotes in\n%s", t);
}
Test(language, articles_quotes_capitals_and_stops) { each_story(31, STORIES, check_spelling, NULL); }

/* No word is repeated directly, except where English allows it. */
static void check_doubles(const char *t, size_t n, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        size_t k = i;
        if (i && isalpha((unsigned char)t[i - 1])) continue;
        while (isalpha((unsigned char)t[k])) k++;
        size_t m = k - i;
        if (m == 0 || t[k] != ' ' || strncasecmp(t + i, t + k + 1, m) != 0 || isalpha((unsigned char)t[k + 1 + m]))
            continue;
        bool fine = m == 3 && (!strncmp(t + i, "her", 3) || !strncmp(t + i, "had", 3));
        cr_assert(fine, "'%.*s' in\n%s", (int)(2 * m + 1), t + i, t);
    }
}
Test(language, no_word_is_doubled) { each_story(32, STORIES, check_doubles, NULL); }

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

#define NUMBER "(no|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
static int value(const char *t, regmatch_t m)
{
    static const char *const words[] = {"no",    "one",   "two",  "three", "four",   "five",  "six",
                                        "seven", "eight", "nine", "ten",   "eleven", "twelve"};
    for (int i = 0; i < 13; i++)
        if ((size_t)(m.rm_eo - m.rm_so) == strlen(words[i]) && !strncasecmp(t + m.rm_so, words[i], strlen(words[i])))
            return i;
    return -1;
}

/* Statements with three numbers, the third of which is the first less the second. */
static const struct {
    const char *pattern;
    int a, b, c; /* groups */
    int least;   /* occurrences expected at least */
} sum[] = {
    {NUMBER " [a-z]+[^\n]* gave [A-Za-z]+ " NUMBER "\\. (Now [A-Za-z]+ had|That left|So [A-Za-z]+ still had) " NUMBER
            " ",
     1, 2, 4, 50},
    {" had " NUMBER " coins\\.[^\n]* " NUMBER " coins and took [^\n]* had " NUMBER " coins? left", 1, 2, 3, 30},
    {NUMBER " coins,\" [^\n]* had only " NUMBER ", so [A-Za-z]+ needed " NUMBER " more", 1, 2, 3, 20},
    {" all " NUMBER " [a-z]+ [rf][^\n]* (found|picked up) " NUMBER " [a-z]+ [^\n]*[Oo]nly " NUMBER " ", 1, 3, 4, 20},
    {" and " NUMBER " [a-z]+\\.[^\n]* " NUMBER " of the [^\n]* counted: " NUMBER " ", 1, 2, 3, 50},
};
enum { SUMS = sizeof sum / sizeof sum[0] };
typedef struct sums {
    regex_t compiled[SUMS];
    int seen[SUMS];
} sums;

static void check_sums(const char *t, size_t n, void *ctx)
{
    sums *s = ctx;
    regmatch_t m[5];
    (void)n;
    for (int i = 0; i < SUMS; i++) {
        if (regexec(&s->compiled[i], t, 5, m, 0)) continue;
        cr_assert_eq(value(t, m[sum[i].a]) - value(t, m[sum[i].b]), value(t, m[sum[i].c]), "%s", t);
        s->seen[i]++;
    }
}

Test(language, what_is_left_is_what_there_was_less_what_was_given)
{
    sums s = {0};
    for (int i = 0; i < SUMS; i++) cr_assert(!regcomp(&s.compiled[i], sum[i].pattern, REG_EXTENDED));
    each_story(33, STORIES, check_sums, &s);
    for (int i = 0; i < SUMS; i++) {
        cr_assert_geq(s.seen[i], sum[i].least, "pattern %d", i);
        regfree(&s.compiled[i]);
    }
}

/* ---- variety ---------------------------------------------------------------------------------------------------- */

static uint64_t hash(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    return h ^ (h >> 32);
}

typedef struct hashes {
    uint64_t *h;
    int64_t n, room;
} hashes;

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int64_t distinct(hashes *s)
{
    int64_t n = s->n > 0;
    qsort(s->h, (size_t)s->n, sizeof s->h[0], by_value);
    for (int64_t i = 1; i < s->n; i++) n += s->h[i] != s->h[i - 1];
    return n;
}

static void add_story(const char *t, size_t n, void *ctx)
{
    hashes *s = ctx;
    s->h[s->n++] = hash(t, n);
}

static void add_sentences(const char *t, size_t n, void *ctx)
{
    hashes *s = ctx;
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        bool end =
            (strchr(".!?", t[i]) && (i + 1 == n || t[i + 1] == ' ' || t[i + 1] == '\n')) || i + 1 == n || t[i] == '\n';
        if (!end) continue;
        if (i - from > 30 && s->n < s->room) s->h[s->n++] = hash(t + from, i - from);
        from = i + 1;
    }
}

static void add_five_grams(const char *t, size_t n, void *ctx)
{
    hashes *s = ctx;
    size_t start[5];
    int words = 0;
    for (size_t i = 0; i < n; i++) {
        if (t[i] == ' ' || t[i] == '\n' || (i && t[i - 1] != ' ' && t[i - 1] != '\n')) continue;
        if (words >= 5) {
            if (s->n < s->room) s->h[s->n++] = hash(t + start[words % 5], i - start[words % 5]);
        }
        start[words++ % 5] = i;
    }
}

Test(language, no_bank_of_sentences)
{
    hashes s = {.h = geodec_mem_new(1 << 20, sizeof(uint64_t)), .room = 1 << 20};
    each_story(34, 20000, add_story, &s);
    cr_assert_eq(distinct(&s), 20000);
    s.n = 0;
    each_story(34, 1000, add_sentences, &s);
    int64_t sentences = s.n;
    double fresh = (double)distinct(&s) / (double)sentences;
    cr_assert_gt(fresh, 0.9, "%g of %lld sentences of more than 30 bytes are distinct", fresh, (long long)sentences);
    s.n = 0;
    each_story(34, 1000, add_five_grams, &s);
    int64_t grams = s.n;
    fresh = (double)distinct(&s) / (double)grams;
    cr_assert_gt(fresh, 0.7, "%g of %lld word 5-grams are distinct", fresh, (long long)grams);
    geodec_mem_free(s.h);
}
