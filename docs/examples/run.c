/* Threads, log and progress of a long call, and how it is stopped. */
#include <geodec/cloud.h>
#include <geodec/run.h>

#include <stdio.h>

static void say(void *ctx, geodec_log_level level, const char *line)
{
    (void)ctx;
    if (level <= GEODEC_LOG_INFO) printf("log: %s\n", line);
}

/* A non-zero return ends the call with GEODEC_INTERRUPTED. */
static int stop_at_once(void *ctx, const char *what, int64_t done, int64_t total)
{
    int *calls = ctx;
    (*calls)++;
    (void)what, (void)done, (void)total;
    return 1;
}

int main(void)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    static double x[4096][3];
    int calls = 0;
    const geodec_hooks hooks = {.ctx = &calls, .log = say, .progress = stop_at_once};
    geodec_twonn dimension;
    const geodec_twonn_options o = geodec_twonn_defaults();
    if (geodec_pool_create(2, &pool, &err) != GEODEC_OK) return 1;
    printf("%d threads\n", geodec_pool_threads(pool));
    for (int i = 0; i < 4096; i++) /* a spiral staircase: a curve */
        for (int j = 0; j < 3; j++) x[i][j] = (double)((i * (7 + 4 * j)) % 4096) / 4096;
    const geodec_status st = geodec_twonn_estimate(4096, 3, x[0], &o, pool, &hooks, &dimension, &err);
    printf("%s after %d call(s) of progress\n", geodec_status_name(st), calls);
    geodec_pool_destroy(pool);
    return st == GEODEC_INTERRUPTED ? 0 : 1;
}
