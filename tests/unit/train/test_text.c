/* Documents, training windows and evaluation windows. */
#include "base/mem.h"
#include "fixture.h"
#include "train/text.h"

static geodec_text *encode(const char *text, geodec_documents_separator separator, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_tokenizer *t = fixture_tokenizer();
    geodec_text *x = NULL;
    test_ok(geodec_text_encode("text", text, strlen(text), separator, t, pool, NULL, &x, &err), &err);
    geodec_tokenizer_destroy(t);
    return x;
}

Test(train_text, documents_by_mark)
{
    /* a document: <s> mark letters </s> */
    const int32_t expected[] = {1, 3, 4, 5, 2, 1, 3, 6, 2};
    geodec_text *x = encode("ab\n\n<|endoftext|>\n\n\n<|endoftext|>\nc\n", GEODEC_SEPARATOR_MARK, NULL);
    cr_assert_eq(x->n_docs, 2);
    cr_assert_eq(x->n_tokens, 9);
    cr_assert_eq(memcmp(x->token, expected, sizeof expected), 0);
    cr_assert_eq(x->doc_start[1], 5);
    cr_assert_eq(x->n_bytes, 3, "separators and white space do not count: %lld", (long long)x->n_bytes);
    cr_assert_eq(geodec_text_document(x, 4), 0);
    cr_assert_eq(geodec_text_document(x, 5), 1);
    geodec_text_destroy(x);
}

Test(train_text, documents_by_blank_line_and_none)
{
    geodec_text *x = encode("ab\r\n\r\nc\nd\n\n\n", GEODEC_SEPARATOR_BLANK, NULL);
    cr_assert_eq(x->n_docs, 2);
    cr_assert_eq(x->n_bytes, 5);
    geodec_text_destroy(x);
    x = encode("ab\n\nc", GEODEC_SEPARATOR_NONE, NULL);
    cr_assert_eq(x->n_docs, 1);
    cr_assert_neq(x->token[x->n_tokens - 1], 2, "an endless text has no end token");
    geodec_text_destroy(x);
}

Test(train_text, empty_text_is_refused)
{
    geodec_err err = {0};
    geodec_tokenizer *t = fixture_tokenizer();
    geodec_text *x = NULL;
    cr_assert_eq(geodec_text_encode("text", " \n\n", 3, GEODEC_SEPARATOR_MARK, t, NULL, NULL, &x, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_text_encode("text", "", 0, GEODEC_SEPARATOR_NONE, t, NULL, NULL, &x, &err), GEODEC_FORMAT);
    cr_assert_null(x);
    geodec_tokenizer_destroy(t);
}

/* 9000 documents: several rounds of several tasks. */
Test(train_text, threads_do_not_matter)
{
    enum { DOCS = 9000 };
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    char *text = geodec_mem_new(DOCS * 8 + 1, 1), *at = text;
    for (int i = 0; i < DOCS; i++) at += sprintf(at, "%c%c%s\n\n", 'a' + i % 8, 'a' + i / 8 % 8, i % 3 ? "e" : "");
    geodec_text *one = encode(text, GEODEC_SEPARATOR_BLANK, NULL);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    geodec_text *three = encode(text, GEODEC_SEPARATOR_BLANK, pool);
    geodec_pool_destroy(pool);
    cr_assert_eq(one->n_docs, DOCS);
    cr_assert_eq(one->n_tokens, three->n_tokens);
    cr_assert_eq(memcmp(one->token, three->token, (size_t)one->n_tokens * sizeof *one->token), 0);
    cr_assert_eq(memcmp(one->doc_start, three->doc_start, (DOCS + 1) * sizeof *one->doc_start), 0);
    geodec_text_destroy(one);
    geodec_text_destroy(three);
    geodec_mem_free(text);
}

Test(train_text, training_windows)
{
    enum { LEN = 8 };
    int32_t token[LEN], target[LEN], again[LEN];
    geodec_text *x = encode("abc\n\nd\n\nabcdefghabcdefgh", GEODEC_SEPARATOR_BLANK, NULL);
    bool long_middle = false;
    for (int number = 0; number < 200; number++) {
        geodec_text_sample(x, 5, 7, number, LEN, token, target);
        cr_assert_eq(memcmp(token + 1, target, (LEN - 1) * sizeof *token), 0, "targets are the next tokens");
        if (token[0] != 1) long_middle = true; /* only a document that does not fit may start inside */
        cr_assert(token[0] == 1 || token[0] == 2 || token[0] >= 3);
        geodec_text_sample(x, 5, 7, number, LEN, again, target);
        cr_assert_eq(memcmp(token, again, sizeof token), 0);
    }
    cr_assert(long_middle);
    geodec_text_destroy(x);
    /* shorter than the window: a ring */
    x = encode("a", GEODEC_SEPARATOR_MARK, NULL);
    geodec_text_sample(x, 1, 0, 0, LEN, token, target);
    const int32_t ring[LEN] = {1, 3, 4, 2, 1, 3, 4, 2};
    cr_assert_eq(memcmp(token, ring, sizeof ring), 0);
    geodec_text_destroy(x);
}

/* Every token but BOS is scored once, with its whole document before it, or half a window of a long one. */
Test(train_text, evaluation_windows_cover_everything_once)
{
    for (int64_t len = 3; len <= 24; len++) {
        geodec_text *x =
            encode("abc\n\nd\n\nefghabcdefghabcdefgh\n\nab\n\nabcdefgabcdefg\n\nc", GEODEC_SEPARATOR_BLANK, NULL);
        int32_t token[24], target[24];
        int64_t cursor = 0, next = 0, total = 0, n;
        while ((n = geodec_text_next_window(x, &cursor, len, token, target)) > 0) {
            int64_t seen = 0;
            for (int64_t i = 0; i < len; i++) {
                if (target[i] < 0) continue;
                do next++; /* the next token to be scored, BOS passed over */
                while (x->token[next] == 1);
                cr_assert_eq(target[i], x->token[next]);
                const int64_t start = x->doc_start[geodec_text_document(x, next)], need = next - start;
                const int64_t have = need < len / 2 ? need : len / 2;
                cr_assert_geq(i + 1, have, "len %lld token %lld", (long long)len, (long long)next);
                for (int64_t k = 0; k < have; k++) cr_assert_eq(token[i - k], x->token[next - 1 - k]);
                seen++;
            }
            cr_assert_eq(seen, n);
            total += n;
        }
        cr_assert_eq(total, x->n_tokens - x->n_docs);
        geodec_text_destroy(x);
    }
}
