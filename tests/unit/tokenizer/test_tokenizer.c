#include "base/mem.h"
#include "base/rng.h"
#include "gguf/gguf.h"
#include "io/file.h"
#include "support/support.h"
#include "tokenizer/tokenizer.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- helpers ---------------------------------------------------------------------------------------------------- */

#define MARK "\xe2\x96\x81"

static geodec_tokenizer *open_shared(const char *name)
{
    const char *path = test_shared(name);
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_tokenizer *t = NULL;
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    test_ok(geodec_tokenizer_from_gguf(g, &t, &err), &err);
    geodec_gguf_close(g); /* the tokenizer keeps copies */
    return t;
}

/* unk, bos, eos, the 256 bytes, then the given pieces with falling scores. */
enum { MAX_VOCAB = 400 };
typedef struct vocab {
    char byte_text[256][8];
    const char *text[MAX_VOCAB];
    size_t len[MAX_VOCAB];
    float score[MAX_VOCAB];
    int32_t type[MAX_VOCAB];
    int32_t n;
} vocab;

static void add(vocab *v, const char *text, size_t len, float score, int32_t type)
{
    v->text[v->n] = text;
    v->len[v->n] = len;
    v->score[v->n] = score;
    v->type[v->n++] = type;
}

static void start(vocab *v)
{
    memset(v, 0, sizeof *v);
    add(v, "<unk>", 5, 0, GEODEC_TOKEN_UNKNOWN);
    add(v, "<s>", 3, 0, GEODEC_TOKEN_CONTROL);
    add(v, "</s>", 4, 0, GEODEC_TOKEN_CONTROL);
    for (int b = 0; b < 256; b++) {
        (void)snprintf(v->byte_text[b], sizeof v->byte_text[b], "<0x%02X>", (unsigned)b);
        add(v, v->byte_text[b], 6, 0, GEODEC_TOKEN_BYTE);
    }
}

static geodec_status finish(const vocab *v, geodec_tokenizer **t, geodec_err *err)
{
    return geodec_tokenizer_create(v->n, v->text, v->len, v->score, v->type, 1, 2, 0, t, err);
}

static geodec_tokenizer *small(void)
{
    vocab v;
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    start(&v);
    static const char *const pieces[] = {MARK, "a", "b", "ab", MARK "a", MARK "ab", "aa", "\xc3\xa9", "bb", MARK MARK};
    for (int i = 0; i < 10; i++) add(&v, pieces[i], strlen(pieces[i]), -(float)i, GEODEC_TOKEN_NORMAL);
    test_ok(finish(&v, &t, &err), &err);
    return t;
}

static int64_t encode(const geodec_tokenizer *t, const char *text, size_t n, bool bos, int32_t *ids)
{
    geodec_err err = {0};
    int64_t count = -1;
    test_ok(geodec_tokenizer_encode(t, text, n, bos, ids, &count, &err), &err);
    cr_assert_leq(count, (int64_t)n + 2);
    return count;
}

/* Streams ids one by one; asserts that the pieces joined are the whole decoding. */
static void check_stream(const geodec_tokenizer *t, const int32_t *ids, int64_t n, const char *text, size_t length)
{
    char *piece = calloc(geodec_decode_room(t), 1), *all = calloc(length + geodec_decode_room(t), 1);
    size_t at = 0;
    geodec_detok d;
    geodec_decode_init(&d, t);
    const bool valid = geodec_file_utf8_check(text, length) < 0;
    for (int64_t i = 0; i <= n; i++) {
        const size_t k = i < n ? geodec_decode_feed(&d, ids[i], piece) : geodec_decode_flush(&d, piece);
        cr_assert_leq(at + k, length);
        if (valid) cr_assert_lt(geodec_file_utf8_check(piece, k), 0, "a split character was given out");
        memcpy(all + at, piece, k);
        at += k;
    }
    cr_assert_eq(at, length);
    cr_assert(memcmp(all, text, length) == 0);
    free(piece);
    free(all);
}

/* ---- goldens ---------------------------------------------------------------------------------------------------- */

