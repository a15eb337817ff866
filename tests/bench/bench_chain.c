/* The geometry chain in the correct mode on 64 points in 8 dimensions, timed stage by stage, as TSV on stdout.
 *
 *     bench-chain [--threads N] [--only STAGE] [INPUT]
 *
 * INPUT is the output of chain.py: the inputs, its results, its times. Each row then has numpy's time, the ratio, and
 * the difference of the two results (relative to the largest value). Without it, a seeded Gaussian cloud. Medians of 7.
 *   metric     neighbours, covariances, inverse, logarithms        gamma     g, dg, Gamma at all points
 *   riemann    one tensor (16 midpoints over 16)                   geodesics 24 paths, RK4, 16 steps
 *   records    24 geodesics, variational Magnus-4 propagators, factors of Phi - I at every node
 *   chain      all stages, from the points
 * Then a profile of the chain: its parts on one thread as they are called, with their number, the operations counted
 * from the formulas (an addition or a multiplication is one; padding is not counted), the time of these operations at
 * the rate of a dgemm of 512 x 512 in this run, and the measured time. kernels_us: the time of the operations if the
 * sums over the sites run at the rate of a dgemm of 16 x 64 by 64 x 36, the products of 8 x 8 matrices at the better
 * rate of two methods, and the rest (weights, means of logarithms, eigenproblems of 8 x 8) at the measured rate for
 * eight points. Only faster kernels of these sizes can improve on kernels_us. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/metric.h"
#include "geometry/curvature.h"
#include "geometry/geodesic.h"
#include "geometry/magnus.h"
#include "geometry/propagate.h"
#include "linalg/blas.h"
#include "linalg/expm.h"
#include "linalg/lapack.h"
#include "records/compress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64, DIM = 8, K = 16, PATHS = 24, STEPS = 16, MIDDLES = 16, ROUNDS = 7, STAGES = 6, NODES = STEPS + 1 };
enum { NN = DIM * DIM, N3 = NN * DIM, N4 = N3 * DIM };

static const char *const stage_name[STAGES] = {"metric", "gamma", "riemann", "geodesics", "records", "chain"};

typedef struct bench {
    geodec_pool *pool;
    double cloud[N * DIM], v0[PATHS * DIM], middles[MIDDLES * DIM];
    geodec_metric m;
    geodec_rbf *field;
    double *g, *dg, *gamma, *riem, *xs, *vs, *accel, *phi;
    float *packed;
    geodec_path_report path[PATHS];
    geodec_propagate_report report[PATHS];
    geodec_compress_factors factors[PATHS];
    geodec_err errors[PATHS];
    double theirs[STAGES]; /* seconds, 0 = none */
    double *room, *square; /* of the profile */
} bench;

