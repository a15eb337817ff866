/* The pool under the thread sanitizer, where Criterion does not start: tasks write plain memory that the caller reads
 * afterwards, in short runs of both kinds, with pauses in which helpers sleep. The exit status is 1 on a wrong count;
 * the sanitizer has its own status. */
#include "base/pool.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add(void *ctx, int64_t task, int worker)
{
    (void)worker;
    ((int64_t *)ctx)[task] += task;
}

static int check(int threads, int rounds)
{
    geodec_pool *pool = NULL;
    if (geodec_pool_create(threads, &pool, NULL) != GEODEC_OK) return 1;
    geodec_rng r = geodec_rng_stream((uint64_t)threads, geodec_rng_id("pool", 0));
    int64_t sum[64], bad = 0;
    for (int round = 0; round < rounds; round++) {
        memset(sum, 0, sizeof sum);
        const int64_t n = (int64_t)geodec_rng_below(&r, 65);
        for (int k = 0; k < 3; k++) /* one run after another on the same memory */
            (geodec_rng_below(&r, 3) ? geodec_pool_run_dynamic : geodec_pool_run)(pool, n, add, sum);
        for (int64_t i = 0; i < 64; i++) bad += sum[i] != (i < n ? 3 * i : 0);
        if (round % 100 == 99) (void)usleep(2000);
    }
    geodec_pool_destroy(pool);
    if (bad) fprintf(stderr, "%d threads: %lld wrong sums\n", threads, (long long)bad);
    return bad != 0;
}

int main(void)
{
    static const int threads[] = {1, 2, 3, 8};
    int status = 0;
    for (int i = 0; i < 4; i++) status |= check(threads[i], threads[i] < 8 ? 1500 : 300);
    return status;
}
