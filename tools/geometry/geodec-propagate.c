/* geodec-propagate: linear propagators along geodesics. */
#include "base/clock.h"
#include "chain/field_needs.h"
#include "cli/needs.h"
#include "cli/shard.h"
#include "cli/space.h"

#include <math.h>
#include <string.h>

static const char *shard, *output = "propagators.h5", *scheme = "magnus4", *dense = "auto";
static geodec_propagators_options opt;
static double symplectic_max;
static bool no_check;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "propagators.h5"),
    OPT_CHOICE("scheme", 's', &scheme, GEODEC_MAGNUS_CHOICES, "NAME", "exponential integrator"),
    OPT_CHOICE("dense", 0, &dense, "auto|hermite|integrate", "HOW",
               "inner nodes of a step: cubic Hermite interpolation, or the geodesic integrated again (auto: integrate "
               "for magnus6)"),
    OPT_F64("rtol", 0, &opt.propagate.rtol, 1e-14, 0.1, "X", "tolerance of --dense integrate"),
    OPT_FLAG("flow", 0, &opt.flow, "keep the whole flow d(x,v)/d(x,v), which has four times the size"),
    OPT_I64("control", 0, &opt.control, 0, 1e6, "N", "number of paths to compare with central differences of the flow"),
    OPT_F64("check", 0, &opt.check, 0, 1e9, "X",
            "largest deviation from the differences; a larger one ends with code 4"),
    OPT_F64("symplectic", 0, &symplectic_max, 0, 1e9, "X",
            "largest residual of the symplectic form of a path with status ok; a larger one ends with code 4 (0: only "
            "report it)"),
    OPT_FLAG("no-check", 0, &no_check, "write the result for any deviation and any residual"),
    CLI_SHARD_OPTION(shard, "paths"),
};

static const cli_tool tool = {
    .name = "geodec-propagate",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "integrate the linear propagators Phi = dx(t)/dx(0) along geodesics",
    .usage = "[OPTIONS] METRIC.h5 GEODESICS.h5",
    .description =
        "Phi is a map of the space of the metric, the first coordinates of the cloud, not of the states.\n"
        "Integrates the variational equation of the coordinate geodesic equation by an exponential "
        "scheme:\n" GEODEC_MAGNUS_LINES
        "Each path is compared with invariants of the exact flow (symplectic form, volume), and some paths with\n"
        "differences of the flow. A path that drifted, broke down or left the hull keeps its propagator and its "
        "status\n"
        "in the file; it is counted, and is in no summary and no check.",
    .examples = "geodec-propagate -o propagators.h5 metric.h5 geodesics.h5\n"
                "geodec-propagate --scheme magnus6 --flow -o fine.h5 metric.h5 geodesics.h5",
    CLI_TAKES(options, 2, 2),
    .plans = true,
};

/* --plan */
static geodec_status plan(const cli *c, const cli_stage *stage, const geodec_space *s, const geodec_geodesics *paths,
                          geodec_err *err)
{
    geodec_size size;
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_propagators_needs(s, paths, &opt, NEEDS_BUDGET, c->pool, &c->hooks, c->needs, &size, err));
    needs_process(c->needs);
    needs_output(c->needs, &size);
    return GEODEC_OK;
}

/* Whether the propagators pass their checks; *gap, *symplectic: the largest deviation and residual, *ok: number of
 * paths with status ok, *above: of them with a residual above --check. */
static geodec_status check(const geodec_propagators *r, int64_t points, double *gap, double *symplectic, int64_t *ok,
                           int64_t *above, geodec_err *err)
{
    double step = INFINITY;
    *gap = *symplectic = 0, *ok = *above = 0;
    for (int64_t i = 0; i < r->controls; i++) {
        *gap = r->control_gap[i] > *gap ? r->control_gap[i] : *gap;
        if (r->control_gap[i] > opt.check && r->control_step[i] < step) step = r->control_step[i];
    }
    for (int64_t i = 0; i < r->paths.paths; i++) {
        if (r->paths.status[i] != GEODEC_PATH_OK) continue;
        (*ok)++;
        *above += r->report[i].symplectic > opt.check;
        *symplectic = r->report[i].symplectic > *symplectic ? r->report[i].symplectic : *symplectic;
    }
    if (no_check) return GEODEC_OK;
    /* Differences that depend on their step as strongly as the gap cannot test a scheme. */
    if (*gap > opt.check && step > opt.check && 10 * step > *gap)
        GEODEC_FAIL(GEODEC_SCARCE,
                    "half the step changes the flow by %.1e, above %.1e: the field of %lld points is too rough for "
                    "the paths; more points are needed",
                    step, opt.check, (long long)points);
    if (*gap > opt.check)
        GEODEC_FAIL(GEODEC_CHECK, "propagators differ from differences of the flow by %.1e (--scheme %s)", *gap,
                    scheme);
    if (symplectic_max > 0 && *symplectic > symplectic_max)
        GEODEC_FAIL(GEODEC_CHECK,
                    "the symplectic form is kept within %.1e, above %.1e, on a path with status ok (--scheme %s)",
                    *symplectic, symplectic_max, scheme);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *path_file = NULL;
    geodec_metric_file in = {0};
    geodec_geodesics paths = {0};
    geodec_propagators r = {0};
    cli_stage stage = {0};
    GEODEC_TRY(geodec_magnus_find(scheme, &opt.propagate.scheme, err));
    const bool integrate = strcmp(dense, "integrate") == 0 ||
                           (strcmp(dense, "auto") == 0 && geodec_magnus_order(opt.propagate.scheme) > 4);
    opt.propagate.dense = integrate ? GEODEC_DENSE_INTEGRATE : GEODEC_DENSE_HERMITE;
    GEODEC_TRY(geodec_shard_parse(shard, &opt.shard, err));
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(stage_space(&stage, c->args[0], &in, err));
    GEODEC_TRY(stage_open(&stage, &geodec_geodesics_kind, c->args[1], &path_file, err));
    GEODEC_TRY(geodec_geodesics_read(path_file, &paths, err));
    if (c->needs) {
        needs_since(c->needs, "load", begin);
        GEODEC_TRY(plan(c, &stage, in.space, &paths, err));
        goto done;
    }
    GEODEC_TRY(geodec_propagators_compute(in.space, &paths, &opt, c->pool, &c->hooks, &r, err));
    double gap, symplectic;
    int64_t ok, above;
    GEODEC_TRY(check(&r, in.metric.points, &gap, &symplectic, &ok, &above, err));
    STAGE_WRITE(&stage, &geodec_propagators_kind, geodec_propagators_write(&r, stage.out, err));
    cli_say(c,
            "%lld propagators by %s (order %d): within %.1e of differences of the flow on %lld paths, symplectic "
            "within %.1e on %lld with status ok, %lld of them above %.0e",
            (long long)r.paths.paths, scheme, geodec_magnus_order(opt.propagate.scheme), gap, (long long)r.controls,
            symplectic, (long long)ok, (long long)above, opt.check);
    if (ok < r.paths.paths)
        cli_say(c, "%lld paths drifted, broke down or left the hull: they are in no summary",
                (long long)(r.paths.paths - ok));
done:
    stage_end(&stage);
    geodec_metric_file_close(&in);
    geodec_geodesics_clear(&paths);
    geodec_propagators_clear(&r);
    return st;
}

CLI_MAIN(opt = geodec_propagators_defaults())
