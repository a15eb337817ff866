/* The conversion of a model to integers: a small good model of some architecture with edits of its header, numbers and
 * weights. A model that is converted runs for one pass without an overflow, and its file gives the same logits.
 * Bytes: the model, the options, then edits of four bytes each. */
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "integer/engine/engine.h"
#include "integer/engine/network_file.h"
#include "session/families.h"
#include "session/integer_network.h"

#include <stdlib.h>
#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 10, MODELS = 10, MAX_KEYS = 64, MAX_WORK = 1 << 21, TOKENS = 3 };

typedef struct good {
    uint8_t *data;
    size_t size, head;       /* the tensors begin at head */
    size_t number[MAX_KEYS]; /* offsets of the values of keys of 4 bytes */
    bool real[MAX_KEYS];     /* float32 */
    int n_numbers;
} good;

/* All that is converted in a way of its own: types with codes, floats, tied heads, biases, divisors, windows, caps,
 * experts with and without shared and dense layers. */
static const synthetic *model_of(int i)
{
    static const synthetic blocks[] = {
        {.n_layer = 2,
         .d_model = 64,
         .n_head = 4,
         .n_kv_head = 2,
         .d_ff = 96,
         .n_vocab = 290,
         .n_ctx = 64,
         .type = GEODEC_GGML_Q8_0,
         .seed = 1},
        {.n_layer = 2,
         .d_model = 64,
         .n_head = 4,
         .n_kv_head = 4,
         .d_ff = 64,
         .n_vocab = 290,
         .n_ctx = 64,
         .type = GEODEC_GGML_Q4_0,
         .tied = true,
         .seed = 2},
    };
    static const char *const names[MODELS - 2] = {"llama-3", "mixtral-old", "gemma2",   "phi3-long",
                                                  "qwen3",   "dots1",       "qwen2moe", "granitemoe"};
    if (i < 2) return &blocks[i];
    for (int k = 0; k < N_FAMILIES; k++)
        if (strcmp(families[k].name, names[i - 2]) == 0) return &families[k].s;
    abort();
}

static void find_numbers(good *g, const geodec_gguf *file)
{
    enum { U32 = 4, F32 = 6 };
    for (int64_t i = 0; i < geodec_gguf_n_keys(file) && g->n_numbers < MAX_KEYS; i++) {
        const char *key = geodec_gguf_key_at(file, i);
        const size_t n = strlen(key);
        for (size_t at = 0; at + n + 8 <= g->head; at++)
            if (memcmp(g->data + at, key, n) == 0 && (g->data[at + n] == U32 || g->data[at + n] == F32)) {
                g->number[g->n_numbers] = at + n + 4;
                g->real[g->n_numbers++] = g->data[at + n] == F32;
                break;
            }
    }
}

static const good *good_of(int i)
{
    static good made[MODELS];
    good *g = &made[i];
    geodec_err err = {0};
    geodec_gguf *file = NULL;
    char path[64];
    if (g->data) return g;
    if (!fuzz_file((const uint8_t *)"", 0, path)) abort();
    (void)unlink(path);
    fuzz_must(synthetic_write(path, model_of(i), &err) == GEODEC_OK, "no model");
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) abort();
    g->size = (size_t)ftell(f);
    rewind(f);
    g->data = aligned_alloc(64, (g->size + 63) / 64 * 64);
    if (!g->data || fread(g->data, 1, g->size, f) != g->size) abort();
    (void)fclose(f);
    (void)unlink(path);
    fuzz_must(geodec_gguf_open_memory(g->data, g->size, "good", &file, &err) == GEODEC_OK, "a bad model");
    g->head = g->size;
    for (int64_t t = 0; t < geodec_gguf_n_tensors(file); t++) {
        const size_t at = (size_t)((const uint8_t *)geodec_gguf_tensor_at(file, t)->data - g->data);
        g->head = at < g->head ? at : g->head;
    }
    find_numbers(g, file);
    geodec_gguf_close(file);
    fuzz_must(g->n_numbers > 4, "no numbers");
    return g;
}

/* Bits of a float32, or a count. */
static uint32_t number_of(bool real, uint8_t which)
{
    static const float reals[] = {NAN,    INFINITY, -INFINITY, 0.0f,  -0.0f,  1.0f, -1.0f,   1e-45f,
                                  1e-38f, 3.4e38f,  -3.4e38f,  1e30f, 1e-30f, 0.5f, 65504.f, 1e6f};
    static const uint32_t counts[] = {UINT32_MAX, INT32_MAX, 0x80000000u, 65536, 65535, 0x1000000, 1u << 20, 1000};
    uint32_t bits;
    memcpy(&bits, &reals[which % 16], sizeof bits);
    return real ? bits : which < 8 ? counts[which] : (uint32_t)which - 8;
}

