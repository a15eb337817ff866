/* geodec-metric: a metric for the points of a cloud (local Mahalanobis metrics with the smooth field through them, one
 * matrix everywhere, or the published harness's manifold), or a test space known in closed form. */
#include "base/mem.h"
#include "chain/cloud.h"
#include "chain/metric.h"
#include "cli/cli.h"
#include "cli/fisher.h"
#include "geometry/pca.h"
#include "lab/harness/manifold.h"
#include "linalg/chol.h"
#include "linalg/expm.h"
#include "linalg/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *output = "metric.h5", *centre = "mean", *shrink = "lw", *kind = "mahalanobis", *mode = "correct",
                  *scale = "identity", *precision = "f64", *model_path = "", *activations_path = "";
static int64_t dim, k, points;
static double blend = 0.5, fisher_ridge = 0.01, ridge, ridge_relative, clip_min, clip_max, sigma, sigma_nn = 1,
              curvature, step;
static bool force_k;

enum {
    DIM_MAX_AUTO = 12, /* the cost of curvature grows as n^5 */
    TEST_POINTS = 64,
    TEST_DIM = 4,
};

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
     .choices = "mahalanobis|fisher|blend|euclidean|sphere|hyperbolic|flat|polar|gaussian-fisher",
     .metavar = "KIND",
     .help = "mahalanobis: inverse covariance of the neighbours; fisher: pulled-back Fisher information of the model's "
             "next token; blend: of the two; euclidean: one matrix everywhere; the rest are test spaces of --dim and "
             "--points, and take no cloud"},
    {.name = "model",
     .letter = 'm',
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &model_path,
     .metavar = "FILE",
     .help = "kinds fisher and blend: model as GGUF"},
    {.name = "activations",
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &activations_path,
     .metavar = "FILE",
     .help = "kinds fisher and blend: the activations the cloud is from"},
    {.name = "blend",
     .type = CLI_F64,
     .target = &blend,
     .min = 0,
     .max = 1,
     .metavar = "A",
     .help = "kind blend: exp((1 - A) log(mahalanobis) + A log(fisher))"},
    {.name = "fisher-ridge",
     .type = CLI_F64,
     .target = &fisher_ridge,
     .min = 0,
     .max = 1e6,
     .metavar = "X",
     .help = "add X times its mean eigenvalue to each Fisher matrix"},
    {.name = "mode",
     .type = CLI_CHOICE,
     .target = &mode,
     .choices = "correct|ref",
     .metavar = "MODE",
     .help = "ref: the published harness's sampled manifold (k 8, ridge 1e-3, clip 1e-3 to 1e3, sigma 0.6)"},
    {.name = "scale",
     .type = CLI_CHOICE,
     .target = &scale,
     .choices = "identity|covariance",
     .metavar = "HOW",
     .help = "matrix of --kind euclidean: the identity, or the inverse covariance of all points"},
    {.name = "precision",
     .type = CLI_CHOICE,
     .target = &precision,
     .choices = "f64|f32",
     .metavar = "TYPE",
     .help = "of the stored logarithms; f32 halves the file, and the file says how far a matrix moved"},
    {.name = "curvature",
     .type = CLI_F64,
     .target = &curvature,
     .min = -1e6,
     .max = 1e6,
     .metavar = "K",
     .help = "of --kind sphere or hyperbolic (0: 1 or -1)"},
    {.name = "h",
     .type = CLI_F64,
     .target = &step,
     .min = 0,
     .max = 1e6,
     .metavar = "X",
     .help = "step of the differences of --mode ref (0: 1e-2)"},
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
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "fit a Riemannian metric to a cloud: inverse local covariances, smoothed in the logarithm",
    .usage = "[OPTIONS] [CLOUD.h5]",
    .description = "The metric at a point is the inverse covariance of its nearest neighbours; between points "
                   "logarithms are averaged\n"
                   "with Gaussian weights of width sigma. It is blind to density: neighbours lie at a g-distance of "
                   "about the root of\n"
                   "the dimension, however many points there are. --kind fisher asks the model instead: at each point "
                   "the\n"
                   "Fisher information of the next token's distribution p, pulled back to the coordinates, so that "
                   "KL(p(y) || p(y + d))\n"
                   "= d^T g d / 2 to second order, in nats. Directions the output does not feel get the ridge alone.",
    .examples = "geodec-metric -o metric.h5 cloud.h5\n"
                "geodec-metric --dim 8 --k 32 --sigma-nn 1.5 -o metric.h5 cloud.h5\n"
                "geodec-metric --mode ref -o metric-ref.h5 cloud.h5\n"
                "geodec-metric --kind fisher --model model.gguf --activations activations.h5 -o metric-fisher.h5 "
                "cloud.h5\n"
                "geodec-metric --kind sphere --dim 4 --points 100 -o sphere.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 0,
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

