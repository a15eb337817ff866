/* Vocabularies of text with marks for spaces: merges by rank (gemma4, sarvam-moe), and the largest sum of scores of
 * plain text (plamo2). */
#include "base/mem.h"
#include "base/rng.h"
#include "gguf/gguf.h"
#include "support/support.h"
#include "tokenizer/tokenizer_internal.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\xe2\x96\x81"

enum { MAX_VOCAB = 320, MAX_MERGES = 32, PIECE = 24 };
typedef struct vocab {
    char byte[256][8];
    const char *text[MAX_VOCAB];
    size_t len[MAX_VOCAB];
    float score[MAX_VOCAB];
    int32_t type[MAX_VOCAB], n;
    const char *merge[MAX_MERGES];
    size_t merge_len[MAX_MERGES];
    int64_t n_merges;
} vocab;

static int32_t add(vocab *v, const char *text, float score, int32_t type)
{
    v->text[v->n] = text;
    v->len[v->n] = strlen(text);
    v->score[v->n] = score;
    v->type[v->n] = type;
    return v->n++;
}

/* Ids 0..255 are the bytes. */
static void start(vocab *v)
{
    memset(v, 0, sizeof *v);
    for (int b = 0; b < 256; b++) {
        (void)snprintf(v->byte[b], sizeof v->byte[b], "<0x%02X>", (unsigned)b);
        add(v, v->byte[b], 0, GEODEC_TOKEN_BYTE);
    }
}

static void merge(vocab *v, const char *pair)
{
    v->merge[v->n_merges] = pair;
    v->merge_len[v->n_merges++] = strlen(pair);
}

static geodec__vocabulary described(const vocab *v, const char *pre)
{
    return (geodec__vocabulary){.n = v->n,
                                .text = v->text,
                                .len = v->len,
                                .score = v->score,
                                .type = v->type,
                                .bos = -1,
                                .eos = -1,
                                .unk = -1,
                                .pre = pre,
                                .unigram = !pre,
                                .merge = v->merge,
                                .merge_len = v->merge_len,
                                .n_merges = v->n_merges};
}

static geodec_tokenizer *make(const vocab *v, const char *pre)
{
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    const geodec__vocabulary d = described(v, pre);
    test_ok(geodec__tokenizer_create(&d, &t, &err), &err);
    return t;
}

static void expect(const geodec_tokenizer *t, const char *text, bool parse, const int32_t *want)
{
    geodec_err err = {0};
    int32_t ids[256];
    int64_t count = -1;
    const geodec_encode_options o = {.parse_special = parse};
    cr_assert_lt(strlen(text) + 3, 256);
    test_ok(geodec_tokenizer_encode_with(t, text, strlen(text), &o, ids, &count, &err), &err);
    for (int64_t i = 0; i < count; i++)
        cr_assert_eq(ids[i], want[i], "'%s': id %d is %d, not %d", text, (int)i, ids[i], want[i]);
    cr_assert_eq(want[count], -1, "'%s': only %d ids", text, (int)count);
}
#define EXPECT(t, text, ...) expect(t, text, false, (const int32_t[]){__VA_ARGS__ __VA_OPT__(, ) - 1})
#define EXPECT_PARSED(t, text, ...) expect(t, text, true, (const int32_t[]){__VA_ARGS__ __VA_OPT__(, ) - 1})

static void check_round_trip(const geodec_tokenizer *t, const char *text, size_t n)
{
    geodec_err err = {0};
    int32_t *ids = calloc(n + 2, sizeof *ids);
    int64_t count = -1;
    char *back = NULL, *piece = calloc(geodec_decode_room(t), 1);
    size_t length = 0, at = 0;
    test_ok(geodec_tokenizer_encode(t, text, n, false, ids, &count, &err), &err);
    cr_assert_leq(count, (int64_t)n);
    test_ok(geodec_tokenizer_decode(t, ids, count, &back, &length, &err), &err);
    cr_assert(length == n && memcmp(back, text, n) == 0);
    geodec_detok d;
    geodec_decode_init(&d, t);
    for (int64_t i = 0; i <= count; i++) {
        const size_t k = i < count ? geodec_decode_feed(&d, ids[i], piece) : geodec_decode_flush(&d, piece);
        cr_assert(at + k <= n && memcmp(piece, text + at, k) == 0);
        at += k;
    }
    cr_assert_eq(at, n);
    geodec_mem_free(back);
    free(piece);
    free(ids);
}

