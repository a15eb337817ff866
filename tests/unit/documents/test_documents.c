/* Each rule, and each kind of text. Without a vocabulary a token is 4 bytes: 64 tokens are 256 bytes, 32 are 128. */
#include "base/mem.h"
#include "base/rng.h"
#include "documents/documents.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static geodec_documents read_with(const char *text, size_t n, geodec_documents_options o)
{
    geodec_err err = {0};
    geodec_documents d;
    test_ok(geodec_documents_read("text", text, n, &o, &d, &err), &err);
    return d;
}

static geodec_documents read_by(const char *text, geodec_documents_separator rule)
{
    return read_with(text, strlen(text), (geodec_documents_options){.separator = rule});
}

static geodec_documents read_auto(const char *text) { return read_by(text, GEODEC_SEPARATOR_AUTO); }

static void expect(const geodec_documents *d, int64_t i, const char *text)
{
    const int64_t n = d->item[i].end - d->item[i].begin;
    cr_assert(i < d->n && n == (int64_t)strlen(text) && memcmp(d->text + d->item[i].begin, text, (size_t)n) == 0,
              "document %lld is '%.*s', not '%s'", (long long)i, (int)n, d->text + d->item[i].begin, text);
}

static void expect_rule(const geodec_documents *d, geodec_documents_separator rule, int64_t n)
{
    cr_assert_eq(d->rule, rule, "rule %s, not %s: %s", geodec_documents_separator_name(d->rule),
                 geodec_documents_separator_name(rule), d->why);
    if (n >= 0) cr_assert_eq(d->n, n, "%lld documents, not %lld: %s", (long long)d->n, (long long)n, d->why);
}

/* Words of 2 to 9 letters, `bytes` bytes of them at least, from a seeded stream. Returns the end. */
static char *words(char *to, int64_t bytes, geodec_rng *r)
{
    char *const from = to;
    while (to - from < bytes) {
        if (to > from) *to++ = ' ';
        for (uint64_t k = 2 + geodec_rng_below(r, 8); k > 0; k--) *to++ = (char)('a' + geodec_rng_below(r, 26));
    }
    *to = '\0';
    return to;
}

static char room[1 << 18];

/* ---- rules ------------------------------------------------------------------------------------------------------ */

Test(documents, marks_part_documents_and_take_precedence)
{
    geodec_documents d = read_auto("\n a b\n\nc\n<|endoftext|>\n\n<|endoftext|>\nd\n<|endoftext|> \ne\n");
    expect_rule(&d, GEODEC_SEPARATOR_MARK, 2);
    expect(&d, 0, "a b\n\nc");
    expect(&d, 1, "d\n<|endoftext|> \ne"); /* a line that is more than the mark is none */
    cr_assert_eq(d.bytes, d.item[0].end - d.item[0].begin + d.item[1].end - d.item[1].begin);
    geodec_documents_free(&d);
}

Test(documents, a_mark_that_parts_nothing_leaves_the_text_to_the_other_rules)
{
    geodec_rng r = geodec_rng_stream(1, 0);
    char *at = room;
    for (int i = 0; i < 10; i++) at = words(at + sprintf(at, i ? "\n\n" : ""), 300, &r);
    (void)strcpy(at, "\n<|endoftext|>\n");
    geodec_documents d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_BLANK, 10);
    const geodec_document last = d.item[9];
    cr_assert(!memmem(d.text + last.begin, (size_t)(last.end - last.begin), "endoftext", 9), "the mark is no text");
    geodec_documents_free(&d);
}

Test(documents, asked_for_rules)
{
    const char *text = "one\n\ntwo\nthree\n \n\nfour\n<|endoftext|>\nfive";
    geodec_documents d = read_by(text, GEODEC_SEPARATOR_LINE);
    expect_rule(&d, GEODEC_SEPARATOR_LINE, 6);
    expect(&d, 4, "<|endoftext|>");
    geodec_documents_free(&d);
    d = read_by(text, GEODEC_SEPARATOR_BLANK); /* all are short: joined into one */
    expect_rule(&d, GEODEC_SEPARATOR_BLANK, 1);
    geodec_documents_free(&d);
    d = read_with(text, strlen(text), (geodec_documents_options){.separator = GEODEC_SEPARATOR_BLANK, .pieces = true});
    expect_rule(&d, GEODEC_SEPARATOR_BLANK, 3);
    expect(&d, 1, "two\nthree");
    geodec_documents_free(&d);
    d = read_by(text, GEODEC_SEPARATOR_MARK);
    expect_rule(&d, GEODEC_SEPARATOR_MARK, 2);
    geodec_documents_free(&d);
    d = read_by(text, GEODEC_SEPARATOR_NONE);
    expect_rule(&d, GEODEC_SEPARATOR_NONE, 1);
    expect(&d, 0, text);
    geodec_documents_free(&d);
}

