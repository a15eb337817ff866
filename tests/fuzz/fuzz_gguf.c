/* The GGUF reader and all objects that are made from a file's keys and tensors: every accessor, tokenizer,
 * configuration, weights, and for tiny models a forward pass. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "session/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile unsigned char fuzz_sink;
enum { MAX_FILE = 1 << 20, MAX_WORK = 1 << 18 };

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
    uint8_t *copy =
        aligned_alloc(64, (size + 63) / 64 * 64 + 64); /* the end of the file at the end of the allocation */
    if (!copy) return 0;
    uint8_t *at = copy;
    memcpy(at, data, size);
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
