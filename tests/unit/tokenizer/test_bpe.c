#include "base/mem.h"
#include "base/rng.h"
#include "support/support.h"
#include "tokenizer/tokenizer_internal.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- vocabularies ----------------------------------------------------------------------------------------------- */

enum { MAX_VOCAB = 700, MAX_MERGES = 300, PIECE = 48 };
typedef struct vocab {
    char text[MAX_VOCAB][PIECE];
    const char *at[MAX_VOCAB];
    size_t len[MAX_VOCAB];
    float score[MAX_VOCAB];
    int32_t type[MAX_VOCAB], n;
    char merge[MAX_MERGES][2 * PIECE];
    const char *merge_at[MAX_MERGES];
    size_t merge_len[MAX_MERGES];
    int64_t n_merges;
} vocab;

/* left, between, right in out; out may be left. */
static size_t join(char *out, size_t room, const char *left, const char *between, const char *right)
{
    const size_t a = strlen(left), b = strlen(between), c = strlen(right);
    cr_assert_lt(a + b + c, room);
    memmove(out, left, a);
    memcpy(out + a, between, b);
    memmove(out + a + b, right, c);
    out[a + b + c] = '\0';
    return a + b + c;
}

static int32_t add(vocab *v, const char *text, int32_t type)
{
    (void)join(v->text[v->n], PIECE, text, "", "");
    v->at[v->n] = v->text[v->n];
    v->len[v->n] = strlen(text);
    v->type[v->n] = type;
    return v->n++;
}

/* Ids 0..255 are the bytes, written in the alphabet: '!'..'~', U+00A1..AC, U+00AE..FF themselves, others from U+0100.
 */
static void start(vocab *v)
{
    memset(v, 0, sizeof *v);
    for (int b = 0, other = 0; b < 256; b++) {
        const bool shown = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
        const int c = shown ? b : 0x100 + other++;
        char text[3] = {(char)c, 0, 0};
        if (c >= 0x80) {
            text[0] = (char)(0xc0 | c >> 6);
            text[1] = (char)(0x80 | (c & 63));
        }
        add(v, text, GEODEC_TOKEN_NORMAL);
    }
}

/* The merge and, unless it is one already, the piece it makes. */
static void merge(vocab *v, const char *left, const char *right)
{
    char joined[2 * PIECE];
    v->merge_len[v->n_merges] = join(v->merge[v->n_merges], sizeof v->merge[0], left, " ", right);
    v->merge_at[v->n_merges] = v->merge[v->n_merges];
    v->n_merges++;
    (void)join(joined, sizeof joined, left, "", right);
    for (int32_t i = 0; i < v->n; i++)
        if (strcmp(v->text[i], joined) == 0) return;
    add(v, joined, GEODEC_TOKEN_NORMAL);
}

