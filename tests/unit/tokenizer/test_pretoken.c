/* Every pre-tokenizer of the table against the peer's ids (tests/golden/tokens): a seeded vocabulary whose pieces go
 * across every place where one may cut, so that another cut gives other ids. */
#include "base/mem.h"
#include "gguf/gguf.h"
#include "support/support.h"
#include "tokenizer/tokenizer_internal.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct strings {
    const char **text;
    size_t *len;
    int64_t n;
} strings;

static strings strings_of(const geodec_gguf *g, const char *key)
{
    geodec_err err = {0};
    strings s = {0};
    test_ok(geodec_gguf_array_length(g, key, &s.n, &err), &err);
    s.text = geodec_mem_new(s.n, sizeof *s.text);
    s.len = geodec_mem_new(s.n, sizeof *s.len);
    for (int64_t i = 0; i < s.n; i++) test_ok(geodec_gguf_array_str(g, key, i, &s.text[i], &s.len[i], &err), &err);
    return s;
}

static void strings_free(strings *s)
{
    geodec_mem_free(s->text);
    geodec_mem_free(s->len);
}

/* The vocabulary of the file under another pre-tokenizer. */
static geodec_tokenizer *with_pre(const geodec_gguf *g, const char *pre)
{
    geodec_err err = {0};
    geodec_tokenizer *t = NULL;
    strings piece = strings_of(g, "tokenizer.ggml.tokens"), merge = strings_of(g, "tokenizer.ggml.merges");
    float *score = geodec_mem_new(piece.n, sizeof *score);
    int32_t *type = geodec_mem_new(piece.n, sizeof *type);
    test_ok(geodec_gguf_array_i32(g, "tokenizer.ggml.token_type", type, piece.n, &err), &err);
    const geodec__vocabulary v = {.n = (int32_t)piece.n,
                                  .text = piece.text,
                                  .len = piece.len,
                                  .score = score,
                                  .type = type,
                                  .bos = -1,
                                  .eos = -1,
                                  .unk = -1,
                                  .pre = pre,
                                  .merge = merge.text,
                                  .merge_len = merge.len,
                                  .n_merges = merge.n};
    test_ok(geodec__tokenizer_create(&v, &t, &err), &err);
    geodec_mem_free(score);
    geodec_mem_free(type);
    strings_free(&piece);
    strings_free(&merge);
    return t;
}

/* Ids of all strings for this name, or NULL. */
static const json_t *vectors_of(const json_t *root, const char *name)
{
    size_t i, k;
    const json_t *group, *one;
    json_array_foreach(json_object_get(root, "vectors"), i, group)
        json_array_foreach(json_object_get(group, "names"), k,
                           one) if (strcmp(json_string_value(one), name) == 0) return json_object_get(group, "ids");
    return NULL;
}

static void print_cut(const geodec_tokenizer *t, const char *what, const int32_t *id, const json_t *ids, int64_t n)
{
    (void)fprintf(stderr, "  %s:", what);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const int32_t one = id ? id[i] : (int32_t)json_integer_value(json_array_get(ids, (size_t)i));
        const char *piece = geodec_tokenizer_piece(t, one, &length);
        (void)fprintf(stderr, " [%.*s]", (int)length, piece);
    }
    (void)fprintf(stderr, "\n");
}

/* How many strings get other ids; each is printed. Where ids has null, those of `first` are meant. */
static int differing(const geodec_tokenizer *t, const char *name, const json_t *text, const json_t *ids,
                     const json_t *first)
{
    int bad = 0;
    size_t i;
    const json_t *s;
    json_array_foreach(text, i, s)
    {
        geodec_err err = {0};
        const size_t n = json_string_length(s);
        int32_t *id = geodec_mem_new((int64_t)n + 2, sizeof *id);
        int64_t count = 0;
        test_ok(geodec_tokenizer_encode(t, json_string_value(s), n, false, id, &count, &err), &err);
        const json_t *want = json_array_get(json_is_null(json_array_get(ids, i)) ? first : ids, i);
        bool same = (size_t)count == json_array_size(want);
        for (int64_t k = 0; same && k < count; k++) same = id[k] == json_integer_value(json_array_get(want, (size_t)k));
        if (!same) {
            bad++;
            (void)fprintf(stderr, "%s: '%s'\n", name, json_string_value(s));
            print_cut(t, "here", id, NULL, count);
            print_cut(t, "peer", NULL, want, (int64_t)json_array_size(want));
        }
        geodec_mem_free(id);
    }
    return bad;
}

static json_t *read_vectors(const char *name)
{
    json_t *root = json_load_file(test_golden(name), 0, NULL);
    cr_assert_not_null(root);
    return root;
}

Test(pretoken, every_one_of_the_table_has_vectors_and_gives_them)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    json_t *root = read_vectors("tokens/pretoken.json");
    test_ok(geodec_gguf_open(test_golden("tokens/pretoken.gguf"), &g, &err), &err);
    const json_t *text = json_object_get(root, "strings");
    const json_t *first = json_object_get(json_array_get(json_object_get(root, "vectors"), 0), "ids");
    cr_assert_gt(json_array_size(text), 150);
    int names = 0, bad = 0;
    for (const char *name; (name = geodec_pretoken_name(names)); names++) {
        const json_t *ids = vectors_of(root, name);
        cr_assert(ids, "pre-tokenizer %s has no vectors (tests/golden/make/make.sh makes them)", name);
        cr_assert_eq(json_array_size(ids), json_array_size(text), "%s", name);
        geodec_tokenizer *t = with_pre(g, name);
        bad += differing(t, name, text, ids, first);
        geodec_tokenizer_destroy(t);
    }
    cr_assert_eq(bad, 0, "%d strings differ", bad);
    cr_assert_gt(names, 60);
    json_decref(root);
    geodec_gguf_close(g);
}

/* Vocabularies of text in place of bytes, without a part of the letters and merged pieces. */
Test(pretoken, vocabularies_of_text)
{
    static const char *const models[] = {"gemma4", "plamo2"};
    json_t *root = read_vectors("tokens/marked.json"), *texts = read_vectors("tokens/pretoken.json");
    for (int i = 0; i < 2; i++) {
        char name[40];
        geodec_err err = {0};
        geodec_gguf *g = NULL;
        geodec_tokenizer *t = NULL;
        (void)snprintf(name, sizeof name, "tokens/%s.gguf", models[i]);
        test_ok(geodec_gguf_open(test_golden(name), &g, &err), &err);
        test_ok(geodec_tokenizer_from_gguf(g, &t, &err), &err);
        const json_t *text = json_object_get(texts, "strings"), *ids = json_object_get(root, models[i]);
        cr_assert(json_array_size(text) > 150 && json_array_size(ids) == json_array_size(text));
        cr_assert_eq(differing(t, models[i], text, ids, NULL), 0);
        geodec_tokenizer_destroy(t);
        geodec_gguf_close(g);
    }
    json_decref(texts);
    json_decref(root);
}

/* The vectors distinguish the kinds: no two groups have the same ids, and each differs from every other in a string. */
Test(pretoken, vectors_tell_kinds_apart)
{
    json_t *root = read_vectors("tokens/pretoken.json");
    const json_t *groups = json_object_get(root, "vectors");
    const size_t n = json_array_size(groups);
    cr_assert_geq(n, 26);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            cr_assert(!json_equal(json_object_get(json_array_get(groups, i), "ids"),
                                  json_object_get(json_array_get(groups, k), "ids")));
    json_decref(root);
}
