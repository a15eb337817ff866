/* geodec-coverage: share of new points that are near a cached point. */
#include "artifact/binding.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "chain/coverage_needs.h"
#include "cli/cloud.h"
#include "cli/needs.h"
#include "cli/sweep.h"

#include <float.h>
#include <string.h>

static const char *output = "coverage.h5", *shares, *threshold = "distance", *activations, *shard, *joined;
static int64_t dim, points = 1000, k, nulls = 10;
static double noise = -1;
static bool sweep;
static geodec_coverage_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "coverage.h5"),
    CLI_CLOUD_DIM_OPTION(dim),
    OPT_I64("points", 'p', &points, 0, 1e9, "N", "random sample of points for the experiment (0: all)"),
    OPT_FLAG("sweep", 0, &sweep,
             "repeat with a quarter and with half of the points (more if these are too few for the metric)"),
    OPT_CHOICE("threshold", 0, &threshold, "distance|task", "WHAT",
               "distance: count by distance; task: also count by the predictions of the cache: next state, next token "
               "and, if the states have all logits, distribution"),
    OPT_FILE("activations", 'a', &activations, "FILE.h5",
             "states from which the cloud was made (with --threshold task)"),
    OPT_STR("shares", 0, &shares, "LIST",
            "cached shares of the points, ascending, joined by commas (default 0.1,0.25,0.5,0.75)"),
    OPT_I64("k", 'k', &k, 0, 1e6, "N",
            "neighbours of the metric (0: twice the dimension, at least 16, or fewer if the cache is small)"),
    OPT_I64("repeats", 0, &opt.repeats, 1, 64, "N", "random splits into cached and held-out points"),
    OPT_I64("queries", 0, &opt.queries, 1, 1e9, "N", "largest number of held-out points of a split"),
    OPT_I64("nulls", 0, &nulls, 0, 60, "N",
            "clouds of each null model: Gaussian, and phase-randomised along the text or shuffled by coordinate"),
    OPT_F64("noise", 0, &noise, -1, DBL_MAX, "X",
            "standard deviation of an error in each coordinate (-1: from the variance that the coordinates leave out)"),
    CLI_SWEEP_OPTIONS(shard, joined, "splits"),
};

static const cli_tool tool = {
    .name = "geodec-coverage",
    .topic = CLI_TOPIC_RECORDS,
    .purpose = "measure the share of new points that are near a cached point",
    .usage = "[OPTIONS] CLOUD.h5",
    .description =
        "The metric is fitted only to the cached points, and the search for the cached point nearest in g is exact.\n"
        "Cover is measured in the first --dim coordinates of the cloud, not of the states.\n"
        "Every figure comes with the closed form 1 - C(N-1-k,c)/C(N-1,c), the leaky design that reproduces it, and\n"
        "two nulls with z-scores: Gaussian clouds, and clouds with random Fourier phases along the text (or with\n"
        "shuffled coordinates if the points have no order). `twin` says what a hit means at the noise of the points:\n"
        "the share that would be hits if every state had been measured before, with that noise.",
    .examples = "  geodec-coverage --sweep -o coverage.h5 cloud.h5",
    CLI_TAKES(options, 1, 1),
    .plans = true,
};

/* --plan. The results are small: their memory is that of the pilot. */
static geodec_status plan(const cli *c, const cli_stage *stage, const geodec_cloud *cloud, int64_t n, const double *x,
                          const geodec_artifact *states, geodec_err *err)
{
    geodec_shard slice;
    GEODEC_PASS(geodec_shard_parse(shard, &slice, err));
    needs_inputs(c->needs, stage);
    GEODEC_PASS(
        geodec_coverage_needs(cloud, n, x, states, &opt, shard ? slice.count : 1, c->pool, &c->hooks, c->needs, err));
    needs_process(c->needs);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *states = NULL;
    geodec_cloud cloud = {0};
    bool part;
    int64_t n;
    geodec_coverage v = {0};
    geodec_coverage_task t = {0};
    cli_stage stage = {0};
    double *x = NULL;
    const double begin = geodec_clock_process_seconds();
    if ((strcmp(threshold, "task") == 0) != (activations != NULL))
        GEODEC_THROW(GEODEC_INVAL, "--threshold task and --activations go together");
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(cloud_dim(c, &cloud, dim, geodec_cloud_dimension(&cloud), &n, err));
    const int64_t count = points > 0 && points < cloud.points ? points : cloud.points;
    GEODEC_TRY(geodec_cloud_coordinates(&cloud, n, &x, err));
    if (shares)
        GEODEC_TRY(geodec_numbers_parse(shares, "--shares", -DBL_MAX, DBL_MAX, GEODEC_COVERAGE_SHARES, opt.share,
                                        &opt.n_shares, err));
    opt.metric.k = k;
    geodec_coverage_sizes(&opt, sweep, count, n);
    opt.nulls = nulls;
    opt.second = geodec_surrogate_for(cloud.points, cloud.sequence);
    opt.seed = c->seed;
    opt.noise = noise < 0 ? geodec_cloud_noise(&cloud) : noise;
    if (activations) {
        GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, activations, &states, err));
    }
    if (c->needs) {
        needs_since(c->needs, "load", begin);
        GEODEC_TRY(plan(c, &stage, &cloud, n, x, states, err));
        goto done;
    }
    GEODEC_TRY(stage_sweep(&stage, shard, joined, &opt.sweep, err));
    GEODEC_TRY(geodec_coverage_compute(cloud.points, n, x, &opt, c->pool, &c->hooks, &v, err));
    if (activations) GEODEC_TRY(geodec_coverage_task_states(&cloud, n, x, states, &opt, c->pool, &c->hooks, &t, err));
    GEODEC_TRY(stage_part(&stage, &part, err));
    if (part) goto done;
    GEODEC_TRY(stage_create(&stage, &geodec_coverage_kind, err));
    GEODEC_TRY(geodec_artifact_save(stage.out, &v, err));
    if (activations) GEODEC_TRY(geodec_coverage_task_write(&t, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    geodec_coverage_say(&c->hooks, &v);
    if (activations) geodec_coverage_task_say(&c->hooks, &t);
done:
    stage_end(&stage);
    geodec_cloud_clear(&cloud);
    geodec_coverage_clear(&v);
    geodec_coverage_task_clear(&t);
    geodec_mem_free(x);
    return st;
}

CLI_MAIN(opt = geodec_coverage_defaults())
