/* geodec-metric: a metric for the points of a cloud (local Mahalanobis metrics with the smooth field through them, or
 * one matrix everywhere), or a test space known in closed form. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/metric.h"
#include "chain/metric_needs.h"
#include "cli/cloud.h"
#include "cli/needs.h"
#include "cli/ranks.h"
#include "cli/stage.h"
#include "fisher/cloud_metric.h"
#include "geometry/fold.h"
#include "linalg/surrogate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *output = "metric.h5", *centre = "mean", *shrink = "lw", *kind = "mahalanobis", *scale = "identity",
                  *precision = "f64", *model_path = "", *activations_path = "";
static int64_t dim, points;
static bool mpi;
static geodec_comm *comm;
static double blend = 0.5, fisher_ridge = 0.01, clip_max, curvature;
static geodec_metric_options opt;

enum {
    TEST_POINTS = 64,
    TEST_DIM = 4,
};

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "metric.h5"),
    CLI_CLOUD_DIM_OPTION(dim),
    OPT_I64("k", 'k', &opt.k, 0, 100000, "N", "neighbours of each point (0: twice the dimension, at least 16)"),
    OPT_FLAG("force-k", 0, &opt.force_k, "allow fewer neighbours than the dimension needs"),
    OPT_I64("points", 0, &points, 0, 1e9, "N", "use a random sample of N points of the cloud (0: all)"),
    OPT_CHOICE("kind", 0, &kind, "mahalanobis|fisher|blend|euclidean|sphere|hyperbolic|flat|polar|gaussian-fisher",
               "KIND",
               "mahalanobis: inverse covariance of the neighbours; fisher: pulled-back Fisher information of the "
               "model's next token; blend: mixture of these two; euclidean: one matrix everywhere; the other kinds are "
               "test spaces of --dim and --points, without a cloud"),
    OPT_FILE("model", 'm', &model_path, "FILE", "kinds fisher and blend: model as GGUF"),
    OPT_FILE("activations", 0, &activations_path, "FILE",
             "kinds fisher and blend: activations from which the cloud was made"),
    OPT_F64("blend", 0, &blend, 0, 1, "A", "kind blend: exp((1 - A) log(mahalanobis) + A log(fisher))"),
    OPT_F64("fisher-ridge", 0, &fisher_ridge, 0, 1e6, "X", "add X times its mean eigenvalue to each Fisher matrix"),
    OPT_CHOICE("scale", 0, &scale, "identity|covariance", "HOW",
               "matrix of --kind euclidean: the identity, or the inverse covariance of all points"),
    OPT_CHOICE("precision", 0, &precision, "f64|f32", "TYPE",
               "type of the stored logarithms; f32 halves the file, which then records the rounding error"),
    OPT_F64("curvature", 0, &curvature, -1e6, 1e6, "K", "curvature of --kind sphere or hyperbolic (0: 1 or -1)"),
    OPT_CHOICE("centre", 0, &centre, "mean|point", "WHERE",
               "centre of the covariance: the mean of the neighbours, or the point"),
    OPT_STR("shrink", 0, &shrink, "A",
            "weight of the multiple of the identity in the covariance, 0 to 1, or lw: the weight of Ledoit and Wolf at "
            "each point"),
    OPT_F64("ridge", 0, &opt.ridge, 0, 1e300, "X", "add X to the diagonal of the covariance"),
    OPT_F64("ridge-relative", 0, &opt.ridge_relative, 0, 1e6, "X",
            "add X times the mean eigenvalue to the diagonal of the covariance"),
    OPT_F64("clip-min", 0, &opt.clip_min, 0, 1e300, "X", "raise smaller eigenvalues of the metric to X"),
    OPT_F64("clip-max", 0, &clip_max, 0, 1e300, "X", "reduce larger eigenvalues of the metric to X (0: no limit)"),
    OPT_F64("sigma", 0, &opt.sigma, 0, 1e300, "X", "width of the field in the unit of the points (0: see --sigma-nn)"),
    OPT_F64("sigma-nn", 0, &opt.sigma_nn, 1e-6, 1e6, "X",
            "width of the field, in units of the median distance to the nearest neighbour"),
    CLI_MPI_OPTION(mpi, "points of --kind mahalanobis"),
};

static const cli_tool tool = {
    .name = "geodec-metric",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "fit a Riemannian metric to a cloud: inverse local covariances, smoothed in the logarithm",
    .usage = "[OPTIONS] [CLOUD.h5]",
    .description =
        "The metric at a point is the inverse covariance of its nearest neighbours. Between points, logarithms are\n"
        "averaged with Gaussian weights of width sigma. The metric does not depend on density: neighbours are at a\n"
        "g-distance of about the square root of the dimension for any number of points. With --kind fisher, the\n"
        "metric at each point is the Fisher information of the distribution p of the next token, pulled back to the\n"
        "coordinates, so that KL(p(y) || p(y + d)) = d^T g d / 2 to second order, in nats. In directions that do not\n"
        "change the output, only the ridge remains. The metric is of the first --dim coordinates of the cloud: the\n"
        "rest of a state has no length in it, and the printed line says which share of the variance that leaves.",
    .examples = "geodec-metric -o metric.h5 cloud.h5\n"
                "geodec-metric --dim 8 --k 32 --sigma-nn 1.5 -o metric.h5 cloud.h5\n"
                "geodec-metric --kind fisher --model model.gguf --activations activations.h5 -o metric-fisher.h5 "
                "cloud.h5\n"
                "geodec-metric --kind sphere --dim 4 --points 100 -o sphere.h5",
    CLI_TAKES(options, 0, 1),
    .plans = true,
};

/* Sets the members of opt that depend on option words. */
static geodec_status read_options(geodec_err *err)
{
    char *end = NULL;
    if (strcmp(centre, "point") == 0) opt.centre = GEODEC_CENTRE_POINT;
    if (clip_max > 0) opt.clip_max = clip_max;
    if (strcmp(shrink, "lw") == 0) return GEODEC_OK;
    errno = 0;
    opt.shrink = strtod(shrink, &end);
    if (end == shrink || *end || errno || !(opt.shrink >= 0) || !(opt.shrink <= 1))
        GEODEC_FAIL(GEODEC_INVAL, "--shrink: '%s' is neither lw nor a number from 0 to 1", shrink);
    return GEODEC_OK;
}