static void must(geodec_status st, const geodec_err *err)
{
    char line[512];
    if (st == GEODEC_OK) return;
    (void)fprintf(stderr, "bench-chain: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

static void fit(bench *b)
{
    geodec_err err = {0};
    geodec_metric_options o = geodec_metric_defaults();
    o.k = K;
    o.shrink = 0;
    o.ridge_relative = 1e-3;
    geodec_rbf_destroy(b->field);
    geodec_metric_clear(&b->m);
    must(geodec_metric_fit(N, DIM, b->cloud, &o, b->pool, NULL, &b->m, &err), &err);
    must(geodec_metric_field(&b->m, &b->field, &err), &err);
}

static void gamma_at_points(bench *b)
{
    geodec_err err = {0};
    must(geodec_rbf_eval(b->field, N, b->cloud, b->g, b->dg, b->gamma, b->pool, NULL, &err), &err);
}

static void tensors(bench *b)
{
    geodec_err err = {0};
    must(geodec_curvature_batch(geodec_rbf_space(b->field), b->pool, NULL, MIDDLES, b->middles, b->riem, NULL, NULL,
                                &err),
         &err);
}

static void paths(bench *b)
{
    geodec_err err = {0};
    geodec_geodesic_options o = geodec_geodesic_defaults();
    o.steps = STEPS;
    must(geodec_geodesic_batch(geodec_rbf_space(b->field), &o, b->pool, NULL, PATHS, b->cloud, b->v0, b->xs, b->vs,
                               NULL, b->accel, b->path, &err),
         &err);
}

static void factor(void *ctx, int64_t p, int worker)
{
    bench *b = ctx;
    (void)worker;
    must(geodec_compress_factors_make(DIM, NODES, b->phi + p * NODES * NN, 1e-3, b->packed + p * NODES * NN,
                                      &b->factors[p], &b->errors[p]),
         &b->errors[p]);
}

static void records(bench *b)
{
    geodec_err err = {0};
    int64_t good[PATHS];
    const geodec_propagate_options o = geodec_propagate_defaults();
    paths(b);
    for (int p = 0; p < PATHS; p++) good[p] = b->path[p].good;
    must(geodec_propagate_batch(geodec_rbf_space(b->field), &o, b->pool, NULL, PATHS, STEPS, 0.1, good, b->xs, b->vs,
                                b->accel, b->phi, NULL, b->report, &err),
         &err);
    geodec_pool_run_dynamic(b->pool, PATHS, factor, b);
}

static void chain(bench *b)
{
    fit(b);
    gamma_at_points(b);
    tensors(b);
    records(b);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of a call, and the least; short ones are repeated within a round. */
static double measure(bench *b, void (*fn)(bench *), double *best)
{
    double t[ROUNDS];
    int repeat = 1;
    fn(b);
    const double once = geodec_clock_seconds();
    fn(b);
    if (geodec_clock_seconds() - once < 1e-3) repeat = 20;
    for (int r = 0; r < ROUNDS; r++) {
        const double start = geodec_clock_seconds();
        for (int i = 0; i < repeat; i++) fn(b);
        t[r] = (geodec_clock_seconds() - start) / repeat;
    }
    qsort(t, ROUNDS, sizeof *t, by_value);
    *best = t[0];
    return t[ROUNDS / 2];
}

/* Reads the file of chain.py; the results for comparison go to want. */
typedef struct expected {
    const char *name;
    double *data;
    int64_t count;
} expected;

static void read_input(bench *b, const char *path, expected *want, int n_want)
{
    char word[32], name[32];
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        exit(1);
    }
    while (fscanf(f, "%31s %31s", word, name) == 2) {
        if (strcmp(word, "time") == 0) {
            double t = 0;
            if (fscanf(f, "%lf", &t) != 1) break;
            for (int i = 0; i < STAGES; i++)
                if (strcmp(name, stage_name[i]) == 0) b->theirs[i] = t;
            continue;
        }
        long long count = 0;
        double *to = NULL;
        if (fscanf(f, "%lld", &count) != 1) break;
        for (int i = 0; i < n_want; i++)
            if (strcmp(name, want[i].name) == 0 && count == want[i].count) to = want[i].data;
        for (long long i = 0; i < count; i++) {
            double t;
            if (fscanf(f, "%lf", &t) != 1 || !to) {
                (void)fprintf(stderr, "bench-chain: %s: array %s\n", path, name);
                exit(1);
            }
            to[i] = t;
        }
    }
    (void)fclose(f);
}

static double gap(int64_t n, const double *a, const double *b)
{
    double top = 0, worst = 0;
    for (int64_t i = 0; i < n; i++) {
        top = fmax(top, fabs(b[i]));
        worst = fmax(worst, fabs(a[i] - b[i]));
    }
    return worst / top;
}

static void make_input(bench *b)
{
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("bench chain", 0));
    for (int i = 0; i < N * DIM; i++) b->cloud[i] = geodec_rng_normal(&r);
    fit(b);
    for (int p = 0; p < PATHS; p++) {
        geodec_err err = {0};
        const double *x = b->cloud + p * DIM, *to = b->cloud + b->m.knn_index[p * K] * DIM;
        for (int i = 0; i < DIM; i++) {
            b->v0[p * DIM + i] = to[i] - x[i];
            if (p < MIDDLES) b->middles[p * DIM + i] = 0.5 * (x[i] + to[i]);
        }
        must(geodec_geodesic_unit(geodec_rbf_space(b->field), x, b->v0 + p * DIM, &err), &err);
    }
}

/* ---- profile of the time ---------------------------------------------------------------------------------------- */

/* Processor time of one call, the least of LEAST_OF rounds of `calls`. */
static double least(void (*fn)(bench *), bench *b, int calls)
{
    enum { LEAST_OF = 25 };
    double best = INFINITY;
    fn(b);
    for (int r = 0; r < LEAST_OF; r++) {
        const double start = geodec_clock_thread_seconds();
        for (int i = 0; i < calls; i++) fn(b);
        best = fmin(best, (geodec_clock_thread_seconds() - start) / calls);
    }
    return best;
}

enum { TOGETHER = GEODEC_SPACE_TOGETHER, GEMM = 512, SIDE = 2 * DIM };

static void one_fit(bench *b)
{
    geodec_err err = {0};
    geodec_metric m = {0};
    geodec_metric_options o = geodec_metric_defaults();
    o.k = K;
    o.shrink = 0;
    o.ridge_relative = 1e-3;
    must(geodec_metric_fit(N, DIM, b->cloud, &o, NULL, NULL, &m, &err), &err);
    geodec_metric_clear(&m);
}

static void eight_accelerations(bench *b)
{
    geodec_err err = {0};
    must(geodec_space_path(geodec_rbf_space(b->field), TOGETHER, b->xs, b->vs, NULL, b->room, b->room + N4, &err),
         &err);
}

static void eight_variations(bench *b)
{
    geodec_err err = {0};
    must(geodec_space_variation(geodec_rbf_space(b->field), TOGETHER, b->xs, b->vs, b->room, b->room + TOGETHER * NN,
                                b->room + N4, &err),
         &err);
}

static void one_symbol(bench *b)
{
    geodec_err err = {0};
    must(geodec_rbf_space(b->field)->at(geodec_rbf_space(b->field), b->xs, b->room, b->room + NN, b->room + NN + N3,
                                        &err),
         &err);
}

static void one_tensor(bench *b)
{
    geodec_err err = {0};
    must(geodec_curvature_at(geodec_rbf_space(b->field), b->middles, b->room, NULL, NULL, &err), &err);
}

/* A step of Magnus-4 and its product with those before. */
static void one_step(bench *b)
{
    geodec_err err = {0};
    double *a = b->room, *e = a + 2 * SIDE * SIDE, *y = e + SIDE * SIDE;
    for (int i = 0; i < 2 * SIDE * SIDE; i++) a[i] = b->phi[i % NN] / (1 + i % 7);
    must(geodec_magnus_step(GEODEC_MAGNUS_MAGNUS4, SIDE, a, 0.1, e, b->room + N4, &err), &err);
    geodec_expm_product(SIDE, e, a, y);
}

static void one_factor(bench *b) { factor(b, 0, 0); }

static void one_gemm(bench *b)
{
    const double *a = b->square;
    geodec_blas_gemm(false, false, GEMM, GEMM, GEMM, 1, a, GEMM, a + GEMM * GEMM, GEMM, 0, b->square + 2 * GEMM * GEMM,
                     GEMM);
}

enum { SMALL_MANY = 64, SUM_ROWS = 16 };

static void small_by_dgemm(bench *b)
{
    for (int i = 0; i < SMALL_MANY; i++)
        geodec_blas_gemm(false, false, DIM, DIM, DIM, 1, b->square + i * NN, DIM, b->square + (i + 1) % SMALL_MANY * NN,
                         DIM, 0, b->square + (SMALL_MANY + i) * NN, DIM);
}

static void small_by_tiles(bench *b)
{
    for (int i = 0; i < SMALL_MANY; i++)
        geodec_expm_product(DIM, b->square + i * NN, b->square + (i + 1) % SMALL_MANY * NN,
                            b->square + (SMALL_MANY + i) * NN);
}

static void sums_by_dgemm(bench *b)
{
    const int packed = DIM * (DIM + 1) / 2;
    geodec_blas_gemm(false, false, SUM_ROWS, packed, N, 1, b->square, N, b->square + SUM_ROWS * N, packed, 0,
                     b->square + SUM_ROWS * N + N * packed, packed);
}

static void eight_speeds(bench *b)
{
    geodec_err err = {0};
    must(geodec_space_path(geodec_rbf_space(b->field), TOGETHER, b->xs, b->vs, b->room, NULL, b->room + N4, &err),
         &err);
}

static void profile(bench *b, int threads, double chain_seconds)
{
    const double n = DIM, s = N, packed = n * (n + 1) / 2, turn = 4 * n * n * n, eigen = 9 * n * n * n;
    /* distances, exponentials of 13 terms, mean, centring; then sums over sites of so many rows */
    const double weights = s * (3 * n + 28 + 2 * n + 2 * n), row = 2 * s * packed, cube = 2.0 * SIDE * SIDE * SIDE;
    const double third = packed * n * 8; /* divided differences of three, at least */
    const struct {
        const char *name;
        double count, sums, small, rest; /* operations of one */
        void (*fn)(bench *);
        int at_once;
    } part[] = {
        {"metric", 1, 0, s * K * n * (n + 1), s * (s * 3 * n + eigen + n * n * n), one_fit, 1},
        {"symbols", N + 2 * PATHS, (1 + n) * row, n * turn + packed * n * 2 * n, weights + eigen + n * n * n,
         one_symbol, 1},
        {"curvature", MIDDLES, (1 + n + packed) * row,
         (n + packed) * turn + packed * n * n * 2 * n + packed * packed * n + 2 * 2 * 28 * 28 * 28 + 2 * n * n * 28 * n,
         weights + (1 + n + packed) * s + eigen + third, one_tensor, 1},
        {"accelerations", PATHS * (4 * STEPS + 1), 3 * row, 2 * turn, weights + 4 * s * n + eigen + 8 * n * n,
         eight_accelerations, TOGETHER},
        {"variations", PATHS * STEPS * 2, (2 + 2 * n) * row,
         2 * s * n * n + (1 + 2 * n) * turn + 2 * n * n * n * n + 8 * n * n * n + packed * 2 * (s + n * n),
         weights + eigen + 5 * s * n + third, eight_variations, TOGETHER},
        {"magnus steps", PATHS * STEPS, 0, 8 * cube, 0, one_step, 1},
        {"factors", PATHS, 0, 4 * n * n * n + NODES * 6 * n * n, eigen, one_factor, 1},
    };
    b->square = geodec_mem_new(3 * GEMM * GEMM, sizeof *b->square);
    b->room = geodec_mem_new(2 * N4 + 4 * N3 + 64 * SIDE * SIDE, sizeof *b->room);
    for (int i = 0; i < 2 * GEMM * GEMM; i++) b->square[i] = i % 17;
    const double rate = 2.0 * GEMM * GEMM * GEMM / least(one_gemm, b, 1);
    const double products = SMALL_MANY * 2 * n * n * n, by_dgemm = products / least(small_by_dgemm, b, 20),
                 by_tiles = products / least(small_by_tiles, b, 20), small_rate = fmax(by_dgemm, by_tiles),
                 sum_rate = SUM_ROWS * row / least(sums_by_dgemm, b, 20),
                 rest_rate = (weights + eigen) / (least(eight_speeds, b, 20) / TOGETHER - row / sum_rate);
    double flops = 0, seconds = 0, kernels = 0;
    printf("\nrate\t%.1f GFLOP/s, one thread\n", 1e-9 * rate);
    printf("kernels\t%.1f GFLOP/s dgemm 16 x 64 x 36; 8 x 8: %.1f dgemm, %.1f tiles; %.1f weights and eigenproblems\n",
           1e-9 * sum_rate, 1e-9 * by_dgemm, 1e-9 * by_tiles, 1e-9 * rest_rate);
    printf("part\tcount\tkflop\tfloor_us\tus\tshare_of_rate\ttotal_ms\tkernels_us\n");
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const double work = part[i].sums + part[i].small + part[i].rest;
        const double t = least(part[i].fn, b, 20) / part[i].at_once, floor = work / rate,
                     by_kernels = part[i].sums / sum_rate + part[i].small / small_rate + part[i].rest / rest_rate;
        printf("%s\t%.0f\t%.1f\t%.2f\t%.2f\t%.2f\t%.3f\t%.2f\n", part[i].name, part[i].count, 1e-3 * work, 1e6 * floor,
               1e6 * t, floor / t, 1e3 * part[i].count * t, 1e6 * by_kernels);
        flops += part[i].count * work;
        seconds += part[i].count * t;
        kernels += part[i].count * by_kernels;
    }
    printf("parts\t%.2f ms on one thread, %.2f on %d, at %.0f %% of the rate; by the kernels' rates %.2f on one\n",
           1e3 * seconds, 1e3 * seconds / threads, threads, 100 * flops / rate / seconds, 1e3 * kernels);
    printf("floor\t%.1f MFLOP, %.2f ms on %d thread%s at that rate; the chain is at %.0f %% of it\n", 1e-6 * flops,
           1e3 * flops / rate / threads, threads, threads == 1 ? "" : "s",
           100 * flops / rate / threads / chain_seconds);
    geodec_mem_free(b->square);
    geodec_mem_free(b->room);
}

