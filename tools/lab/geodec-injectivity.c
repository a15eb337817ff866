/* geodec-injectivity: injectivity radius, and the accuracy of an estimate of it. */
#include "cli/space.h"
#include "cli/sweep.h"
#include "lab/injectivity/injectivity.h"

static const char *output = "injectivity.h5", *shard, *joined;
static geodec_injectivity_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "injectivity.h5"),
    OPT_I64("anchors", 'a', &opt.anchors, 1, 1e6, "N", "number of anchors, evenly spread over the points"),
    OPT_I64("directions", 0, &opt.directions, 1, 1e4, "N", "geodesics from each anchor"),
    OPT_I64("steps", 0, &opt.steps, 8, 1e5, "T", "steps of each geodesic"),
    OPT_F64("reach", 0, &opt.reach, 0, 1e9, "L",
            "g-length of each geodesic (0: 4 times the median distance of an anchor to its nearest point)"),
    OPT_F64("tau", 0, &opt.tau, 1e-9, 1, "X", "largest error of the propagator that defines the validity radius"),
    CLI_SWEEP_OPTIONS(shard, joined, "anchors"),
};

static const cli_tool tool = {
    .name = "geodec-injectivity",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose =
        "measure the injectivity radius, its bound by curvature, and the error of an estimate on held-out anchors",
    .usage = "[OPTIONS] METRIC.h5",
    .description =
        "From each anchor, geodesics are followed to their first conjugate point, to the first point that a shorter\n"
        "geodesic reaches, and back to the anchor. The radius is compared with the bound pi / sqrt(K_max). The\n"
        "estimate from a heat kernel is calibrated on all anchors except the predicted one. Controls: sphere,\n"
        "hyperbolic space and flat torus, permuted anchors, and a constant prediction.",
    .examples = "  geodec-injectivity -o injectivity.h5 metric.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    bool part;
    geodec_metric_file s = {0};
    geodec_injectivity r = {0};
    double nn[4] = {0}, period[64];
    opt.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_space(&stage, c->args[0], &s, err));
    for (int i = 0; i < 64; i++) period[i] = 1;
    GEODEC_TRY(stage_sweep(&stage, shard, joined, &opt.sweep, err));
    GEODEC_TRY(geodec_injectivity_run(s.space, s.metric.points, s.metric.point,
                                      s.metric.kind == GEODEC_METRIC_FLAT ? period : NULL, &opt, c->pool, &c->hooks, &r,
                                      err));
    if (s.metric.points >= 22)
        GEODEC_TRY(geodec_injectivity_nearest(s.metric.points, s.metric.n, s.metric.point, c->seed, c->pool, nn, err));
    GEODEC_TRY(stage_part(&stage, &part, err));
    if (part) goto done;
    STAGE_WRITE(&stage, &geodec_injectivity_kind, geodec_injectivity_write(&r, nn, stage.out, err));
    cli_say(c,
            "radius %.3g (median; %lld of %lld found below the reach %.3g), bound pi/sqrt(K) %.3g; estimate compared "
            "with the validity radius: r %.2f in sample, %.2f held out, permutations p %.3f, error %.0f %% held out, "
            "constant %.0f %%; controls: sphere %.0e, torus %.0e",
            r.median_radius, (long long)r.found, (long long)r.anchors, r.reach, r.median_bound, r.on_validity.r_in,
            r.on_validity.r_out, r.on_validity.p, 100 * r.on_validity.mape_out, 100 * r.on_validity.mape_constant,
            r.sphere, r.torus);
done:
    stage_end(&stage);
    geodec_metric_file_close(&s);
    geodec_injectivity_clear(&r);
    return st;
}

CLI_MAIN(opt = geodec_injectivity_defaults())
