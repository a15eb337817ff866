/* geodec-consistency: fit of the metric of one half of the texts to the states of the other half. */
#include "base/mem.h"
#include "cli/cloud.h"
#include "cli/lab/charts.h"
#include "cli/stage.h"
#include "lab/consistency/consistency.h"

static const char *output = "consistency.h5";
static int64_t dim;
static geodec_consistency_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "consistency.h5"),
    OPT_I64("dim", 'n', &dim, 0, GEODEC_RBF_MAX_N, "N",
            "use the first N principal coordinates (0: the cloud's dimension, at least 2 and at most 12)"),
    OPT_F64("tau", 0, &opt.tau, 0.001, 0.999, "X",
            "tolerance for the share of pairs of neighbours in a different order, and for the relative error of the "
            "length of a step"),
    OPT_I64("bootstrap", 0, &opt.replicates, 0, 1e6, "N", "replicates over texts for the 95 % intervals"),
};

static const cli_tool tool = {
    .name = "geodec-consistency",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "measure how well the metric of one half of the texts fits the states of the other half",
    .usage = "[OPTIONS] CLOUD.h5 ACTIVATIONS.h5",
    .description =
        "A metric is fitted to the states of one half of the texts. At each state of the other half, it predicts the\n"
        "order of the nearest neighbours by length, and the length of the step to the next state of the text. Both\n"
        "are compared with the local metric of the state's own neighbours, within tau. The consistency is the share\n"
        "of states for which both agree. Controls: the matrices permuted among the states, rotated at random, and\n"
        "one matrix for all states. ACTIVATIONS.h5 is the file from which the cloud was made; it contains the texts.\n"
        "Lengths and neighbours are those in the first --dim coordinates of the cloud, not of the states.",
    .examples = "  geodec-consistency -o consistency.h5 cloud.h5 activations.h5",
    CLI_TAKES(options, 2, 2),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *states = NULL;
    geodec_activations v;
    geodec_cloud cloud = {0};
    geodec_split split;
    geodec_consistency r = {0};
    cli_stage stage = {0};
    double *x = NULL;
    int64_t n;
    int32_t *unit_of_row = NULL, *unit = NULL;
    opt.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[1], &states, err));
    GEODEC_TRY(geodec_activations_view(states, &v, err));
    GEODEC_TRY(geodec_activations_units(states, &unit_of_row, &split, err));
    geodec_harness_charts_say_split(&c->hooks, &split);
    GEODEC_TRY(cloud_dim(c, &cloud, dim, geodec_cloud_dimension(&cloud), &n, err));
    GEODEC_TRY(geodec_cloud_coordinates(&cloud, n, &x, err));
    GEODEC_NEW(unit, cloud.points);
    for (int64_t i = 0; i < cloud.points; i++) {
        if (cloud.row[i] < 0 || cloud.row[i] >= v.rows)
            GEODEC_THROW(GEODEC_FORMAT, "%s was not made from %s: point %lld of the cloud is no row of the states",
                         c->args[0], c->args[1], (long long)i);
        unit[i] = unit_of_row[cloud.row[i]];
    }
    GEODEC_TRY(geodec_consistency_run(cloud.points, n, x, cloud.sequence, unit, &opt, c->pool, &c->hooks, &r, err));
    STAGE_WRITE(&stage, &geodec_consistency_kind, geodec_consistency_write(&r, &cloud, &split, stage.out, err));
    geodec_consistency_say(&c->hooks, &r);
done:
    stage_end(&stage);
    geodec_cloud_clear(&cloud);
    geodec_consistency_clear(&r);
    GEODEC_FREE(x, unit, unit_of_row);
    return st;
}

CLI_MAIN(opt = geodec_consistency_defaults())
