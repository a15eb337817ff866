/* JSON Lines: the three forms, refused files, and files that are plain text. */
#include "base/mem.h"
#include "documents/documents.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static geodec_status read_jsonl(const char *text, geodec_documents_separator rule, geodec_documents *d, geodec_err *err)
{
    const geodec_documents_options o = {.separator = rule};
    return geodec_documents_read("my.jsonl", text, strlen(text), &o, d, err);
}

static void expect(const geodec_documents *d, int64_t i, const char *text)
{
    const int64_t n = d->item[i].end - d->item[i].begin;
    cr_assert(i < d->n && n == (int64_t)strlen(text) && memcmp(d->text + d->item[i].begin, text, (size_t)n) == 0,
              "document %lld is '%.*s', not '%s'", (long long)i, (int)n, d->text + d->item[i].begin, text);
}

static void expect_message(const geodec_documents *d, int64_t i, int64_t k, geodec_chat_role role, const char *text)
{
    const geodec_chat_message *m = &d->message[d->item[i].first_message + k];
    cr_assert(k < d->item[i].messages && m->role == role && m->n == strlen(text) && memcmp(m->content, text, m->n) == 0,
              "message %lld of %lld is '%.*s'", (long long)k, (long long)i, (int)m->n, m->content);
}

Test(jsonl, three_forms)
{
    geodec_err err = {0};
    geodec_documents d;
    const char *text =
        "\n{\"id\": 3, \"text\": \" caf\\u00e9\\n<|endoftext|>\\nb \"}\r\n"
        "  {\"messages\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": "
        "\"u\", \"x\": 1}, {\"role\": \"assistant\", \"content\": \"a\"}]}\n\n"
        "{\"text\": \"\"}\n"
        "{\"turns\": [\"t1\", \"t2\"], \"category\": \"writing\"}";
    test_ok(read_jsonl(text, GEODEC_SEPARATOR_AUTO, &d, &err), &err);
    cr_assert_eq(d.rule, GEODEC_SEPARATOR_JSONL, "%s", d.why);
    cr_assert_eq(d.n, 3, "an empty text is no document");
    expect(&d, 0, "caf\xc3\xa9\n<|endoftext|>\nb");
    cr_assert_eq(d.item[0].messages, 0);
    expect(&d, 1, "s\n\nu\n\na");
    expect_message(&d, 1, 0, GEODEC_CHAT_SYSTEM, "s");
    expect_message(&d, 1, 1, GEODEC_CHAT_USER, "u");
    expect_message(&d, 1, 2, GEODEC_CHAT_ASSISTANT, "a");
    expect(&d, 2, "t1\n\nt2");
    expect_message(&d, 2, 0, GEODEC_CHAT_USER, "t1");
    expect_message(&d, 2, 1, GEODEC_CHAT_USER, "t2");
    cr_assert_eq(d.bytes, 21 + 7 + 6);
    geodec_documents_free(&d);
}

/* With the word `jsonl`: one line that names file and line. Without: plain text, and the reason is kept. */
static void bad(const char *text, geodec_status st, const char *where, const char *what)
{
    geodec_err err = {0};
    geodec_documents d = {0};
    char line[1024];
    cr_assert_eq(read_jsonl(text, GEODEC_SEPARATOR_JSONL, &d, &err), st, "%s", text);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert(strstr(line, where) && strstr(line, what) && !strchr(line, '\n'), "%s", line);
    geodec_err_clear(&err);
    test_ok(read_jsonl(text, GEODEC_SEPARATOR_AUTO, &d, &err), &err);
    cr_assert_neq(d.rule, GEODEC_SEPARATOR_JSONL);
    if (text[0] == '{') cr_assert(strstr(d.why, where), "%s", d.why);
    geodec_documents_free(&d);
}