static void check_ids(const geodec_tokenizer *t, const char *text, size_t n, bool bos, const json_t *want,
                      const char *where)
{
    int32_t *ids = calloc(n + 2, sizeof *ids);
    const int64_t count = encode(t, text, n, bos, ids);
    cr_assert_eq((size_t)count, json_array_size(want), "%s '%s': %d ids, not %d", where, text, (int)count,
                 (int)json_array_size(want));
    for (int64_t i = 0; i < count; i++)
        cr_assert_eq(ids[i], json_integer_value(json_array_get(want, (size_t)i)), "%s '%s' id %d", where, text, (int)i);
    free(ids);
}

static void golden_tokenizations(const char *const *names, size_t count_of)
{
    for (size_t k = 0; k < count_of; k++) {
        char golden[100], model[100];
        (void)snprintf(golden, sizeof golden, "golden/llama/%s.json", names[k]);
        (void)snprintf(model, sizeof model, "models/%s.gguf", names[k]);
        const char *path = test_shared(golden);
        geodec_tokenizer *t = open_shared(model);
        json_t *root = json_load_file(path, 0, NULL);
        cr_assert_not_null(root);
        size_t i;
        const json_t *item;
        cr_assert_gt(json_array_size(json_object_get(root, "tokenization")), 20);
        json_array_foreach(json_object_get(root, "tokenization"), i, item)
        {
            const json_t *s = json_object_get(item, "text");
            const char *text = json_string_value(s);
            const size_t n = json_string_length(s);
            check_ids(t, text, n, false, json_object_get(item, "ids"), names[k]);
            geodec_err err = {0};
            int32_t *ids = calloc(n + 2, sizeof *ids);
            const int64_t count = encode(t, text, n, false, ids);
            char *back = NULL;
            size_t length = 0;
            test_ok(geodec_tokenizer_decode(t, ids, count, &back, &length, &err), &err);
            const bool same = length == n && memcmp(back, text, n) == 0;
            cr_assert_eq(same, json_is_true(json_object_get(item, "round_trip")), "'%s' came back as '%s'", text, back);
            check_stream(t, ids, count, back, length);
            geodec_mem_free(back);
            free(ids);
        }
        json_array_foreach(json_object_get(root, "prompts"), i, item)
        {
            const json_t *s = json_object_get(item, "text");
            check_ids(t, json_string_value(s), json_string_length(s), true, json_object_get(item, "ids"), names[k]);
        }
        json_decref(root);
        geodec_tokenizer_destroy(t);
    }
}

/* Both families of tokenizers, with and without a prefix, and six pre-tokenizers. */
Test(tokenizer, golden_tokenizations)
{
    static const char *const names[] = {
        "tiny-llama-experts", "tiny-llama-biases", "tiny-qwen2",      "tiny-olmoe",         "tiny-gemma2",
        "tiny-phi3-long",     "tiny-bailingmoe2",  "tiny-granitemoe", "geodec-stories-f16", "geodec-stories-q8_0"};
    golden_tokenizations(names, sizeof names / sizeof *names);
}

Test(tokenizer, golden_tokenizations_of_shared_models)
{
    static const char *const names[] = {"stories260K-f32", "stories260K-ff192-q8_0", "stories-moe8x2-f16",
                                        "stories260K-rot256-f16"};
    golden_tokenizations(names, sizeof names / sizeof *names);
}