static geodec__vocabulary described(const vocab *v, const char *pre)
{
    return (geodec__vocabulary){.n = v->n,
                                .text = v->at,
                                .len = v->len,
                                .score = v->score,
                                .type = v->type,
                                .bos = -1,
                                .eos = -1,
                                .unk = -1,
                                .pre = pre,
                                .merge = v->merge_at,
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

static int64_t encode(const geodec_tokenizer *t, const char *text, size_t n, int32_t *ids)
{
    geodec_err err = {0};
    int64_t count = -1;
    test_ok(geodec_tokenizer_encode(t, text, n, false, ids, &count, &err), &err);
    return count;
}

/* Ids of a text against a list that ends with -1. */
static void expect(const geodec_tokenizer *t, const char *text, const geodec_encode_options *o, const int32_t *want)
{
    geodec_err err = {0};
    int32_t ids[256];
    int64_t count = -1;
    cr_assert_lt(strlen(text) + 3, 256);
    test_ok(geodec_tokenizer_encode_with(t, text, strlen(text), o, ids, &count, &err), &err);
    for (int64_t i = 0; i < count; i++)
        cr_assert_eq(ids[i], want[i], "'%s': id %d is %d, not %d", text, (int)i, ids[i], want[i]);
    cr_assert_eq(want[count], -1, "'%s': only %d ids", text, (int)count);
}
#define EXPECT(t, text, o, ...) expect(t, text, o, (const int32_t[]){__VA_ARGS__ __VA_OPT__(, ) - 1})
static const geodec_encode_options plain_text = {0}, parsed = {.parse_special = true};

static void check_round_trip(const geodec_tokenizer *t, const char *text, size_t n)
{
    geodec_err err = {0};
    int32_t *ids = calloc(n + 2, sizeof *ids);
    const int64_t count = encode(t, text, n, ids);
    char *back = NULL, *piece = calloc(geodec_decode_room(t), 1);
    size_t length = 0, at = 0;
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

/* ---- merging ---------------------------------------------------------------------------------------------------- */

#define G "\xc4\xa0" /* the letter of the blank */

Test(bpe, merges_by_rank_then_leftmost_and_never_across_words)
{
    vocab v;
    start(&v);
    merge(&v, "b", "c");    /* 256 bc */
    merge(&v, "a", "b");    /* 257 ab */
    merge(&v, "a", "a");    /* 258 aa */
    merge(&v, G, "a");      /* 259 _a */
    merge(&v, G "a", "bc"); /* 260 _abc */
    merge(&v, "aa", "a");   /* 261 aaa */
    geodec_tokenizer *t = make(&v, "gpt-2");
    EXPECT(t, "abc", &plain_text, 'a', 256);
    EXPECT(t, "abd", &plain_text, 257, 'd');
    EXPECT(t, "aaaa", &plain_text, 258, 258);
    EXPECT(t, "aaa", &plain_text, 261);
    EXPECT(t, " abc", &plain_text, 260);
    EXPECT(t, "a abc a", &plain_text, 'a', 260, 259);
    EXPECT(t, "  a", &plain_text, ' ', 259);
    EXPECT(t, "", &plain_text);
    geodec_tokenizer_destroy(t);
}

Test(bpe, a_word_that_is_a_token_is_taken_whole_where_the_family_does)
{
    vocab v;
    start(&v);
    merge(&v, "b", "c"); /* 256: makes "abc" unreachable by merges */
    const int32_t abc = add(&v, "abc", GEODEC_TOKEN_NORMAL);
    geodec_tokenizer *gpt = make(&v, "gpt-2"), *llama = make(&v, "llama-bpe");
    EXPECT(gpt, "abc", &plain_text, 'a', 256);
    EXPECT(llama, "abc", &plain_text, abc);
    EXPECT(llama, "abcd", &plain_text, 'a', 256, 'd');
    geodec_tokenizer_destroy(gpt);
    geodec_tokenizer_destroy(llama);
}

/* Merges that lead through a string which is no token: the rest of it is encoded byte by byte. */
Test(bpe, strings_of_merges_need_not_be_tokens)
{
    vocab v;
    start(&v);
    merge(&v, "a", "b");
    merge(&v, "ab", "c");
    (void)snprintf(v.text[256], PIECE, "zz"); /* "ab" is gone */
    v.len[256] = 2;
    geodec_tokenizer *t = make(&v, "gpt-2");
    EXPECT(t, "abc", &plain_text, 257);
    EXPECT(t, "abab", &plain_text, 'a', 'b', 'a', 'b');
    geodec_tokenizer_destroy(t);
}

/* One merge after the other, the best pair searched from the start each time. */
static int64_t plain_encode(const vocab *v, const char *text, int64_t n, int32_t *ids)
{
    char(*s)[PIECE] = calloc((size_t)n + 1, sizeof *s);
    for (int64_t i = 0; i < n; i++) s[i][0] = text[i];
    for (;;) {
        int64_t best = v->n_merges, where = -1;
        for (int64_t i = 0; i + 1 < n; i++) {
            char both[2 * PIECE];
            (void)join(both, sizeof both, s[i], " ", s[i + 1]);
            for (int64_t k = 0; k < best; k++)
                if (strcmp(both, v->merge[k]) == 0) {
                    best = k;
                    where = i;
                    break;
                }
        }
        if (where < 0) break;
        (void)join(s[where], PIECE, s[where], "", s[where + 1]);
        memmove(s + where + 1, s + where + 2, (size_t)(n - where - 2) * sizeof *s);
        n--;
    }
    for (int64_t i = 0; i < n; i++)
        for (int32_t id = 0; id < v->n; id++)
            if (strcmp(v->text[id], s[i]) == 0) ids[i] = id;
    free(s);
    return n;
}

Test(bpe, both_ways_to_merge_equal_the_plain_one)
{
    /* Random merges over {a, b, c, d}; words of 2 to 120 letters take the short and the long way. */
    geodec_rng r = geodec_rng_stream(11, geodec_rng_id("bpe test", 0));
    for (int round = 0; round < 20; round++) {
        vocab v;
        start(&v);
        for (int i = 0; i < 40; i++) {
            const int32_t base = v.n - 256, a = (int32_t)geodec_rng_below(&r, (uint64_t)(base + 4)),
                          b = (int32_t)geodec_rng_below(&r, (uint64_t)(base + 4));
            const char *left = a < 4 ? v.text['a' + a] : v.text[256 + a - 4],
                       *right = b < 4 ? v.text['a' + b] : v.text[256 + b - 4];
            bool twin = strlen(left) + strlen(right) > 12;
            char both[2 * PIECE];
            (void)join(both, sizeof both, left, " ", right);
            for (int64_t k = 0; k < v.n_merges; k++) twin = twin || strcmp(both, v.merge[k]) == 0;
            if (!twin) merge(&v, left, right);
        }
        geodec_tokenizer *t = make(&v, "gpt-2");
        for (int k = 0; k < 40; k++) {
            char text[120];
            int32_t got[122], want[122];
            const int64_t n = 2 + (int64_t)geodec_rng_below(&r, 119);
            for (int64_t i = 0; i < n; i++) text[i] = (char)('a' + (char)geodec_rng_below(&r, 4));
            const int64_t x = encode(t, text, (size_t)n, got), y = plain_encode(&v, text, n, want);
            cr_assert_eq(x, y);
            cr_assert_arr_eq(got, want, (size_t)x * sizeof *got);
        }
        geodec_tokenizer_destroy(t);
    }
}

Test(bpe, any_bytes_round_trip_and_long_words_take_no_time)
{
    vocab v;
    start(&v);
    merge(&v, "a", "a");
    merge(&v, "aa", "aa");
    merge(&v, "\xc3\x83", "\xc2\xa9"); /* the two bytes of e-acute */
    merge(&v, G, "a");
    geodec_rng r = geodec_rng_stream(12, geodec_rng_id("bpe test", 1));
    static const char *const names[] = {"gpt-2",   "llama-bpe", "smollm",   "tekken",     "deepseek-v3", "deepseek-llm",
                                        "jais-2",  "youtu",     "superbpe", "exaone-moe", "chameleon",   "tiny_aya",
                                        "kimi-k2", "afmoe",     "laguna",   "minicpm5"};
    for (size_t p = 0; p < sizeof names / sizeof *names; p++) {
        geodec_tokenizer *t = make(&v, names[p]);
        for (int round = 0; round < 200; round++) {
            char text[80];
            const size_t n = (size_t)geodec_rng_below(&r, 81);
            for (size_t i = 0; i < n; i++)
                text[i] = round % 2 ? (char)(unsigned char)geodec_rng_below(&r, 256)
                                    : "aaab 1\n'\xc3\xa9\xe2\x96\x81\xf0"[geodec_rng_below(&r, 14)];
            check_round_trip(t, text, n);
        }
        enum { LONG = 1 << 20 };
        const size_t n = p < 6 ? LONG : LONG / 8;
        char *text = malloc(LONG);
        for (int k = 0; k < 3; k++) {
            memset(text, "a 7"[k], n);
            text[n - 1] = 'x';
            check_round_trip(t, text, n);
        }
        free(text);
        geodec_tokenizer_destroy(t);
    }
}

/* ---- pre-tokenizers --------------------------------------------------------------------------------------------- */

typedef struct joined {
    char text[400];
    size_t n;
} joined;

static geodec_status put_word(void *ctx, const char *text, size_t n, geodec_err *err)
{
    (void)err;
    joined *j = ctx;
    cr_assert_lt(j->n + n + 1, sizeof j->text);
    if (j->n) j->text[j->n++] = '|';
    memcpy(j->text + j->n, text, n);
    j->n += n;
    return GEODEC_OK;
}

static void words(const char *pre, const char *text, const char *want)
{
    geodec_err err = {0};
    geodec__pretoken *p = NULL;
    joined j = {.n = 0};
    test_ok(geodec__pretoken_create(pre, &p, &err), &err);
    test_ok(geodec__pretoken_split(p, text, strlen(text), (geodec__word_sink){put_word, &j}, &err), &err);
    cr_assert_str_eq(j.text, want, "%s: '%s' became '%s'", pre, text, j.text);
    geodec__pretoken_destroy(p);
}

/* By hand, from the published expressions of each family. */
Test(bpe, words_of_each_family)
{
    words("gpt-2", "Hello  world's 1234!? x\n\n y ", "Hello| | world|'s| 1234|!?| x|\n\n| y| ");
    words("gpt-2", "I'LL don't", "I|'|LL| don|'t");
    words("smollm", "in 2024: x", "in| |2|0|2|4|:| x");
    words("starcoder", "a12", "a|1|2");
    words("llama-bpe", "Hello  world'S 1234!?\n\n  x", "Hello| | world|'S| |123|4|!?\n\n| | x");
    words("llama-bpe", "(tab)\tx  \n y", "(tab|)|\tx|  \n| y");
    words("qwen2", "12 a'll", "1|2| a|'ll");
    words("dbrx", "12345", "123|45");
    words("tekken", "HelloWorld abcDEF 12/\n", "Hello|World| abc|DEF| |1|2|/\n");
    words("gpt-4o", "HelloWorld's 1234", "Hello|World's| |123|4");
    words("falcon", "a+b 1234", "a|+|b| |123|4");
    words("default", "x == 12345", "x| |==| |123|45");
    words("deepseek-llm", "ab 12\n\xe4\xb8\x80x", "ab| |12|\n|\xe4\xb8\x80|x");
    words("deepseek-coder", "ab, 12", "ab|,| |1|2");
    words("deepseek-v3", "ab 1234 ~!\n", "ab| |123|4| |~|!\n");
    words("viking", "ab 12, c", "ab| |1|2|,| c");
    words("bailingmoe", "ab 12", "ab| |1|2");
    words("seed-coder", "ab!\n", "ab|!|\n");
    words("qwen35", "e\xcc\x81 x", "e\xcc\x81| x");
    words("qwen2", "e\xcc\x81 x", "e|\xcc\x81| x");
    words("jais-2", "a     ", "a|    | "); /* four white spaces, then up to two */
    words("jais-2", "a   b", "a|  | b");
    words("exaone-moe", "I'd say hello world 12!/\n", "I|'d| say hello world| |1|2|!/\n");
    words("exaone-moe", "a  b", "a| | b");
    words("chameleon", "<sentinel:12> IMGIMGABZ x  12,\n", "<|sentinel|:|1|2|>| |IMGIMGABZ| x|  |1|2|,|\n");
    words("tiny_aya", "It's 1234567 x1", "It's| |1|234|567| x|1");
    words("tiny_aya", "a  12", "a| | |12"); /* the number is in the first piece: the white space is not at its end */
    words("youtu", "\xec\x95\x88 a\xe4\xb8\xad\xef\xbc\x8cx12", "\xec\x95\x88| a|\xe4\xb8\xad|\xef\xbc\x8c|x|1|2");
    words("superbpe", "x12345 678", "x|12|345| |678");
    words("superbpe",
          "12\xc2\xb2"
          "3456\xc2\xb2"
          "7",
          "12\xc2\xb2"
          "3|456\xc2\xb2"
          "7"); /* only 0 to 9 count */
    words("kimi-k2", "Hi\xe4\xb8\xad's it's 1234\n", "Hi|\xe4\xb8\xad|'s| it's| |123|4|\n");
    words("afmoe", "ab 12345 \xe0\xb9\x81x", "ab| |12|345| |\xe0\xb9\x81|x");
    words("laguna", "a \nb", "a| |\n|b");
    words("minicpm5", "a  1234", "a|  |123|4");
    words("gemma4", "a b\n\n c", "a b|\n\n| c");
    /* U+00A0 and U+3000 are white space, U+200B is not; U+31350 is a letter since Unicode 15 */
    words("gpt-2",
          "a\xc2\xa0\xe3\x80\x80"
          "b\xe2\x80\x8b",
          "a|\xc2\xa0|\xe3\x80\x80|b|\xe2\x80\x8b");
    words("gpt-2", "a\xf0\xb1\x8d\x90 \xf0\xb1\x8d\x90", "a\xf0\xb1\x8d\x90| \xf0\xb1\x8d\x90");
    /* invalid UTF-8 counts as a control character and is kept */
    words("gpt-2", "a\xff\xc3 b\xed\xa0\x80", "a|\xff\xc3| b|\xed\xa0\x80");
}

Test(bpe, every_name_compiles_and_another_is_refused)
{
    geodec_err err = {0};
    geodec__pretoken *p = NULL;
    int n = 0;
    for (; geodec_pretoken_name(n); n++) {
        test_ok(geodec__pretoken_create(geodec_pretoken_name(n), &p, &err), &err);
        cr_assert_str_eq(geodec__pretoken_name(p), geodec_pretoken_name(n));
        for (int k = 0; k < n; k++) cr_assert_str_neq(geodec_pretoken_name(k), geodec_pretoken_name(n));
        geodec__pretoken_destroy(p);
    }
    cr_assert_gt(n, 60);
    cr_assert_eq(geodec__pretoken_create("roberta-bpe", &p, &err), GEODEC_UNSUPPORTED);
    char line[300];
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "'roberta-bpe'"));
}

/* ---- special tokens --------------------------------------------------------------------------------------------- */

Test(bpe, special_tokens_in_text)
{
    vocab v;
    start(&v);
    const int32_t end = add(&v, "<end>", GEODEC_TOKEN_CONTROL), ends = add(&v, "<end>s", GEODEC_TOKEN_CONTROL),
                  two = add(&v, "  ", GEODEC_TOKEN_USER), call = add(&v, "<call>", GEODEC_TOKEN_USER),
                  x = add(&v, "x", GEODEC_TOKEN_UNUSED), unk = add(&v, "<unk>", GEODEC_TOKEN_UNKNOWN);
    (void)x;
    geodec_tokenizer *t = make(&v, "gpt-2");
    EXPECT(t, "<end>", &plain_text, '<', 'e', 'n', 'd', '>');
    EXPECT(t, "a<end>b", &parsed, 'a', end, 'b');
    EXPECT(t, "<end>s<end>", &parsed, ends, end);
    EXPECT(t, "<unk><end", &parsed, unk, '<', 'e', 'n', 'd');
    EXPECT(t, "a   b", &plain_text, 'a', two, ' ', 'b');
    EXPECT(t, "<call>", &plain_text, call);
    const geodec_span span = {1, 6};
    geodec_encode_options o = {.parse_special = true, .plain = &span, .n_plain = 1};
    EXPECT(t, "a<end><end>", &o, 'a', '<', 'e', 'n', 'd', '>', end);
    EXPECT(t, "<call><end>", &o, call, end); /* the span ends where <end> begins */
    o.reserved = "said: <call>";
    o.n_reserved = 12;
    EXPECT(t, "<call><end>", &o, '<', 'c', 'a', 'l', 'l', '>', end);
    const geodec_span inner = {0, 4};
    o.plain = &inner;
    EXPECT(t, "a  b", &o, 'a', two, 'b'); /* blanks are never reserved */
    const geodec_span wrong[] = {{4, 2}, {-1, 2}, {0, 9}};
    int32_t ids[16];
    int64_t count;
    for (int i = 0; i < 3; i++) {
        o.plain = &wrong[i];
        cr_assert_eq(geodec_tokenizer_encode_with(t, "a", 1, &o, ids, &count, NULL), GEODEC_INVAL);
    }
    geodec_tokenizer_destroy(t);
}

Test(bpe, blanks_after_special_tokens_and_prefixes_before_words)
{
    static const char *const text[] = {"<unk>",
                                       "<s>",
                                       "<e>",
                                       "\xe2\x96\x81",
                                       "a",
                                       "\xe2\x96\x81"
                                       "a",
                                       "!"};
    const size_t len[] = {5, 3, 3, 3, 1, 4, 1};
    const float score[] = {0, 0, 0, -3, -2, -1, 0};
    const int32_t type[] = {2, 3, 3, 1, 1, 1, 4};
    geodec__vocabulary v = {.n = 7,
                            .text = text,
                            .len = len,
                            .score = score,
                            .type = type,
                            .bos = 1,
                            .eos = 2,
                            .unk = 0,
                            .add_bos = true,
                            .add_eos = true,
                            .add_space_prefix = true};
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    test_ok(geodec__tokenizer_create(&v, &t, &err), &err);
    const geodec_encode_options all = {.bos = true, .eos = true, .parse_special = true};
    EXPECT(t, "a<e>a <e> a", &all, 1, 5, 2, 5, 3, 2, 3, 5, 2); /* the prefix once more after each */
    EXPECT(t, "a!a", &parsed, 5, 6, 4);                        /* not after a token of one byte */
    geodec_tokenizer_destroy(t);
    v.strip_after = true;
    v.add_eos = false;
    test_ok(geodec__tokenizer_create(&v, &t, &err), &err);
    EXPECT(t, "<e> \n a<s> a", &all, 1, 2, 5, 1, 3, 5); /* <s> leaves the blanks after it */
    cr_assert_eq(geodec_tokenizer_start(t), 1);
    geodec_tokenizer_destroy(t);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static geodec_tokenizer *reopened(const geodec_tokenizer *t)
{
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    geodec_gguf *g = NULL;
    geodec_tokenizer *back = NULL;
    const char *path = test_tmp("bpe.gguf");
    test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
    test_ok(geodec_tokenizer_put(t, w, &err), &err);
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    test_ok(geodec_tokenizer_from_gguf(g, &back, &err), &err);
    geodec_gguf_close(g);
    return back;
}

Test(bpe, fingerprint_covers_merges_pre_tokenizer_and_rules)
{
    vocab v;
    start(&v);
    merge(&v, "a", "b");
    merge(&v, "b", "c");
    add(&v, "<s>", GEODEC_TOKEN_CONTROL);
    geodec_tokenizer *t[5];
    char prints[5][GEODEC_SHA256_HEX];
    t[0] = make(&v, "gpt-2");
    t[1] = make(&v, "qwen2");
    geodec__vocabulary d = described(&v, "gpt-2");
    geodec_err err = {0};
    d.bos = v.n - 1;
    d.add_bos = true;
    test_ok(geodec__tokenizer_create(&d, &t[2], &err), &err);
    const char *first = v.merge_at[0];
    v.merge_at[0] = v.merge_at[1];
    v.merge_at[1] = first;
    t[3] = make(&v, "gpt-2");
    v.n_merges = 1;
    t[4] = make(&v, "gpt-2");
    for (int i = 0; i < 5; i++) {
        (void)snprintf(prints[i], sizeof prints[i], "%s", geodec_tokenizer_fingerprint(t[i]));
        for (int k = 0; k < i; k++) cr_assert_str_neq(prints[i], prints[k]);
        geodec_tokenizer *back = reopened(t[i]);
        cr_assert_str_eq(geodec_tokenizer_fingerprint(back), prints[i]);
        cr_assert_eq(geodec_tokenizer_start(back), i == 2 ? d.bos : -1);
        geodec_tokenizer_destroy(back);
        geodec_tokenizer_destroy(t[i]);
    }
}

static geodec_status from_keys(const vocab *v, const char *model, const char *pre, const char *name, int add_bos,
                               geodec_tokenizer **out, geodec_err *err)
{
    geodec_gguf_writer *w = NULL;
    geodec_gguf *g = NULL;
    const char *path = test_tmp("keys.gguf");
    test_ok(geodec_gguf_writer_create(path, &w, err), err);
    test_ok(geodec_gguf_put_str(w, "tokenizer.ggml.model", model, err), err);
    if (pre) test_ok(geodec_gguf_put_str(w, "tokenizer.ggml.pre", pre, err), err);
    if (name) test_ok(geodec_gguf_put_str(w, "general.name", name, err), err);
    test_ok(geodec_gguf_put_str_array(w, "tokenizer.ggml.tokens", v->at, v->len, v->n, err), err);
    test_ok(geodec_gguf_put_i32_array(w, "tokenizer.ggml.token_type", v->type, v->n, err), err);
    if (v->n_merges)
        test_ok(geodec_gguf_put_str_array(w, "tokenizer.ggml.merges", v->merge_at, v->merge_len, v->n_merges, err),
                err);
    test_ok(geodec_gguf_put_u32(w, "tokenizer.ggml.bos_token_id", 256, err), err);
    if (add_bos >= 0) test_ok(geodec_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", add_bos != 0, err), err);
    test_ok(geodec_gguf_writer_commit(w, err), err);
    test_ok(geodec_gguf_open(path, &g, err), err);
    const geodec_status st = geodec_tokenizer_from_gguf(g, out, err);
    geodec_gguf_close(g);
    return st;
}

Test(bpe, rules_of_files)
{
    vocab v;
    start(&v);
    const int32_t end = add(&v, "<|im_end|>", GEODEC_TOKEN_USER), call = add(&v, "<call>", GEODEC_TOKEN_USER);
    merge(&v, "a", "b");
    const struct {
        const char *pre;
        int add_bos;
        int32_t start;
    } cases[] = {{"gpt-2", -1, -1}, {"gpt-2", 1, 256}, {"llama-bpe", -1, 256}, {"tekken", 0, -1}, {NULL, -1, -1}};
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    for (int i = 0; i < 5; i++) {
        test_ok(from_keys(&v, "gpt2", cases[i].pre, "Phi-3 mini", cases[i].add_bos, &t, &err), &err);
        cr_assert_eq(geodec_tokenizer_start(t), cases[i].start);
        /* a token that ends turns is a control token, for any type in the file */
        cr_assert(geodec_tokenizer_is_control(t, end) && geodec_tokenizer_is_end(t, end));
        cr_assert(!geodec_tokenizer_is_control(t, call) && !geodec_tokenizer_is_end(t, call));
        EXPECT(t, "<call> a<|im_end|>\n", &parsed, call, 'a', end); /* phi-3 by name: blanks go with the token */
        geodec_tokenizer_destroy(t);
        t = NULL;
    }
    char line[400];
    cr_assert_eq(from_keys(&v, "gpt2", "no-such", NULL, -1, &t, &err), GEODEC_UNSUPPORTED);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "'no-such'"));
    cr_assert_eq(from_keys(&v, "t5", NULL, NULL, -1, &t, &err), GEODEC_UNSUPPORTED);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "'t5'"));
    v.n_merges = 0;
    cr_assert_eq(from_keys(&v, "gpt2", "gpt-2", NULL, -1, &t, &err), GEODEC_FORMAT);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "tokenizer.ggml.merges"));
    cr_assert_null(t);
}