/* Fisher matrices at the points of the cloud, [points][n][n]; with --kind blend, mixed with those of m. The caller
 * frees. */
static geodec_status fisher_matrices(cli_stage *stage, const geodec_cloud *cloud, int64_t n, const geodec_metric *m,
                                     double **g, geodec_fisher_medians *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *c = stage->c;
    geodec_artifact *a;
    geodec_model_states states = {0};
    if (!*model_path || !*activations_path)
        GEODEC_THROW(GEODEC_INVAL, "--kind %s needs --model and --activations", kind);
    GEODEC_TRY(stage_hold(stage, &geodec_activations_kind, activations_path, &a, err));
    GEODEC_TRY(geodec_model_states_open(model_path, a, c->pool, &states, err));
    GEODEC_TRY(geodec_fisher_of_cloud(&states, cloud, n, fisher_ridge, &c->hooks, g, f, err));
    if (strcmp(kind, "blend") == 0) GEODEC_TRY(geodec_fisher_blend(m, blend, *g, err));
    GEODEC_TRY(stage_add(stage, a, err));
done:
    geodec_model_states_close(&states);
    return st;
}

/* Fits the metric of the options to x [points][n]. Local covariances are inverted in slabs and written to the file. */
static geodec_status fit(cli_stage *stage, const geodec_cloud *cloud, int64_t n, const double *x, geodec_metric *m,
                         geodec_metric_medians *control, geodec_fisher_medians *fisher, geodec_metric_writer *w,
                         geodec_err *err)
{
    const cli *c = stage->c;
    const int64_t count = cloud->points;
    geodec_status st = GEODEC_OK;
    double *g = NULL;
    GEODEC_TRY(read_options(err));
    if (strcmp(kind, "euclidean") == 0) {
        GEODEC_TRY(geodec_metric_constant(count, n, x, strcmp(scale, "covariance") == 0, c->pool, &g, err));
        GEODEC_TRY(
            geodec_metric_from_matrices(GEODEC_METRIC_EUCLIDEAN, count, n, x, g, &opt, c->pool, &c->hooks, m, err));
    } else if (strcmp(kind, "mahalanobis") == 0) {
        if (geodec_comm_rank(comm) == 0) GEODEC_TRY(stage_create(stage, &geodec_metric_kind, err));
        w->file = stage->out;
        opt.comm = comm;
        GEODEC_TRY(geodec_metric_fit_slabs(count, n, x, &opt, geodec_metric_write_slab, w, c->pool, &c->hooks, m, err));
        GEODEC_TRY(geodec_metric_control(m, c->seed, c->pool, &c->hooks, control, err));
    } else {
        GEODEC_TRY(geodec_metric_fit(count, n, x, &opt, c->pool, &c->hooks, m, err));
        GEODEC_TRY(fisher_matrices(stage, cloud, n, m, &g, fisher, err));
        opt.k = m->k;
        geodec_metric_clear(m);
        GEODEC_TRY(geodec_metric_from_matrices(strcmp(kind, "blend") == 0 ? GEODEC_METRIC_BLEND : GEODEC_METRIC_FISHER,
                                               count, n, x, g, &opt, c->pool, &c->hooks, m, err));
    }
done:
    geodec_mem_free(g);
    return st;
}

