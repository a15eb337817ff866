/* geodec-warp: effect of a local change of the metric on geodesics there and elsewhere. */
#include "cli/space.h"
#include "cli/sweep.h"
#include "lab/warp/warp.h"

#include <math.h>

static const char *output = "warp.h5", *shard, *joined;
static double angle = 30;
static geodec_warp_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "warp.h5"),
    OPT_I64("facts", 0, &opt.facts, 1, 1e6, "N", "number of paths to redirect"),
    OPT_I64("holdouts", 0, &opt.holdouts, 0, 1e6, "N", "number of other paths for each fact, which should not change"),
    OPT_I64("steps", 'T', &opt.steps, 1, 1e5, "N", "steps of a path"),
    OPT_F64("length", 0, &opt.length, 1e-9, 1e9, "X", "g-length of a path and of the geodesic to its target"),
    OPT_F64("angle", 0, &angle, 0.1, 179, "DEGREES", "angle between a path and the geodesic to its target"),
    OPT_F64("planted", 0, &opt.planted, 0, 1, "SHARE",
            "share of the facts whose target is where a warp of the sweep leads: the positive control"),
    OPT_I64("bootstrap", 0, &opt.bootstrap, 0, 1e6, "N", "replicates over facts for the 95 % intervals"),
    CLI_SWEEP_OPTIONS(shard, joined, "facts"),
};

static const cli_tool tool = {
    .name = "geodec-warp",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "measure the effect of a local warp of the metric on a target geodesic and on other geodesics",
    .usage = "[OPTIONS] METRIC.h5",
    .description =
        "Shoots geodesics at targets of the same length in another direction, warps the smooth field at the query or\n"
        "at the target, and shoots again. Strengths are 0, 0.7, 1.4, -1.4 and -2.1; widths are 1/4, 1/2 and 1 of the\n"
        "path. A strength of 0 must change nothing (exit code 4 otherwise). Control: the same on the unit sphere and\n"
        "in flat space. --planted moves targets to where a warp leads, so that they can be reached.",
    .examples = "  geodec-warp -o warp.h5 metric.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_file in = {0};
    geodec_warp field = {0}, sphere = {0}, flat = {0};
    cli_stage stage = {0};
    bool part;
    opt.angle = angle * M_PI / 180;
    opt.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_space(&stage, c->args[0], &in, err));
    GEODEC_TRY(stage_sweep(&stage, shard, joined, &opt.sweep, err));
    GEODEC_TRY(geodec_warp_run(in.space, in.metric.points, in.metric.point, &opt, c->pool, &c->hooks, &field, err));
    GEODEC_TRY(geodec_warp_exact(in.space->n, 1, &opt, c->pool, &c->hooks, &sphere, err));
    GEODEC_TRY(geodec_warp_exact(in.space->n, 0, &opt, c->pool, &c->hooks, &flat, err));
    GEODEC_TRY(stage_part(&stage, &part, err));
    if (part) goto done;
    if (field.zero_failures + sphere.zero_failures + flat.zero_failures > 0)
        GEODEC_THROW(GEODEC_CHECK, "a warp of strength 0 changed %lld values",
                     (long long)(field.zero_failures + sphere.zero_failures + flat.zero_failures));
    STAGE_WRITE(&stage, &geodec_warp_kind, geodec_warp_write(&field, &sphere, &flat, &opt, stage.out, err));
    geodec_warp_say(&c->hooks, "field", &field, &opt);
    geodec_warp_say(&c->hooks, "sphere", &sphere, &opt);
    geodec_warp_say(&c->hooks, "flat", &flat, &opt);
    if (opt.planted > 0)
        cli_say(c, "%lld of %lld facts are planted: a warp of the sweep carries them", (long long)field.planted,
                (long long)field.facts);
    cli_say(c, "zero strength: nothing changed");
done:
    stage_end(&stage);
    geodec_metric_file_close(&in);
    geodec_warp_clear(&field);
    geodec_warp_clear(&sphere);
    geodec_warp_clear(&flat);
    return st;
}

CLI_MAIN(opt = geodec_warp_defaults())
