/* Capacity and speed of the hyperdimensional memory, as TSV on stdout.
 *
 *     bench-hdm [--quick] [--only bank|memory|kernels] [--threads N]
 *
 * bank: one bank of counters, and the controls with one bit each: pairs; share of right answers among at least 100
 * candidates.
 * memory: pairs, noise and radius of the keys looked up; shares that are right, accepted, accepted but wrong, whose
 * bank is asked, and of foreign keys that are accepted; the nearest of all stored keys (the control); pairs of a bank;
 * mean z; megabytes of the memory, and of the keys that the control stores; microseconds of a look-up and of one of the
 * control, on one thread. kernels: nanoseconds of a distance, of an addition and of a majority with each instruction
 * set. */
#include "arguments.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/memory/capacity.h"

#include <math.h>

static volatile int64_t sink;

static int banks(geodec_pool *pool, bool quick)
{
    static const int64_t pairs[] = {1, 2, 5, 10, 25, 50, 100, 200, 500, 1000, 2000};
    printf("kind\tpairs\tcandidates\tcounters\tbit_random\tbit_first\n");
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs - (quick ? 3 : 0); k++) {
        const int64_t candidates = pairs[k] < 100 ? 100 : pairs[k];
        printf("bank\t%lld\t%lld", (long long)pairs[k], (long long)candidates);
        for (int rule = 0; rule < GEODEC_CAPACITY_RULES; rule++) {
            double share;
            if (geodec_capacity_bank((geodec_capacity_rule)rule, pairs[k], candidates, 1, &share, pool, NULL) !=
                GEODEC_OK)
                return 1;
            printf("\t%.4f", share);
        }
        printf("\n");
    }
    return 0;
}

/* Microseconds of a look-up, and of one in a list of all keys. */
static void time_both(int64_t pairs, int32_t radius, double *find, double *list)
{
    enum { RUNS = 50 };
    const geodec_hdm_options o = {.seed = 2, .bank_bits = GEODEC_HDM_BANK_BITS};
    geodec_hdm *m = NULL;
    geodec_hv *key = geodec_mem_new(pairs, sizeof *key);
    *find = *list = NAN;
    if (key && geodec_hdm_create(&o, &m, NULL) == GEODEC_OK) {
        bool ok = true;
        for (int64_t i = 0; i < pairs && ok; i++) {
            geodec_hv_code(3, 3, (uint64_t)i, &key[i]);
            ok = geodec_hdm_add(m, &key[i], NULL, 0, NULL, NULL) == GEODEC_OK;
        }
        const double start = geodec_clock_thread_seconds();
        for (int i = 0; i < RUNS; i++) sink += geodec_hdm_find(m, &key[i % pairs], radius, GEODEC_ISA_AUTO).entry;
        const double middle = geodec_clock_thread_seconds();
        for (int i = 0; i < RUNS; i++) {
            int32_t best = GEODEC_HV_BITS;
            for (int64_t j = 0; j < pairs; j++) {
                const int32_t d = geodec_hv_distance(&key[i % pairs], &key[j], GEODEC_ISA_AUTO);
                if (d < best) best = d;
            }
            sink += best;
        }
        if (ok) *find = (middle - start) / RUNS * 1e6;
        if (ok) *list = (geodec_clock_thread_seconds() - middle) / RUNS * 1e6;
    }
    geodec_hdm_destroy(m);
    geodec_mem_free(key);
}

static int memories(geodec_pool *pool, bool quick)
{
    static const int64_t pairs[] = {10, 100, 1000, 10000, 100000};
    static const double noise[] = {0, 0.1, 0.2};
    printf("kind\tpairs\tnoise\tradius\tright\taccepted\twrong\treached\tforeign\tcontrol\tpairs_a_bank\tz\tmegabytes\t"
           "key_megabytes\tfind_us\tcontrol_us\n");
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs - (quick ? 2 : 0); k++)
        for (int32_t radius = 2; radius <= 3; radius++) {
            double find, list;
            time_both(pairs[k], radius, &find, &list);
            for (size_t n = 0; n < sizeof noise / sizeof *noise; n++) {
                const int64_t queries = pairs[k] < 1000 ? pairs[k] : 1000;
                const geodec_capacity_options o = {.pairs = pairs[k],
                                                   .queries = queries,
                                                   .bank_bits = GEODEC_HDM_BANK_BITS,
                                                   .radius = radius,
                                                   .noise = noise[n],
                                                   .seed = 2,
                                                   .exact = true};
                geodec_capacity c;
                if (geodec_capacity_measure(&o, &c, pool, NULL) != GEODEC_OK) return 1;
                printf("memory\t%lld\t%g\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\n",
                       (long long)pairs[k], noise[n], (int)radius, c.right, c.accepted, c.wrong, c.reached, c.foreign,
                       c.exact, c.pairs_a_bank, c.z, (double)c.bytes / 1e6, (double)pairs[k] * GEODEC_HV_BITS / 8e6,
                       find, list);
                (void)fflush(stdout);
            }
        }
    return 0;
}

static void kernels(bool quick)
{
    enum { VECTORS = 64 };
    static geodec_hv v[VECTORS], out;
    static int16_t count[GEODEC_HV_COUNTS];
    const int runs = quick ? 200 : 5000;
    for (int i = 0; i < VECTORS; i++) geodec_hv_code(1, 1, (uint64_t)i, &v[i]);
    printf("kind\tisa\tdistance_ns\tadd_ns\tmajority_ns\n");
    for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
        double t[4];
        if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
        t[0] = geodec_clock_thread_seconds();
        for (int i = 0; i < runs * VECTORS; i++)
            sink += geodec_hv_distance(&v[i % VECTORS], &v[(i + 1) % VECTORS], (geodec_isa)isa);
        t[1] = geodec_clock_thread_seconds();
        for (int i = 0; i < runs; i++) geodec_hv_add(count, &v[i % VECTORS], (geodec_isa)isa);
        t[2] = geodec_clock_thread_seconds();
        for (int i = 0; i < runs; i++) geodec_hv_majority(count, &v[0], &out, (geodec_isa)isa);
        t[3] = geodec_clock_thread_seconds();
        sink += (int64_t)out.word[0];
        printf("kernels\t%s\t%.1f\t%.0f\t%.0f\n", geodec_kernels_isa_name((geodec_isa)isa),
               (t[1] - t[0]) / runs / VECTORS * 1e9, (t[2] - t[1]) / runs * 1e9, (t[3] - t[2]) / runs * 1e9);
    }
}

int main(int argc, char **argv)
{
    bench_arguments a;
    geodec_pool *pool = NULL;
    if (!bench_arguments_read(argc, argv, "bench-hdm", "bank|memory|kernels", &a)) return 2;
    if (geodec_pool_create(a.threads, &pool, NULL) != GEODEC_OK) return 1;
    int failed = 0;
    if (!*a.only || strcmp(a.only, "bank") == 0) failed |= banks(pool, a.quick);
    if (!*a.only || strcmp(a.only, "memory") == 0) failed |= memories(pool, a.quick);
    if (!*a.only || strcmp(a.only, "kernels") == 0) kernels(a.quick);
    geodec_pool_destroy(pool);
    return failed;
}