/* Whether the first n coordinates fold the set that the points lie near in all, and its control; zero where there are
 * no others or too few points. */
typedef struct folds {
    bool measured;
    geodec_fold own, control;
} folds;

static geodec_status measure_folds(const cli *c, const geodec_cloud *cloud, int64_t n, folds *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t k = cloud->k;
    double *null = NULL;
    if (k <= n || n > GEODEC_FOLD_MAX_N || cloud->points < geodec_fold_needs(n)) return GEODEC_OK;
    GEODEC_NEW(null, cloud->points * k);
    GEODEC_TRY(geodec_surrogate_draw(GEODEC_SURROGATE_GAUSSIAN, cloud->points, k, cloud->coordinate, c->seed,
                                     geodec_rng_id("folds of a Gaussian cloud", 0), null, err));
    GEODEC_TRY(
        geodec_fold_measure(cloud->points, k, cloud->coordinate, n, 0, c->seed, c->pool, &c->hooks, &out->own, err));
    GEODEC_TRY(geodec_fold_measure(cloud->points, k, null, n, 0, c->seed, c->pool, &c->hooks, &out->control, err));
    out->measured = true;
done:
    geodec_mem_free(null);
    return st;
}

static geodec_status write_folds(geodec_artifact *a, const folds *f, geodec_err *err)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"fold_share", f->own.share},
               {"fold_edge_on", geodec_fold_edge_on(&f->own)},
               {"fold_determined", (double)f->own.determined / (double)f->own.points},
               {"control_fold_share", f->control.share},
               {"control_fold_edge_on", geodec_fold_edge_on(&f->control)},
               {"control_fold_determined", (double)f->control.determined / (double)f->control.points}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        GEODEC_PASS(geodec_artifact_put_f64(a, all[i].name, all[i].value, err));
    return GEODEC_OK;
}