/* One edit: of a byte of the header, of a number of the configuration, or of four bytes or of a whole tensor's. */
static void edit(const good *g, uint8_t *copy, const uint8_t e[4])
{
    const size_t where = (size_t)(e[1] | e[2] << 8);
    if (e[0] % 4 == 0) {
        copy[where % g->head] = e[3];
    } else if (e[0] % 4 == 1) {
        const int k = e[1] % g->n_numbers;
        const uint32_t v = number_of(g->real[k], e[3]);
        memcpy(copy + g->number[k], &v, sizeof v);
    } else {
        const uint32_t v = number_of(true, e[3]), half = (uint32_t)(e[3] & 1 ? 0x7c007c00u : 0x7e00fc00u);
        const size_t words = (g->size - g->head) / 4, each = e[0] % 4 == 2 ? 1 : 64,
                     from = ((size_t)(e[0] / 4) << 16 | where) % words;
        for (size_t i = from; i < words && i < from + each; i++)
            memcpy(copy + g->head + 4 * i, e[3] & 16 ? &half : &v, sizeof v);
    }
}

static bool logits_of(const geodec_network *n, int32_t *logits)
{
    geodec_err err = {0};
    geodec_engine *e = NULL;
    const geodec_engine_options o = {.n_ctx = 4, .max_batch = TOKENS};
    const int32_t token[TOKENS] = {0, n->config.n_vocab - 1, n->config.n_vocab / 2};
    const geodec_engine_pass p = {.n = TOKENS, .token = token, .logits = logits};
    if (geodec_engine_create(n, &o, &e, &err) != GEODEC_OK) return false;
    fuzz_must(geodec_engine_forward(e, &p, &err) == GEODEC_OK, "no pass");
    geodec_engine_destroy(e);
    return true;
}

/* The file of n, read again, gives the same logits. */
static void check_file(const geodec_network *n, const geodec_gguf *source, const int32_t *logits, int64_t count)
{
    geodec_err err = {0};
    char path[64];
    geodec_gguf *file = NULL;
    geodec_network *back = NULL;
    int32_t *again = geodec_mem_new(count, sizeof *again);
    if (!again || !fuzz_file((const uint8_t *)"", 0, path)) abort();
    if (geodec_network_file_write(path, n, source, "00", &err) == GEODEC_OK) {
        fuzz_must(geodec_gguf_open(path, &file, &err) == GEODEC_OK &&
                      geodec_network_file_read(file, NULL, NULL, &back, &err) == GEODEC_OK,
                  "a written file is refused");
        fuzz_must(logits_of(back, again) && memcmp(again, logits, (size_t)count * sizeof *again) == 0,
                  "other logits of the file");
    }
    geodec_network_free(back);
    geodec_gguf_close(file);
    geodec_mem_free(again);
    (void)unlink(path);
}

static void convert(const geodec_model *m, uint8_t how)
{
    static const int bits[4] = {0, 4, 8, 16};
    const geodec_integer_options o = {.bits = bits[how & 3], .activation_bits = how & 4 ? 8 : 16};
    const geodec_model_config *c = geodec_model_configuration(m);
    const double ff = (double)c->d_ff * (c->n_expert ? c->n_expert : 1) + c->d_ff_dense + c->d_ff_shared;
    const double work =
        (double)c->n_layer * c->d_model * (4.0 * c->n_head * c->head_dim + 3 * ff) + (double)c->d_model * c->n_vocab;
    geodec_err err = {0};
    geodec_network *n = NULL;
    if (work > MAX_WORK) return;
    if (geodec_integer_network_make(m, &o, NULL, &n, &err) != GEODEC_OK) {
        fuzz_must(!n, "an output of a failure");
        return;
    }
    const int64_t count = (int64_t)TOKENS * n->config.n_vocab;
    int32_t *logits = geodec_mem_new(count, sizeof *logits);
    if (!logits) abort();
    if (logits_of(n, logits) && how & 8) check_file(n, geodec_model_gguf(m), logits, count);
    fuzz_use(logits, (size_t)count * sizeof *logits);
    geodec_mem_free(logits);
    geodec_network_free(n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > MAX_INPUT) return 0;
    geodec_err err = {0};
    geodec_gguf *file = NULL;
    geodec_model *m = NULL;
    const good *g = good_of(data[0] % MODELS);
    uint8_t *copy = aligned_alloc(64, (g->size + 63) / 64 * 64);
    if (!copy) return 0;
    memcpy(copy, g->data, g->size);
    for (size_t i = 2; i + 4 <= size; i += 4) edit(g, copy, data + i);
    if (geodec_gguf_open_memory(copy, g->size, "fuzz", &file, &err) == GEODEC_OK &&
        geodec_model_from_gguf(file, &m, &err) == GEODEC_OK) {
        convert(m, data[1]);
        geodec_model_close(m);
    }
    free(copy);
    return 0;
}
