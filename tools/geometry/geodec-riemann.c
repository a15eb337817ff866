/* geodec-riemann: curvature of the smooth field. */
#include "artifact/binding.h"
#include "base/clock.h"
#include "base/mem.h"
#include "chain/field_needs.h"
#include "cli/needs.h"
#include "cli/shard.h"
#include "cli/space.h"
#include "io/foreign.h"

#include <math.h>

static const char *shard, *output = "riemann.h5", *geodesics, *draws;
static geodec_riemann_options opt = {.samples = 512, .midpoints = 256, .control = 64};
static double check = 1e-6;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "riemann.h5"),
    OPT_FILE("draws", 0, &draws, "FILE",
             "HDF5 file with points to use, /riemann/points, instead of samples and midpoints"),
    OPT_I64("samples", 's', &opt.samples, 0, 1e7, "N", "random sample of points of the cloud (0: all)"),
    OPT_I64("midpoints", 0, &opt.midpoints, 0, 1e7, "N",
            "midpoints between a sample and its nearest neighbour, for N of the samples (0: none)"),
    OPT_FILE("geodesics", 'g', &geodesics, "FILE", "also use the middle and the end of each path of FILE"),
    OPT_I64("control", 0, &opt.control, 0, 1e6, "N",
            "samples, and midpoints, of the same field of noise, as a control (0: none)"),
    OPT_FLAG("tensors", 0, &opt.tensors, "keep the whole tensor at each point (n^4 numbers)"),
    OPT_F64("check", 0, &check, 0, 1e9, "X",
            "largest relative residual of the symmetries of the tensor; a larger one ends with code 4"),
    CLI_SHARD_OPTION(shard, "points"),
};

static const cli_tool tool = {
    .name = "geodec-riemann",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "compute the Riemann, Ricci and scalar curvature of the smooth field",
    .usage = "[OPTIONS] METRIC.h5",
    .description =
        "The derivative of Gamma is analytic. Pair symmetries and the first Bianchi identity are tested at every\n"
        "point and stored. A field whose sigma is far below the distance between neighbours is flat at its samples\n"
        "and curved between them; the midpoints show the difference. The curvature is that of the space of the\n"
        "metric, the first coordinates of the cloud, not of the states. It stands beside the curvature of the same\n"
        "fit to Gaussian noise with the covariance of the points; a value near that of the noise says nothing\n"
        "about the states. A test space has its closed form beside it.",
    .examples = "geodec-riemann --geodesics geodesics.h5 -o riemann.h5 metric.h5",
    CLI_TAKES(options, 1, 1),
    .plans = true,
};

/* --plan */
static geodec_status plan(const cli *c, const cli_stage *stage, const geodec_metric_file *in,
                          const geodec_geodesics *paths, geodec_err *err)
{
    geodec_size size;
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_riemann_needs(&in->metric, in->space, paths, &opt, NEEDS_BUDGET, c->pool, &c->hooks, c->needs,
                                     &size, err));
    needs_process(c->needs);
    needs_output(c->needs, &size);
    return GEODEC_OK;
}

/* |scalar curvature| of a kind that has it in closed form, else -1. */
static double closed_form(const geodec_metric *m)
{
    switch (m->kind) {
    case GEODEC_METRIC_SPHERE:
    case GEODEC_METRIC_HYPERBOLIC:
        return (double)m->n * (double)(m->n - 1) * fabs(m->curvature);
    case GEODEC_METRIC_GAUSSIAN_FISHER:
        return 1;
    case GEODEC_METRIC_EUCLIDEAN:
    case GEODEC_METRIC_FLAT:
    case GEODEC_METRIC_POLAR:
        return 0;
    default:
        return -1;
    }
}

static void say(const cli *c, const geodec_riemann *r, const geodec_metric *metric, double pairs)
{
    const double *m = r->median_abs_scalar, *noise = r->noise.median_abs_scalar;
    char control[128] = "no noise to compare with";
    if (r->noise.points > 0)
        snprintf(control, sizeof control, "Gaussian noise of the same covariance, %lld points: %.3g, %.3g",
                 (long long)r->noise.points, noise[GEODEC_PLACE_SAMPLE], noise[GEODEC_PLACE_MIDPOINT]);
    else if (closed_form(metric) >= 0)
        snprintf(control, sizeof control, "closed form: %.3g", closed_form(metric));
    cli_say(c,
            "%lld points in %lld coordinates: median |scalar curvature| %.3g at samples, %.3g at midpoints, %.3g on "
            "paths (%s)",
            (long long)r->points, (long long)metric->n, m[GEODEC_PLACE_SAMPLE], m[GEODEC_PLACE_MIDPOINT],
            m[GEODEC_PLACE_PATH], control);
    cli_say(c, "symmetries within %.0e, Bianchi %.0e; controls: sphere %.0e, differences %.0e", pairs, r->worst.bianchi,
            r->sphere_error, r->differences_gap);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *path_file = NULL;
    geodec_metric_file in = {0};
    geodec_geodesics paths = {0};
    geodec_riemann r = {0};
    cli_stage stage = {0};
    double *x = NULL;
    opt.seed = c->seed;
    GEODEC_TRY(geodec_shard_parse(shard, &opt.shard, err));
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(stage_space(&stage, c->args[0], &in, err));
    if (draws) {
        int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, in.metric.n};
        GEODEC_TRY(geodec_foreign_read(draws, "/riemann/points", 2, shape, NULL, &x, err));
        GEODEC_TRY(stage_file(&stage, draws, err));
        opt.x = x;
        opt.given = shape[0];
    }
    if (geodesics) {
        GEODEC_TRY(stage_open(&stage, &geodec_geodesics_kind, geodesics, &path_file, err));
        GEODEC_TRY(geodec_geodesics_read(path_file, &paths, err));
    }
    if (c->needs) {
        needs_since(c->needs, "load", begin);
        GEODEC_TRY(plan(c, &stage, &in, geodesics ? &paths : NULL, err));
        goto done;
    }
    GEODEC_TRY(
        geodec_riemann_compute(&in.metric, in.space, geodesics ? &paths : NULL, &opt, c->pool, &c->hooks, &r, err));
    const geodec_curvature_check *w = &r.worst;
    const double pairs = w->first_pair > w->exchange ? w->first_pair : w->exchange;
    /* The control on the sphere distinguishes a wrong tensor from a rough field that rounding spoils. */
    if (pairs > check && w->bianchi <= check && r.sphere_error <= check)
        GEODEC_THROW(GEODEC_SCARCE,
                     "the field of %lld points is too rough: rounding breaks the curvature's symmetries by %.1e, above "
                     "%.1e (sphere: %.0e); more points are needed",
                     (long long)in.metric.points, pairs, check, r.sphere_error);
    if (pairs > check || w->bianchi > check)
        GEODEC_THROW(GEODEC_CHECK, "symmetries of the tensor are broken: pairs %.1e, Bianchi %.1e", pairs, w->bianchi);
    STAGE_WRITE(&stage, &geodec_riemann_kind, geodec_artifact_save(stage.out, &r, err));
    say(c, &r, &in.metric, pairs);
done:
    stage_end(&stage);
    geodec_metric_file_close(&in);
    geodec_geodesics_clear(&paths);
    geodec_riemann_clear(&r);
    geodec_mem_free(x);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
