/* Time of one forward pass by the number of rows, as TSV on stdout.
 *
 *     bench-forward [--quick] [--only SHAPE] [--isa scalar|avx2|avx512] [--threads N]
 *
 * For each shape and weight type: a random model is written to a temporary file and passes of b rows are timed after a
 * cache of 64 tokens. v(b) = T(b)/T(1) is the cost of b-1 drafts for a speculative decoder; gbps = weight bytes / T(b).
 * Controls, interleaved with the passes so that a busy machine affects all equally:
 *   read     reading the same bytes once, without computation: the memory limit
 *   sgemm    cblas_sgemm for the same matrices and rows (float32 only)
 * Each figure is the median of several rounds, in processor time of the thread when there is one, in elapsed time
 * otherwise. */
#include "arguments.h"
#include "base/clock.h"
#include "base/pool.h"
#include "linalg/lapack.h"
#include "session/model.h"
#include "session/synthetic.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, PAST = 64, MAX_ROWS = 64 };

static const int rows_list[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 64};
enum { N_ROWS = sizeof rows_list / sizeof *rows_list };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *t, int n)
{
    qsort(t, (size_t)n, sizeof *t, by_value);
    return t[n / 2];
}

/* Processor time excludes the time of other processes on a busy machine. */
static double now(const geodec_pool *pool)
{
    if (pool) return geodec_clock_seconds();
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const geodec_err *err)
{
    char line[512];
    (void)fprintf(stderr, "bench-forward: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

/* Weight bytes of one pass: every matrix once with the head, without the embedding row. */
static const geodec_gguf_tensor *matrix_at(const geodec_gguf *g, int64_t i)
{
    const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
    return t->n_dims >= 2 ? t : NULL;
}

static volatile uint64_t sink;

static void read_all(const geodec_gguf *g)
{
    uint64_t s[8] = {0};
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = matrix_at(g, i);
        if (!t) continue;
        const unsigned char *p = t->data;
        for (size_t at = 0; at + 64 <= t->bytes; at += 64)
            for (int k = 0; k < 8; k++) {
                uint64_t w;
                memcpy(&w, p + at + 8 * k, sizeof w);
                s[k] ^= w;
            }
    }
    sink = s[0] ^ s[1] ^ s[2] ^ s[3] ^ s[4] ^ s[5] ^ s[6] ^ s[7];
}

static void sgemm_all(const geodec_gguf *g, int b, const float *x, float *y)
{
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = matrix_at(g, i);
        if (!t) continue;
        const int cols = (int)t->dim[0], rows = (int)t->dim[1];
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, b, rows, cols, 1.0f, x, cols, t->data, cols, 0.0f, y,
                    rows);
    }
}