static geodec_status read_options(geodec_metric_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *o = geodec_metric_defaults();
    GEODEC_TRY(read_shrink(&o->shrink, err));
    o->k = k;
    o->force_k = force_k;
    o->centre = strcmp(centre, "point") == 0 ? GEODEC_CENTRE_POINT : GEODEC_CENTRE_MEAN;
    o->ridge = ridge;
    o->ridge_relative = ridge_relative;
    o->clip_min = clip_min;
    o->clip_max = clip_max > 0 ? clip_max : INFINITY;
    o->sigma = sigma;
    o->sigma_nn = sigma_nn;
done:
    return st;
}

/* The published harness's values where none is given. */
static geodec_harness_options published_options(void)
{
    geodec_harness_options o = geodec_harness_defaults();
    if (k > 0) o.k = k;
    if (ridge > 0) o.ridge = ridge;
    if (clip_min > 0) o.clip_min = clip_min;
    if (clip_max > 0) o.clip_max = clip_max;
    if (sigma > 0) o.sigma = sigma;
    if (step > 0) o.h = step;
    return o;
}

/* The matrix of --kind euclidean at every point: g [points][n][n], in new memory. */
static geodec_status constant_matrices(const cli *c, int64_t count, int64_t n, const double *x, double **out,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca_moments moments = {0};
    double *g = NULL, *cov = NULL;
    GEODEC_NEW(g, count * n * n);
    if (strcmp(scale, "covariance") == 0) {
        GEODEC_NEW(cov, n * n);
        GEODEC_TRY(geodec_pca_moments_init(&moments, n, x, err));
        GEODEC_TRY(geodec_pca_moments_add(&moments, count, x, c->pool, err));
        GEODEC_TRY(geodec_pca_moments_result(&moments, NULL, cov, err));
        GEODEC_TRY_MSG(geodec_chol_factor(n, cov, err), "covariance of all points");
        geodec_chol_inverse(n, cov, g);
    } else {
        for (int64_t i = 0; i < n; i++) g[i * n + i] = 1;
    }
    for (int64_t p = 1; p < count; p++) memcpy(g + p * n * n, g, (size_t)(n * n) * sizeof *g);
    *out = g;
    g = NULL;
done:
    geodec_pca_moments_clear(&moments);
    geodec_mem_free(g);
    geodec_mem_free(cov);
    return st;
}

static void summarise(const cli *c, const geodec_metric *m, const geodec_metric_medians *own,
                      const geodec_metric_medians *control)
{
    cli_say(c, "%s: %lld points, dimension %lld, %lld neighbours; sigma %.4g", geodec_metric_type_name(m->kind),
            (long long)m->points, (long long)m->n, (long long)m->k, m->sigma);
    if (m->kind == GEODEC_METRIC_MAHALANOBIS)
        cli_say(
            c,
            "medians (and of a Gaussian control): condition %.3g (%.3g), shrinkage %.2f (%.2f), nearest neighbour at "
            "%.4g (%.4g)",
            own->condition, control->condition, own->shrinkage, control->shrinkage, own->nn_distance,
            control->nn_distance);
    else
        cli_say(c, "medians: condition %.3g, nearest neighbour at %.4g", own->condition, own->nn_distance);
}

/* The figures of a Fisher metric that its matrices no longer show. */
typedef struct fisher_figures {
    double trace;     /* median tr(G) / n before the ridge */
    double entropy;   /* median, of the next token */
    int64_t floored;  /* eigenvalues lifted after the ridge */
    double condition; /* median, after the ridge */
} fisher_figures;

