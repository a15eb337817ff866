/* Exact nearest neighbours, each point of a set among the others, as TSV on stdout.
 *
 *     bench-knn [--quick] [--only gauss|uniform|clusters] [--threads N]
 *
 * us: microseconds a query for the whole search (order, packing, selection), median and least of the rounds; processor
 * time for one thread, elapsed time for several. limit_us: the target, NaN if there is none.
 * sgemm_us: the product of the same size alone in single precision (64 queries at a time), the lower bound of a search
 * by products. gauss and uniform fill all d dimensions; clusters: 100 Gaussian clouds of widths 0.01 to 1 with spectra
 * falling as 1/j^2. million runs only with --only million.
 */
#include "arguments.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "linalg/blas.h"
#include "linalg/knn.h"
#include "linalg/lapack.h"
#include "linalg/stats.h"

#include <math.h>
#include <sys/resource.h>
#include <time.h>

enum { K = 8, ROUNDS = 7 };

/* Processor time excludes the time of other processes on a busy machine; for several threads it is elapsed time. */
static double now(const geodec_pool *pool)
{
    if (pool) return geodec_clock_seconds();
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(const char *kind, int64_t n, int64_t d, double *x)
{
    geodec_rng r = geodec_rng_stream(5, geodec_rng_id("bench-knn", (uint64_t)d));
    double centre[100][64];
    for (int c = 0; c < 100; c++)
        for (int j = 0; j < 64; j++) centre[c][j] = 3 * geodec_rng_normal(&r) / (1 + j);
    for (int64_t i = 0; i < n; i++) {
        const int c = (int)geodec_rng_below(&r, 100);
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = *kind == 'u'   ? geodec_rng_uniform(&r)
                           : *kind == 'c' ? centre[c][j] + pow(10, -0.02 * c) * geodec_rng_normal(&r) / (double)(1 + j)
                                          : geodec_rng_normal(&r);
    }
}

static double sgemm(int64_t n, int64_t d)
{
    enum { QUERIES = 64 };
    float *x = geodec_mem_new(n * d, sizeof *x), *y = geodec_mem_new(n * QUERIES, sizeof *y);
    if (!x || !y) exit(1);
    double best = 1e9;
    for (int64_t i = 0; i < n * d; i++) x[i] = (float)(i % 7);
    for (int r = 0; r < 4; r++) {
        const double t = now(NULL);
        geodec_blas_gemm_f32(false, true, QUERIES, n, d, 1, x, d, x, d, 0, y, n);
        best = fmin(best, now(NULL) - t);
    }
    geodec_mem_free(x);
    geodec_mem_free(y);
    return best * 1e6 / QUERIES;
}

static void bench(const char *kind, int64_t n, int64_t d, double limit, geodec_pool *pool, int rounds)
{
    double *x = geodec_mem_new(n * d, sizeof *x), us[ROUNDS];
    int32_t *index = geodec_mem_new(n * K, sizeof *index);
    geodec_err err = {0};
    if (!x || !index) exit(1);
    fill(kind, n, d, x);
    for (int r = 0; r < rounds; r++) {
        const double t = now(pool);
        if (geodec_knn_search(n, d, x, 0, NULL, K, index, NULL, pool, NULL, &err) != GEODEC_OK) exit(1);
        us[r] = (now(pool) - t) * 1e6 / (double)n;
    }
    geodec_stats_sort(rounds, us);
    struct rusage use;
    (void)getrusage(RUSAGE_SELF, &use);
    (void)printf("%s\t%lld\t%lld\t%d\t%.2f\t%.2f\t%.1f\t%.2f\t%ld\n", kind, (long long)n, (long long)d,
                 geodec_pool_threads(pool), us[rounds / 2], us[0], limit, sgemm(n, d), use.ru_maxrss / 1024);
    (void)fflush(stdout);
    geodec_mem_free(x);
    geodec_mem_free(index);
}

int main(int argc, char **argv)
{
    static const struct {
        int64_t n, d;
        double limit;
    } cases[] = {{10000, 17, 8}, {100000, 8, 25}, {100000, 17, 70}, {100000, 64, 105}};
    static const char *const kinds[] = {"gauss", "uniform", "clusters"};
    bench_arguments given;
    if (!bench_arguments_read(argc, argv, "bench-knn", "KIND", &given)) return 2;
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    if (geodec_linalg_init(), given.threads > 1 && geodec_pool_create(given.threads, &pool, &err) != GEODEC_OK)
        return 1;
    (void)printf("kind\tn\td\tthreads\tus\tbest_us\tlimit_us\tsgemm_us\tpeak_mib\n");
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (!*given.only || strcmp(given.only, kinds[k]) == 0)
                bench(kinds[k], cases[i].n, cases[i].d, pool ? cases[i].limit / 1.8 : cases[i].limit, pool,
                      given.quick ? 3 : ROUNDS);
    if (strcmp(given.only, "million") == 0) bench("gauss", 1000000, 17, NAN, pool, 1);
    geodec_pool_destroy(pool);
    return 0;
}