int main(int argc, char **argv)
{
    bench *b = geodec_mem_new(1, sizeof *b);
    int threads = 2;
    const char *input = NULL, *only = "";
    geodec_err err = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (argv[i][0] != '-')
            input = argv[i];
    }
    if (threads < 1 || threads > 64) {
        (void)fprintf(stderr, "usage: bench-chain [--threads N] [INPUT]\n");
        return 2;
    }
    geodec_linalg_init();
    must(geodec_pool_create(threads, &b->pool, &err), &err);
    const int64_t size[] = {N * NN,
                            N * N3,
                            N * N3,
                            MIDDLES * N4,
                            PATHS * NODES * DIM,
                            PATHS * NODES * DIM,
                            PATHS * NODES * NN,
                            PATHS * NODES * DIM,
                            PATHS * NODES * NN,
                            N * N3,
                            MIDDLES * N4};
    double *block[sizeof size / sizeof *size];
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) block[i] = geodec_mem_new(size[i], sizeof(double));
    b->g = block[0], b->dg = block[1], b->gamma = block[2], b->riem = block[3], b->xs = block[4], b->vs = block[5];
    b->phi = block[6];
    b->packed = geodec_mem_new(PATHS * NODES * NN, sizeof *b->packed);
    b->accel = geodec_mem_new(PATHS * NODES * DIM, sizeof *b->accel);
    expected want[] = {{"cloud", b->cloud, N * DIM},           {"v0", b->v0, PATHS * DIM},
                       {"middles", b->middles, MIDDLES * DIM}, {"xs", block[7], PATHS * NODES * DIM},
                       {"phi", block[8], PATHS * NODES * NN},  {"gamma", block[9], N * N3},
                       {"riemann", block[10], MIDDLES * N4}};
    if (input)
        read_input(b, input, want, (int)(sizeof want / sizeof *want));
    else
        make_input(b);
    void (*const fn[STAGES])(bench *) = {fit, gamma_at_points, tensors, paths, records, chain};
    double apart[STAGES] = {0}, whole = 0;
    chain(b);
    if (input) {
        apart[1] = gap(N * N3, b->gamma, block[9]);
        apart[2] = gap(MIDDLES * N4, b->riem, block[10]);
        apart[3] = gap(PATHS * NODES * DIM, b->xs, block[7]);
        apart[4] = apart[5] = gap(PATHS * NODES * NN, b->phi, block[8]);
    }
    printf("stage\tthreads\tus\tbest_us\tnumpy_us\tratio\tapart\n");
    for (int i = 0; i < STAGES; i++) {
        if (*only && strcmp(only, stage_name[i]) != 0) continue;
        double best, t = measure(b, fn[i], &best);
        if (i == STAGES - 1) whole = t;
        if (i == 2) t /= MIDDLES, best /= MIDDLES;
        printf("%s\t%d\t%.2f\t%.2f", stage_name[i], threads, 1e6 * t, 1e6 * best);
        if (b->theirs[i] > 0)
            printf("\t%.1f\t%.1f\t%.1e\n", 1e6 * b->theirs[i], b->theirs[i] / t, apart[i]);
        else
            printf("\t-\t-\t-\n");
    }
    if (!*only) profile(b, threads, whole);
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) geodec_mem_free(block[i]);
    geodec_mem_free(b->packed);
    geodec_mem_free(b->accel);
    geodec_rbf_destroy(b->field);
    geodec_metric_clear(&b->m);
    geodec_pool_destroy(b->pool);
    geodec_mem_free(b);
    return 0;
}
