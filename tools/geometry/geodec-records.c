/* geodec-records: compressed trajectory records. */
#include "base/clock.h"
#include "base/mem.h"
#include "cli/needs.h"
#include "cli/space.h"
#include "records/lookup.h"
#include "records/records.h"
#include "records/records_needs.h"

static const char *output = "records.h5";
static int64_t queries = 512;
static geodec_records_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "records.h5"),
    OPT_F64("tolerance", 'e', &opt.phi_tolerance, 0, 1, "X",
            "largest relative error of a propagator, which determines its rank"),
    OPT_F64("x-tolerance", 0, &opt.x_tolerance, 0, 1e9, "X",
            "largest distance of interpolated waypoints from a path, as g-length"),
    OPT_F64("tau", 0, &opt.tau, 1e-9, 1e3, "X", "mean relative error that defines a record's radius rho"),
    OPT_I64("directions", 0, &opt.directions, 1, 4096, "N", "directions in which rho is measured"),
    OPT_I64("logits", 'm', &opt.logits, 0, 1e6, "N",
            "number of best logits to keep with a record, if ACTIVATIONS.h5 is given"),
    OPT_I64("queries", 0, &queries, 1, 1e7, "N", "points of the cloud to look up in a trial of the store"),
};

static const cli_tool tool = {
    .name = "geodec-records",
    .topic = CLI_TOPIC_RECORDS,
    .purpose = "build compressed trajectory records with their validity radii",
    .usage = "[OPTIONS] PROPAGATORS.h5 METRIC.h5 [ACTIVATIONS.h5]",
    .description =
        "Records are paths in the space of the metric, the first coordinates of the cloud; only the logits are of the\n"
        "whole states. Keeps the paths with status ok. A record contains few waypoints (float16, cubic Hermite), Phi - "
        "I with the\n"
        "smallest rank that meets the tolerance (or in full if that is smaller), its measured radius rho and, with\n"
        "ACTIVATIONS.h5, the best logits at the target state of the path. Then looks up points of the cloud and\n"
        "reports the recall.",
    .examples = "geodec-records -o records.h5 propagators.h5 metric.h5 activations.h5",
    CLI_TAKES(options, 2, 3),
    .plans = true,
};

/* --plan */
static geodec_status plan(const cli *c, const cli_stage *stage, const geodec_propagators *g, const geodec_space *s,
                          const geodec_artifact *activations, int64_t count, const double *x, geodec_err *err)
{
    double bytes;
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_records_needs(g, s, activations, &opt, count, x, NEEDS_BUDGET, c->pool, &c->hooks, c->needs,
                                     &bytes, err));
    const geodec_size size = {.fields = (int64_t)bytes, .buffers = (int64_t)bytes};
    needs_process(c->needs);
    needs_output(c->needs, &size);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *activations = NULL;
    geodec_metric_file metric = {0};
    geodec_propagators g = {0};
    geodec_records r = {0};
    geodec_lookup_trial trial = {0};
    cli_stage stage = {0};
    double *x = NULL;
    int64_t count = 0;
    opt.seed = c->seed;
    const double opened = geodec_clock_process_seconds();
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_propagators_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_propagators_read(in, &g, err));
    GEODEC_TRY(stage_space(&stage, c->args[1], &metric, err));
    if (c->n_args > 2) {
        GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[2], &activations, err));
    }
    const geodec_space *s = metric.space;
    opt.noise = metric.metric.source.noise;
    if (c->needs) {
        GEODEC_TRY(geodec_lookup_choose(&metric.metric, &g, queries, c->seed, &x, &count, err));
        needs_since(c->needs, "load", opened);
        GEODEC_TRY(plan(c, &stage, &g, s, activations, count, x, err));
        goto done;
    }
    GEODEC_TRY(geodec_records_compute(&g, s, activations, &opt, c->pool, &c->hooks, &r, err));
    GEODEC_TRY(geodec_lookup_choose(&metric.metric, &g, queries, c->seed, &x, &count, err));
    const double begin = geodec_clock_seconds();
    GEODEC_TRY(geodec_lookup_try(&r, s, count, x, c->pool, &c->hooks, &trial, err));
    const double seconds = geodec_clock_seconds() - begin;
    STAGE_WRITE(&stage, &geodec_records_kind, geodec_records_write(&r, &trial, stage.out, err));
    geodec_records_say(&c->hooks, &r, &trial, seconds);
done:
    stage_end(&stage);
    geodec_metric_file_close(&metric);
    geodec_propagators_clear(&g);
    geodec_records_clear(&r);
    geodec_mem_free(x);
    return st;
}

CLI_MAIN(opt = geodec_records_defaults())