static void bench(const char *label, const synthetic *shape, geodec_isa isa, geodec_pool *pool, const char *path,
                  int rounds)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    if (synthetic_write(path, shape, &err) != GEODEC_OK || geodec_model_open(path, &m, &err) != GEODEC_OK) die(&err);
    const geodec_session_options o = {.n_ctx = PAST + MAX_ROWS, .isa = isa, .pool = pool};
    if (geodec_session_create(m, &o, &s, &err) != GEODEC_OK) die(&err);
    const geodec_gguf *g = geodec_model_gguf(m);
    double bytes = 0;
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++)
        if (matrix_at(g, i)) bytes += (double)matrix_at(g, i)->bytes;

    int32_t token[PAST + MAX_ROWS];
    for (int i = 0; i < PAST + MAX_ROWS; i++) token[i] = 3 + 7 * i % 250;
    float *logits = geodec_mem_new((int64_t)MAX_ROWS * shape->n_vocab, sizeof *logits);
    const int64_t widest = shape->d_ff > shape->n_vocab ? shape->d_ff : shape->n_vocab;
    float *x = geodec_mem_new(MAX_ROWS * widest, sizeof *x), *y = geodec_mem_new(MAX_ROWS * widest, sizeof *y);
    for (int64_t i = 0; i < MAX_ROWS * widest; i++) x[i] = (float)(i % 13) / 13.0f;
    if (!logits || !x || !y || geodec_forward_prefill(s, token, PAST, NULL, &err) != GEODEC_OK) die(&err);

    static double ours[N_ROWS][ROUNDS], gemm[N_ROWS][ROUNDS], limit[ROUNDS];
    const bool peer = shape->type == GEODEC_GGML_F32 && isa != GEODEC_ISA_SCALAR;
    for (int round = -1; round < rounds; round++) { /* round -1 warms up */
        const int k = round < 0 ? 0 : round;
        double t = now(pool);
        read_all(g);
        limit[k] = now(pool) - t;
        for (int i = 0; i < N_ROWS; i++) {
            t = now(pool);
            const geodec_batch b = {.n = rows_list[i], .token = token + PAST};
            if (geodec_forward(s, &b, logits, NULL, &err) != GEODEC_OK) die(&err);
            ours[i][k] = now(pool) - t;
            geodec_session_truncate(s, PAST);
            if (!peer) continue;
            t = now(pool);
            sgemm_all(g, rows_list[i], x, y);
            gemm[i][k] = now(pool) - t;
        }
    }
    const double t_limit = median(limit, rounds);
    double one = 0, gemm_one = 0;
    for (int i = 0; i < N_ROWS; i++) {
        const double t = median(ours[i], rounds), tg = peer ? median(gemm[i], rounds) : 0;
        if (i == 0) {
            one = t;
            gemm_one = tg;
        }
        (void)printf("%s\t%s\t%s\t%d\t%d\t%.1f\t%.2f\t%.2f\t%.1f\t%.2f\t", label, geodec_ggml_type_name(shape->type),
                     geodec_kernels_isa_name(geodec_session_isa(s)), geodec_pool_threads(pool), rows_list[i], t * 1e6,
                     t / one, bytes / t * 1e-9, t_limit * 1e6, bytes / t_limit * 1e-9);
        if (peer)
            (void)printf("%.1f\t%.2f\n", tg * 1e6, tg / gemm_one);
        else
            (void)printf("nan\tnan\n");
    }
    (void)fflush(stdout);
    geodec_mem_free(logits);
    geodec_mem_free(x);
    geodec_mem_free(y);
    geodec_session_destroy(s);
    geodec_model_close(m);
    (void)unlink(path);
}

int main(int argc, char **argv)
{
    bench_arguments given;
    if (!bench_arguments_read(argc, argv, "bench-forward", "SHAPE", &given)) return 2;
    const geodec_isa isa = given.isa;
    const int threads = given.threads, rounds = given.quick ? 5 : ROUNDS;
    const char *only = given.only;
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_linalg_init();
    if (threads > 1 && geodec_pool_create(threads, &pool, &err) != GEODEC_OK) die(&err);
    const char *folder = getenv("TMPDIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/geodec-bench-%ld.gguf", folder ? folder : "/tmp", (long)getpid());
    (void)printf("shape\ttype\tisa\tthreads\tb\tus\tv\tgbps\tread_us\tread_gbps\tsgemm_us\tsgemm_v\n");
    static const int types[] = {GEODEC_GGML_F32, GEODEC_GGML_F16, GEODEC_GGML_Q8_0};
    for (int k = 0; k < 3; k++) {
        const synthetic small = {.n_layer = 6,
                                 .d_model = 128,
                                 .n_head = 4,
                                 .n_kv_head = 2,
                                 .d_ff = 384,
                                 .n_vocab = 768,
                                 .n_ctx = 512,
                                 .type = types[k],
                                 .tied = true,
                                 .seed = 1};
        if (!*only || strcmp(only, "d128") == 0) bench("d128", &small, isa, pool, path, rounds);
        const synthetic large = {.n_layer = 8,
                                 .d_model = 576,
                                 .n_head = 9,
                                 .n_kv_head = 3,
                                 .d_ff = 1536,
                                 .n_vocab = 4096,
                                 .n_ctx = 512,
                                 .type = types[k],
                                 .tied = true,
                                 .seed = 1};
        if (!*only || strcmp(only, "d576") == 0) bench("d576", &large, isa, pool, path, rounds);
    }
    geodec_pool_destroy(pool);
    return 0;
}