/* Bytes of valid and invalid UTF-8, spaces and line ends in any order come back; so do many of one. */
static void check_any_bytes(const geodec_tokenizer *t)
{
    enum { LONG = 1 << 18 };
    geodec_rng r = geodec_rng_stream(21, geodec_rng_id("marked test", 0));
    for (int round = 0; round < 400; round++) {
        char text[80];
        const size_t n = (size_t)geodec_rng_below(&r, 81);
        for (size_t i = 0; i < n; i++)
            text[i] = round % 2 ? (char)(unsigned char)geodec_rng_below(&r, 256)
                                : "aab  \n\n\xc3\xa9\xf0\x96"[geodec_rng_below(&r, 11)];
        /* neither a mark, which stands for a space, nor a byte order mark at the start comes back */
        if (!memmem(text, n, MARK, 3) && !memmem(text, n, "\xef\xbb\xbf", 3)) check_round_trip(t, text, n);
    }
    char *text = malloc(LONG);
    for (int k = 0; k < 3; k++) {
        memset(text, "a \n"[k], LONG);
        check_round_trip(t, text, LONG);
    }
    free(text);
}

/* ---- merges by rank --------------------------------------------------------------------------------------------- */

static int32_t mark, a, b, mark_a, ab, line, lines, accent, end;

static void merged(vocab *v)
{
    start(v);
    mark = add(v, MARK, 0, GEODEC_TOKEN_NORMAL);
    a = add(v, "a", 0, GEODEC_TOKEN_NORMAL);
    b = add(v, "b", 0, GEODEC_TOKEN_NORMAL);
    mark_a = add(v, MARK "a", 0, GEODEC_TOKEN_NORMAL);
    ab = add(v, "ab", 0, GEODEC_TOKEN_NORMAL);
    line = add(v, "\n", 0, GEODEC_TOKEN_NORMAL);
    lines = add(v, "\n\n\n", 0, GEODEC_TOKEN_NORMAL);
    accent = add(v, "\xc3\xa9", 0, GEODEC_TOKEN_NORMAL);
    end = add(v, "<turn|>", 0, GEODEC_TOKEN_CONTROL);
    merge(v, "a b");
    merge(v, MARK " a");
    merge(v, "\xe4\xb8\x80 a"); /* the result is no token */
}

Test(marked, merges_go_over_whole_lines_and_bytes_fill_gaps)
{
    vocab v;
    merged(&v);
    geodec_tokenizer *t = make(&v, "gemma4"), *other = make(&v, "sarvam-moe");
    EXPECT(t, "ab", ab);
    EXPECT(t, " a", mark_a);
    EXPECT(t, " ab", mark, ab); /* by rank, from any place of the line */
    EXPECT(t, "b a", b, mark_a);
    EXPECT(t, "");
    EXPECT(t, "\xc3\xa9x", accent, 'x');
    EXPECT(t, "\xe4\xb8\x80", 0xe4, 0xb8, 0x80);
    EXPECT(t,
           "\xe4\xb8\x80"
           "ab",
           0xe4, 0xb8, 0x80, ab); /* a and b have merged before */
    EXPECT(t,
           "\xe4\xb8\x80"
           "aa",
           0xe4, 0xb8, 0x80, 'a', a);
    EXPECT(t, "\xff\xc3", 0xff, 0xc3);
    EXPECT(t, "a\n\n\nb", a, lines, b); /* line ends in a row that are a token */
    EXPECT(t, "\n\n", line, line);
    EXPECT(other, "a\n\n\nb", a, line, line, line, b); /* that rule is gemma's */
    EXPECT(t, "a<turn|>", a, '<', 't', 'u', 'r', 'n', '|', '>');
    EXPECT_PARSED(t, " a<turn|> a", mark_a, end, mark_a);
    cr_assert(geodec_tokenizer_is_end(t, end) && !geodec_tokenizer_is_end(t, a));
    check_any_bytes(t);
    geodec_tokenizer_destroy(t);
    geodec_tokenizer_destroy(other);
}

