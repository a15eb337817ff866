/* geodec-warp: effect of a local change of the metric on geodesics there and elsewhere, and the published protocols. */
#include "base/mem.h"
#include "cli/mode.h"
#include "cli/space.h"
#include "cli/sweep.h"
#include "io/foreign.h"
#include "lab/published/warp.h"
#include "lab/warp/correct.h"

#include <math.h>
#include <string.h>

static const char *output = "warp.h5", *mode = "correct", *draws, *variant = "sweep", *shard, *joined;
static int64_t steps;
static double angle = 30, alpha = 0.7, extent = 1.2, dl = 0.1;
static geodec_warp_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "warp.h5"),
    CLI_MODE_OPTION(mode),
    CLI_DRAWS_OPTION(draws),
    OPT_I64("facts", 0, &opt.facts, 1, 1e6, "N", "number of paths to redirect"),
    OPT_I64("holdouts", 0, &opt.holdouts, 0, 1e6, "N", "number of other paths for each fact, which should not change"),
    OPT_I64("steps", 'T', &steps, 0, 1e5, "N", "steps of a path (0: 8, or 16 with --mode ref)"),
    OPT_F64("length", 0, &opt.length, 1e-9, 1e9, "X", "g-length of a path and of the geodesic to its target"),
    OPT_F64("angle", 0, &angle, 0.1, 179, "DEGREES", "angle between a path and the geodesic to its target"),
    OPT_I64("bootstrap", 0, &opt.bootstrap, 0, 1e6, "N", "replicates over facts for the 95 % intervals"),
    OPT_CHOICE("variant", 0, &variant, "sweep|v1|v2", "NAME",
               "with --mode ref: all published sweeps, or one configuration of the protocol v1 or v2"),
    OPT_F64("alpha", 0, &alpha, -100, 100, "X", "with --variant v1 or v2: strength"),
    OPT_F64("extent", 0, &extent, 1e-9, 1e9, "X", "with --variant v1 or v2: sigma or radius"),
    OPT_F64("dl", 0, &dl, 1e-9, 1e9, "X", "with --variant v1 or v2: step"),
    CLI_SWEEP_OPTIONS(shard, joined, "facts"),
};

static const cli_tool tool = {
    .name = "geodec-warp",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "measure the effect of a local warp of the metric on a target geodesic and on other geodesics",
    .usage = "[OPTIONS] METRIC.h5\n       geodec-warp --mode ref --draws FILE.h5 [OPTIONS]",
    .description =
        "Shoots geodesics at targets of the same length in another direction, warps the smooth field at the query or\n"
        "at the target, and shoots again. Strengths are 0, 0.7, 1.4, -1.4 and -2.1; widths are 1/4, 1/2 and 1 of the\n"
        "path. A strength of 0 must change nothing (exit code 4 otherwise). Control: the same on the unit sphere and\n"
        "in flat space. --mode ref is the published experiment with its defects: the cross-model sweep, its\n"
        "zero-strength control, and both grids of 32.",
    .examples = "  geodec-warp -o warp.h5 metric.h5\n"
                "  geodec-warp --mode ref --draws smollm2-135m_n8.h5 -o warp-ref.h5",
    CLI_TAKES(options, 0, 1),
};

static geodec_status run_correct(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_space in = {0};
    geodec_warp field = {0}, sphere = {0}, flat = {0};
    cli_stage stage = {0};
    bool part;
    if (steps > 0) opt.steps = steps;
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
    cli_say(c, "zero strength: nothing changed");
done:
    stage_end(&stage);
    geodec_harness_space_close(&in);
    geodec_warp_clear(&field);
    geodec_warp_clear(&sphere);
    geodec_warp_clear(&flat);
    return st;
}

static geodec_status run_published(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_manifold m = {0};
    geodec_warp_published_row row[GEODEC_PUBLISHED_WARP_ROWS];
    const geodec_harness_options o = geodec_harness_defaults();
    cli_stage stage = {0};
    double *point = NULL;
    int64_t *query = NULL, *holdout = NULL, shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1},
            found[GEODEC_FOREIGN_RANK_MAX] = {-1}, others[GEODEC_FOREIGN_RANK_MAX] = {-1};
    const bool sweep = strcmp(variant, "sweep") == 0;
    const int64_t rows = sweep ? GEODEC_PUBLISHED_WARP_ROWS : 1;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/warp/v1/query_index", 1, found, 0, shape[0] - 1, &query, err));
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/warp/v1/holdout_index", 1, others, 0, shape[0] - 1, &holdout, err));
    const geodec_warp_published_draws d = {
        .facts = found[0], .holdouts = others[0], .query = query, .holdout = holdout};
    GEODEC_TRY(geodec_harness_manifold_fit(shape[0], shape[1], point, &o, c->pool, &c->hooks, &m, err));
    const geodec_warp_published_config one = {.variant = strcmp(variant, "v1") == 0 ? GEODEC_PUBLISHED_WARP_V1
                                                                                    : GEODEC_PUBLISHED_WARP_V2,
                                              .alpha = alpha,
                                              .extent = extent,
                                              .steps = steps > 0 ? steps : 16,
                                              .dl = dl};
    GEODEC_TRY(geodec_warp_published_sweep(&m, &d, sweep ? NULL : &one, c->pool, &c->hooks, row, err));
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_warp_published_kind,
                geodec_warp_published_write(row, rows, m.samples, m.n, stage.out, err));
    for (int64_t i = 0; i < (sweep ? 4 : 1); i++) {
        const geodec_warp_published_summary *s = &row[i].summary;
        cli_say(c,
                "v%d alpha %.2f: improvement %.1f %%, spillover mean %.1f %% p95 %.1f %%; not finite: %lld facts, %lld "
                "of %lld holdouts",
                row[i].config.variant == GEODEC_PUBLISHED_WARP_V1 ? 1 : 2, row[i].config.alpha,
                100 * s->improvement_finite, 100 * s->spill_mean_finite, 100 * s->spill_p95_finite,
                (long long)s->nan_post, (long long)s->nan_spill, (long long)s->spills);
    }
done:
    stage_end(&stage);
    geodec_harness_manifold_clear(&m);
    GEODEC_FREE(point, query, holdout);
    return st;
}

static const cli_modes modes = {run_published, run_correct, 1, "METRIC.h5 is missing", "metric"};

static geodec_status run(const cli *c, geodec_err *err)
{
    return cli_run_mode(c, &modes, mode, draws, shard || joined, err);
}

CLI_MAIN(opt = geodec_warp_defaults())
