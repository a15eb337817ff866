/* geodec-lookup: the records nearest to points of a metric; speed and recall of the search. */
#include "base/mem.h"
#include "cli/space.h"
#include "lab/lookup/lookup.h"
#include "records/lookup.h"

#include <string.h>

static const char *output = "speed-lookup.h5";
static int64_t dim = 8, most = 100000, queries = 16;
static double condition = 10;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "speed-lookup.h5"),
    OPT_I64("dim", 'n', &dim, 2, 16, "N", "dimension"),
    OPT_I64("records", 'r', &most, 24, 1e7, "N",
            "largest number of records; the sizes are 24, 100, 1000, 10000, .. up to N"),
    OPT_I64("queries", 0, &queries, 1, 1e9, "N",
            "with RECORDS.h5: points of METRIC.h5 to look up, evenly spread over those at which no record begins"),
    OPT_F64("condition", 0, &condition, 1, 1e9, "X", "condition number of the metrics"),
};

static const cli_tool tool = {
    .name = "geodec-lookup",
    .topic = CLI_TOPIC_RECORDS,
    .purpose = "query a record store, or measure the speed and recall of the nearest-record search",
    .usage = "[OPTIONS]\n       geodec-lookup [--queries N] RECORDS.h5 METRIC.h5",
    .description =
        "With RECORDS.h5 and METRIC.h5, prints a table of points of the metric: the row of each in the activations, "
        "the\n"
        "record nearest in the records' own metrics and the row at which it begins, their distance, the record's\n"
        "radius rho, and whether the point is inside it. Distances are in the coordinates of the metric, not of the\n"
        "states. No file is written. Without them,\n"
        "searches random records. Queries are next to an anchor or anywhere; each has its own metric, or uses the\n"
        "records' metrics. The search is compared with exhaustive search, whose result is bitwise equal, and with\n"
        "the 8 nearest records in Euclidean distance, whose result differs. The times, and therefore the file, vary\n"
        "from run to run.",
    .examples = "geodec-lookup --queries 5 records.h5 metric.h5\n"
                "geodec-lookup --records 10000 -o speed-lookup.h5",
    CLI_TAKES(options, 0, 2),
};

/* The points of the metric at which no record begins: at [m->points], their number in *count. Rows of the activations
 * tell them apart; points that came without rows are compared by their coordinates. */
static void free_points(const geodec_metric *m, const int32_t *row, const geodec_records *r, int64_t *at,
                        int64_t *count)
{
    *count = 0;
    for (int64_t p = 0; p < m->points; p++) {
        bool begins = false;
        for (int64_t i = 0; i < r->records && !begins; i++)
            begins = row[p] >= 0 ? row[p] == r->activation_row[i]
                                 : memcmp(m->point + p * m->n, r->q + i * m->n, (size_t)m->n * sizeof *r->q) == 0;
        if (!begins) at[(*count)++] = p;
    }
}

static geodec_status query_records(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *file = NULL;
    geodec_metric_file in = {0};
    geodec_records r = {0};
    geodec_lookup *l = NULL;
    int32_t *row = NULL;
    int64_t *at = NULL, count, inside = 0;
    if (c->n_args < 2) GEODEC_THROW(GEODEC_INVAL, "METRIC.h5 is missing");
    if (strcmp(output, "speed-lookup.h5") != 0)
        GEODEC_THROW(GEODEC_INVAL, "--output: a query of records writes no file");
    GEODEC_TRY(geodec_artifact_open(&geodec_records_kind, c->args[0], &file, err));
    GEODEC_TRY(geodec_records_read(file, &r, err));
    GEODEC_TRY(geodec_metric_file_open(c->args[1], &in, err));
    if (r.n != in.metric.n)
        GEODEC_THROW(GEODEC_FORMAT, "records of dimension %lld in a metric of dimension %lld", (long long)r.n,
                     (long long)in.metric.n);
    GEODEC_TRY(geodec_artifact_read(in.file, "/activation_row", &row, err));
    GEODEC_NEW(at, in.metric.points);
    free_points(&in.metric, row, &r, at, &count);
    if (count == 0) GEODEC_THROW(GEODEC_SCARCE, "a record begins at every point of %s", c->args[1]);
    GEODEC_TRY(geodec_lookup_create(r.records, r.n, r.q, r.g, &l, err));
    printf("point\trow\trecord\trecord_row\tdistance\trho\tinside\n");
    const int64_t wanted = queries < count ? queries : count;
    for (int64_t i = 0; i < wanted; i++) {
        const int64_t p = at[i * count / wanted];
        geodec_lookup_hit hit;
        GEODEC_TRY(geodec_lookup_nearest(l, in.metric.point + p * r.n, NULL, &hit, err));
        const bool within = hit.distance <= (double)r.rho[hit.index];
        inside += within;
        printf("%lld\t%d\t%lld\t%d\t%.6g\t%.6g\t%d\n", (long long)p, (int)row[p], (long long)hit.index,
               (int)r.activation_row[hit.index], hit.distance, (double)r.rho[hit.index], within);
    }
    cli_say(c, "%lld of %lld points looked up in %lld records, in %lld coordinates: %lld inside rho", (long long)wanted,
            (long long)count, (long long)r.records, (long long)r.n, (long long)inside);
done:
    geodec_lookup_destroy(l);
    geodec_records_clear(&r);
    geodec_metric_file_close(&in);
    geodec_artifact_close(file);
    GEODEC_FREE(row, at);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    if (c->n_args > 0) return query_records(c, err);
    geodec_status st = GEODEC_OK;
    enum { SIZES = 8 };
    geodec_lookup_speed row[GEODEC_LOOKUP_KINDS * SIZES];
    cli_stage stage = {0};
    int64_t rows = 0;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    for (int k = 0; k < GEODEC_LOOKUP_KINDS; k++)
        for (int64_t records = 24; records <= most; records = records == 24 ? 100 : 10 * records) {
            geodec_lookup_speed *r = &row[rows++];
            *r = (geodec_lookup_speed){
                .kind = (geodec_lookup_queries)k, .records = records, .n = dim, .condition = condition};
            GEODEC_TRY(geodec_lookup_speed_measure(c->seed, true, r, err));
            cli_say(
                c,
                "%-5s %7lld records: %.3f us (batch %.3f), exhaustive %.2f, screen %.2f; recall %.3f, of the screen "
                "%.3f",
                geodec_lookup_queries_name(r->kind), (long long)records, r->single_us, r->batch_us, r->exhaustive_us,
                r->screen_us, r->recall, r->recall_screen);
            if (r->recall < 1) GEODEC_THROW(GEODEC_INTERNAL, "the search missed a nearest record");
        }
    STAGE_WRITE(&stage, &geodec_lookup_speed_kind, geodec_lookup_speed_write(rows, row, stage.out, err));
done:
    stage_end(&stage);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