/* Byte tokens that the file calls ordinary, and none at all: then those bytes are left out. */
Test(marked, byte_tokens_by_name)
{
    static const char *const text[] = {"a", "<0x62>"};
    const size_t len[] = {1, 6};
    const float score[2] = {0};
    const int32_t type[] = {GEODEC_TOKEN_NORMAL, GEODEC_TOKEN_NORMAL};
    const geodec__vocabulary v = {.n = 2,
                                  .text = text,
                                  .len = len,
                                  .score = score,
                                  .type = type,
                                  .bos = -1,
                                  .eos = -1,
                                  .unk = -1,
                                  .pre = "gemma4"};
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    test_ok(geodec__tokenizer_create(&v, &t, &err), &err);
    EXPECT(t, "abc a", 0, 1, 0);
    geodec_tokenizer_destroy(t);
}

/* ---- the largest sum of scores ------------------------------------------------------------------------------------
 */

Test(marked, largest_sum_of_scores)
{
    vocab v;
    start(&v);
    const int32_t x = add(&v, "x", -2, GEODEC_TOKEN_NORMAL), y = add(&v, "y", -2, GEODEC_TOKEN_NORMAL),
                  xy = add(&v, "xy", -4, GEODEC_TOKEN_NORMAL), yy = add(&v, "yy", -3.5f, GEODEC_TOKEN_NORMAL),
                  two = add(&v, "\xe4\xb8\x80 ", -1, GEODEC_TOKEN_NORMAL),
                  stop = add(&v, "<|plamo:op|>", 0, GEODEC_TOKEN_CONTROL);
    add(&v, "xyy", -6, GEODEC_TOKEN_NORMAL);
    add(&v, "z", -2000, GEODEC_TOKEN_NORMAL);
    add(&v, "w", -1500, GEODEC_TOKEN_NORMAL);
    geodec_tokenizer *t = make(&v, NULL);
    EXPECT(t, "xy", xy);       /* of equal sums the longest first */
    EXPECT(t, "xyy", x, yy);   /* -5.5, and not -6 */
    EXPECT(t, "yyy", yy, y);   /* again the longest first */
    EXPECT(t, "xyyy", xy, yy); /* -7.5: x, yy, y; xy, yy; xyy is -8 with y */
    EXPECT(t, "\xe4\xb8\x80 \xe4\xb8\x80", two, 0xe4, 0xb8, 0x80);
    EXPECT(t, "z", 'z'); /* a score of -2000 is never used, and one below -1000 is dearer than the byte */
    EXPECT(t, "w", 'w');
    EXPECT(t, "\xef\xbb\xbfx", x); /* a byte order mark is no text */
    EXPECT(t, "<|plamo:op|>", '<', '|', 'p', 'l', 'a', 'm', 'o', ':', 'o', 'p', '|', '>');
    EXPECT_PARSED(t, "x<|plamo:op|>", x, stop);
    check_any_bytes(t);
    geodec_tokenizer_destroy(t);
}

/* Every division of a short text. */
static double best_sum(const vocab *v, const char *text)
{
    double best = -1e30;
    if (*text == '\0') return 0;
    for (int32_t id = 256; id < v->n; id++) {
        if (strncmp(text, v->text[id], v->len[id]) != 0) continue;
        const double s = (double)v->score[id] + best_sum(v, text + v->len[id]);
        if (s > best) best = s;
    }
    const double bytes = -1000 + best_sum(v, text + 1);
    return bytes > best ? bytes : best;
}

