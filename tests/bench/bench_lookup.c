/* Nearest record in the metric of the query, d = 8, one thread, as TSV on stdout.
 *
 *     bench-lookup [--quick] [--only near|fresh|own]
 *
 * Anchors are standard normal. near: queries are anchors moved by 0.05 in each coordinate; fresh: queries are standard
 * normal themselves; both with a metric of their own each, random axes, eigenvalues spread evenly in the logarithm up
 * to the condition number. own: fresh queries in each record's own metric. us: median of 7 rounds a query, one call for
 * each (single) and one for all (batch); exhaustive_us: every record in float64, the peer that is exact; screen_us: the
 * best of the 8 nearest by Euclid, which is not; computed: distances in float64 a query; recall, screen_recall: against
 * exhaustive search, bit for bit. limit_us: what is asked for.
 */
#include "arguments.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/eig.h"
#include "linalg/expm.h"
#include "linalg/lapack.h"
#include "linalg/stats.h"
#include "records/lookup.h"

#include <math.h>

enum { N = 8, PACKED = N * (N + 1) / 2, ROUNDS = 7, QUERIES = 1024 };
typedef enum kind { NEAR, FRESH, OWN } kind;
static const char *const kinds[] = {"near", "fresh", "own"};

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) != GEODEC_OK) exit(1);                                                                              \
    } while (0)

static void random_metric(double condition, geodec_rng *r, double *g)
{
    double a[N * N], w[N], v[N * N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) a[i * N + j] = a[j * N + i] = geodec_rng_normal(r);
    MUST(geodec_eig_sym(N, a, w, v, NULL));
    for (int i = 0; i < N; i++) w[i] = exp(log(condition) * i / (N - 1));
    geodec_eig_compose(N, w, v, g);
}

static double median(double *a)
{
    geodec_stats_sort(ROUNDS, a);
    return a[ROUNDS / 2];
}

static void bench(kind k, int64_t records, double condition, double limit, bool quick)
{
    double *q = geodec_mem_new(records * N, sizeof *q), *x = geodec_mem_new(QUERIES * N, sizeof *x),
           *g = geodec_mem_new(QUERIES * N * N, sizeof *g);
    float *own = geodec_mem_new(records * PACKED, sizeof *own);
    geodec_lookup_hit *hit = geodec_mem_new(QUERIES, sizeof *hit);
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("bench-lookup", (uint64_t)records));
    geodec_lookup *l;
    if (!q || !x || !g || !own || !hit) exit(1);
    for (int64_t i = 0; i < records * N; i++) q[i] = geodec_rng_normal(&r);
    for (int64_t i = 0; k == OWN && i < records; i++) {
        double m[N * N], packed[PACKED];
        random_metric(condition, &r, m);
        geodec_sym_pack(N, m, packed);
        for (int j = 0; j < PACKED; j++) own[i * PACKED + j] = (float)packed[j];
    }
    for (int64_t i = 0; i < QUERIES; i++) {
        const double *at = q + (int64_t)geodec_rng_below(&r, (uint64_t)records) * N;
        for (int a = 0; a < N; a++)
            x[i * N + a] = k == NEAR ? at[a] + 0.05 * geodec_rng_normal(&r) : geodec_rng_normal(&r);
        random_metric(condition, &r, g + i * N * N);
    }
    const double *metric = k == OWN ? NULL : g;
    const double begin = geodec_clock_thread_seconds();
    MUST(geodec_lookup_create(records, N, q, k == OWN ? own : NULL, &l, NULL));
    const double create = geodec_clock_thread_seconds() - begin;
    const int64_t repeats = quick || records > 1000 ? 1 : records > 100 ? 4 : 40;
    double single[ROUNDS], batch[ROUNDS], computed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double t = geodec_clock_thread_seconds();
        for (int64_t again = 0; again < repeats; again++)
            for (int64_t i = 0; i < QUERIES; i++)
                MUST(geodec_lookup_nearest(l, x + i * N, metric ? metric + i * N * N : NULL, &hit[i], NULL));
        single[round] = (geodec_clock_thread_seconds() - t) * 1e6 / (double)(repeats * QUERIES);
        t = geodec_clock_thread_seconds();
        for (int64_t again = 0; again < repeats; again++) MUST(geodec_lookup_many(l, QUERIES, x, metric, hit, NULL));
        batch[round] = (geodec_clock_thread_seconds() - t) * 1e6 / (double)(repeats * QUERIES);
    }
    int64_t right = 0, screened = 0;
    const int64_t checked = quick || records > 10000 ? 64 : QUERIES;
    geodec_lookup_hit peer;
    for (int64_t i = 0; i < QUERIES; i++) computed += (double)hit[i].evaluations / QUERIES;
    double all = geodec_clock_thread_seconds();
    for (int64_t i = 0; i < checked; i++) {
        MUST(geodec_lookup_exhaustive(l, x + i * N, metric ? metric + i * N * N : NULL, &peer, NULL));
        right += peer.index == hit[i].index && peer.distance == hit[i].distance;
    }
    all = (geodec_clock_thread_seconds() - all) * 1e6 / (double)checked;
    double screen = geodec_clock_thread_seconds();
    for (int64_t i = 0; i < checked; i++) {
        MUST(geodec_lookup_screened(l, x + i * N, metric ? metric + i * N * N : NULL, 8, &peer, NULL));
        screened += peer.index == hit[i].index;
    }
    screen = (geodec_clock_thread_seconds() - screen) * 1e6 / (double)checked;
    (void)printf("%s\t%lld\t%g\t%.4f\t%.4f\t%g\t%.3f\t%.3f\t%.1f\t%.3f\t%.3f\t%.1f\n", kinds[k], (long long)records,
                 condition, median(single), median(batch), limit, all, screen, computed,
                 (double)right / (double)checked, (double)screened / (double)checked, create * 1e3);
    (void)fflush(stdout);
    geodec_lookup_destroy(l);
    geodec_mem_free(q);
    geodec_mem_free(x);
    geodec_mem_free(g);
    geodec_mem_free(own);
    geodec_mem_free(hit);
}

int main(int argc, char **argv)
{
    static const struct {
        int64_t records;
        double limit;
    } sizes[] = {{24, 0.06}, {100, NAN}, {1000, 0.85}, {10000, 4.2}, {100000, 30}};
    bench_arguments given;
    if (!bench_arguments_read(argc, argv, "bench-lookup", "KIND", &given)) return 2;
    geodec_linalg_init();
    (void)printf(
        "queries\trecords\tcondition\tsingle_us\tbatch_us\tlimit_us\texhaustive_us\tscreen_us\tcomputed\trecall\t"
        "screen_recall\tcreate_ms\n");
    for (kind k = NEAR; k <= OWN; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (double condition = 1; condition <= 1e4; condition *= condition < 100 ? 10 : 100)
                if (!*given.only || strcmp(given.only, kinds[k]) == 0)
                    bench(k, sizes[s].records, condition, sizes[s].limit, given.quick);
    return 0;
}
