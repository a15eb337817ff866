/* geodec-lookup: speed and recall of the search for the nearest record. */
#include "cli/stage.h"
#include "lab/lookup/correct.h"

static const char *output = "speed-lookup.h5";
static int64_t dim = 8, most = 100000;
static double condition = 10;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "speed-lookup.h5"),
    OPT_I64("dim", 'n', &dim, 2, 16, "N", "dimension"),
    OPT_I64("records", 'r', &most, 24, 1e7, "N",
            "largest number of records; the sizes are 24, 100, 1000, 10000, .. up to N"),
    OPT_F64("condition", 0, &condition, 1, 1e9, "X", "condition number of the metrics"),
};

static const cli_tool tool = {
    .name = "geodec-lookup",
    .topic = CLI_TOPIC_RECORDS,
    .purpose = "measure the speed and recall of the nearest-record search",
    .usage = "[OPTIONS]",
    .description =
        "Searches random records. Queries are next to an anchor or anywhere; each has its own metric, or uses the\n"
        "records' metrics. The search is compared with exhaustive search, whose result is bitwise equal, and with\n"
        "the 8 nearest records in Euclidean distance, whose result differs. The times, and therefore the file, vary\n"
        "from run to run.",
    .examples = "geodec-lookup --records 10000 -o speed-lookup.h5",
    CLI_TAKES(options, 0, 0),
};

static geodec_status run(const cli *c, geodec_err *err)
{
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
