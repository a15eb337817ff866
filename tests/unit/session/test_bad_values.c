/* Values that no model has, in every key of every architecture (golden/arch of the shared folder): refused with one
 * line that begins with the file's name, or without effect; never a crash. */
#include "base/mem.h"
#include "io/file.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, LEAST_FILES = 98, SPARE = 64 };

/* A file in memory, at an aligned address. */
typedef struct image {
    char name[64];
    char *bytes;
    size_t n;
} image;

static image image_of(const char *path)
{
    geodec_err err = {0};
    image out = {0};
    char *read = NULL;
    test_ok(geodec_file_read(path, 1 << 25, &read, &out.n, &err), &err);
    (void)snprintf(out.name, sizeof out.name, "%s", strrchr(path, '/') + 1);
    out.bytes = aligned_alloc(64, (out.n + SPARE + 63) / 64 * 64);
    cr_assert(out.bytes);
    memcpy(out.bytes, read, out.n);
    geodec_mem_free(read);
    return out;
}

static image image_named(const char *name)
{
    char relative[96];
    (void)snprintf(relative, sizeof relative, "golden/arch/%s.gguf", name);
    return image_of(test_shared(relative));
}

/* Opens it, and runs three tokens if it opens; a refusal is one line with the file's name. */
static geodec_status try(const image *f, const char *what)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    char line[1024] = "";
    geodec_status st = geodec_gguf_open_memory(f->bytes, f->n, "the-file.gguf", &g, &err);
    if (st == GEODEC_OK) st = geodec_model_from_gguf(g, &m, &err);
    if (st == GEODEC_OK) {
        const int32_t v = geodec_model_size_of(m).n_vocab, token[3] = {1 % v, 2 % v, v - 1};
        float *logits = geodec_mem_new(v, sizeof *logits);
        st = geodec_session_create(m, &(geodec_session_options){.n_ctx = 8, .max_batch = 4}, &s, &err);
        if (st == GEODEC_OK) st = geodec_forward_prefill(s, token, 3, logits, &err);
        geodec_session_destroy(s);
        geodec_model_close(m);
        geodec_mem_free(logits);
        geodec_err_clear(&err);
        return st;
    }
    (void)geodec_err_line(&err, line, sizeof line);
    cr_expect(strncmp(line, "the-file.gguf: ", 15) == 0 && line[15] && !strchr(line, '\n'), "%s: %s: '%s'", f->name,
              what, line);
    geodec_err_clear(&err);
    return st;
}

static const uint32_t bad[] = {0, 1, 2, 3, 7, 17, 255, 4096, 65535, 1 << 20, INT32_MAX, 0x80000000u, UINT32_MAX};
static const float reals[] = {0, -1, 1e-45f, 1e30f, -3e38f, (float)(1.0 / 0.0), (float)(0.0 / 0.0)};
enum {
    N_BAD = sizeof bad / sizeof *bad,
    N_REALS = sizeof reals / sizeof *reals,
    TRIES = 2,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    BOOL = 7,
    ARRAY = 9
};

/* Where the value of a key of four bytes is; its type. */
static char *value_of(const image *f, const char *key, uint32_t *type)
{
    char whole[160]; /* the key behind its length */
    const uint64_t n = strlen(key);
    memcpy(whole, &n, sizeof n);
    memcpy(whole + sizeof n, key, n);
    char *at = memmem(f->bytes, f->n, whole, n + sizeof n);
    cr_assert(at, "%s: %s", f->name, key);
    at += n + sizeof n;
    memcpy(type, at, sizeof *type);
    return at + 4;
}

/* The elements of an array of numbers of four bytes, or of flags of one; NULL for other keys. */
static char *array_of(const image *f, const char *key, uint64_t *n, size_t *width)
{
    uint32_t type, of;
    char *at = value_of(f, key, &type);
    memcpy(&of, at, sizeof of);
    memcpy(n, at + 4, sizeof *n);
    *width = of == BOOL ? 1 : 4;
    return type == ARRAY && of >= U32 && of <= BOOL && *n > 0 ? at + 12 : NULL;
}