Test(jsonl, what_does_not_fit_is_named_or_is_text)
{
    static char deep[512];
    bad("{\"text\": \"a\"}\n\n{\"text\": }\n", GEODEC_FORMAT, "my.jsonl:3", "unexpected");
    bad("{\"text\": \"a\"}\nplain\n", GEODEC_FORMAT, "my.jsonl:2", "not a JSON object");
    bad("[1]\n", GEODEC_FORMAT, "my.jsonl:1", "not a JSON object");
    bad("{\"text\": 5}\n", GEODEC_FORMAT, "my.jsonl:1", "not text");
    bad("{\"words\": \"a\"}\n", GEODEC_FORMAT, "my.jsonl:1", "without \"text\"");
    bad("{\"messages\": {}}\n", GEODEC_FORMAT, "my.jsonl:1", "not a list");
    bad("{\"messages\": [{\"role\": \"user\"}]}\n", GEODEC_FORMAT, "my.jsonl:1: message 1", "'content' is missing");
    bad("{\"messages\": [{\"role\": \"king\", \"content\": \"a\"}]}\n", GEODEC_FORMAT, "my.jsonl:1", "king");
    bad("{\"turns\": [\"a\", 5]}\n", GEODEC_FORMAT, "my.jsonl:1: turn 2", "not text");
    bad("{\"text\": \"a\", \"text\": \"b\"}\n", GEODEC_FORMAT, "my.jsonl:1", "duplicate");
    bad("{\"text\": \"\\ud800\"}\n", GEODEC_FORMAT, "my.jsonl:1", "");
    bad("{\"text\": \"a\\u0000b\"}\n", GEODEC_FORMAT, "my.jsonl:1", "");
    (void)sprintf(deep, "{\"text\": \"a\", \"z\": ");
    memset(deep + strlen(deep), '[', 100);
    bad(deep, GEODEC_LIMIT, "my.jsonl:1", "deep");
    geodec_documents d;
    cr_assert_eq(read_jsonl("{\"text\": \" \"}\n{\"turns\": []}\n", GEODEC_SEPARATOR_AUTO, &d, NULL), GEODEC_FORMAT,
                 "nothing but empty records");
}

Test(jsonl, long_lines_are_a_limit)
{
    const size_t n = GEODEC_JSONL_LINE + 100;
    geodec_err err = {0};
    geodec_documents d;
    char line[512], *text = geodec_mem_new((int64_t)n + 64, 1);
    memset(text, 'a', n);
    memcpy(text, "{\"text\": \"", 10);
    memcpy(text + n, "\"}", 3);
    const geodec_documents_options o = {.separator = GEODEC_SEPARATOR_JSONL};
    cr_assert_eq(geodec_documents_read("my.jsonl", text, n + 2, &o, &d, &err), GEODEC_LIMIT);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "my.jsonl:1"), "%s", line);
    memmove(text + 1000, text + n, 3);
    test_ok(geodec_documents_read("my.jsonl", text, 1002, &o, &d, &err), &err);
    cr_assert_eq(d.bytes, 990);
    geodec_documents_free(&d);
    geodec_mem_free(text);
}

Test(jsonl, spec_bench)
{
    const char *path = test_shared("text/spec_bench-a.jsonl");
    geodec_err err = {0};
    geodec_documents d;
    if (!path) return;
    FILE *f = fopen(path, "rb");
    char *text = geodec_mem_new(1 << 20, 1);
    const size_t n = fread(text, 1, 1 << 20, f);
    (void)fclose(f);
    const geodec_documents_options o = {0};
    test_ok(geodec_documents_read(path, text, n, &o, &d, &err), &err);
    cr_assert_eq(d.rule, GEODEC_SEPARATOR_JSONL);
    cr_assert_eq(d.n, 320, "a document for each of the file's 320 lines");
    expect_message(&d, 0, 1, GEODEC_CHAT_USER,
                   "Rewrite your previous response. Start every sentence with the letter A.");
    geodec_documents_free(&d);
    geodec_mem_free(text);
}