/* Test vectors of llama.cpp: texts separated by a line, a line of ids for each. */
static void check_vectors(const char *name)
{
    char path[100];
    (void)snprintf(path, sizeof path, "models/vocab/ggml-vocab-%s.gguf.inp", name);
    const char *inp = test_shared(path);
    (void)snprintf(path, sizeof path, "models/vocab/ggml-vocab-%s.gguf.out", name);
    const char *out = test_shared(path);
    (void)snprintf(path, sizeof path, "models/vocab/ggml-vocab-%s.gguf", name);
    geodec_tokenizer *t = open_shared(path);
    static const char separator[] = "\n__ggml_vocab_test__\n";
    geodec_err err = {0};
    char *text = NULL, *lines = NULL;
    size_t n, n_lines;
    test_ok(geodec_file_read(inp, 1 << 20, &text, &n, &err), &err);
    test_ok(geodec_file_read(out, 1 << 20, &lines, &n_lines, &err), &err);
    int cases = 0;
    char *line = lines;
    for (char *at = text; at;) {
        char *end = strstr(at, separator);
        const size_t length = end ? (size_t)(end - at) : strlen(at);
        if (!end && length == 0) break;
        int32_t *ids = calloc(length + 2, sizeof *ids);
        const int64_t count = encode(t, at, length, false, ids);
        char *next = strchr(line, '\n');
        cr_assert_not_null(next);
        *next = '\0';
        int64_t i = 0;
        for (char *p = line; *p;) {
            char *stop;
            const long id = strtol(p, &stop, 10);
            if (stop == p) break;
            cr_assert_lt(i, count, "case %d: too few ids", cases);
            cr_assert_eq(ids[i], id, "case %d id %d: %d, not %ld", cases, (int)i, ids[i], id);
            i++;
            p = stop;
        }
        cr_assert_eq(i, count, "case %d: %d ids, not %d", cases, (int)count, (int)i);
        geodec_err again = {0};
        char *back = NULL;
        size_t n_back = 0;
        test_ok(geodec_tokenizer_decode(t, ids, count, &back, &n_back, &again), &again);
        cr_assert(n_back == length && memcmp(back, at, length) == 0, "case %d came back as '%s'", cases, back);
        check_stream(t, ids, count, back, n_back);
        geodec_mem_free(back);
        free(ids);
        line = next + 1;
        cases++;
        at = end ? end + sizeof separator - 1 : NULL;
    }
    cr_assert_geq(cases, 40, "%d cases", cases);
    geodec_mem_free(text);
    geodec_mem_free(lines);
    geodec_tokenizer_destroy(t);
}

Test(tokenizer, llama_spm_vectors) { check_vectors("llama-spm"); }
Test(tokenizer, gpt_2_vectors) { check_vectors("gpt-2"); }
/* Vocabularies that are too large for the shared folder, where somebody has put them. */
Test(tokenizer, vectors_of_other_vocabularies)
{
    static const char *const names[] = {"command-r", "deepseek-coder", "deepseek-llm", "falcon",
                                        "gemma-4",   "llama-bpe",      "mpt",          "phi-3",
                                        "qwen2",     "qwen35",         "refact",       "starcoder"};
    int found = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[100];
        (void)snprintf(path, sizeof path, "models/vocab/ggml-vocab-%s.gguf", names[i]);
        if (!test_find(path)) continue;
        check_vectors(names[i]);
        found++;
    }
    if (!found) (void)test_shared("models/vocab/ggml-vocab-gemma-4.gguf");
}

/* ---- closed cases ----------------------------------------------------------------------------------------------- */

Test(tokenizer, merges_by_score_then_leftmost)
{
    geodec_tokenizer *t = small();
    const int32_t first = 259; /* id of the first piece */
    int32_t ids[32];
    /* scores: mark 0, a 1, b 2, ab 3, _a 4, _ab 5, aa 6: "ab" beats "_a", then "_ab" */
    cr_assert_eq(encode(t, "ab", 2, false, ids), 1);
    cr_assert_eq(ids[0], first + 5);
    /* _aaa: "_a" first (4), then "aa" (6) of the rest */
    cr_assert_eq(encode(t, "aaa", 3, false, ids), 2);
    cr_assert(ids[0] == first + 4 && ids[1] == first + 6);
    /* b b b: leftmost "bb" on a tie, the mark stays alone */
    cr_assert_eq(encode(t, "bbb", 3, true, ids), 4);
    cr_assert(ids[0] == 1 && ids[1] == first && ids[2] == first + 8 && ids[3] == first + 2);
    /* text that is not a piece becomes bytes; e-acute is a piece */
    cr_assert_eq(encode(t, "\xc3\xa9z", 3, false, ids), 3);
    cr_assert(ids[0] == first && ids[1] == first + 7 && ids[2] == 3 + 'z');
    cr_assert_eq(encode(t, "", 0, false, ids), 0);
    cr_assert_eq(encode(t, "", 0, true, ids), 1);
    /* control and byte tokens never come from text */
    cr_assert_eq(encode(t, "<s>", 3, false, ids), 4);
    cr_assert(ids[1] == 3 + '<' && ids[2] == 3 + 's' && ids[3] == 3 + '>');
    geodec_tokenizer_destroy(t);
}