static void say_folds(const cli *c, int64_t n, const folds *f)
{
    if (!f->measured) return;
    if (f->own.found)
        geodec_hooks_log(&c->hooks, GEODEC_LOG_WARN,
                         "the first %lld coordinates fold the set of the points: they turn over in %.1f %% of the "
                         "pairs, and %.1f %% of the tangent spaces are edge-on; %.0f %% are determined (of a Gaussian "
                         "cloud %.0f %%); places far apart have the same coordinates",
                         (long long)n, 100 * f->own.share, 100 * geodec_fold_edge_on(&f->own),
                         100 * (double)f->own.determined / (double)f->own.points,
                         100 * (double)f->control.determined / (double)f->control.points);
    else if (!f->own.testable)
        cli_say(c, "folds of the first %lld coordinates: not measured, %lld of %lld tangent spaces are determined",
                (long long)n, (long long)f->own.determined, (long long)f->own.points);
}

typedef struct input {
    cli_stage *stage;
    const cli *c;
    geodec_cloud *cloud;
} input;

static geodec_status read_cloud(void *ctx, geodec_err *err)
{
    const input *in = ctx;
    geodec_artifact *file;
    GEODEC_PASS(stage_begin(in->stage, in->c, output, err));
    GEODEC_PASS(stage_open(in->stage, &geodec_cloud_kind, in->c->args[0], &file, err));
    GEODEC_PASS(geodec_cloud_read(file, in->cloud, err));
    return GEODEC_OK;
}

/* --plan */
static geodec_status plan(const cli_stage *stage, const geodec_cloud *cloud, int64_t in_file, int64_t n,
                          const double *x, bool f32, geodec_err *err)
{
    const cli *c = stage->c;
    geodec_size size;
    if (strcmp(kind, "mahalanobis") != 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "--plan is for --kind mahalanobis");
    GEODEC_PASS(read_options(err));
    opt.comm = comm;
    needs_program(c->needs);
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_metric_needs(cloud, in_file, n, x, &opt, f32, c->seed, NEEDS_BUDGET, c->pool, &c->hooks,
                                    c->needs, &size, err));
    needs_output(c->needs, &size);
    return GEODEC_OK;
}

static geodec_status from_cloud(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_writer out = {.f32 = strcmp(precision, "f32") == 0};
    geodec_cloud cloud = {0};
    geodec_metric m = {0};
    geodec_metric_medians own, control = {0};
    geodec_fisher_medians fisher = {0};
    cli_stage stage = {0};
    folds fold = {0};
    double *x = NULL;
    int64_t n;
    const double begin = geodec_clock_process_seconds();
    input cloud_file = {&stage, c, &cloud};
    GEODEC_TRY(ranks_inputs(comm, read_cloud, &cloud_file, err));
    if (dim == 0 && cloud.k < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld principal component; the metric needs at least 2 (--dim 1 forces it)",
                     (long long)cloud.k);
    GEODEC_TRY(cloud_dim(c, &cloud, dim, geodec_cloud_dimension(&cloud), &n, err));
    const int64_t in_file = cloud.points;
    geodec_cloud_thin(&cloud, points, c->seed);
    GEODEC_TRY(geodec_cloud_coordinates(&cloud, n, &x, err));
    if (!c->needs && geodec_comm_rank(comm) == 0) GEODEC_TRY(measure_folds(c, &cloud, n, &fold, err));
    geodec_mem_free(cloud.coordinate); /* x contains the coordinates in use */
    cloud.coordinate = NULL;
    out.n = n;
    if (c->needs) {
        needs_since(c->needs, "load", begin);
        GEODEC_TRY(plan(&stage, &cloud, in_file, n, x, out.f32, err));
        goto done;
    }
    GEODEC_TRY(fit(&stage, &cloud, n, x, &m, &control, &fisher, &out, err));
    if (geodec_comm_rank(comm) > 0) goto done;
    GEODEC_TRY(geodec_metric_summary(&m, &own, err));
    if (!out.file) {
        GEODEC_TRY(stage_create(&stage, &geodec_metric_kind, err));
        out.file = stage.out;
        GEODEC_TRY(geodec_metric_write_slab(&out, 0, m.points, m.log_g, err));
    }
    const geodec_metric_source source = {.cloud_row = cloud.cloud_row,
                                         .activation_row = cloud.row,
                                         .sequence = cloud.sequence,
                                         .position = cloud.position,
                                         .d = cloud.d,
                                         .basis = cloud.basis,
                                         .mean = cloud.mean,
                                         .layer = cloud.layer,
                                         .noise = geodec_cloud_noise(&cloud),
                                         .control = control};
    m.rounded = out.f32;
    m.rounding = out.rounding;
    if (fisher.trace > 0)
        m.fisher = (geodec_metric_fisher){.scale = fisher.trace,
                                          .ridge = fisher_ridge,
                                          .condition = fisher.condition,
                                          .floored = fisher.floored,
                                          .blended = m.kind == GEODEC_METRIC_BLEND,
                                          .blend = blend};
    GEODEC_TRY(geodec_metric_write(&m, &source, stage.out, err));
    if (fold.measured) GEODEC_TRY(write_folds(stage.out, &fold, err));
    GEODEC_TRY(stage_commit(&stage, err));
    geodec_metric_say(&c->hooks, &m, &own, &control);
    say_folds(c, n, &fold);
    if (fisher.trace > 0)
        cli_say(c,
                "Fisher information: median tr/n %.4g nat per squared unit, condition %.3g with a ridge of %g, "
                "eigenvalues floored %lld; entropy of the next token %.3f nats",
                fisher.trace, fisher.condition, fisher_ridge, (long long)fisher.floored, fisher.entropy);
done:
    stage_end(&stage);
    geodec_cloud_clear(&cloud);
    geodec_metric_clear(&m);
    geodec_mem_free(x);
    return st;
}

