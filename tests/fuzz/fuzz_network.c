/* Networks in GGUF: a good file with edits, three bytes each (offset, value), the last two bytes its length. One pass
 * of whatever is accepted must neither crash nor overflow. */
#include "base/mem.h"
#include "base/rng.h"
#include "fuzz/fuzz.h"
#include "integer/engine/engine.h"
#include "integer/engine/network_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile unsigned char fuzz_sink;
enum { VOCAB = 5, WIDTH = 8, FEED = 9, MOST = 1 << 16 };
static uint8_t good[MOST];
static size_t good_size;

static geodec_panels16 *matrix(int64_t rows, int64_t cols, int bits, uint64_t seed)
{
    geodec_err err = {0};
    geodec_panels16 *p = NULL;
    float x[32];
    uint8_t code[32 * 64];
    int16_t multiplier[32], shift[32];
    const int64_t bytes = geodec_coded_row_bytes(cols, bits);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < cols; c++) x[c] = (float)(geodec_rng_uniform_at(seed, (uint64_t)r, (uint64_t)c) - 0.5);
        geodec_coded_row(x, cols, bits, code + r * bytes, multiplier + r, shift + r);
    }
    const geodec_coded c = {rows, cols, bits, code, multiplier, shift};
    if (geodec_coded_pack_in(&c, NULL, &p, &err) != GEODEC_OK) abort();
    return p;
}

static void vector(geodec_network_vector *v)
{
    geodec_err err = {0};
    static const float ones[WIDTH] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (geodec_network_vector_of(ones, WIDTH, v, &err) != GEODEC_OK) abort();
}

static void make_good(void)
{
    geodec_err err = {0};
    char path[64];
    geodec_network *n = geodec_mem_new(1, sizeof *n);
    n->config = (geodec_network_config){.n_layer = 2,
                                        .d_model = WIDTH,
                                        .n_head = 2,
                                        .n_kv_head = 1,
                                        .head_dim = 4,
                                        .rope_dim = 4,
                                        .d_ff = FEED,
                                        .d_ff_dense = FEED,
                                        .n_vocab = VOCAB,
                                        .n_ctx = 16,
                                        .n_expert = 3,
                                        .n_expert_used = 2,
                                        .rope_tables = 1,
                                        .activation_bits = 15,
                                        .rms_eps = geodec_network_factor_of(1e-5),
                                        .attn_scale = geodec_network_factor_of(0.5),
                                        .final_softcap = geodec_network_factor_of(30)};
    n->step = geodec_mem_new(4, sizeof *n->step);
    n->embedding = matrix(VOCAB, WIDTH, 16, 1);
    n->head = matrix(VOCAB, WIDTH, 8, 2);
    vector(&n->output_norm);
    n->layer = geodec_mem_new(2, sizeof *n->layer);
    for (int i = 0; i < 2; i++) {
        geodec_network_layer *l = &n->layer[i];
        vector(&l->attn_norm);
        vector(&l->ffn_norm);
        l->q = matrix(8, WIDTH, 8, 3);
        l->k = matrix(4, WIDTH, 4, 4);
        l->v = matrix(4, WIDTH, 4, 5);
        l->o = matrix(WIDTH, 8, 8, 6);
        if (i) {
            l->router = matrix(3, WIDTH, 16, 7);
            l->expert = geodec_mem_new(9, sizeof *l->expert);
            for (int e = 0; e < 9; e++)
                l->expert[e] = e % 3 == 2 ? matrix(WIDTH, FEED, 8, 8) : matrix(FEED, WIDTH, 8, 9);
        } else {
            l->gate = matrix(FEED, WIDTH, 8, 10);
            l->up = matrix(FEED, WIDTH, 8, 11);
            l->down = matrix(WIDTH, FEED, 8, 12);
        }
    }
    if (!fuzz_file((const uint8_t *)"", 0, path)) abort();
    (void)unlink(path);
    if (geodec_network_check(n, &err) != GEODEC_OK || geodec_network_file_write(path, n, NULL, "00", &err) != GEODEC_OK)
        abort();
    FILE *f = fopen(path, "rb");
    if (!f) abort();
    good_size = fread(good, 1, sizeof good, f);
    (void)fclose(f);
    (void)unlink(path);
    geodec_network_free(n);
    if (good_size == 0 || good_size == sizeof good) abort();
}

static void run(const geodec_network *n)
{
    geodec_err err = {0};
    geodec_engine *e = NULL;
    const geodec_engine_options o = {.n_ctx = 4, .max_batch = 3};
    const int32_t token[3] = {0, 0, 0};
    if (n->config.n_vocab > 1 << 10 || geodec_engine_create(n, &o, &e, &err) != GEODEC_OK) return;
    int32_t *logits = geodec_mem_new(3 * (int64_t)n->config.n_vocab, sizeof *logits);
    const geodec_engine_pass p = {.n = 3, .token = token, .logits = logits};
    if (logits && geodec_engine_forward(e, &p, &err) == GEODEC_OK) fuzz_sink ^= (unsigned char)logits[0];
    geodec_mem_free(logits);
    geodec_engine_destroy(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (good_size == 0) make_good();
    if (size < 2 || size > 3000) return 0;
    uint8_t *copy = NULL;
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_network *n = NULL;
    const size_t length = (size_t)(data[size - 2] | data[size - 1] << 8);
    const size_t used = length == 0 || length > good_size ? good_size : length;
    copy = aligned_alloc(64, (used + 63) / 64 * 64 + 64);
    if (!copy) return 0;
    memcpy(copy, good, used);
    for (size_t i = 0; i + 4 < size; i += 3) {
        const size_t at = (size_t)(data[i] | data[i + 1] << 8);
        if (at < used) copy[at] = data[i + 2];
    }
    if (geodec_gguf_open_memory(copy, used, "fuzz", &g, &err) == GEODEC_OK) {
        if (geodec_network_file_is(g) && geodec_network_file_read(g, NULL, NULL, &n, &err) == GEODEC_OK) run(n);
        geodec_network_free(n);
        geodec_gguf_close(g);
    }
    free(copy);
    return 0;
}
