/* The GGUF reader and all objects that are made from a file's keys and tensors: every accessor, tokenizer,
 * configuration, weights, and for tiny models a forward pass. An input is a file, or "HEAD" and the keys and names of a
 * file whose values are drawn here, so that a model of any architecture is a short input; or a split file. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "session/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile unsigned char fuzz_sink;
enum { MAX_FILE = 1 << 20, MAX_WORK = 1 << 20, DRAWN = 1 << 19 };

static void read_keys(const geodec_gguf *g)
{
    static const char *const keys[] = {"general.architecture",   "general.name",          "llama.block_count",
                                       "tokenizer.ggml.tokens",  "tokenizer.ggml.scores", "tokenizer.ggml.token_type",
                                       "tokenizer.ggml.merges",  "general.alignment",     "llama.rope.freq_base",
                                       "tokenizer.chat_template"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        geodec_err err = {0};
        int64_t v, n;
        double f;
        bool b;
        const char *s;
        size_t len;
        float score[4];
        int32_t type[4];
        (void)!geodec_gguf_get_i64(g, keys[i], &v, &err);
        (void)!geodec_gguf_get_f64(g, keys[i], &f, &err);
        (void)!geodec_gguf_get_bool(g, keys[i], &b, &err);
        if (geodec_gguf_get_str(g, keys[i], &s, &err) == GEODEC_OK) fuzz_use(s, strlen(s));
        if (geodec_gguf_array_length(g, keys[i], &n, &err) != GEODEC_OK) continue;
        for (int64_t k = 0; k < n && k < 64; k++)
            if (geodec_gguf_array_str(g, keys[i], k, &s, &len, &err) == GEODEC_OK) fuzz_use(s, len);
        (void)!geodec_gguf_array_f32(g, keys[i], score, n < 4 ? n : 4, &err);
        (void)!geodec_gguf_array_i32(g, keys[i], type, n < 4 ? n : 4, &err);
    }
}

static void decode_tensors(const geodec_gguf *g)
{
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g) && i < 16; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        const geodec_ggml_traits *k = geodec_ggml_traits_of(t->type);
        if (!k || !k->decode || t->dim[0] < 1 || t->dim[0] > 4096 || t->bytes < geodec_ggml_bytes(k, t->dim[0]))
            continue;
        float *row = geodec_mem_new(t->dim[0], sizeof *row);
        k->decode(t->data, row, t->dim[0]);
        fuzz_use(row, (size_t)t->dim[0] * sizeof *row);
        geodec_mem_free(row);
    }
}

static void run(const geodec_model *m)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const double ff = (double)c->d_ff * (c->n_expert ? c->n_expert : 1) + c->d_ff_dense + c->d_ff_shared;
    const double work =
        (double)c->n_layer * c->d_model * (4.0 * c->n_head * c->head_dim + 3 * ff) + (double)c->d_model * c->n_vocab;
    if (work > MAX_WORK) return;
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_session_options o = {.n_ctx = 8, .max_batch = 4};
    if (geodec_session_create(m, &o, &s, &err) != GEODEC_OK) return;
    const int32_t token[3] = {0, c->n_vocab - 1, c->n_vocab / 2};
    float *logits = geodec_mem_new(c->n_vocab, sizeof *logits);
    if (geodec_forward_prefill(s, token, 3, logits, &err) == GEODEC_OK)
        fuzz_use(logits, (size_t)c->n_vocab * sizeof *logits);
    geodec_mem_free(logits);
    geodec_session_destroy(s);
}

static bool is_head(const uint8_t *data, size_t size) { return size >= 4 && memcmp(data, "HEAD", 4) == 0; }

static void write_part(const char *path, const uint8_t *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    fuzz_must(f && fwrite(data, 1, n, f) == n && fclose(f) == 0, "no part");
}

/* "SPLIT", a length of 32 bits, and the two parts of a split model, the first of that length: as files. */
static void run_split(const uint8_t *data, size_t size)
{
    char first[80], second[80];
    uint32_t n;
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_model *m = NULL;
    if (size < 9) return;
    memcpy(&n, data + 5, sizeof n);
    if (n > size - 9) return;
    (void)snprintf(first, sizeof first, "/tmp/fuzz-%ld-00001-of-00002.gguf", (long)getpid());
    (void)snprintf(second, sizeof second, "/tmp/fuzz-%ld-00002-of-00002.gguf", (long)getpid());
    write_part(first, data + 9, n);
    write_part(second, data + 9 + n, size - 9 - n);
    if (geodec_gguf_open(first, &g, &err) == GEODEC_OK) {
        char hex[GEODEC_SHA256_HEX];
        read_keys(g);
        decode_tensors(g);
        geodec_gguf_tensor_digest(g, hex);
        for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
            const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
            fuzz_must(t->bytes == 0 || geodec_gguf_offset(g, t->data) >= 0, "a tensor outside of the parts");
            geodec_gguf_release(g, t->data, t->bytes);
        }
        if (geodec_model_from_gguf(g, &m, &err) == GEODEC_OK) {
            run(m);
            geodec_model_close(m);
        }
    }
    (void)unlink(first);
    (void)unlink(second);
}