/* Plain quadratic merging as the definition reads, against the heap. */
static int64_t plain_encode(const geodec_tokenizer *t, const float *score, const char *marked, size_t n, int32_t *ids)
{
    size_t cut[600], cuts = 0;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)marked[i] & 0xc0) != 0x80) cut[cuts++] = i;
    cut[cuts] = n;
    for (;;) {
        int32_t best = -1;
        size_t where = 0;
        for (size_t i = 0; i + 1 < cuts; i++)
            for (int32_t id = 259; id < geodec_tokenizer_size(t); id++) {
                size_t len;
                const char *p = geodec_tokenizer_piece(t, id, &len);
                if (len == cut[i + 2] - cut[i] && memcmp(p, marked + cut[i], len) == 0 &&
                    (best < 0 || score[id] > score[best])) {
                    best = id;
                    where = i;
                }
            }
        if (best < 0) break;
        memmove(cut + where + 1, cut + where + 2, (cuts - where - 1) * sizeof *cut);
        cuts--;
    }
    int64_t count = 0;
    for (size_t i = 0; i < cuts; i++) {
        int32_t found = -1;
        for (int32_t id = 259; id < geodec_tokenizer_size(t); id++) {
            size_t len;
            const char *p = geodec_tokenizer_piece(t, id, &len);
            if (len == cut[i + 1] - cut[i] && memcmp(p, marked + cut[i], len) == 0) found = id;
        }
        cr_assert_geq(found, 0);
        ids[count++] = found;
    }
    return count;
}

Test(tokenizer, heap_merge_equals_plain_merge)
{
    /* Random vocabularies over {mark, a, b, c}; every other one has a piece with an inner mark, so that words may join;
     * few distinct scores, so that ties are common. */
    geodec_rng r = geodec_rng_stream(3, geodec_rng_id("tokenizer test", 0));
    for (int round = 0; round < 30; round++) {
        static char texts[40][40];
        vocab v;
        start(&v);
        static const char *const letters[] = {MARK, "a", "b", "c"};
        for (int i = 0; i < 4; i++) add(&v, letters[i], strlen(letters[i]), -100, GEODEC_TOKEN_NORMAL);
        for (int i = 0; i < 40; i++) {
            texts[i][0] = '\0';
            const int n = 2 + (int)geodec_rng_below(&r, 3);
            for (int k = 0; k < n; k++) strcat(texts[i], letters[geodec_rng_below(&r, 4)]);
            bool twin = false;
            for (int j = 0; j < i; j++) twin = twin || strcmp(texts[j], texts[i]) == 0;
            const char *inner = strstr(texts[i] + 1, MARK);
            if (twin || (round % 2 == 0 && inner && strncmp(texts[i], MARK, 3) != 0)) continue;
            if (round % 2 == 0 && strstr(texts[i], "a" MARK)) continue;
            add(&v, texts[i], strlen(texts[i]), -(float)geodec_rng_below(&r, 8), GEODEC_TOKEN_NORMAL);
        }
        geodec_err err = {0};
        geodec_tokenizer *t = NULL;
        test_ok(finish(&v, &t, &err), &err);
        for (int k = 0; k < 20; k++) {
            char text[101], marked[400] = MARK;
            const int n = 1 + (int)geodec_rng_below(&r, 100);
            for (int i = 0; i < n; i++) {
                text[i] = " abcab"[geodec_rng_below(&r, 6)];
                if (text[i] == ' ')
                    strcat(marked, MARK);
                else
                    strcat(marked, (const char[2]){text[i], '\0'});
            }
            int32_t got[104], want[404];
            const int64_t a = encode(t, text, (size_t)n, false, got),
                          b = plain_encode(t, v.score, marked, strlen(marked), want);
            cr_assert_eq(a, b, "round %d: %d ids, not %d, for '%.*s'", round, (int)a, (int)b, n, text);
            cr_assert_arr_eq(got, want, (size_t)a * sizeof *got);
        }
        geodec_tokenizer_destroy(t);
    }
}

