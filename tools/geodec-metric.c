/* geodec-metric: local Mahalanobis metrics at the points of a cloud and the smooth field through them. */
#include "base/mem.h"
#include "geometry/cloud.h"
#include "geometry/metric.h"
#include "support/cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *output = "metric.h5", *centre = "mean", *shrink = "lw", *kind = "mahalanobis";
static int64_t dim, k, points;
static double ridge, ridge_relative, clip_min, clip_max, sigma, sigma_nn = 1;
static bool force_k;

enum { DIM_MAX_AUTO = 12 }; /* the cost of curvature grows as n^5 */

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "metric.h5"),
    {.name = "dim",
     .letter = 'n',
     .type = CLI_I64,
     .target = &dim,
     .min = 0,
     .max = GEODEC_RBF_MAX_N,
     .metavar = "N",
     .help = "use the first N principal coordinates (0: the cloud's intrinsic dimension, 2 to 12)"},
    {.name = "k",
     .letter = 'k',
     .type = CLI_I64,
     .target = &k,
     .min = 0,
     .max = 100000,
     .metavar = "N",
     .help = "neighbours of each point (0: twice the dimension, at least 16)"},
    {.name = "force-k",
     .type = CLI_FLAG,
     .target = &force_k,
     .help = "allow fewer neighbours than the dimension needs"},
    {.name = "points",
     .type = CLI_I64,
     .target = &points,
     .min = 0,
     .max = 1e9,
     .metavar = "N",
     .help = "a random choice of N points of the cloud (0: all)"},
    {.name = "kind",
     .type = CLI_CHOICE,
     .target = &kind,
     .choices = "mahalanobis",
     .metavar = "KIND",
     .help = "how the local metric is made: mahalanobis, the inverse covariance of the neighbours"},
    {.name = "centre",
     .type = CLI_CHOICE,
     .target = &centre,
     .choices = "mean|point",
     .metavar = "WHERE",
     .help = "take the scatter about the neighbours' mean or about the point"},
    {.name = "shrink",
     .type = CLI_STR,
     .target = &shrink,
     .metavar = "A",
     .help =
         "weight of the multiple of the identity in the covariance, 0 to 1, or lw: Ledoit and Wolf's for each point"},
    {.name = "ridge",
     .type = CLI_F64,
     .target = &ridge,
     .min = 0,
     .max = 1e300,
     .metavar = "X",
     .help = "add X to the diagonal of the covariance"},
    {.name = "ridge-relative",
     .type = CLI_F64,
     .target = &ridge_relative,
     .min = 0,
     .max = 1e6,
     .metavar = "X",
     .help = "add X times the mean eigenvalue to the diagonal of the covariance"},
    {.name = "clip-min",
     .type = CLI_F64,
     .target = &clip_min,
     .min = 0,
     .max = 1e300,
     .metavar = "X",
     .help = "lift eigenvalues of the metric to X"},
    {.name = "clip-max",
     .type = CLI_F64,
     .target = &clip_max,
     .min = 0,
     .max = 1e300,
     .metavar = "X",
     .help = "cut eigenvalues of the metric at X (0: no limit)"},
    {.name = "sigma",
     .type = CLI_F64,
     .target = &sigma,
     .min = 0,
     .max = 1e300,
     .metavar = "X",
     .help = "width of the field in the unit of the points (0: see --sigma-nn)"},
    {.name = "sigma-nn",
     .type = CLI_F64,
     .target = &sigma_nn,
     .min = 1e-6,
     .max = 1e6,
     .metavar = "X",
     .help = "width of the field in median distances to the nearest neighbour"},
};

