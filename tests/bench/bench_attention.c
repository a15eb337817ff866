/* Time of attention alone by context and rows, as TSV on stdout.
 *
 *     bench-attention [--kv f32|f16|q8_0] [--isa scalar|avx2|avx512] [--threads N] [--most CONTEXT] [--dim D]
 *                     [--heads H] [--kv-heads K]
 *
 * Four layers of random keys and values (default: the heads of SmolLM2-135M); a call is the attention of b rows after
 * a cache of `context` tokens, in each layer in turn, without projections.
 *   ns_key_head   time per query head, row and key
 *   gflops        4 head_dim operations per query head, row and key
 *   gbps          bytes of the cache over time, as if they were read once
 *   limit         time to read the same bytes once by one thread, divided by the time of attention
 * Each figure is the best of several rounds. */
#include "base/clock.h"
#include "base/mem.h"
#include "session/model_internal.h"
#include "session/synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 4, ROUNDS = 7, MAX_ROWS = 64 };

static void die(const geodec_err *err)
{
    char line[512];
    (void)fprintf(stderr, "bench-attention: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

static volatile uint64_t sink;

static double read_seconds(const geodec_session *s, int64_t bytes)
{
    const double start = geodec_clock_seconds();
    uint64_t sum[8] = {0};
    const uint8_t *p = s->cache.data;
    for (int64_t at = 0; at + 64 <= bytes; at += 64)
        for (int k = 0; k < 8; k++) {
            uint64_t w;
            memcpy(&w, p + at + 8 * k, sizeof w);
            sum[k] ^= w;
        }
    sink = sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
    return geodec_clock_seconds() - start;
}

static void fill(geodec_session *s, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("bench", 0));
    float x[2 * 256];
    for (int64_t p = s->length; p < n; p++)
        for (int32_t layer = 0; layer < LAYERS; layer++)
            for (int32_t h = 0; h < c->n_kv_head; h++) {
                for (int i = 0; i < 2 * c->head_dim; i++) x[i] = 2 * (float)geodec_rng_uniform(&r) - 1;
                geodec__cache_put(s, layer, h, p, x, x + c->head_dim);
            }
    s->length = (int32_t)n;
}

static double call_seconds(geodec_session *s, int b)
{
    double total = 0;
    for (int32_t layer = 0; layer < LAYERS; layer++) {
        for (int i = 0; i < b; i++) { /* rotation and scale are done in place */
            s->parent[i] = i - 1;
            s->depth[i] = i;
            for (int64_t k = 0; k < geodec__pad((int64_t)s->model->config.n_head * s->model->config.head_dim); k++)
                s->query_row[i][k] = (float)((i * 7 + k * 13) % 17 - 8) * 0.25f;
        }
        const double start = geodec_clock_seconds();
        geodec__attention_run(s, layer, b, true);
        total += geodec_clock_seconds() - start;
    }
    return total;
}

static void bench(geodec_session *s, int64_t context, int b)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t blocks = (context + b + GEODEC__KEYS - 1) / GEODEC__KEYS;
    const int64_t bytes = blocks * LAYERS * c->n_kv_head * s->cache.k_step;
    double best = 1e9, limit = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = geodec_clock_seconds();
        int calls = 0;
        double t = 0;
        do {
            t += call_seconds(s, b);
            calls++;
        } while (geodec_clock_seconds() - start < 0.02);
        best = t / calls < best ? t / calls : best;
        t = read_seconds(s, bytes);
        limit = t < limit ? t : limit;
    }
    const double pairs = (double)LAYERS * c->n_head * ((double)b * (double)context + 0.5 * b * (b + 1));
    printf("%lld\t%d\t%.4f\t%.1f\t%.2f\t%.3f\n", (long long)context, b, best / pairs * 1e9,
           4 * pairs * c->head_dim / best * 1e-9, (double)bytes / best * 1e-9, limit / best);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    int64_t threads = 1, most = 32768;
    int32_t dim = 64, heads = 9, kv_heads = 3;
    geodec_kv_type kv = GEODEC_KV_F32;
    geodec_isa isa = GEODEC_ISA_AUTO;
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *v = argv[i + 1];
        if (strcmp(argv[i], "--threads") == 0) threads = atoi(v);
        if (strcmp(argv[i], "--most") == 0) most = atoi(v);
        if (strcmp(argv[i], "--dim") == 0) dim = atoi(v);
        if (strcmp(argv[i], "--heads") == 0) heads = atoi(v);
        if (strcmp(argv[i], "--kv-heads") == 0) kv_heads = atoi(v);
        if (strcmp(argv[i], "--kv") == 0)
            kv = strcmp(v, "f16") == 0 ? GEODEC_KV_F16 : strcmp(v, "q8_0") == 0 ? GEODEC_KV_Q8_0 : GEODEC_KV_F32;
        for (int k = GEODEC_ISA_SCALAR; strcmp(argv[i], "--isa") == 0 && k <= GEODEC_ISA_AVX512; k++)
            if (strcmp(v, geodec_kernels_isa_name((geodec_isa)k)) == 0) isa = (geodec_isa)k;
    }
    if (dim < 1 || dim > 256) return 2;
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    char path[] = "/tmp/bench-attention-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) return 1;
    (void)close(fd);
    const synthetic shape = {.n_layer = LAYERS,
                             .d_model = 32,
                             .n_head = heads,
                             .n_kv_head = kv_heads,
                             .head_dim = dim,
                             .d_ff = 32,
                             .n_vocab = 300,
                             .n_ctx = (int32_t)most + MAX_ROWS,
                             .type = GEODEC_GGML_F32,
                             .tied = true,
                             .seed = 1};
    if (threads > 1 && geodec_pool_create((int)threads, &pool, &err) != GEODEC_OK) die(&err);
    if (synthetic_write(path, &shape, &err) != GEODEC_OK || geodec_model_open(path, &m, &err) != GEODEC_OK) die(&err);
    (void)unlink(path);
    const geodec_session_options o = {.isa = isa, .pool = pool, .kv = kv};
    if (geodec_session_create(m, &o, &s, &err) != GEODEC_OK) die(&err);
    printf("context\tb\tns_key_head\tgflops\tgbps\tlimit\n");
    for (int64_t context = 128; context <= most; context *= 4) {
        fill(s, context);
        bench(s, context, 1);
        bench(s, context, 8);
        bench(s, context, 64);
    }
    geodec_session_destroy(s);
    geodec_model_close(m);
    geodec_pool_destroy(pool);
    return 0;
}