Test(tokenizer, any_bytes_round_trip)
{
    geodec_tokenizer *t = small();
    geodec_err err = {0};
    geodec_rng r = geodec_rng_stream(5, geodec_rng_id("tokenizer test", 1));
    for (int round = 0; round < 300; round++) {
        char text[64];
        int32_t ids[66];
        const size_t n = (size_t)geodec_rng_below(&r, 65);
        for (size_t i = 0; i < n; i++) {
            static const char likely[] = "ab \xc3\xa9\xe2\x96\x80\xf0\x9f\xa6\x99";
            text[i] = round % 2 ? (char)(unsigned char)geodec_rng_below(&r, 256)
                                : likely[geodec_rng_below(&r, sizeof likely - 1)];
        }
        bool mark = false; /* a mark in the text comes back as a space, by definition */
        for (size_t i = 0; i + 3 <= n; i++) mark = mark || memcmp(text + i, MARK, 3) == 0;
        if (mark) continue;
        const int64_t count = encode(t, text, n, false, ids);
        char *back = NULL;
        size_t length;
        test_ok(geodec_tokenizer_decode(t, ids, count, &back, &length, &err), &err);
        cr_assert_eq(length, n);
        cr_assert(memcmp(back, text, n) == 0);
        check_stream(t, ids, count, back, length);
        geodec_mem_free(back);
    }
    geodec_tokenizer_destroy(t);
}

Test(tokenizer, streaming_holds_and_releases)
{
    geodec_tokenizer *t = small();
    geodec_detok d;
    char out[64];
    geodec_decode_init(&d, t);
    cr_assert_leq(geodec_decode_room(t), sizeof out);
    /* the llama, one byte at a time */
    static const unsigned char llama[4] = {0xf0, 0x9f, 0xa6, 0x99};
    for (int i = 0; i < 3; i++) cr_assert_eq(geodec_decode_feed(&d, 3 + llama[i], out), 0);
    cr_assert_eq(geodec_decode_feed(&d, 1, out), 0); /* a control token in between gives no text */
    cr_assert_eq(geodec_decode_feed(&d, 3 + llama[3], out), 4);
    cr_assert(memcmp(out, llama, 4) == 0);
    /* an open character that a letter cuts off is passed on */
    cr_assert_eq(geodec_decode_feed(&d, 3 + 0xe2, out), 0);
    cr_assert_eq(geodec_decode_feed(&d, 260, out), 2);
    cr_assert(out[0] == '\xe2' && out[1] == 'a');
    /* surrogates and overlong forms can never become valid */
    cr_assert_eq(geodec_decode_feed(&d, 3 + 0xed, out), 0);
    cr_assert_eq(geodec_decode_feed(&d, 3 + 0xa0, out), 2);
    cr_assert_eq(geodec_decode_feed(&d, 3 + 0xc0, out), 1);
    cr_assert_eq(geodec_decode_feed(&d, 3 + 0xf4, out), 0);
    cr_assert_eq(geodec_decode_feed(&d, 3 + 0x90, out), 2);
    cr_assert_eq(geodec_decode_feed(&d, 3 + 0xc3, out), 0);
    cr_assert_eq(geodec_decode_flush(&d, out), 1);
    cr_assert_eq(geodec_decode_flush(&d, out), 0);
    cr_assert_eq(geodec_decode_feed(&d, -1, out), 0);
    cr_assert_eq(geodec_decode_feed(&d, 100000, out), 0);
    geodec_tokenizer_destroy(t);
}

