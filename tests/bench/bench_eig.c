/* The symmetric eigenproblem of small matrices compared with LAPACK's dsyevd, as TSV on stdout.
 *
 *     bench-eig [--quick]
 *
 * us, dsyevd_us: median of 7 rounds over 16 random matrices, one thread, processor time; residual: worst entry of
 * |A - V diag(w) V^T| / |A|_F, and of dsyevd's.
 */
#include "arguments.h"
#include "base/rng.h"
#include "linalg/eig.h"
#include "linalg/lapack.h"
#include "linalg/stats.h"

#include <lapack.h>
#include <math.h>
#include <time.h>

enum { MATRICES = 16, ROUNDS = 7, MAX = 32 };

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void peer(int n, const double *a, double *w, double *v)
{
    static double work[1 + 6 * MAX + 2 * MAX * MAX];
    static lapack_int iwork[3 + 5 * MAX];
    memcpy(v, a, (size_t)(n * n) * sizeof *v);
    const char vectors = 'V', upper = 'U';
    const lapack_int order = n, n_work = 1 + 6 * n + 2 * n * n, n_iwork = 3 + 5 * n;
    lapack_int info = 0;
    LAPACK_dsyevd(&vectors, &upper, &order, v, &order, w, work, &n_work, iwork, &n_iwork, &info);
    if (info != 0) exit(1);
}

static double residual(int n, const double *a, const double *w, const double *v)
{
    double worst = 0, size = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double s = -a[i * n + j];
            for (int k = 0; k < n; k++) s += w[k] * v[k * n + i] * v[k * n + j];
            worst = fmax(worst, fabs(s));
            size += a[i * n + j] * a[i * n + j];
        }
    return worst / sqrt(size);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {2, 4, 8, 12, 16, 17, 24, 32};
    static double a[MATRICES][MAX * MAX], w[MAX], v[MAX * MAX], scratch[16384];
    bench_arguments given;
    if (!bench_arguments_read(argc, argv, "bench-eig", "-", &given)) return 2;
    const int repeats = given.quick ? 3 : 20;
    geodec_linalg_init();
    (void)printf("n\tus\tdsyevd_us\tresidual\tdsyevd_residual\n");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int n = sizes[s];
        double own[ROUNDS], other[ROUNDS], worst = 0, worst_other = 0;
        geodec_rng r = geodec_rng_stream(1, (uint64_t)n);
        for (int m = 0; m < MATRICES; m++) {
            for (int i = 0; i < n; i++)
                for (int j = 0; j <= i; j++) a[m][i * n + j] = a[m][j * n + i] = geodec_rng_normal(&r);
            if (geodec_eig_sym_ws(n, a[m], w, v, scratch, NULL) != GEODEC_OK) return 1;
            worst = fmax(worst, residual(n, a[m], w, v));
            peer(n, a[m], w, v);
            worst_other = fmax(worst_other, residual(n, a[m], w, v));
        }
        for (int q = 0; q < ROUNDS; q++) {
            double t = now();
            for (int i = 0; i < repeats; i++)
                for (int m = 0; m < MATRICES; m++)
                    if (geodec_eig_sym_ws(n, a[m], w, v, scratch, NULL) != GEODEC_OK) return 1;
            own[q] = (now() - t) * 1e6 / (repeats * MATRICES);
            t = now();
            for (int i = 0; i < repeats; i++)
                for (int m = 0; m < MATRICES; m++) peer(n, a[m], w, v);
            other[q] = (now() - t) * 1e6 / (repeats * MATRICES);
        }
        geodec_stats_sort(ROUNDS, own);
        geodec_stats_sort(ROUNDS, other);
        (void)printf("%d\t%.2f\t%.2f\t%.1e\t%.1e\n", n, own[ROUNDS / 2], other[ROUNDS / 2], worst, worst_other);
    }
    return 0;
}
