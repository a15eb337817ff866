/* Speed of the integer products alone, as TSV on stdout.
 *
 *     bench-products [--quick] [--only TYPE] [--isa scalar|avx2|avx512] [--threads N]
 *
 * For each type a matrix larger than the caches, packed and filled with arbitrary codes, is multiplied by b rows,
 * divided into equal parts for the threads. us: the fastest of several rounds; v: relative to one row; gbps: packed
 * bytes / time; limit_gbps (control): the same threads reading the same bytes, in the same rounds; gmacs: 1e9
 * multiply-adds a second; pack_gbps: bytes of the file / time in which one thread packs as many rows.
 */
#include "arguments.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "evaluate/read_limit.h"
#include "kernels/products_internal.h"
#include "session/arithmetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COLS = 2048, MATRIX_BYTES = 64 << 20, MAX_ROWS = 64 };

static const int rows_list[] = {1, 2, 4, 8, 16, 64};
enum { N_ROWS = sizeof rows_list / sizeof *rows_list };

static void die(const geodec_err *err)
{
    char line[512];
    (void)fprintf(stderr, "bench-products: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

typedef struct work {
    const geodec__product *product;
    geodec__panels w;
    const uint8_t *x;
    float *const *y;
    int64_t n, threads, bytes;
} work;

static void product_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const work *k = ctx;
    const int64_t count = geodec__panels_count(k->w.rows);
    k->product->multiply(&k->w, count * task / k->threads, count * (task + 1) / k->threads, k->x, k->n, k->y);
}

/* Processor time excludes the time of other processes on a busy machine; for several threads it is elapsed time. */
static double now(const geodec_pool *pool)
{
    if (pool) return geodec_clock_seconds();
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Packs the rows of w from arbitrary bytes; bytes of the file / time, the fastest of several rounds. */
static double pack_speed(const geodec__panels *w, int type, int rounds)
{
    const geodec__panel_format *f = w->format;
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type);
    geodec__matrix m = {.type = type, .rows = w->rows, .cols = COLS, .row_bytes = COLS / t->block * t->block_bytes};
    const int64_t bytes = m.rows * m.row_bytes, panel = geodec__panel_bytes(w);
    uint8_t *file = geodec_mem_new(bytes, 1), *out = geodec_mem_new(panel, 1);
    double best = 1e9;
    if (!file || !out) exit(1);
    for (int64_t i = 0; i < bytes; i++) file[i] = (uint8_t)(i * 7 % 61);
    m.data = file;
    for (int round = 0; round < rounds; round++) {
        const double begin = now(NULL);
        for (int64_t p = 0; p < geodec__panels_count(m.rows); p++) geodec__panel_pack(f, &m, p, out);
        const double took = now(NULL) - begin;
        if (took < best) best = took;
    }
    geodec_mem_free(file);
    geodec_mem_free(out);
    return (double)bytes / best;
}

static double run(geodec_pool *pool, geodec_pool_fn fn, work *k)
{
    const double t = now(pool);
    geodec_pool_run(pool, k->threads, fn, k);
    return now(pool) - t;
}

static void bench(int type, geodec_arithmetic a, geodec_isa isa, geodec_pool *pool, geodec_read_limit *memory,
                  int rounds)
{
    const geodec__panel_format *f = geodec__panel_format_in(a, type);
    if (!f) return;
    const geodec__products *set = geodec__products_for(isa);
    work k = {.product = geodec__product_of(set, a), .threads = geodec_pool_threads(pool)};
    k.w = (geodec__panels){.format = f, .records = COLS / (32 * f->blocks)};
    const int64_t count = MATRIX_BYTES / geodec__panel_bytes(&k.w), blocks = COLS / 32;
    k.w.rows = count * GEODEC__PANEL;
    k.bytes = count * geodec__panel_bytes(&k.w);
    uint8_t *data = geodec_mem_map(k.bytes);
    uint8_t *x = geodec_mem_new(MAX_ROWS * blocks * k.product->block_bytes, 1);
    float *y = geodec_mem_new(MAX_ROWS * k.w.rows, sizeof *y), *y_row[MAX_ROWS], row[COLS];
    if (!data || !x || !y) exit(1);
    for (int64_t i = 0; i < k.bytes; i++) data[i] = (uint8_t)(i * 7 % 61); /* halves of 0 to 1, no NaN */
    for (int64_t i = 0; f->scales == GEODEC__SCALES_E8M0 && i < k.bytes; i += f->record_bytes)
        memset(data + i, 127, GEODEC__PANEL); /* exponents: nothing subnormal */
    for (int i = 0; i < COLS; i++) row[i] = (float)(i % 13 - 6);
    for (int r = 0; r < MAX_ROWS; r++) y_row[r] = y + r * k.w.rows;
    k.w.data = data;
    k.x = x;
    k.y = y_row;
    double best[N_ROWS], limit = 0;
    for (int i = 0; i < N_ROWS; i++) best[i] = 1e9;
    for (int round = 0; round < rounds; round++) {
        const double read = geodec_read_limit_measure(memory);
        if (read > limit) limit = read;
        for (int i = 0; i < N_ROWS; i++) {
            k.n = rows_list[i];
            for (int64_t r = 0; r < k.n; r++) {
                const int64_t first = r / GEODEC__PRODUCT_TILE * GEODEC__PRODUCT_TILE;
                const int64_t stride = k.n - first < GEODEC__PRODUCT_TILE ? k.n - first : GEODEC__PRODUCT_TILE;
                k.product->round(row, COLS, f->offset, f->group,
                                 x + (first * blocks + r - first) * k.product->block_bytes, stride);
            }
            const double t = run(pool, product_task, &k);
            if (t < best[i]) best[i] = t;
        }
    }
    const double pack = pack_speed(&k.w, type, rounds);
    for (int i = 0; i < N_ROWS; i++)
        (void)printf("%s\t%s\t%s\t%d\t%d\t%.1f\t%.2f\t%.1f\t%.1f\t%.1f\t%.2f\n", geodec_ggml_type_name(type),
                     geodec_arithmetic_name(a), geodec_kernels_isa_name(set->isa), (int)k.threads, rows_list[i],
                     best[i] * 1e6, best[i] / best[0], (double)k.bytes / best[i] * 1e-9, limit * 1e-9,
                     (double)k.w.rows * COLS * rows_list[i] / best[i] * 1e-9, pack * 1e-9);
    (void)fflush(stdout);
    geodec_mem_unmap(data, k.bytes);
    geodec_mem_free(x);
    geodec_mem_free(y);
}

int main(int argc, char **argv)
{
    bench_arguments given;
    if (!bench_arguments_read(argc, argv, "bench-products", "TYPE", &given)) return 2;
    const geodec_isa isa = given.isa;
    const int threads = given.threads, rounds = given.quick ? 4 : 15;
    const char *only = given.only;
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    if (threads > 64) return 2;
    if (threads > 1 && geodec_pool_create(threads, &pool, &err) != GEODEC_OK) die(&err);
    geodec_read_limit *memory = NULL;
    if (geodec_read_limit_create(pool, &memory, &err) != GEODEC_OK) die(&err);
    (void)printf("type\tarithmetic\tisa\tthreads\tb\tus\tv\tgbps\tlimit_gbps\tgmacs\tpack_gbps\n");
    const geodec_ggml_traits *t;
    for (int i = 0; (t = geodec_ggml_traits_at(i)); i++)
        for (int a = 0; a < GEODEC_ARITHMETICS; a++)
            if (geodec__panel_format_of(t->type) && (!*only || strcmp(only, t->name) == 0))
                bench(t->type, (geodec_arithmetic)a, isa, pool, memory, rounds);
    geodec_read_limit_destroy(memory);
    geodec_pool_destroy(pool);
    return 0;
}