/* Values that are small and positive as float32, as divisors of rotations must be, and finite as any other type. */
static void draw(uint8_t *at, size_t n)
{
    for (uint32_t i = 0; i < n / 4; i++) {
        const uint32_t h = (i + 1) * 2654435761u, word = 0x3d000000u | (h >> 9 & 0x7fffffu);
        memcpy(at + 4 * (size_t)i, &word, sizeof word);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MAX_FILE) return 0;
    if (size >= 5 && memcmp(data, "SPLIT", 5) == 0) {
        run_split(data, size);
        return 0;
    }
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_model *m = NULL;
    const size_t drawn = is_head(data, size) ? DRAWN : 0, given = drawn ? size - 4 : size;
    size = given + drawn;
    uint8_t *copy =
        aligned_alloc(64, (size + 63) / 64 * 64 + 64); /* the end of the file at the end of the allocation */
    if (!copy) return 0;
    uint8_t *at = copy;
    memcpy(at, drawn ? data + 4 : data, given);
    draw(at + given, drawn);
    fuzz_guard(at + size, copy + (size + 63) / 64 * 64 + 64);
    if (geodec_gguf_open_memory(at, size, "fuzz.gguf", &g, &err) == GEODEC_OK) {
        read_keys(g);
        decode_tensors(g);
        if (geodec_model_from_gguf(g, &m, &err) == GEODEC_OK) {
            run(m);
            geodec_model_close(m);
        }
    }
    fuzz_unguard(at + size, copy + (size + 63) / 64 * 64 + 64);
    free(copy);
    return 0;
}

/* ---- edits of numbers, which random bytes seldom find ------------------------------------------------------------ */

/* Of the fuzzer; a replay has none. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

enum { TYPES = 48, STRING = 8, ARRAY = 9, MOST_NUMBERS = 4096, MOST_ELEMENTS = 32 };
static const uint8_t widths[13] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

typedef struct header {
    const uint8_t *data;
    size_t size, at;
    struct number {
        size_t at;
        int bytes;
        bool real, type; /* of a tensor */
    } number[MOST_NUMBERS];
    size_t n;
} header;

static uint64_t take(header *h, size_t bytes)
{
    uint64_t v = 0;
    if (h->at > h->size || bytes > h->size - h->at) {
        h->at = h->size + 1; /* no more */
        return 0;
    }
    memcpy(&v, h->data + h->at, bytes);
    h->at += bytes;
    return v;
}

static void skip(header *h, uint64_t bytes)
{
    h->at = bytes > h->size || h->at > h->size ? h->size + 1 : h->at + bytes;
}

static uint64_t note(header *h, int bytes, bool real)
{
    const size_t at = h->at;
    const uint64_t v = take(h, (size_t)bytes);
    if (h->at <= h->size && h->n < MOST_NUMBERS) h->number[h->n++] = (struct number){at, bytes, real, false};
    return v;
}

static void note_values(header *h, uint64_t type, uint64_t n)
{
    for (uint64_t i = 0; i < n && h->at <= h->size; i++)
        if (type == STRING)
            skip(h, take(h, 8));
        else if (type >= sizeof widths || widths[type] == 0)
            h->at = h->size + 1;
        else if (i < MOST_ELEMENTS)
            (void)note(h, widths[type], type == 6 || type == 12);
        else
            skip(h, widths[type]);
}

/* Values of keys, first elements of arrays, sizes and types of tensors. */
static void find_numbers(header *h)
{
    h->at += 8;
    const uint64_t tensors = take(h, 8), keys = take(h, 8);
    for (uint64_t i = 0; i < keys && h->at <= h->size; i++) {
        skip(h, take(h, 8));
        uint64_t type = take(h, 4), n = 1;
        if (type == ARRAY) type = take(h, 4), n = note(h, 8, false);
        note_values(h, type, n);
    }
    for (uint64_t i = 0; i < tensors && h->at <= h->size; i++) {
        skip(h, take(h, 8));
        for (uint64_t dims = note(h, 4, false), k = 0; k < dims && k < 8; k++) (void)note(h, 8, false);
        const size_t before = h->n;
        (void)note(h, 4, false);
        if (h->n > before) h->number[before].type = true;
        (void)note(h, 8, false);
    }
}

static void change(uint8_t *at, const struct number *k, unsigned draw_of)
{
    static const uint64_t counts[] = {0,    1,     2,       3,         5,          7,          8,         12,
                                      15,   16,    17,      31,        33,         64,         127,       255,
                                      1000, 65535, 1 << 20, INT32_MAX, 0x80000000, UINT32_MAX, INT64_MAX, UINT64_MAX};
    static const double reals[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1, -1, 1e-45, 1e-30, 0.5, 2, 1000, 3e38, -3e38};
    enum { COUNTS = sizeof counts / sizeof *counts, REALS = sizeof reals / sizeof *reals };
    uint64_t v = 0;
    memcpy(&v, at, (size_t)k->bytes);
    const unsigned way = draw_of % 4;
    draw_of /= 4;
    if (k->type) {
        v = draw_of % TYPES;
    } else if (k->real) {
        const float f = (float)reals[draw_of % REALS];
        memcpy(&v, k->bytes == 4 ? (const void *)&f : &reals[draw_of % REALS], (size_t)k->bytes);
    } else {
        v = way < 2 ? counts[draw_of % COUNTS] : way == 2 ? v + draw_of % 5 - 2 : draw_of & 1 ? v * 2 : v / 2;
    }
    memcpy(at, &v, (size_t)k->bytes);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static header h;
    unsigned draw_of = seed * 2654435761u >> 8;
    h = (header){.data = data, .size = size, .at = is_head(data, size) ? 4 : 0};
    if (seed % 3 == 0) return LLVMFuzzerMutate(data, size, most);
    find_numbers(&h);
    if (h.n == 0) return LLVMFuzzerMutate(data, size, most);
    for (unsigned i = 0; i <= seed % 4; i++) {
        draw_of = draw_of * 1664525u + 1013904223u;
        const struct number *k = &h.number[(draw_of >> 12) % h.n];
        draw_of = draw_of * 1664525u + 1013904223u;
        change(data + k->at, k, draw_of >> 12);
    }
    return size;
}
