/* Time of the published cross-model warp sweep, starting from the points, as TSV on stdout.
 *
 *     bench-warp [--threads N] FILE.h5...
 *
 * Each file (a golden cloud: /cloud/points, /warp/v1/query_index, /warp/v1/holdout_index) is two configurations: v1
 * with alpha 0.7 and sigma 1.2, v2 with alpha 0.35 and radius 1.2, both of 16 steps of 0.1. Median of seven rounds:
 *   fit, shared, before, v1, v2   seconds of each part, summed over the files
 *   total                         of a whole round */
#include "base/clock.h"
#include "base/mem.h"
#include "io/foreign.h"
#include "io/h5.h"
#include "lab/published/warp.h"
#include "linalg/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7, PARTS = 6, FILES = 64 };

typedef struct input {
    double *point;
    int64_t points, n, *q, *h;
    geodec_warp_published_draws draws;
} input;

static void die(const geodec_err *err)
{
    char line[512];
    (void)fprintf(stderr, "bench-warp: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}
static void ok(geodec_status st, const geodec_err *err)
{
    if (st != GEODEC_OK) die(err);
}

static void load(const char *path, input *in)
{
    geodec_err err = {0};
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1}, facts[GEODEC_FOREIGN_RANK_MAX] = {-1},
            holdouts[GEODEC_FOREIGN_RANK_MAX] = {-1};
    ok(geodec_foreign_read(path, "/cloud/points", 2, shape, NULL, &in->point, &err), &err);
    in->points = shape[0];
    in->n = shape[1];
    ok(geodec_foreign_read_i64(path, "/warp/v1/query_index", 1, facts, 0, shape[0] - 1, &in->q, &err), &err);
    ok(geodec_foreign_read_i64(path, "/warp/v1/holdout_index", 1, holdouts, 0, shape[0] - 1, &in->h, &err), &err);
    in->draws.facts = facts[0];
    in->draws.holdouts = holdouts[0];
    in->draws.query = in->q;
    in->draws.holdout = in->h;
}

static void sweep(const input *in, geodec_pool *pool, double *part)
{
    geodec_err err = {0};
    const geodec_harness_options o = geodec_harness_defaults();
    geodec_harness_manifold m;
    geodec_warp_published *w = NULL;
    geodec_warp_published_before *b = NULL;
    double t = geodec_clock_seconds(), now;
    int at = 0;
#define LAP()                                                                                                          \
    do {                                                                                                               \
        now = geodec_clock_seconds();                                                                                  \
        part[at++] += now - t;                                                                                         \
        t = now;                                                                                                       \
    } while (0)
    ok(geodec_harness_manifold_fit(in->points, in->n, in->point, &o, pool, NULL, &m, &err), &err);
    LAP();
    ok(geodec_warp_published_create(&m, pool, NULL, &w, &err), &err);
    LAP();
    ok(geodec_warp_published_prepare(w, &in->draws, 16, 0.1, pool, NULL, &b, &err), &err);
    LAP();
    for (int v = 0; v < 2; v++) {
        const geodec_warp_published_config c = {.variant = v ? GEODEC_PUBLISHED_WARP_V2 : GEODEC_PUBLISHED_WARP_V1,
                                                .alpha = v ? 0.35 : 0.7,
                                                .extent = 1.2,
                                                .steps = 16,
                                                .dl = 0.1};
        geodec_warp_published_outcome out = {0};
        ok(geodec_warp_published_run(w, b, &c, pool, NULL, &out, &err), &err);
        geodec_warp_published_clear(&out);
        LAP();
    }
    geodec_warp_published_release(b);
    geodec_warp_published_destroy(w);
    geodec_harness_manifold_clear(&m);
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    static input in[FILES];
    int files = 0, threads = 2;
    double rounds[PARTS][ROUNDS] = {0};
    geodec_io_init();
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoi(argv[++i]);
        else if (files < FILES)
            load(argv[i], &in[files++]);
    }
    ok(geodec_pool_create(threads, &pool, &err), &err);
    for (int r = 0; r < ROUNDS; r++) {
        double part[PARTS] = {0};
        const double t = geodec_clock_seconds();
        for (int f = 0; f < files; f++) sweep(&in[f], pool, part);
        part[PARTS - 1] = geodec_clock_seconds() - t;
        for (int p = 0; p < PARTS; p++) rounds[p][r] = part[p];
    }
    (void)printf("files\tconfigurations\tthreads\tfit\tshared\tbefore\tv1\tv2\ttotal\n%d\t%d\t%d", files, 2 * files,
                 threads);
    for (int p = 0; p < PARTS; p++) {
        geodec_stats_sort(ROUNDS, rounds[p]);
        (void)printf("\t%.5f", rounds[p][ROUNDS / 2]);
    }
    (void)printf("\n");
    for (int f = 0; f < files; f++) {
        void *const all[] = {in[f].point, in[f].q, in[f].h};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    }
    geodec_pool_destroy(pool);
    return 0;
}