static void scalar(const image *f, const char *key, int turn)
{
    uint32_t type, old;
    char what[160], *at = value_of(f, key, &type);
    if (type < U32 || type > F32) return;
    memcpy(&old, at, sizeof old);
    for (int k = 0; k < TRIES; k++) {
        const int i = turn * TRIES + k;
        if (type == F32) {
            memcpy(at, &reals[i % N_REALS], sizeof old);
            (void)snprintf(what, sizeof what, "%s = %g", key, (double)reals[i % N_REALS]);
        } else {
            memcpy(at, &bad[i % N_BAD], sizeof old);
            (void)snprintf(what, sizeof what, "%s = %u", key, bad[i % N_BAD]);
        }
        (void)try(f, what);
    }
    memcpy(at, &old, sizeof old);
}

/* Where the header ends and the tensors begin, which is aligned. */
static size_t data_of(const image *f)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    size_t least = f->n;
    test_ok(geodec_gguf_open_memory(f->bytes, f->n, "the-file.gguf", &g, &err), &err);
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const size_t at = (size_t)((const char *)geodec_gguf_tensor_at(g, i)->data - f->bytes);
        least = at < least ? at : least;
    }
    geodec_gguf_close(g);
    return least;
}

/* One number less; the padding before the tensors grows. */
static geodec_status shorter(const image *f, const char *key)
{
    char what[160];
    uint64_t n;
    size_t width;
    char *const first = array_of(f, key, &n, &width);
    cr_assert(first, "%s: %s", f->name, key);
    const size_t data = data_of(f), end = (size_t)(first - f->bytes) + width * (size_t)n;
    image other = {.n = f->n, .bytes = aligned_alloc(64, (f->n + SPARE + 63) / 64 * 64)};
    memcpy(other.name, f->name, sizeof other.name);
    memcpy(other.bytes, f->bytes, f->n);
    memmove(other.bytes + end - width, f->bytes + end, data - end);
    memset(other.bytes + data - width, 0, width);
    n--;
    memcpy(other.bytes + (first - f->bytes) - 8, &n, sizeof n);
    (void)snprintf(what, sizeof what, "%s with %d numbers", key, (int)n);
    const geodec_status st = try(&other, what);
    free(other.bytes);
    return st;
}

static void array(const image *f, const char *key, int turn)
{
    uint64_t n;
    uint32_t old;
    size_t width;
    char what[160], *first = array_of(f, key, &n, &width);
    if (!first) return;
    for (uint64_t i = 0; width == 4 && i < n && i < 2; i++) {
        char *at = first + 4 * i;
        memcpy(&old, at, sizeof old);
        memcpy(at, &bad[(turn + (int)i) % N_BAD], sizeof old);
        (void)snprintf(what, sizeof what, "%s[%d] = %u", key, (int)i, bad[(turn + (int)i) % N_BAD]);
        (void)try(f, what);
        memcpy(at, &old, sizeof old);
    }
    (void)shorter(f, key);
}

static bool check_file(const char *path, int turn)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    image f = image_of(path);
    bool opens;
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    opens = try(&f, "as it is") == GEODEC_OK;
    for (int64_t i = 0; opens && i < geodec_gguf_n_keys(g); i++) {
        const char *key = geodec_gguf_key_at(g, i);
        if (strncmp(key, "tokenizer.", 10) == 0) continue;
        scalar(&f, key, turn + (int)i);
        array(&f, key, turn + (int)i);
    }
    geodec_gguf_close(g);
    free(f.bytes);
    return opens;
}

/* Which of the values takes turns by key and file. */
Test(model_bad_values, in_every_key, .timeout = 600)
{
    char pattern[PATH_BYTES];
    glob_t found = {0};
    int files = 0;
    (void)snprintf(pattern, sizeof pattern, "%s/*.gguf", test_shared("golden/arch"));
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "no models");
    for (size_t i = 0; i < found.gl_pathc; i++) files += check_file(found.gl_pathv[i], (int)i);
    globfree(&found);
    cr_assert_geq(files, LEAST_FILES);
}

