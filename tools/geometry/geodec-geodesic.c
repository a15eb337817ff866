/* geodec-geodesic: geodesics of the smooth field from points of the cloud. */
#include "base/clock.h"
#include "base/mem.h"
#include "chain/field_needs.h"
#include "cli/needs.h"
#include "cli/shard.h"
#include "cli/space.h"
#include "io/foreign.h"

#include <string.h>

static const char *shard, *output = "geodesics.h5", *velocity = "sequence", *method = "rk4", *draws;
static geodec_geodesics_options opt;
static bool no_hull;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "geodesics.h5"),
    OPT_FILE("draws", 0, &draws, "FILE",
             "HDF5 file with starts and velocities, /geodesic/x0 and /geodesic/v0; velocities are normalised in g"),
    OPT_I64("paths", 'p', &opt.paths, 0, 1e7, "N", "number of paths, from a random sample of starts (0: all)"),
    OPT_CHOICE("v0", 0, &velocity, "sequence|random", "HOW",
               "direction of the initial velocity of g-length 1: towards the next state of the text, or random"),
    OPT_I64("steps", 'T', &opt.path.steps, 1, 1e5, "N", "steps of a path"),
    OPT_F64("dl", 0, &opt.path.dl, 1e-12, 1e12, "X", "arc length of a step"),
    OPT_CHOICE("method", 0, &method, GEODEC_GEODESIC_CHOICES, "HOW", GEODEC_GEODESIC_ITEMS),
    OPT_F64("rtol", 0, &opt.path.rtol, 1e-14, 0.1, "X",
            "tolerance of the adaptive method, relative to the length of the path"),
    OPT_F64("drift-max", 0, &opt.path.drift_max, 1e-15, 1e6, "X",
            "largest relative change of g(v,v) of a path with status ok"),
    OPT_F64("hull", 0, &opt.hull_radius, 0, 1e300, "R",
            "distance from every point beyond which a path has left the hull (0: the 95th percentile of the distance "
            "to the k-th neighbour)"),
    OPT_FLAG("no-hull", 0, &no_hull, "do not test whether paths leave the hull"),
    OPT_I64("control", 0, &opt.control, 0, 1e6, "N", "number of paths to integrate again at rtol 1e-9, as a control"),
    CLI_SHARD_OPTION(shard, "paths"),
};

static const cli_tool tool = {
    .name = "geodec-geodesic",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "integrate geodesics of the smooth field from points of the cloud",
    .usage = "[OPTIONS] METRIC.h5",
    .description =
        "Each path has a status (ok, non-finite, speed drift, left hull). Only finite values are written. Paths are\n"
        "geodesics in the space of the metric, the first coordinates of the cloud, not in that of the states.",
    .examples = "geodec-geodesic -o geodesics.h5 metric.h5\n"
                "geodec-geodesic --v0 random --method adaptive --paths 0 -o all.h5 metric.h5",
    CLI_TAKES(options, 1, 1),
    .plans = true,
};

/* Reads starts [count][n] and velocities from FILE. The velocities are normalised in g. */
static geodec_status read_draws(const geodec_metric_file *in, double **x0, double **v0, geodec_err *err)
{
    const int64_t n = in->metric.n;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, n};
    GEODEC_PASS(geodec_foreign_read(draws, "/geodesic/x0", 2, shape, NULL, x0, err));
    GEODEC_PASS(geodec_foreign_read(draws, "/geodesic/v0", 2, shape, NULL, v0, err));
    for (int64_t p = 0; p < shape[0]; p++)
        GEODEC_PASS_MSG(geodec_geodesic_unit(in->space, *x0 + p * n, *v0 + p * n, err), "start %lld", (long long)p);
    opt.velocity = GEODEC_VELOCITY_GIVEN;
    opt.x0 = *x0;
    opt.v0 = *v0;
    opt.starts = shape[0];
    return GEODEC_OK;
}

/* --plan */
static geodec_status plan(const cli *c, const cli_stage *stage, const geodec_metric_file *in, geodec_err *err)
{
    geodec_size size;
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_geodesics_needs(&in->metric, in->space, in->file, &opt, NEEDS_BUDGET, c->pool, &c->hooks,
                                       c->needs, &size, err));
    needs_process(c->needs);
    needs_output(c->needs, &size);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_file in = {0};
    geodec_geodesics g = {0};
    cli_stage stage = {0};
    double *x0 = NULL, *v0 = NULL;
    opt.velocity = strcmp(velocity, "random") == 0 ? GEODEC_VELOCITY_RANDOM : GEODEC_VELOCITY_SEQUENCE;
    GEODEC_TRY(geodec_geodesic_method_find(method, &opt.path.method, err));
    opt.seed = c->seed;
    GEODEC_TRY(geodec_shard_parse(shard, &opt.shard, err));
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    const double begin = geodec_clock_process_seconds();
    if (c->needs)
        GEODEC_TRY(stage_space(&stage, c->args[0], &in, err));
    else
        GEODEC_TRY(geodec_metric_file_open(c->args[0], &in, err));
    if (no_hull) opt.hull_radius = -1;
    if (draws) {
        GEODEC_TRY(read_draws(&in, &x0, &v0, err));
        GEODEC_TRY(stage_file(&stage, draws, err));
    }
    if (c->needs) {
        needs_since(c->needs, "load", begin);
        GEODEC_TRY(plan(c, &stage, &in, err));
        goto done;
    }
    GEODEC_TRY(geodec_geodesics_compute(&in.metric, in.space, in.file, &opt, c->pool, &c->hooks, &g, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&stage.p, in.file, err));
    STAGE_WRITE(&stage, &geodec_geodesics_kind, geodec_geodesics_write(&g, stage.out, err));
    geodec_geodesics_say(&c->hooks, &g);
done:
    stage_end(&stage);
    geodec_metric_file_close(&in);
    geodec_geodesics_clear(&g);
    GEODEC_FREE(x0, v0);
    return st;
}

CLI_MAIN(opt = geodec_geodesics_defaults())