static geodec_status test_space(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {0};
    geodec_metric_type which;
    geodec_metric_medians own;
    cli_stage stage = {0};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    if (c->needs) GEODEC_THROW(GEODEC_UNSUPPORTED, "--plan is for metrics of a cloud");
    if (points == 1) GEODEC_THROW(GEODEC_INVAL, "--points 1: a space is sampled at 2 points or more");
    GEODEC_TRY(geodec_metric_type_find(kind, &which, err));
    GEODEC_TRY(read_options(err));
    const bool plane = which == GEODEC_METRIC_POLAR || which == GEODEC_METRIC_GAUSSIAN_FISHER;
    const int64_t n = dim > 0 ? dim : plane ? 2 : TEST_DIM;
    GEODEC_TRY(geodec_metric_test_space(which, points > 0 ? points : TEST_POINTS, n, curvature, c->seed, &opt, c->pool,
                                        &c->hooks, &m, err));
    GEODEC_TRY(geodec_metric_summary(&m, &own, err));
    STAGE_WRITE(&stage, &geodec_metric_kind, geodec_metric_write(&m, NULL, stage.out, err));
    geodec_metric_say(&c->hooks, &m, &own, &own);
done:
    stage_end(&stage);
    geodec_metric_clear(&m);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    const bool of_cloud = strcmp(kind, "mahalanobis") == 0 || strcmp(kind, "euclidean") == 0 ||
                          strcmp(kind, "fisher") == 0 || strcmp(kind, "blend") == 0;
    if (of_cloud && c->n_args == 0) GEODEC_FAIL(GEODEC_INVAL, "--kind %s needs CLOUD.h5", kind);
    if (!of_cloud && c->n_args > 0) GEODEC_FAIL(GEODEC_INVAL, "--kind %s is a test space and takes no cloud", kind);
    if (strcmp(precision, "f32") == 0 && (!of_cloud || strcmp(kind, "euclidean") == 0))
        GEODEC_FAIL(GEODEC_INVAL, "--precision f32 is for the kinds mahalanobis, fisher and blend");
    if (mpi && strcmp(kind, "mahalanobis") != 0) GEODEC_FAIL(GEODEC_INVAL, "--mpi is for --kind mahalanobis");
    GEODEC_PASS(ranks_begin(c, mpi, &comm, err));
    GEODEC_PASS(of_cloud ? from_cloud(c, err) : test_space(c, err));
    return GEODEC_OK;
}

CLI_MAIN(opt = geodec_metric_defaults())