Test(documents, windows_cut_at_lines_blanks_and_characters)
{
    geodec_rng r = geodec_rng_stream(2, 0);
    char *end = room;
    for (int i = 0; i < 400; i++) end = words(end + sprintf(end, i ? "\n" : ""), 60, &r);
    geodec_documents d = read_by(room, GEODEC_SEPARATOR_WINDOW);
    cr_assert_gt(d.n, 20);
    for (int64_t i = 0; i < d.n; i++) {
        const int64_t n = d.item[i].end - d.item[i].begin;
        cr_assert(n > 512 && n <= 1536, "%lld bytes", (long long)n);
        if (i + 1 < d.n) cr_assert_eq(d.text[d.item[i].end], '\n', "cut at the end of a line");
    }
    geodec_documents_free(&d);
    for (int i = 0; i < 4000; i++) memcpy(room + 3 * i, "\xe6\xbc\xa2", 3); /* no line and no blank at all */
    d = read_with(room, 12000, (geodec_documents_options){.separator = GEODEC_SEPARATOR_WINDOW});
    cr_assert_gt(d.n, 8);
    int64_t at = 0;
    for (int64_t i = 0; i < d.n; at = d.item[i++].end) {
        cr_assert_eq(d.item[i].begin, at, "nothing is lost");
        cr_assert_eq(at % 3, 0, "a character is cut");
    }
    cr_assert_eq(at, 12000);
    geodec_documents_free(&d);
}

/* ---- kinds of text ---------------------------------------------------------------------------------------------- */

/* Paragraphs of 2 to 300 words: most dialogue is shorter than a document may be. */
Test(documents, a_novel_in_one_piece)
{
    geodec_rng r = geodec_rng_stream(3, 0);
    char *end = room;
    for (int i = 0; i < 200; i++)
        end = words(end + sprintf(end, i ? "\n\n" : ""), 1 + (int64_t)geodec_rng_below(&r, i % 3 ? 100 : 900), &r);
    geodec_documents d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_BLANK, -1);
    cr_assert(d.n > 50 && d.n < 150, "%lld", (long long)d.n);
    for (int64_t i = 0; i < d.n; i++) cr_assert_geq(d.item[i].end - d.item[i].begin, 256, "short ones are joined");
    cr_assert_eq(d.item[0].begin, 0);
    cr_assert_eq(d.item[d.n - 1].end, end - room, "the short rest belongs to the last");
    geodec_documents_free(&d);
}

Test(documents, a_poem_a_line)
{
    geodec_rng r = geodec_rng_stream(4, 0);
    char *end = room;
    for (int i = 0; i < 40; i++) end = words(end + sprintf(end, i ? "\n" : ""), 150, &r);
    geodec_documents d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_LINE, 40);
    geodec_documents_free(&d);
    *strchr(strchr(room, '\n') + 1, '\n') = ' '; /* 39 lines, and one blank line among them */
    memcpy(strchr(room, '\n') + 1, "\n", 1);
    d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_LINE, -1);
    geodec_documents_free(&d);
}

/* Sentences that continue over the ends of short lines: the lines are not documents. */
Test(documents, a_dialogue_and_wrapped_lines)
{
    geodec_rng r = geodec_rng_stream(5, 0);
    char *end = room;
    for (int i = 0; i < 300; i++)
        end =
            words(end + sprintf(end, "%s%c: ", i ? "\n" : "", "AB"[i % 2]), 10 + (int64_t)geodec_rng_below(&r, 60), &r);
    geodec_documents d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_WINDOW, -1);
    cr_assert_geq(d.n, GEODEC_DOCUMENTS_ENOUGH);
    geodec_documents_free(&d);
    for (char *c = room; (c = strchr(c, '\n')) != NULL; c += 2) { /* the same with blank lines between the speeches */
        memmove(c + 1, c, strlen(c) + 1);
    }
    d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_BLANK, -1);
    cr_assert_geq(d.n, GEODEC_DOCUMENTS_ENOUGH);
    geodec_documents_free(&d);
}

/* Headings and articles of one line, with empty lines between: a heading belongs to the following article. */
Test(documents, an_encyclopedia)
{
    geodec_rng r = geodec_rng_stream(6, 0);
    char *end = room;
    for (int i = 0; i < 30; i++) end = words(end + sprintf(end, "%s = Title %d = \n\n ", i ? "\n\n" : "", i), 500, &r);
    geodec_documents d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_BLANK, 30);
    for (int64_t i = 0; i < d.n; i++) cr_assert_eq(d.text[d.item[i].begin], '=');
    geodec_documents_free(&d);
}

