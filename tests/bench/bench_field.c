/* Cost of the metric field by the number of its sites, as TSV on stdout; `make bench-field` keeps it as
 * results/bench/field.tsv and plots it with fitted slopes (pipelines/plots/field.gp). Processor time, one thread.
 *
 *     bench-field [--quick] [--dim D] [--intrinsic K]
 *
 * Sites on a curved K-dimensional sheet in n = D dimensions (default 3 in 8), as states of a model are; sigma is the
 * median distance of neighbours of a sample of 256. Up to 1e6 sites (1e5 with --quick).
 *   build_s    tree and copies
 *   us_point   one geodesic acceleration, mean over points of the sheet
 *   active     sites with weight
 *   us_all     value and first derivatives in plain loops over all sites (up to 1e5)
 *   mib        memory of the field */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "geometry/rbf_internal.h"
#include "geometry/rbf_reference.h"
#include "linalg/lapack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 64, SAMPLE = 256, MAX_N = 16 };

static void must(geodec_status st, const geodec_err *err)
{
    char line[512];
    if (st == GEODEC_OK) return;
    (void)fprintf(stderr, "bench-field: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

/* Point i of the sheet: K uniform parameters, the other coordinates smooth functions of them. */
static void sheet(int64_t i, int64_t n, int64_t k, double *x)
{
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("bench field", (uint64_t)i));
    for (int64_t a = 0; a < k; a++) x[a] = 4 * geodec_rng_uniform(&r) - 2;
    for (int64_t a = k; a < n; a++) x[a] = 0.3 * sin(x[a % k] * (double)(1 + a / k)) * cos(x[(a + 1) % k]);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double neighbour_distance(int64_t N, int64_t n, const double *site)
{
    double d[SAMPLE];
    const int64_t count = N < SAMPLE ? N : SAMPLE;
    geodec__rbf_tree *t = NULL;
    geodec_err err = {0};
    int32_t *index = geodec_mem_new(N, sizeof *index);
    must(geodec__rbf_tree_create(N, n, site, &t, &err), &err);
    const double *own = geodec__rbf_tree_sites(t);
    for (int64_t s = 0; s < count; s++) {
        const double *x = site + s * (N / count) * n;
        double radius2 = 1e-8;
        while (geodec__rbf_tree_within(t, x, radius2, N, index) < 2) radius2 *= 1.5;
        const int64_t near = geodec__rbf_tree_within(t, x, radius2, N, index);
        double best = INFINITY;
        for (int64_t q = 0; q < near; q++) {
            double d2 = 0;
            for (int64_t a = 0; a < n; a++) d2 += (own[index[q] * n + a] - x[a]) * (own[index[q] * n + a] - x[a]);
            if (d2 > 0 && d2 < best) best = d2;
        }
        d[s] = sqrt(best);
    }
    qsort(d, (size_t)count, sizeof *d, by_value);
    geodec__rbf_tree_destroy(t);
    geodec_mem_free(index);
    return d[count / 2];
}

static double mean_us(const geodec_rbf *f, int64_t n, int64_t k)
{
    geodec_err err = {0};
    const geodec_space *s = geodec_rbf_space(f);
    double x[MAX_N], v[MAX_N], a[MAX_N], speed2;
    double *work = geodec_mem_new(n * n * n + n * n, sizeof *work), best = INFINITY;
    for (int64_t i = 0; i < n; i++) v[i] = 1;
    for (int round = 0; round < 3; round++) {
        const double start = geodec_clock_thread_seconds();
        for (int64_t p = 0; p < POINTS; p++) {
            sheet(-1 - p, n, k, x);
            must(geodec_space_path(s, 1, x, v, &speed2, a, work, &err), &err);
        }
        best = fmin(best, (geodec_clock_thread_seconds() - start) / POINTS);
    }
    geodec_mem_free(work);
    return 1e6 * best;
}

int main(int argc, char **argv)
{
    int64_t n = 8, k = 3, most = 1000000;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) most = 100000;
        if (strcmp(argv[i], "--dim") == 0 && i + 1 < argc) n = atoi(argv[++i]);
        if (strcmp(argv[i], "--intrinsic") == 0 && i + 1 < argc) k = atoi(argv[++i]);
    }
    if (n < 1 || n > MAX_N || k < 1 || k > n) {
        (void)fprintf(stderr, "usage: bench-field [--quick] [--dim 1..16] [--intrinsic 1..dim]\n");
        return 2;
    }
    geodec_linalg_init();
    printf("sites\tn\tintrinsic\tsigma\tbuild_s\tmib\tactive\tus_point\tus_all\n");
    const int64_t packed = n * (n + 1) / 2;
    double *site = geodec_mem_new(most * n, sizeof *site), *log_g = geodec_mem_new(most * packed, sizeof *log_g);
    for (int64_t i = 0; i < most; i++) {
        sheet(i, n, k, site + i * n);
        for (int64_t q = 0; q < packed; q++) log_g[i * packed + q] = sin((double)q + site[i * n + q % n]);
    }
    for (int64_t N = 1000; N <= most; N *= 10) {
        for (int64_t half = 0; half < 2 && N * (half ? 3 : 1) <= most; half++) {
            const int64_t count = N * (half ? 3 : 1);
            geodec_rbf *f = NULL;
            geodec_err err = {0};
            const double sigma = neighbour_distance(count, n, site), start = geodec_clock_thread_seconds();
            must(geodec_rbf_create(count, n, site, log_g, sigma, &f, &err), &err);
            const double build = geodec_clock_thread_seconds() - start;
            int32_t *index = geodec_mem_new(count, sizeof *index);
            double x[MAX_N], active = 0;
            for (int64_t p = 0; p < POINTS; p++) {
                int64_t where;
                sheet(-1 - p, n, k, x);
                const double d2 = geodec__rbf_tree_nearest(f->tree, x, &where);
                active +=
                    (double)geodec__rbf_tree_within(f->tree, x, d2 + 2 * RBF_CUTOFF * sigma * sigma, count, index);
            }
            const double us = mean_us(f, n, k);
            double slow = -1;
            if (count <= 100000) {
                double g[MAX_N * MAX_N];
                const double from = geodec_clock_thread_seconds();
                for (int64_t p = 0; p < 8; p++) {
                    sheet(-1 - p, n, k, x);
                    must(rbf_reference(f, x, g, NULL, &err), &err);
                }
                slow = 1e6 * (geodec_clock_thread_seconds() - from) / 8;
            }
            const double mib = (double)count * (double)(2 * n + f->row + 1) * 8 / 1048576;
            printf("%lld\t%lld\t%lld\t%.4g\t%.3f\t%.1f\t%.1f\t%.2f\t", (long long)count, (long long)n, (long long)k,
                   sigma, build, mib, active / POINTS, us);
            if (slow >= 0)
                printf("%.1f\n", slow);
            else
                printf("-\n");
            (void)fflush(stdout);
            geodec_mem_free(index);
            geodec_rbf_destroy(f);
        }
    }
    geodec_mem_free(site);
    geodec_mem_free(log_g);
    return 0;
}