/* Which of the tokens end a turn, as a row of 0 and 1. */
static void ends(const char *const *text, int32_t n, const char *want)
{
    vocab v;
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    char got[16] = "";
    start(&v);
    const int32_t first = v.n;
    for (int32_t i = 0; i < n; i++) add(&v, text[i], i % 2 ? GEODEC_TOKEN_USER : GEODEC_TOKEN_NORMAL);
    merge(&v, "a", "b");
    test_ok(from_keys(&v, "gpt2", "gpt-2", NULL, -1, &t, &err), &err);
    for (int32_t i = 0; i < n; i++) got[i] = geodec_tokenizer_is_end(t, first + i) ? '1' : '0';
    cr_assert_str_eq(got, want, "%s: %s", text[0], got);
    geodec_tokenizer_destroy(t);
}

/* Tokens of chat formats that end a turn, of any type in the file, and the two that do not beside certain others. */
Test(bpe, ends_of_turns)
{
    static const char *const harmony[] = {"<|call|>", "<|end|>", "<|return|>", "<|start|>"},
                             *const solar[] = {"<|calls|>", "<|end|>", "<|flush|>"},
                             *const phi[] = {"<|end|>", "<|user|>"},
                             *const gemma[] = {"<turn|>", "</s>", "<|tool_response>", "<|turn>", "<eos>"},
                             *const others[] = {"[e~[", "[EOS]", "[EOT]", "</s>", "<end_of_utterance>", "_<EOT>"};
    ends(harmony, 4, "1010");
    ends(solar, 3, "101");
    ends(phi, 2, "10");
    ends(gemma, 5, "10101");
    ends(others, 6, "111111");
}

