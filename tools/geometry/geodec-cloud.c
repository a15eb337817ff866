/* geodec-cloud: hidden states of one layer in principal coordinates, with spectrum and intrinsic dimension. */
#include "artifact/sweep.h"
#include "chain/cloud.h"
#include "chain/cloud_needs.h"
#include "cli/cloud.h"
#include "cli/needs.h"
#include "cli/ranks.h"
#include "cli/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *output = "cloud.h5", *layer = "last", *k_int = "auto", *pca = "auto", *theiler = "auto", *shard,
                  *joined;
static bool mpi;
static geodec_cloud_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "cloud.h5"),
    OPT_STR("layer", 'l', &layer, "L",
            "layer to use: a number (blocks passed, 0 = embedding), last (of the file) or sink (2/3 of the depth)"),
    OPT_F64("variance", 0, &opt.variance, 1e-6, 1, "SHARE", "share of the variance that the components explain"),
    OPT_I64("max-points", 'n', &opt.max_points, 0, 1e9, "N", "keep a random sample of N distinct states (0: all)"),
    OPT_FLAG("drop-outliers", 0, &opt.drop_outliers,
             "leave out rows whose norm is above the median norm by more than 10 standard deviations (1.4826 times the "
             "median absolute deviation); they are always counted"),
    OPT_CHOICE("pca", 0, &pca, "auto|exact|randomized", "HOW",
               "method for principal components: exact, randomized (two passes, no d x d matrix), or auto (randomized "
               "if few of many dimensions are needed)"),
    OPT_I64("twonn-points", 0, &opt.twonn_points, GEODEC_CLOUD_MIN_POINTS, 1e7, "N",
            "largest number of points in the TwoNN estimates, whose cost is quadratic"),
    OPT_STR(
        "theiler", 0, &theiler, "W",
        "points of a text less than W positions apart are not neighbours in the recommended dimension (0: all are); "
        "auto: the least W at which neighbours are next to each other in a text about as often as by chance"),
    OPT_STR("k-int", 'k', &k_int, "N",
            "integer intrinsic dimension for later stages, or auto: the rounded TwoNN fit without time neighbours"),
    CLI_SWEEP_OPTIONS(shard, joined, "16 blocks of the covariance"),
    CLI_MPI_OPTION(mpi, "16 blocks of the covariance or of the sketches"),
};

static const cli_tool tool = {
    .name = "geodec-cloud",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "convert the hidden states of one layer to points in principal coordinates",
    .usage = "[OPTIONS] ACTIVATIONS.h5",
    .description =
        "States that are bitwise equal to an earlier one are dropped and counted. The output contains all K\n"
        "coordinates that explain the share of the variance. It also contains K and the TwoNN dimension (maximum\n"
        "likelihood, and a line fit without the largest 10 %; 95 % bootstrap intervals) of N/4, N/2 and N points.\n"
        "TwoNN is measured in the space of the states; beside it stands TwoNN of the K coordinates, which later\n"
        "stages use. The control is a Gaussian cloud with the same spectrum. Where most ratios of distances are\n"
        "ties, TwoNN is not measured.\n"
        "Consecutive states of a text are near each other, and TwoNN of them measures the path. So TwoNN is measured\n"
        "a second time among points of a text that are at least W positions apart (--theiler), and corrected for the\n"
        "number of points by uniform points on a sphere: this is the recommended dimension. A warning says when\n"
        "nearest neighbours are steps of the same text, and when the points are too few for the dimension (more than\n"
        "2 log10 of their number, or different for N/4 and N points).",
    .examples = "geodec-cloud --layer sink --max-points 2000 -o cloud.h5 activations.h5\n"
                "geodec-table cloud.h5 /ladder/points /ladder/twonn_ml /ladder/dimension /control/dimension",
    CLI_TAKES(options, 1, 1),
    .plans = true,
};

/* Parses a whole number from 0; the message of GEODEC_INVAL names the option. */
static geodec_status number(const char *option, const char *text, int64_t *value, geodec_err *err)
{
    char *end = NULL;
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    if (end == text || *end || errno || v < 0)
        GEODEC_FAIL(GEODEC_INVAL, "--%s: '%s' is neither a number nor a known word", option, text);
    *value = v;
    return GEODEC_OK;
}