Test(documents, carriage_returns_byte_order_mark_and_no_final_newline)
{
    geodec_rng r = geodec_rng_stream(7, 0);
    static char dos[1 << 17];
    char *end = room, *to = dos;
    for (int i = 0; i < 20; i++) end = words(end + sprintf(end, i % 2 ? "\n" : i ? "\n\n" : ""), 200, &r);
    memcpy(to, "\xef\xbb\xbf", 3);
    to += 3;
    for (const char *c = room; *c; c++) {
        if (*c == '\n') *to++ = '\r';
        *to++ = *c;
    }
    *to++ = '\r';
    *to++ = '\n';
    *to = '\0';
    geodec_documents unix_ = read_auto(room), d = read_auto(dos);
    expect_rule(&d, unix_.rule, unix_.n);
    expect_rule(&d, GEODEC_SEPARATOR_BLANK, 10);
    cr_assert_eq(d.bytes, unix_.bytes);
    for (int64_t i = 0; i < d.n; i++) {
        const int64_t n = d.item[i].end - d.item[i].begin;
        cr_assert_eq(n, unix_.item[i].end - unix_.item[i].begin);
        cr_assert_arr_eq(d.text + d.item[i].begin, unix_.text + unix_.item[i].begin, (size_t)n);
    }
    geodec_documents_free(&d);
    geodec_documents_free(&unix_);
    d = read_auto("a\r\n<|endoftext|>\r\nb");
    expect_rule(&d, GEODEC_SEPARATOR_MARK, 2);
    expect(&d, 1, "b");
    geodec_documents_free(&d);
}

Test(documents, other_scripts)
{
    char *end = room;
    for (int i = 0; i < 12; i++) {
        if (i) end += sprintf(end, "\n\n");
        for (int k = 0; k < 120; k++) end += sprintf(end, "\xe6\xbc\xa2");
    }
    geodec_documents d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_BLANK, 12);
    geodec_documents_free(&d);
}

Test(documents, little_text_is_a_text)
{
    geodec_rng r = geodec_rng_stream(8, 0);
    (void)words(room, 140, &r); /* 35 tokens */
    geodec_documents d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_WINDOW, 1);
    expect(&d, 0, room);
    geodec_documents_free(&d);
    d = read_auto("a");
    expect_rule(&d, GEODEC_SEPARATOR_WINDOW, 1);
    expect(&d, 0, "a");
    geodec_documents_free(&d);
}

Test(documents, twenty_megabytes)
{
    enum { SIZE = 20 << 20 };
    geodec_rng r = geodec_rng_stream(9, 0);
    char *text = geodec_mem_new(SIZE + (1 << 17), 1), *end = text;
    (void)words(room, 1 << 16, &r);
    for (int64_t i = 0; end - text < SIZE; i++) { /* paragraphs cut out of one stretch of words */
        const int64_t at = (int64_t)geodec_rng_below(&r, 1 << 15), n = 40 + (int64_t)geodec_rng_below(&r, 800);
        if (i) end += sprintf(end, "\n\n");
        memcpy(end, room + at, (size_t)n);
        end += n;
    }
    geodec_documents d = read_with(text, (size_t)(end - text), (geodec_documents_options){0});
    expect_rule(&d, GEODEC_SEPARATOR_BLANK, -1);
    cr_assert_gt(d.n, 10000);
    cr_assert_gt(d.bytes, SIZE - (SIZE >> 6));
    geodec_documents_free(&d);
    geodec_mem_free(text);
}

/* ---- refusals -------------------------------------------------------------------------------------------- */

static void refused(const char *text, size_t n, const char *message)
{
    for (int rule = 0; rule < GEODEC_SEPARATOR_COUNT; rule++) {
        geodec_err err = {0};
        geodec_documents d;
        char line[512];
        const geodec_documents_options o = {.separator = (geodec_documents_separator)rule};
        cr_assert_eq(geodec_documents_read("my.txt", text, n, &o, &d, &err), GEODEC_FORMAT);
        (void)geodec_err_line(&err, line, sizeof line);
        cr_assert(strstr(line, "my.txt") && strstr(line, message), "%s", line);
    }
}

