/* geodec-hjb: residuals of the geodesic equation along trajectories. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "cli/space.h"
#include "cli/sweep.h"
#include "lab/hjb/hjb.h"

static const char *output = "hjb.h5", *shard, *joined;
static int64_t paths = 12;
static geodec_hjb_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "hjb.h5"),
    OPT_I64("paths", 0, &paths, 1, 1e6, "N", "trajectories of each class"),
    OPT_I64("nodes", 0, &opt.nodes, 3, 1e5, "N", "nodes of a trajectory"),
    OPT_F64("dl", 0, &opt.dl, 1e-9, 1e9, "X", "arc length of a geodesic's step"),
    OPT_I64("bootstrap", 0, &opt.bootstrap, 0, 1e6, "N", "replicates over trajectories for the 95 % intervals"),
    CLI_SWEEP_OPTIONS(shard, joined, "paths"),
};

static const cli_tool tool = {
    .name = "geodec-hjb",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "measure the residuals of the geodesic equation along trajectories",
    .usage = "[OPTIONS] METRIC.h5 [ACTIVATIONS.h5]",
    .description =
        "Computes D2 s + Gamma(Dc s, Dc s) along geodesics of the metric, walks over nearest neighbours and straight\n"
        "lines. With the activations from which the metric was made, also along the text and, as the control, along\n"
        "the same states in random order.",
    .examples = "  geodec-hjb -o hjb.h5 metric.h5 activations.h5",
    CLI_TAKES(options, 1, 2),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_file in = {0};
    geodec_artifact *states = NULL;
    geodec_activations v = {0};
    geodec_hjb h = {0};
    cli_stage stage = {0};
    bool part;
    double *basis = NULL, *mean = NULL;
    int64_t layer = 0, d = 0, n = 0;
    opt.paths = paths;
    opt.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_space(&stage, c->args[0], &in, err));
    if (c->n_args == 2) {
        GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[1], &states, err));
        GEODEC_TRY(geodec_activations_view(states, &v, err));
        GEODEC_TRY(geodec_artifact_dim(in.file, "d", &d, err));
        GEODEC_TRY(geodec_artifact_dim(in.file, "n", &n, err));
        if (d != v.d || n != in.space->n)
            GEODEC_THROW(GEODEC_FORMAT, "%s is of states of width %lld, %s of %lld", c->args[0], (long long)d,
                         c->args[1], (long long)v.d);
        GEODEC_TRY(geodec_artifact_get_i64(in.file, "layer", &layer, err));
        GEODEC_TRY(geodec_artifact_read(in.file, "/basis", &basis, err));
        GEODEC_TRY(geodec_artifact_read(in.file, "/mean", &mean, err));
    }
    GEODEC_TRY(stage_sweep(&stage, shard, joined, &opt.sweep, err));
    GEODEC_TRY(geodec_hjb_run(in.space, in.metric.points, in.metric.point, states ? &v : NULL, layer, basis, mean, &opt,
                              c->pool, &c->hooks, &h, err));
    GEODEC_TRY(stage_part(&stage, &part, err));
    if (part) goto done;
    STAGE_WRITE(&stage, &geodec_hjb_kind, geodec_artifact_save(stage.out, &h, err));
    for (int k = 0; k < GEODEC_HJB_CLASSES; k++) {
        const geodec_hjb_row *r = &h.row[k];
        if (r->paths == 0) continue;
        cli_say(c,
                "%-8s %lld paths: residual relative to the step %.3g [%.3g, %.3g], second difference %.3g; explained "
                "%.1f %% [%.1f, %.1f]",
                geodec_hjb_names[k], (long long)r->paths, r->turn.value, r->turn.low, r->turn.high,
                r->kinetic_turn.value, 100 * r->explained.value, 100 * r->explained.low, 100 * r->explained.high);
    }
    cli_say(c, "order of the residual of geodesics in the step: %.2f (expected: 4)", h.order);
done:
    stage_end(&stage);
    geodec_metric_file_close(&in);
    GEODEC_FREE(basis, mean);
    return st;
}

CLI_MAIN(opt = geodec_hjb_defaults())