/* Fisher matrices of the cloud's points, [points][n][n] in new memory; with --kind blend mixed with those of m. */
static geodec_status fisher_matrices(const cli *c, const geodec_cloud *cloud, int64_t n, const geodec_metric *m,
                                     geodec_provenance *p, double **out, fisher_figures *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    fisher_source source = {0};
    fisher_rows rows = {0};
    const int64_t count = cloud->points;
    double *g = NULL, *trace = NULL, *entropy = NULL, *condition = NULL, *l = NULL, *other = NULL;
    int32_t *floored = NULL;
    if (!*model_path || !*activations_path)
        GEODEC_THROW(GEODEC_INVAL, "--kind %s needs --model and --activations", kind);
    GEODEC_NEW(g, count * n * n);
    GEODEC_NEW(trace, count);
    GEODEC_NEW(entropy, count);
    GEODEC_NEW(condition, count);
    GEODEC_NEW(floored, count);
    GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, activations_path, &a, err));
    GEODEC_TRY(fisher_open(c, model_path, a, &source, err));
    if (source.view.d != cloud->d) GEODEC_THROW(GEODEC_CHECKSUM, "the cloud is not from %s", activations_path);
    for (int64_t i = 0; i < count; i++)
        if (cloud->row[i] < 0 || cloud->row[i] >= source.view.rows ||
            source.position[cloud->row[i]] != cloud->position[i] || source.token[cloud->row[i]] != cloud->token[i])
            GEODEC_THROW(GEODEC_CHECKSUM, "the cloud is not from %s", activations_path);
    GEODEC_TRY(fisher_rows_read(&source, cloud->layer, count, cloud->row, &rows, err));
    GEODEC_TRY(
        geodec_fisher_metric(source.reference, &rows.s, n, cloud->basis, NULL, &c->hooks, g, NULL, entropy, err));
    GEODEC_TRY(geodec_fisher_regularise(count, n, fisher_ridge, g, trace, condition, floored, err));
    for (int64_t i = 0; i < count; i++) {
        f->floored += floored[i];
        trace[i] /= (double)n;
    }
    GEODEC_TRY(geodec_stats_median(count, trace, &f->trace, err));
    GEODEC_TRY(geodec_stats_median(count, entropy, &f->entropy, err));
    GEODEC_TRY(geodec_stats_median(count, condition, &f->condition, err));
    if (strcmp(kind, "blend") == 0) {
        GEODEC_NEW(l, n * n);
        GEODEC_NEW(other, n * n);
        for (int64_t i = 0; i < count; i++) {
            GEODEC_TRY(geodec_logm_spd(n, g + i * n * n, l, err));
            geodec_sym_unpack(n, m->log_g + i * geodec_sym_packed(n), other);
            for (int64_t j = 0; j < n * n; j++) l[j] = (1 - blend) * other[j] + blend * l[j];
            GEODEC_TRY(geodec_expm_sym(n, l, g + i * n * n, err));
        }
    }
    GEODEC_TRY(geodec_provenance_add_artifact(p, a, err));
    *out = g;
    g = NULL;
done:
    fisher_rows_clear(&rows);
    fisher_close(&source);
    geodec_artifact_close(a);
    geodec_mem_free(g);
    geodec_mem_free(trace);
    geodec_mem_free(entropy);
    geodec_mem_free(condition);
    geodec_mem_free(floored);
    geodec_mem_free(l);
    geodec_mem_free(other);
    return st;
}

/* Fits what was asked for to x [points][n]; manifold stays empty but in --mode ref. The local covariances of many
 * points are inverted slab by slab, into the file. */
static geodec_status fit(const cli *c, const geodec_cloud *cloud, int64_t n, const double *x, geodec_metric *m,
                         geodec_harness_manifold *manifold, geodec_metric_medians *control, fisher_figures *fisher,
                         geodec_provenance *p, geodec_metric_writer *w, geodec_err *err)
{
    const int64_t count = cloud->points;
    geodec_status st = GEODEC_OK;
    geodec_metric_options o;
    const geodec_harness_options published = published_options();
    double *g = NULL;
    GEODEC_TRY(read_options(&o, err));
    if (strcmp(mode, "ref") == 0) {
        GEODEC_TRY(geodec_harness_manifold_fit(count, n, x, &published, c->pool, &c->hooks, manifold, err));
        GEODEC_TRY(geodec_harness_manifold_metric(manifold, &published, c->pool, &c->hooks, m, err));
    } else if (strcmp(kind, "euclidean") == 0) {
        GEODEC_TRY(constant_matrices(c, count, n, x, &g, err));
        GEODEC_TRY(
            geodec_metric_from_matrices(GEODEC_METRIC_EUCLIDEAN, count, n, x, g, &o, c->pool, &c->hooks, m, err));
    } else if (strcmp(kind, "mahalanobis") == 0) {
        GEODEC_TRY(geodec_artifact_create(&geodec_metric_kind, output, p, &w->file, err));
        GEODEC_TRY(geodec_metric_fit_slabs(count, n, x, &o, geodec_metric_write_slab, w, c->pool, &c->hooks, m, err));
        GEODEC_TRY(geodec_metric_control(m, c->seed, c->pool, &c->hooks, control, err));
    } else {
        GEODEC_TRY(geodec_metric_fit(count, n, x, &o, c->pool, &c->hooks, m, err));
        GEODEC_TRY(fisher_matrices(c, cloud, n, m, p, &g, fisher, err));
        o.k = m->k;
        geodec_metric_clear(m);
        GEODEC_TRY(geodec_metric_from_matrices(strcmp(kind, "blend") == 0 ? GEODEC_METRIC_BLEND : GEODEC_METRIC_FISHER,
                                               count, n, x, g, &o, c->pool, &c->hooks, m, err));
    }
done:
    geodec_mem_free(g);
    return st;
}