Test(tokenizer, gguf_round_trip_keeps_the_fingerprint)
{
    geodec_tokenizer *t = small(), *back = NULL;
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    geodec_gguf *g = NULL;
    const char *path = test_tmp("tok.gguf");
    test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
    test_ok(geodec_tokenizer_put(t, w, &err), &err);
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    test_ok(geodec_tokenizer_from_gguf(g, &back, &err), &err);
    cr_assert_str_eq(geodec_tokenizer_fingerprint(t), geodec_tokenizer_fingerprint(back));
    cr_assert_eq(geodec_tokenizer_bos(back), 1);
    cr_assert_eq(geodec_tokenizer_eos(back), 2);
    cr_assert_eq(geodec_tokenizer_size(back), geodec_tokenizer_size(t));
    size_t n;
    cr_assert_null(geodec_tokenizer_piece(t, -1, &n));
    cr_assert(geodec_tokenizer_is_control(t, 1) && !geodec_tokenizer_is_control(t, 0) &&
              !geodec_tokenizer_is_control(t, 9999));
    geodec_gguf_close(g);
    geodec_tokenizer_destroy(t);
    geodec_tokenizer_destroy(back);
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

Test(tokenizer, refuses_broken_vocabularies)
{
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    vocab v;
    for (int k = 0; k < 9; k++) {
        start(&v);
        add(&v, MARK, 3, 0, GEODEC_TOKEN_NORMAL);
        add(&v, "a", 1, 0, GEODEC_TOKEN_NORMAL);
        int32_t bos = 1;
        switch (k) {
        case 0:
            v.score[5] = NAN;
            break;
        case 1:
            v.score[5] = -INFINITY;
            break;
        case 2:
            v.type[5] = 7;
            break;
        case 3:
            v.type[5] = 0;
            break;
        case 4:
            v.type[5] = -1;
            break;
        case 5:
            v.text[5] = "<0x3>";
            break;
        case 6:
            v.text[5] = "<0xag>";
            break;
        case 7:
            bos = v.n;
            break;
        default:
            v.n = 0;
            break;
        }
        const geodec_status st = geodec_tokenizer_create(v.n, v.text, v.len, v.score, v.type, bos, 2, 0, &t, &err);
        cr_assert_eq(st, GEODEC_FORMAT, "case %d: %s", k, geodec_status_name(st));
        cr_assert_null(t);
    }
    /* the same piece twice, and the same byte: read, and the last one matches text */
    start(&v);
    add(&v, MARK, 3, 0, GEODEC_TOKEN_NORMAL);
    add(&v, "a", 1, 0, GEODEC_TOKEN_NORMAL);
    add(&v, "a", 1, 0, GEODEC_TOKEN_NORMAL);
    v.text[5] = "<0x03>";
    test_ok(geodec_tokenizer_create(v.n, v.text, v.len, v.score, v.type, 1, 2, 0, &t, &err), &err);
    cr_assert_eq(geodec_tokenizer_twins(t), 2);
    geodec_tokenizer_destroy(t);
    t = NULL;
    /* no byte tokens and no unknown token: such a text cannot be encoded */
    static const char *const text[] = {MARK, "a"};
    const size_t len[] = {3, 1};
    const float score[] = {0, 0};
    const int32_t type[] = {1, 1};
    int32_t ids[8];
    int64_t count;
    test_ok(geodec_tokenizer_create(2, text, len, score, type, -1, -1, -1, &t, &err), &err);
    cr_assert_eq(geodec_tokenizer_encode(t, "b", 1, false, ids, &count, &err), GEODEC_UNSUPPORTED);
    cr_assert_eq(geodec_tokenizer_encode(t, "a", 1, true, ids, &count, &err), GEODEC_UNSUPPORTED);
    cr_assert_eq(encode(t, "a a", 3, false, ids), 4);
    char *back = NULL;
    size_t n;
    cr_assert_eq(geodec_tokenizer_decode(t, (const int32_t[]){0, 2}, 2, &back, &n, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_tokenizer_decode(t, (const int32_t[]){-1}, 1, &back, &n, &err), GEODEC_RANGE);
    cr_assert_null(back);
    geodec_tokenizer_destroy(t);
}

Test(tokenizer, allocation_failures_are_clean)
{
    geodec_tokenizer *t = small();
    geodec_err err = {0};
    int32_t ids[64];
    int64_t count, k;
    for (k = 1;; k++) {
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_tokenizer_encode(t, "ab ab", 5, true, ids, &count, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) break;
        cr_assert_eq(st, GEODEC_NOMEM);
    }
    cr_assert_gt(k, 2);
    geodec_tokenizer_destroy(t);
}
