/* Overhead of the thread pool, as TSV on stdout.
 *
 *     bench-pool [--threads LIST]
 *
 * For every number of threads and kind of scheduling: nanoseconds of one run of the pool with empty tasks, of one whose
 * tasks together take about 10 us on one thread (as a product of a tiny model), and of the same tasks on the caller's
 * thread alone. Each value is the best of several rounds of many runs. */
#include "base/clock.h"
#include "base/pool.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 15, RUNS = 400, TASKS = 16, STEPS = 1150 };

static volatile uint64_t sink;

static void nothing(void *ctx, int64_t task, int worker)
{
    (void)ctx;
    (void)task;
    (void)worker;
}

static void something(void *ctx, int64_t task, int worker)
{
    uint64_t x = (uint64_t)task + 1;
    (void)worker;
    for (int64_t i = 0; i < *(const int64_t *)ctx; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

typedef void (*run_fn)(geodec_pool *pool, int64_t n_tasks, geodec_pool_fn fn, void *ctx);

static double best(run_fn run, geodec_pool *pool, geodec_pool_fn fn)
{
    int64_t steps = STEPS / 2;
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = geodec_clock_seconds();
        for (int i = 0; i < RUNS; i++) run(pool, TASKS, fn, &steps);
        const double t = (geodec_clock_seconds() - start) / RUNS;
        least = t < least ? t : least;
    }
    return least * 1e9;
}

int main(int argc, char **argv)
{
    const char *list = argc == 3 && strcmp(argv[1], "--threads") == 0 ? argv[2] : "1,2,3,8";
    printf("threads\tkind\tempty_ns\twork_ns\talone_ns\n");
    for (const char *at = list; *at;) {
        char *end;
        const int threads = (int)strtol(at, &end, 10);
        geodec_pool *pool = NULL;
        if (end == at || geodec_pool_create(threads, &pool, NULL) != GEODEC_OK) return 1;
        for (int kind = 0; kind < 2; kind++) {
            const run_fn run = kind ? geodec_pool_run_dynamic : geodec_pool_run;
            const double empty = best(run, pool, nothing), work = best(run, pool, something),
                         alone = best(run, NULL, something);
            printf("%d\t%s\t%.0f\t%.0f\t%.0f\n", threads, kind ? "dynamic" : "static", empty, work, alone);
        }
        geodec_pool_destroy(pool);
        at = *end ? end + 1 : end;
    }
    return 0;
}