Test(marked, the_sum_is_that_of_the_best_division)
{
    geodec_rng r = geodec_rng_stream(22, geodec_rng_id("marked test", 1));
    for (int round = 0; round < 40; round++) {
        static char pieces[20][8];
        vocab v;
        start(&v);
        for (int i = 0; i < 20; i++) {
            const size_t n = 1 + (size_t)geodec_rng_below(&r, 4);
            for (size_t k = 0; k < n; k++) pieces[i][k] = (char)('a' + (char)geodec_rng_below(&r, 3));
            pieces[i][n] = '\0';
            bool twin = false;
            for (int k = 0; k < i; k++) twin = twin || strcmp(pieces[k], pieces[i]) == 0;
            /* eighths: whole units of 1e-4 */
            if (!twin) add(&v, pieces[i], -(float)geodec_rng_below(&r, 80) / 8, GEODEC_TOKEN_NORMAL);
        }
        geodec_tokenizer *t = make(&v, NULL);
        for (int k = 0; k < 20; k++) {
            char text[13];
            int32_t ids[16];
            int64_t count;
            geodec_err err = {0};
            const size_t n = (size_t)geodec_rng_below(&r, 13);
            for (size_t i = 0; i < n; i++) text[i] = (char)('a' + (char)geodec_rng_below(&r, 3));
            text[n] = '\0';
            test_ok(geodec_tokenizer_encode(t, text, n, false, ids, &count, &err), &err);
            double sum = 0;
            for (int64_t i = 0; i < count; i++) sum += ids[i] < 256 ? -1000 : (double)v.score[ids[i]];
            cr_assert_float_eq(sum, best_sum(&v, text), 1e-9, "'%s'", text); /* sums of eighths are exact */
        }
        geodec_tokenizer_destroy(t);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* A file with the keys; add_bos and n_scores: left out if negative. */
static geodec_status from_keys(const vocab *v, const char *model, const char *pre, int add_bos, int64_t n_scores,
                               geodec_tokenizer **out, geodec_err *err)
{
    geodec_gguf_writer *w = NULL;
    geodec_gguf *g = NULL;
    const char *path = test_tmp("marked.gguf");
    test_ok(geodec_gguf_writer_create(path, &w, err), err);
    test_ok(geodec_gguf_put_str(w, "tokenizer.ggml.model", model, err), err);
    if (pre) test_ok(geodec_gguf_put_str(w, "tokenizer.ggml.pre", pre, err), err);
    test_ok(geodec_gguf_put_str_array(w, "tokenizer.ggml.tokens", v->text, v->len, v->n, err), err);
    test_ok(geodec_gguf_put_i32_array(w, "tokenizer.ggml.token_type", v->type, v->n, err), err);
    if (n_scores >= 0) test_ok(geodec_gguf_put_f32_array(w, "tokenizer.ggml.scores", v->score, n_scores, err), err);
    if (v->n_merges)
        test_ok(geodec_gguf_put_str_array(w, "tokenizer.ggml.merges", v->merge, v->merge_len, v->n_merges, err), err);
    test_ok(geodec_gguf_put_u32(w, "tokenizer.ggml.bos_token_id", 65, err), err);
    test_ok(geodec_gguf_put_u32(w, "tokenizer.ggml.eot_token_id", 66, err), err);
    test_ok(geodec_gguf_put_u32(w, "tokenizer.ggml.eom_token_id", UINT32_MAX, err), err);
    if (add_bos >= 0) test_ok(geodec_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", add_bos != 0, err), err);
    test_ok(geodec_gguf_writer_commit(w, err), err);
    test_ok(geodec_gguf_open(path, &g, err), err);
    const geodec_status st = geodec_tokenizer_from_gguf(g, out, err);
    geodec_gguf_close(g);
    return st;
}

static void check_rewritten(const geodec_tokenizer *t, const char *model)
{
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    geodec_gguf *g = NULL;
    geodec_tokenizer *back = NULL;
    const char *path = test_tmp("rewritten.gguf"), *written;
    test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
    test_ok(geodec_tokenizer_put(t, w, &err), &err);
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    test_ok(geodec_gguf_get_str(g, "tokenizer.ggml.model", &written, &err), &err);
    cr_assert_str_eq(written, model);
    test_ok(geodec_tokenizer_from_gguf(g, &back, &err), &err);
    cr_assert_str_eq(geodec_tokenizer_fingerprint(back), geodec_tokenizer_fingerprint(t));
    cr_assert(geodec_tokenizer_is_end(back, 66) && !geodec_tokenizer_is_end(back, 67));
    geodec_gguf_close(g);
    geodec_tokenizer_destroy(back);
}

Test(marked, files_of_each_model)
{
    vocab v;
    merged(&v);
    const struct {
        const char *model, *pre;
        int add_bos;
        int32_t start;
    } cases[] = {{"gemma4", NULL, -1, 65},       {"gemma4", "default", 0, 65}, /* the key is wrong in early files */
                 {"gpt2", "sarvam-moe", -1, -1}, {"gpt2", "sarvam-moe", 1, 65},
                 {"plamo2", "default", -1, -1},  {"plamo2", NULL, 1, 65}};
    for (int i = 0; i < 6; i++) {
        geodec_err err = {0};
        geodec_tokenizer *t = NULL;
        test_ok(from_keys(&v, cases[i].model, cases[i].pre, cases[i].add_bos, v.n, &t, &err), &err);
        cr_assert_eq(geodec_tokenizer_start(t), cases[i].start, "%s", cases[i].model);
        check_rewritten(t, cases[i].model);
        geodec_tokenizer_destroy(t);
    }
}

static void refused(const vocab *v, const char *model, int64_t n_scores, const char *word)
{
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    char text[400];
    cr_assert_eq(from_keys(v, model, NULL, -1, n_scores, &t, &err), GEODEC_FORMAT);
    const char *what = geodec_err_line(&err, text, sizeof text);
    cr_assert(strstr(what, word) && strstr(what, "marked.gguf"), "'%s'", what);
    cr_assert_null(t);
}

Test(marked, damaged_files_are_refused)
{
    vocab v;
    merged(&v);
    refused(&v, "plamo2", -1, "tokenizer.ggml.scores");
    refused(&v, "plamo2", v.n - 1, "tokenizer.ggml.scores");
    v.type[7] = GEODEC_TOKEN_UNUSED;
    refused(&v, "plamo2", v.n, "<0x07>");
    v.type[7] = GEODEC_TOKEN_BYTE;
    v.n_merges = 0;
    refused(&v, "gemma4", v.n, "tokenizer.ggml.merges");
}

Test(marked, allocation_failures_are_clean)
{
    vocab v;
    merged(&v);
    for (int form = 0; form < 2; form++) {
        const geodec__vocabulary d = described(&v, form ? "gemma4" : NULL);
        geodec_err err = {0};
        geodec_tokenizer *t = NULL;
        int64_t k = 1, count;
        int32_t ids[100];
        for (;; k++) {
            geodec_mem_fail_after(k);
            const geodec_status st = geodec__tokenizer_create(&d, &t, &err);
            geodec_mem_fail_after(0);
            if (st == GEODEC_OK) break;
            cr_assert_eq(st, GEODEC_NOMEM, "allocation %d: %s", (int)k, geodec_status_name(st));
        }
        cr_assert_gt(k, 10);
        const char *text = "ab \n a a a a a a a a a a a a a a a a a a a a a a a a a";
        for (k = 1;; k++) {
            geodec_mem_fail_after(k);
            const geodec_status st = geodec_tokenizer_encode(t, text, strlen(text), false, ids, &count, &err);
            geodec_mem_fail_after(0);
            if (st == GEODEC_OK) break;
            cr_assert_eq(st, GEODEC_NOMEM);
        }
        cr_assert_gt(k, 1);
        geodec_tokenizer_destroy(t);
    }
}