Test(bpe, refuses_merges_that_are_none)
{
    static const char *const bad[] = {"", "ab", "a ", " ab", "a"};
    for (int i = 0; i < 5; i++) {
        vocab v;
        start(&v);
        merge(&v, "a", "b");
        v.merge_at[0] = bad[i];
        v.merge_len[0] = strlen(bad[i]);
        const geodec__vocabulary d = described(&v, "gpt-2");
        geodec_tokenizer *t = NULL;
        cr_assert_eq(geodec__tokenizer_create(&d, &t, NULL), GEODEC_FORMAT, "'%s'", bad[i]);
    }
    /* a byte without a token gives none */
    vocab v;
    memset(&v, 0, sizeof v);
    add(&v, "a", GEODEC_TOKEN_NORMAL);
    geodec_tokenizer *t = make(&v, "gpt-2");
    EXPECT(t, "aba", &plain_text, 0, 0);
    geodec_tokenizer_destroy(t);
}

Test(bpe, allocation_failures_are_clean)
{
    vocab v;
    start(&v);
    merge(&v, "a", "b");
    merge(&v, "ab", "c");
    v.len[257] = 1; /* "abc" is no token: a string of merges */
    (void)snprintf(v.text[257], PIECE, "\x01");
    add(&v, "<s>", GEODEC_TOKEN_CONTROL);
    const geodec__vocabulary d = described(&v, "llama-bpe");
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    int64_t k = 1, count;
    for (;; k++) {
        geodec_mem_fail_after(k);
        const geodec_status st = geodec__tokenizer_create(&d, &t, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) break;
        cr_assert_eq(st, GEODEC_NOMEM, "allocation %d: %s", (int)k, geodec_status_name(st));
    }
    cr_assert_gt(k, 10);
    const char *text = "ab<s>\xff aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    int32_t ids[100];
    for (k = 1;; k++) {
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_tokenizer_encode_with(t, text, strlen(text), &parsed, ids, &count, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) break;
        cr_assert_eq(st, GEODEC_NOMEM);
    }
    cr_assert_gt(k, 5);
    geodec_tokenizer_destroy(t);
}
