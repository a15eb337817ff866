/* Nearest record in the metric of the query (or each record's own), d = 8, one thread, as TSV on stdout.
 *
 *     bench-lookup [--quick] [--only near|fresh|own]
 *
 * What is searched and the peers: experiments/lookup_speed.h. limit_us: what is asked for at a size.
 */
#include "arguments.h"
#include "experiments/lookup_speed.h"
#include "linalg/lapack.h"

#include <math.h>

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
    for (int k = 0; k < GEODEC_LOOKUP_KINDS; k++) {
        const char *name = geodec_lookup_queries_name((geodec_lookup_queries)k);
        if (*given.only && strcmp(given.only, name) != 0) continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (double condition = 1; condition <= 1e4; condition *= condition < 100 ? 10 : 100) {
                geodec_lookup_speed r = {
                    .kind = (geodec_lookup_queries)k, .records = sizes[s].records, .n = 8, .condition = condition};
                if (geodec_lookup_speed_measure(1, given.quick, &r, NULL) != GEODEC_OK) return 1;
                (void)printf("%s\t%lld\t%g\t%.4f\t%.4f\t%g\t%.3f\t%.3f\t%.1f\t%.3f\t%.3f\t%.1f\n", name,
                             (long long)r.records, condition, r.single_us, r.batch_us, sizes[s].limit, r.exhaustive_us,
                             r.screen_us, r.computed, r.recall, r.recall_screen, r.create_ms);
                (void)fflush(stdout);
            }
    }
    return 0;
}