Test(documents, refuses_what_is_no_text)
{
    refused("", 0, "empty");
    refused(" \r\n\t\n", 5, "empty");
    refused("\xef\xbb\xbf \n", 5, "empty");
    refused("ab\xff"
            "c",
            4, "offset 2");
    refused("a\0b", 3, "NUL");
    geodec_err err = {0};
    geodec_documents_separator s;
    cr_assert_eq(geodec_documents_separator_of("paragraph", &s, &err), GEODEC_INVAL);
    for (int rule = 0; rule < GEODEC_SEPARATOR_COUNT; rule++) {
        test_ok(
            geodec_documents_separator_of(geodec_documents_separator_name((geodec_documents_separator)rule), &s, &err),
            &err);
        cr_assert_eq((int)s, rule);
    }
}

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

/* A vocabulary of bytes: a text of k bytes is k tokens, one more for the mark before the first word, and BOS. */
static geodec_tokenizer *bytes_vocabulary(void)
{
    static char name[259][8];
    static const char *text[259];
    static size_t length[259];
    static float score[259];
    static int32_t type[259];
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    for (int i = 0; i < 259; i++) {
        if (i < 3)
            (void)snprintf(name[i], sizeof name[i], "%s", (const char *[]){"<unk>", "<s>", "</s>"}[i]);
        else
            (void)snprintf(name[i], sizeof name[i], "<0x%02X>", (unsigned)(i - 3));
        text[i] = name[i];
        length[i] = strlen(name[i]);
        type[i] = i == 0 ? GEODEC_TOKEN_UNKNOWN : i < 3 ? GEODEC_TOKEN_CONTROL : GEODEC_TOKEN_BYTE;
    }
    test_ok(geodec_tokenizer_create(259, text, length, score, type, 1, 2, 0, &t, &err), &err);
    return t;
}

/* The thresholds are in tokens: a text that is too short in words is long enough in bytes. */
Test(documents, lengths_are_those_of_the_vocabulary)
{
    geodec_err err = {0};
    geodec_tokenizer *t = bytes_vocabulary();
    geodec_rng r = geodec_rng_stream(10, 0);
    char *end = room;
    for (int i = 0; i < 40; i++) end = words(end + sprintf(end, i ? "\n" : ""), 60, &r);
    geodec_documents d = read_auto(room);
    expect_rule(&d, GEODEC_SEPARATOR_WINDOW, -1);
    geodec_documents_free(&d);
    d = read_with(room, strlen(room), (geodec_documents_options){.tokenizer = t});
    expect_rule(&d, GEODEC_SEPARATOR_LINE, 40);
    int64_t tokens[40], sum = 0, all = 0;
    test_ok(geodec_documents_count(&d, t, tokens, &sum, &err), &err);
    for (int i = 0; i < 40; i++) all += tokens[i];
    cr_assert_eq(tokens[7], 1 + 1 + d.item[7].end - d.item[7].begin, "BOS, a word mark, bytes");
    cr_assert_eq(sum, all);
    geodec_documents_free(&d);
    geodec_tokenizer_destroy(t);
}

Test(documents, a_run_of_documents)
{
    geodec_err err = {0};
    const char *run;
    char *own;
    size_t n;
    const char *text = " a\n<|endoftext|>\nb \n";
    geodec_documents d = read_with(text, strlen(text), (geodec_documents_options){.run = true});
    expect_rule(&d, GEODEC_SEPARATOR_NONE, 1);
    test_ok(geodec_documents_run(&d, &run, &n, &own, &err), &err);
    cr_assert(n == strlen(text) && memcmp(run, text, n) == 0 && !own, "as it stands");
    geodec_documents_free(&d);
    d = read_by(text, GEODEC_SEPARATOR_MARK);
    test_ok(geodec_documents_run(&d, &run, &n, &own, &err), &err);
    cr_assert(n == 4 && memcmp(run, "a\n\nb", n) == 0);
    geodec_mem_free(own);
    geodec_documents_free(&d);
}

/* Every allocation may fail: a clean error each time. */
Test(documents, survives_short_memory)
{
    const char *texts[] = {"a\r\n<|endoftext|>\r\nb", "one\n\ntwo\nthree", "{\"turns\": [\"a\"]}\n{\"text\": \"b\"}"};
    for (size_t i = 0; i < 3; i++)
        for (int k = 1, done = 0; !done; k++) {
            geodec_documents d = {0};
            const geodec_documents_options o = {0};
            geodec_mem_fail_after(k);
            const geodec_status st = geodec_documents_read("t", texts[i], strlen(texts[i]), &o, &d, NULL);
            geodec_mem_fail_after(0);
            done = st == GEODEC_OK;
            if (!done) cr_assert_eq(st, GEODEC_NOMEM);
            geodec_documents_free(&d);
            cr_assert_lt(k, 1000);
        }
}
