/* geodec-injectivity: injectivity radius, and the accuracy of an estimate of it. */
#include "base/mem.h"
#include "cli/mode.h"
#include "cli/space.h"
#include "cli/sweep.h"
#include "io/foreign.h"
#include "lab/injectivity/correct.h"
#include "lab/published/injectivity.h"

static const char *output = "injectivity.h5", *mode = "correct", *draws, *anchor_list, *measured_list, *query_list,
                  *shard, *joined;
static geodec_injectivity_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "injectivity.h5"),
    CLI_MODE_OPTION(mode),
    CLI_DRAWS_OPTION(draws),
    OPT_I64("anchors", 'a', &opt.anchors, 1, 1e6, "N", "number of anchors, evenly spread over the points"),
    OPT_I64("directions", 0, &opt.directions, 1, 1e4, "N", "geodesics from each anchor"),
    OPT_I64("steps", 0, &opt.steps, 8, 1e5, "T", "steps of each geodesic"),
    OPT_F64("reach", 0, &opt.reach, 0, 1e9, "L",
            "g-length of each geodesic (0: 4 times the median distance of an anchor to its nearest point)"),
    OPT_F64("tau", 0, &opt.tau, 1e-9, 1, "X", "largest error of the propagator that defines the validity radius"),
    OPT_STR("points", 0, &anchor_list, "LIST",
            "--mode ref: anchors of the published run, separated by commas (default: 10, evenly spread)"),
    OPT_STR("measured", 0, &measured_list, "LIST",
            "--mode ref: radii of the published run at these anchors (default: measured again with other draws)"),
    OPT_STR("queries", 0, &query_list, "LIST",
            "--mode ref: points of the published run for the initial velocity (default: 20, evenly spread)"),
    CLI_SWEEP_OPTIONS(shard, joined, "anchors"),
};

static const cli_tool tool = {
    .name = "geodec-injectivity",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose =
        "measure the injectivity radius, its bound by curvature, and the error of an estimate on held-out anchors",
    .usage = "[OPTIONS] METRIC.h5\n       geodec-injectivity --mode ref --draws FILE.h5 [OPTIONS]",
    .description =
        "From each anchor, geodesics are followed to their first conjugate point, to the first point that a shorter\n"
        "geodesic reaches, and back to the anchor. The radius is compared with the bound pi / sqrt(K_max). The\n"
        "estimate from a heat kernel is calibrated on all anchors except the predicted one. Controls: sphere,\n"
        "hyperbolic space and flat torus, permuted anchors, and a constant prediction. --mode ref repeats the\n"
        "published computation at /cloud/points of --draws.",
    .examples = "  geodec-injectivity -o injectivity.h5 metric.h5",
    CLI_TAKES(options, 0, 1),
};

static geodec_status run_published(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_injectivity_published r = {0};
    geodec_injectivity_held_out held;
    double *point = NULL, *lists[3] = {0}, nn[4] = {0};
    int64_t *index[2] = {0}, count[3] = {0}, shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    const int64_t points = shape[0], n = shape[1];
    if (points < 22 || points > 4096 || n < 1 || n > GEODEC_PUBLISHED_MAX_N)
        GEODEC_THROW(GEODEC_RANGE, "%s: %lld points of dimension %lld", draws, (long long)points, (long long)n);
    GEODEC_TRY(geodec_injectivity_published_list(anchor_list, "--points", points, 10, &lists[0], &count[0], err));
    GEODEC_TRY(geodec_injectivity_published_list(query_list, "--queries", points, 20, &lists[1], &count[1], err));
    if (measured_list)
        GEODEC_TRY(
            geodec_injectivity_published_list(measured_list, "--measured", points, 0, &lists[2], &count[2], err));
    if (measured_list && (count[2] != count[0] || !anchor_list))
        GEODEC_THROW(GEODEC_INVAL, "--measured has %lld numbers, --points %lld", (long long)count[2],
                     (long long)(anchor_list ? count[0] : 0));
    GEODEC_TRY(geodec_injectivity_published_points(lists[0], count[0], points, "--points", &index[0], err));
    GEODEC_TRY(geodec_injectivity_published_points(lists[1], count[1], points, "--queries", &index[1], err));
    GEODEC_TRY(geodec_injectivity_published_run(points, n, point, count[0], index[0], lists[2], count[1], index[1],
                                                c->seed, c->pool, &c->hooks, &r, err));
    GEODEC_TRY(geodec_injectivity_nearest(points, n, point, c->seed, c->pool, nn, err));
    uint8_t inside[4096];
    for (int64_t i = 0; i < points; i++) inside[i] = r.all_measured[i] > 0;
    geodec_injectivity_leave_one_out(points, r.all_raw, r.all_measured, inside, c->seed, &held);
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_injectivity_published_kind,
                geodec_injectivity_published_write(
                    &r, nn, (const double[]){held.r_out, held.mape_out, held.mape_constant}, stage.out, err));
    cli_say(
        c,
        "published: C %.4f from %lld of %lld anchors, r %.2f (fitted) %.2f (all), error %.0f %%; with every point as "
        "an anchor: r %.2f, held-out error %.0f %%, of a constant %.0f %%; velocity cosine %.2f, endpoint error %.2f",
        r.fit.C, (long long)r.fit.fitted, (long long)r.fit.total, r.fit.r_fit, r.fit.r_all, 100 * r.fit.mape,
        held.r_out, 100 * held.mape_out, 100 * held.mape_constant, r.cosine, r.error);
done:
    stage_end(&stage);
    geodec_injectivity_published_clear(&r);
    geodec_mem_free(point);
    for (int i = 0; i < 3; i++) geodec_mem_free(lists[i]);
    for (int i = 0; i < 2; i++) geodec_mem_free(index[i]);
    return st;
}

static geodec_status run_correct(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    bool part;
    geodec_harness_space s = {0};
    geodec_injectivity r = {0};
    double nn[4] = {0}, period[64];
    opt.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_space(&stage, c->args[0], &s, err));
    if (s.metric.kind == GEODEC_METRIC_PUBLISHED)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "the published manifold has no derivatives: use --mode ref");
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
    geodec_harness_space_close(&s);
    geodec_injectivity_clear(&r);
    return st;
}

static const cli_modes modes = {run_published, run_correct, 1, "METRIC.h5 is missing", "metric"};

static geodec_status run(const cli *c, geodec_err *err)
{
    return cli_run_mode(c, &modes, mode, draws, shard || joined, err);
}

CLI_MAIN(opt = geodec_injectivity_defaults())