static const cli_tool tool = {
    .name = "geodec-metric",
    .purpose = "fit a Riemannian metric to a cloud: inverse local covariances, smoothed in the logarithm",
    .usage = "[OPTIONS] CLOUD.h5",
    .description = "The metric at a point is the inverse covariance of its nearest neighbours; between points "
                   "logarithms are averaged\n"
                   "with Gaussian weights of width sigma. It is blind to density: neighbours lie at a g-distance of "
                   "about the root of\n"
                   "the dimension, however many points there are.",
    .examples = "geodec-metric -o metric.h5 cloud.h5\n"
                "geodec-metric --dim 8 --k 32 --sigma-nn 1.5 -o metric.h5 cloud.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 1,
};

static geodec_status read_shrink(double *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *end = NULL;
    if (strcmp(shrink, "lw") == 0) {
        *a = -1;
        goto done;
    }
    errno = 0;
    *a = strtod(shrink, &end);
    if (end == shrink || *end || errno || !(*a >= 0) || !(*a <= 1)) {
        GEODEC_THROW(GEODEC_INVAL, "--shrink: '%s' is neither lw nor a number from 0 to 1", shrink);
    }
done:
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *out = NULL;
    geodec_cloud cloud = {0};
    geodec_metric m = {0};
    geodec_metric_medians own, control;
    geodec_metric_options o = geodec_metric_defaults();
    geodec_provenance p = cli_provenance(c);
    double *x = NULL;
    GEODEC_TRY(read_shrink(&o.shrink, err));
    o.k = k;
    o.force_k = force_k;
    o.centre = strcmp(centre, "point") == 0 ? GEODEC_CENTRE_POINT : GEODEC_CENTRE_MEAN;
    o.ridge = ridge;
    o.ridge_relative = ridge_relative;
    o.clip_min = clip_min;
    o.clip_max = clip_max > 0 ? clip_max : INFINITY;
    o.sigma = sigma;
    o.sigma_nn = sigma_nn;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_kind_cloud, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    int64_t n = dim;
    if (n == 0) n = cloud.k_int < 2 ? 2 : (cloud.k_int > DIM_MAX_AUTO ? DIM_MAX_AUTO : cloud.k_int);
    if (n > cloud.k && dim == 0) n = cloud.k;
    if (n > cloud.k) {
        GEODEC_THROW(GEODEC_RANGE, "--dim: %s has %lld coordinates, not %lld", c->args[0], (long long)cloud.k,
                     (long long)n);
    }
    geodec_cloud_thin(&cloud, points, c->seed);
    GEODEC_NEW(x, cloud.points * n);
    for (int64_t i = 0; i < cloud.points; i++) memcpy(x + i * n, cloud.coordinate + i * cloud.k, (size_t)n * sizeof *x);
    GEODEC_TRY(geodec_metric_fit(cloud.points, n, x, &o, c->pool, &c->hooks, &m, err));
    GEODEC_TRY(geodec_metric_summary(&m, &own, err));
    GEODEC_TRY(geodec_metric_control(&m, c->seed, c->pool, &c->hooks, &control, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_metric, output, &p, &out, err));
    const geodec_metric_source source = {.cloud_row = cloud.cloud_row,
                                         .activation_row = cloud.row,
                                         .sequence = cloud.sequence,
                                         .position = cloud.position,
                                         .d = cloud.d,
                                         .basis = cloud.basis,
                                         .mean = cloud.mean,
                                         .layer = cloud.layer,
                                         .control = control};
    GEODEC_TRY(geodec_metric_write(&m, &source, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    if (st != GEODEC_OK) goto done;
    cli_say(c, "%lld points, dimension %lld, %lld neighbours; sigma %.4g", (long long)m.points, (long long)m.n,
            (long long)m.k, m.sigma);
    cli_say(c,
            "medians (and of a Gaussian control): condition %.3g (%.3g), shrinkage %.2f (%.2f), nearest neighbour at "
            "%.4g (%.4g)",
            own.condition, control.condition, own.shrinkage, control.shrinkage, own.nn_distance, control.nn_distance);
done:
    geodec_artifact_close(out);
    geodec_artifact_close(in);
    geodec_cloud_clear(&cloud);
    geodec_metric_clear(&m);
    geodec_mem_free(x);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