static geodec_status choose_layer(const geodec_artifact *a, int64_t n_kept, int64_t *chosen, geodec_err *err)
{
    int64_t n_layer;
    if (strcmp(layer, "last") == 0) {
        int32_t kept = 0;
        GEODEC_PASS(geodec_artifact_read_rows(a, "/layer", n_kept - 1, 1, &kept, err));
        *chosen = kept;
    } else if (strcmp(layer, "sink") == 0) {
        GEODEC_PASS(geodec_artifact_get_i64(a, "n_layer", &n_layer, err));
        *chosen = (2 * n_layer + 1) / 3;
    } else {
        GEODEC_PASS(number("layer", layer, chosen, err));
    }
    return GEODEC_OK;
}

typedef struct input {
    cli_stage *stage;
    const cli *c;
    geodec_artifact **file;
} input;

static geodec_status open_input(void *ctx, geodec_err *err)
{
    const input *in = ctx;
    GEODEC_PASS(stage_begin(in->stage, in->c, output, err));
    GEODEC_PASS(stage_open(in->stage, &geodec_activations_kind, in->c->args[0], in->file, err));
    return GEODEC_OK;
}

/* --plan */
static geodec_status plan(const cli_stage *stage, const geodec_activations *states, geodec_comm *comm, geodec_err *err)
{
    const cli *c = stage->c;
    geodec_size size;
    geodec_shard slice;
    GEODEC_PASS(geodec_shard_parse(shard, &slice, err));
    const int ranks = geodec_comm_size(comm);
    geodec_cloud_part part = {.part = shard != NULL, .joined = joined != NULL, .shares = shard ? slice.count : ranks};
    if (part.shares > 16) part.shares = 16;
    needs_program(c->needs);
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_cloud_needs(states, &opt, &part, NEEDS_BUDGET, c->pool, &c->hooks, c->needs, &size, err));
    if (!shard) needs_output(c->needs, &size);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_activations states;
    geodec_cloud_summary s;
    cli_stage stage = {0};
    geodec_comm *comm = NULL;
    bool part;
    GEODEC_TRY(ranks_begin(c, mpi, &comm, err));
    opt.seed = c->seed;
    if (strcmp(pca, "exact") == 0)
        opt.pca = GEODEC_CLOUD_PCA_EXACT;
    else if (strcmp(pca, "randomized") == 0)
        opt.pca = GEODEC_CLOUD_PCA_RANDOMIZED;
    if (strcmp(k_int, "auto") != 0) {
        GEODEC_TRY(number("k-int", k_int, &opt.k_int, err));
        if (opt.k_int < 1) GEODEC_THROW(GEODEC_RANGE, "--k-int: %s is below 1", k_int);
    }
    if (strcmp(theiler, "auto") != 0) GEODEC_TRY(number("theiler", theiler, &opt.theiler, err));
    input states_file = {&stage, c, &in};
    GEODEC_TRY(ranks_inputs(comm, open_input, &states_file, err));
    GEODEC_TRY(geodec_activations_view(in, &states, err));
    GEODEC_TRY(choose_layer(in, states.layers, &opt.layer, err));
    if (c->needs) {
        GEODEC_TRY(plan(&stage, &states, comm, err));
        goto done;
    }
    GEODEC_TRY(stage_sweep_ranks(&stage, shard, joined, comm, &opt.sweep, err));
    if (!shard && geodec_comm_rank(comm) == 0) GEODEC_TRY(stage_create(&stage, &geodec_cloud_kind, err));
    GEODEC_TRY(geodec_cloud_build(&states, &opt, stage.out, &s, c->pool, &c->hooks, err));
    GEODEC_TRY(stage_part(&stage, &part, err));
    if (part) goto done;
    GEODEC_TRY(stage_commit(&stage, err));
    if (s.sketch_width > 0)
        cli_say(c, "components from a sketch of width %lld: residual %.1e of the first eigenvalue",
                (long long)s.sketch_width, s.sketch_residual);
    cloud_say_points(c, opt.layer, &s);
    cloud_say_twonn(c, &s);
done:
    stage_end(&stage);
    return st;
}

CLI_MAIN(opt = geodec_cloud_defaults())