/* Those that must be refused. The keys of recurrent layers are in test_recurrent.c. */
Test(model_bad_values, refused)
{
    static const struct {
        const char *name, *key;
        uint32_t value;
    } list[] = {
        {"gpt2", "block_count", 0},
        {"gpt2", "block_count", 3},
        {"gpt2", "block_count", 0x80000000u},
        {"gpt2", "embedding_length", 0},
        {"gpt2", "embedding_length", 0x80000000u},
        {"gpt2", "context_length", 0},
        {"gpt2", "feed_forward_length", 0},
        {"gpt2", "feed_forward_length", 0x80000000u},
        {"gpt-oss-moe", "attention.key_length", 0},
        {"gpt-oss-moe", "attention.key_length", 17},
        {"gpt-oss-moe", "attention.key_length", 0x80000000u},
        {"gpt-oss-moe", "attention.sliding_window", 0x80000000u},
        {"gpt-oss-moe", "rope.dimension_count", 15},
        {"gpt-oss-moe", "rope.dimension_count", 18},
        {"gpt-oss-moe", "expert_count", 0x80000000u},
        {"gpt-oss-moe", "expert_count", 7},
        {"gpt-oss-moe", "expert_used_count", 0},
        {"gpt-oss-moe", "expert_used_count", 9},
        {"gpt-oss-moe", "expert_used_count", 0x80000000u},
        {"gpt-oss-moe", "expert_feed_forward_length", 0},
        {"gpt-oss-moe", "expert_feed_forward_length", 47},
        {"bailingmoe2-moe", "expert_shared_count", 0x80000000u},
        {"bailingmoe2-moe", "leading_dense_block_count", 3},
        {"bailingmoe2-moe", "expert_gating_func", 9},
        {"llama4-moe", "interleave_moe_layer_step", 0x80000000u},
        {"gemma4", "attention.shared_kv_layers", 8},
        {"gemma4", "attention.shared_kv_layers", 0x80000000u},
        {"gemma4", "embedding_length_per_layer_input", 17},
        {"gemma4", "embedding_length_per_layer_input", 0x80000000u},
        {"deepseek2-moe", "attention.q_lora_rank", 4096},
        {"deepseek2-moe", "attention.kv_lora_rank", 0},
        {"deepseek2-moe", "attention.kv_lora_rank", 4096},
        {"deepseek2-moe", "attention.kv_lora_rank", 0x80000000u},
        {"gemma4", "attention.value_length_swa", 0},
        {"gemma4", "attention.key_length_swa", 0x80000000u},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        uint32_t type;
        char key[96], what[128];
        image f = image_named(list[i].name);
        geodec_err err = {0};
        geodec_gguf *g = NULL;
        const char *arch = NULL;
        test_ok(geodec_gguf_open_memory(f.bytes, f.n, "the-file.gguf", &g, &err), &err);
        test_ok(geodec_gguf_get_str(g, "general.architecture", &arch, &err), &err);
        (void)snprintf(key, sizeof key, "%s.%s", arch, list[i].key);
        geodec_gguf_close(g);
        char *at = value_of(&f, key, &type);
        cr_assert(type == U32 || type == I32, "%s: type %u", key, type);
        memcpy(at, &list[i].value, sizeof list[i].value);
        (void)snprintf(what, sizeof what, "%s = %u", key, list[i].value);
        cr_expect_neq(try(&f, what), GEODEC_OK, "%s: %s", list[i].name, what);
        free(f.bytes);
    }
}

/* Arrays with a number for each layer but one: heads, windows. */
Test(model_bad_values, arrays)
{
    static const struct {
        const char *name, *key;
    } list[] = {{"jamba", "jamba.attention.head_count_kv"}, {"gemma4", "gemma4.attention.sliding_window_pattern"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        image f = image_named(list[i].name);
        cr_expect_neq(shorter(&f, list[i].key), GEODEC_OK, "%s: %s", list[i].name, list[i].key);
        free(f.bytes);
    }
}
