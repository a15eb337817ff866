/* Nearest record in the metric of the query (or each record's own), d = 8, one thread, as TSV on stdout.
 *
 *     bench-lookup [--quick] [--only near|fresh|own] [--cloud METRIC.h5]
 *
 * lab/lookup/lookup.h describes the records, the queries and the peers. limit_us: the target for a size. --cloud uses
 * only the points of a metric artifact in the metrics of its field: unchanged, then at each condition.
 */
#include "arguments.h"
#include "base/err.h"
#include "lab/lookup/lookup.h"
#include "linalg/lapack.h"

#include <math.h>

static const double conditions[] = {1, 10, 1e2, 1e3, 1e4};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

static bool say(geodec_status st, const geodec_err *err)
{
    char line[512];
    if (st != GEODEC_OK) (void)fprintf(stderr, "bench-lookup: %s\n", geodec_err_line(err, line, sizeof line));
    return st == GEODEC_OK;
}

static void print(const geodec_lookup_speed *r, double limit)
{
    (void)printf("%s\t%lld\t%.4g\t%.4f\t%.4f\t%g\t%.3f\t%.3f\t%.4f\t%.1f\t%.3f\t%.3f\t%.3f\t%.1f\n",
                 geodec_lookup_queries_name(r->kind), (long long)r->records, r->condition, r->single_us, r->batch_us,
                 limit, r->exhaustive_us, r->screen_us, r->euclid_us, r->computed, r->recall, r->recall_screen,
                 r->recall_euclid, r->create_ms);
    (void)fflush(stdout);
}

static geodec_status on_cloud(const char *path, bool quick, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    geodec_metric m = {0};
    GEODEC_TRY(geodec_artifact_open(&geodec_metric_kind, path, &a, err));
    GEODEC_TRY(geodec_metric_read(a, &m, err));
    for (int c = -1; c < CONDITIONS; c++) {
        geodec_lookup_speed r = {.condition = c < 0 ? 0 : conditions[c]};
        GEODEC_TRY(geodec_lookup_speed_cloud(&m, 1, quick, &r, err));
        print(&r, NAN);
    }
done:
    geodec_metric_clear(&m);
    geodec_artifact_close(a);
    return st;
}

int main(int argc, char **argv)
{
    static const struct {
        int64_t records;
        double limit;
    } sizes[] = {{24, 0.06}, {100, NAN}, {1000, 0.85}, {10000, 4.2}, {100000, 30}};
    bench_arguments given;
    geodec_err err = {0};
    const char *cloud = NULL;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--cloud") != 0) continue;
        cloud = argv[i + 1];
        for (int k = i; k + 2 <= argc; k++) argv[k] = argv[k + 2 < argc ? k + 2 : argc];
        argc -= 2;
    }
    if (!bench_arguments_read(argc, argv, "bench-lookup", "KIND", &given)) return 2;
    geodec_linalg_init();
    (void)printf("queries\trecords\tcondition\tsingle_us\tbatch_us\tlimit_us\texhaustive_us\tscreen_us\teuclid_us\t"
                 "computed\trecall\tscreen_recall\teuclid_recall\tcreate_ms\n");
    if (cloud) return say(on_cloud(cloud, given.quick, &err), &err) ? 0 : 1;
    for (int k = 0; k < GEODEC_LOOKUP_KINDS; k++) {
        const char *name = geodec_lookup_queries_name((geodec_lookup_queries)k);
        if (*given.only && strcmp(given.only, name) != 0) continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int c = 0; c < CONDITIONS; c++) {
                geodec_lookup_speed r = {
                    .kind = (geodec_lookup_queries)k, .records = sizes[s].records, .n = 8, .condition = conditions[c]};
                if (!say(geodec_lookup_speed_measure(1, given.quick, &r, &err), &err)) return 1;
                print(&r, sizes[s].limit);
            }
    }
    return 0;
}
