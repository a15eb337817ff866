/* The exponential of small matrices compared with that of GSL, as TSV on stdout.
 *
 *     bench-expm [--quick] [--only jacobi|random|shear]
 *
 * For sizes 8, 16 and 34 and 1-norms 0.01 .. 3, 16 matrices each: jacobi = h [[0, I], [-K, -2 G]] with random K and G,
 * random = normal entries, shear = upper triangular with a dominant corner (far from normal). us: median of 7 rounds
 * over the 16, one thread; error: worst |E - R|_F / |R|_F with R by a long double Taylor series of the matrix divided
 * by 2^s. limit_us: the target (one for each size).
 */
#include "arguments.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/expm.h"
#include "linalg/expm_exact.h"
#include "linalg/lapack.h"
#include "linalg/stats.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <time.h>

enum { MATRICES = 16, ROUNDS = 7, MAX = 34 };
static const char *const kinds[] = {"jacobi", "random", "shear"};
static const int sizes[] = {8, 16, MAX};
static const double norms[] = {0.01, 0.03, 0.1, 0.3, 1, 2, 3};

/* Processor time excludes the time of other processes on a busy machine. */
static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(int kind, int n, double norm, uint64_t seed, double *a)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("bench-expm", (uint64_t)n));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double z = geodec_rng_normal(&r);
            a[i * n + j] = kind == 1   ? z
                           : kind == 2 ? (j > i    ? z * pow(4, j - i - n)
                                          : i == j ? 0.1 * z
                                                   : 0)
                           : i < n / 2 ? (double)(j == i + n / 2)
                                       : 0.3 * z;
        }
    double size = 0;
    for (int j = 0; j < n; j++) {
        double s = 0;
        for (int i = 0; i < n; i++) s += fabs(a[i * n + j]);
        size = fmax(size, s);
    }
    for (int i = 0; i < n * n; i++) a[i] *= norm / size;
}

static void bench(int kind, int n, double norm, int repeats)
{
    static double a[MATRICES][MAX * MAX], e[MAX * MAX], g[MAX * MAX], work[16384];
    double own[ROUNDS], peer[ROUNDS], worst = 0, worst_peer = 0;
    geodec_err err = {0};
    for (int m = 0; m < MATRICES; m++) {
        fill(kind, n, norm, (uint64_t)m, a[m]);
        if (geodec_expm(n, a[m], e, work, &err) != GEODEC_OK) exit(1);
        gsl_matrix_view in = gsl_matrix_view_array(a[m], (size_t)n, (size_t)n),
                        out = gsl_matrix_view_array(g, (size_t)n, (size_t)n);
        (void)gsl_linalg_exponential_ss(&in.matrix, &out.matrix, GSL_MODE_DEFAULT);
        worst = fmax(worst, expm_error(n, a[m], e));
        worst_peer = fmax(worst_peer, expm_error(n, a[m], g));
    }
    for (int r = 0; r < ROUNDS; r++) {
        double t = now();
        for (int i = 0; i < repeats; i++)
            for (int m = 0; m < MATRICES; m++)
                if (geodec_expm(n, a[m], e, work, NULL) != GEODEC_OK) exit(1);
        own[r] = (now() - t) * 1e6 / (repeats * MATRICES);
        t = now();
        for (int i = 0; i < repeats; i++)
            for (int m = 0; m < MATRICES; m++) {
                gsl_matrix_view in = gsl_matrix_view_array(a[m], (size_t)n, (size_t)n),
                                out = gsl_matrix_view_array(g, (size_t)n, (size_t)n);
                (void)gsl_linalg_exponential_ss(&in.matrix, &out.matrix, GSL_MODE_DEFAULT);
            }
        peer[r] = (now() - t) * 1e6 / (repeats * MATRICES);
    }
    geodec_stats_sort(ROUNDS, own);
    geodec_stats_sort(ROUNDS, peer);
    const double limit = n == 16 ? 1.2 : n == 34 ? 9 : NAN;
    (void)printf("%s\t%d\t%g\t%.3f\t%.1f\t%.1e\t%.3f\t%.1e\n", kinds[kind], n, norm, own[ROUNDS / 2], limit, worst,
                 peer[ROUNDS / 2], worst_peer);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    bench_arguments given;
    if (!bench_arguments_read(argc, argv, "bench-expm", "KIND", &given)) return 2;
    geodec_linalg_init();
    (void)printf("kind\tn\tnorm\tus\tlimit_us\terror\tgsl_us\tgsl_error\n");
    for (int k = 0; k < 3; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
                if (!*given.only || strcmp(given.only, kinds[k]) == 0)
                    bench(k, sizes[s], norms[i], given.quick ? 3 : 20);
    return 0;
}