static geodec_status from_cloud(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_metric_writer out = {.f32 = strcmp(precision, "f32") == 0};
    geodec_cloud cloud = {0};
    geodec_metric m = {0};
    geodec_harness_manifold manifold = {0};
    geodec_metric_medians own, control = {0};
    fisher_figures fisher = {0};
    geodec_provenance p = cli_provenance(c);
    double *x = NULL;
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    int64_t n = dim;
    if (n == 0) n = cloud.k_int < 2 ? 2 : (cloud.k_int > DIM_MAX_AUTO ? DIM_MAX_AUTO : cloud.k_int);
    if (dim == 0 && cloud.k < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld principal component; the metric needs at least 2 (--dim 1 forces it)",
                     (long long)cloud.k);
    if (n > cloud.k && dim == 0) n = cloud.k;
    if (n > cloud.k) {
        GEODEC_THROW(GEODEC_RANGE, "--dim: %s has %lld coordinates, not %lld", c->args[0], (long long)cloud.k,
                     (long long)n);
    }
    geodec_cloud_thin(&cloud, points, c->seed);
    GEODEC_NEW(x, cloud.points * n);
    for (int64_t i = 0; i < cloud.points; i++) memcpy(x + i * n, cloud.coordinate + i * cloud.k, (size_t)n * sizeof *x);
    geodec_mem_free(cloud.coordinate); /* x has those that count */
    cloud.coordinate = NULL;
    out.n = n;
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    GEODEC_TRY(fit(c, &cloud, n, x, &m, &manifold, &control, &fisher, &p, &out, err));
    GEODEC_TRY(geodec_metric_summary(&m, &own, err));
    if (!out.file) {
        GEODEC_TRY(geodec_artifact_create(&geodec_metric_kind, output, &p, &out.file, err));
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
    GEODEC_TRY(geodec_metric_write(&m, &source, out.file, err));
    if (m.kind == GEODEC_METRIC_PUBLISHED)
        GEODEC_TRY(geodec_harness_manifold_write(&manifold, published_options().h, out.file, err));
    st = geodec_artifact_commit(out.file, err);
    out.file = NULL;
    GEODEC_TRY(st);
    summarise(c, &m, &own, &control);
    if (fisher.trace > 0)
        cli_say(c,
                "Fisher information: median tr/n %.4g nat per squared unit, condition %.3g with a ridge of %g, "
                "eigenvalues floored %lld; entropy of the next token %.3f nats",
                fisher.trace, fisher.condition, fisher_ridge, (long long)fisher.floored, fisher.entropy);
done:
    geodec_artifact_close(out.file);
    geodec_artifact_close(in);
    geodec_cloud_clear(&cloud);
    geodec_metric_clear(&m);
    geodec_harness_manifold_clear(&manifold);
    geodec_mem_free(x);
    return st;
}

static geodec_status test_space(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    geodec_metric m = {0};
    geodec_metric_options o;
    geodec_metric_type which;
    geodec_metric_medians own;
    geodec_provenance p = cli_provenance(c);
    if (points == 1) GEODEC_THROW(GEODEC_INVAL, "--points 1: a space is sampled at 2 points or more");
    GEODEC_TRY(geodec_metric_type_find(kind, &which, err));
    GEODEC_TRY(read_options(&o, err));
    const bool plane = which == GEODEC_METRIC_POLAR || which == GEODEC_METRIC_GAUSSIAN_FISHER;
    const int64_t n = dim > 0 ? dim : plane ? 2 : TEST_DIM;
    GEODEC_TRY(geodec_metric_test_space(which, points > 0 ? points : TEST_POINTS, n, curvature, c->seed, &o, c->pool,
                                        &c->hooks, &m, err));
    GEODEC_TRY(geodec_metric_summary(&m, &own, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_metric_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_metric_write(&m, NULL, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(c, &m, &own, &own);
done:
    geodec_artifact_close(out);
    geodec_metric_clear(&m);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool ref = strcmp(mode, "ref") == 0;
    const bool of_cloud = strcmp(kind, "mahalanobis") == 0 || strcmp(kind, "euclidean") == 0 ||
                          strcmp(kind, "fisher") == 0 || strcmp(kind, "blend") == 0;
    if (of_cloud && c->n_args == 0) GEODEC_THROW(GEODEC_INVAL, "--kind %s needs CLOUD.h5", kind);
    if (!of_cloud && c->n_args > 0) GEODEC_THROW(GEODEC_INVAL, "--kind %s is a test space and takes no cloud", kind);
    if (strcmp(precision, "f32") == 0 && (ref || !of_cloud || strcmp(kind, "euclidean") == 0))
        GEODEC_THROW(GEODEC_INVAL, "--precision f32 is for the kinds mahalanobis, fisher and blend");
    if (ref && strcmp(kind, "mahalanobis") != 0) GEODEC_THROW(GEODEC_INVAL, "--mode ref has no --kind %s", kind);
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(of_cloud ? from_cloud(c, err) : test_space(c, err));
done:
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
