#include "artifact/binding.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include "chain/metric.h"
#include "linalg/expm.h"

#include <math.h>
#include <string.h>

#define AT(m) GEODEC_AT(geodec_metric, m)
#define BORROWED(m) GEODEC_BORROWED(geodec_metric, m)
#define IN(m) GEODEC_IN(geodec_metric, m)
#define WHEN(m) GEODEC_WHEN(geodec_metric, m)
static const geodec_field fields[] = {
    {"/log_g", GEODEC_F64, "N,P", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "1",
     "log of the local metric (inverse covariance of the neighbours), rows of the upper triangle, P = n (n+1) / 2", 0},
    {"/log_g_f32", GEODEC_F32, "N,P", GEODEC_FIELD_STREAM | GEODEC_FIELD_OPTIONAL, "1",
     "the same rounded to float32, in place of /log_g (attribute log_g_rounding)", 2},
    {"/points", GEODEC_F64, "N,n", 0, "activation", "first n principal coordinates of the points", 0, AT(point)},
    {"/cloud_row", GEODEC_I32, "N", 0, "1", "row of the cloud of each point", 0, BORROWED(source.cloud_row)},
    {"/activation_row", GEODEC_I32, "N", 0, "1", "row of the activations of each point", 0,
     BORROWED(source.activation_row)},
    {"/sequence", GEODEC_I32, "N", GEODEC_FIELD_OPTIONAL, "1", "sequence of the text of each point", 0,
     BORROWED(source.sequence)},
    {"/position", GEODEC_I32, "N", GEODEC_FIELD_OPTIONAL, "1", "its position there: consecutive states are neighbours",
     0, BORROWED(source.position)},
    {"/basis", GEODEC_F64, "n,d", 0, "1", "principal directions the coordinates belong to, orthonormal rows", 0,
     BORROWED(source.basis)},
    {"/mean", GEODEC_F64, "d", 0, "activation", "mean state: coordinates of x are basis (x - mean)", 0,
     BORROWED(source.mean)},
    {"/knn_index", GEODEC_I32, "N,k", 0, "1", "k nearest points, nearest first, ties by index", 0, AT(knn_index)},
    {"/knn_distance", GEODEC_F64, "N,k", 0, "activation", "their Euclidean distances", 0, AT(knn_distance)},
    {"/condition", GEODEC_F64, "N", 0, "1", "condition number of the local metric", 0, AT(condition)},
    {"/shrinkage", GEODEC_F64, "N", 0, "1", "weight of the multiple of the identity (Ledoit and Wolf 2004)", 0,
     AT(shrinkage)},
    {"/clipped", GEODEC_I32, "N", 0, "1", "eigenvalues clipped or lifted to the floor", 0, AT(clipped)},
    {"/published/g_raw", GEODEC_F64, "N,n,n", GEODEC_FIELD_OPTIONAL, "1",
     "kind published: the harness's local metrics, unsmoothed", 1},
    {"/published/g", GEODEC_F64, "N,n,n", GEODEC_FIELD_OPTIONAL, "1", "kind published: smoothed once, at the samples",
     1},
    {"/published/gamma", GEODEC_F64, "N,n,n,n", GEODEC_FIELD_OPTIONAL, "1/activation",
     "kind published: Christoffel symbols of the samples by differences, k last", 1},
};

static const char *const centres[] = {[GEODEC_CENTRE_MEAN] = "mean", [GEODEC_CENTRE_POINT] = "point", NULL};

static const geodec_attr attrs[] = {
    {"metric_kind", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "mahalanobis (also when absent), fisher, blend, euclidean, flat, published, sphere, hyperbolic, polar or "
     "gaussian-fisher: what the metric is between the points",
     GEODEC_NAMED(geodec_metric, kind, geodec_metric_type_names)},
    {"curvature", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "sectional curvature of a sphere or a hyperbolic space",
     IN(curvature), WHEN(curvature)},
    {"layer", GEODEC_ATTR_I64, 0, "layer of the model the states are from", IN(source.layer)},
    {"state_noise", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "standard deviation of an error of a state in each direction, by the variance outside of the kept components",
     IN(source.noise), WHEN(source.noise)},
    {"sigma", GEODEC_ATTR_F64, 0, "width of the log-Euclidean radial basis field, unit of the points", IN(sigma)},
    {"sigma_nn", GEODEC_ATTR_F64, 0, "sigma in median distances to the nearest neighbour", IN(sigma_nn)},
    {"median_nn_distance", GEODEC_ATTR_F64, 0, "median distance to the nearest neighbour", IN(median_nn)},
    {"centre", GEODEC_ATTR_STR, 0, "origin of the local scatter: mean (of the neighbours) or point",
     GEODEC_NAMED(geodec_metric, options.centre, centres)},
    {"shrink", GEODEC_ATTR_F64, 0, "shrinkage asked for; negative = Ledoit-Wolf", IN(options.shrink)},
    {"ridge", GEODEC_ATTR_F64, 0, "added to the diagonal of the covariance", IN(options.ridge)},
    {"ridge_relative", GEODEC_ATTR_F64, 0, "the same as a multiple of its mean eigenvalue", IN(options.ridge_relative)},
    {"clip_min", GEODEC_ATTR_F64, 0, "lower limit of eigenvalues of g", IN(options.clip_min)},
    {"clip_max", GEODEC_ATTR_F64, GEODEC_FIELD_ZERO, "upper limit of eigenvalues of g, 0 = none", IN(options.clip_max)},
    {"median_condition", GEODEC_ATTR_F64, 0, "median condition number of the local metrics", IN(median.condition)},
    {"median_shrinkage", GEODEC_ATTR_F64, 0, "median shrinkage", IN(median.shrinkage)},
    {"control_condition", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "the same for a Gaussian cloud of equal size and covariance", IN(source.control.condition),
     WHEN(source.control.condition)},
    {"control_shrinkage", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "median shrinkage there",
     IN(source.control.shrinkage), WHEN(source.control.condition)},
    {"control_nn_distance", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "median distance to the nearest neighbour there",
     IN(source.control.nn_distance), WHEN(source.control.condition)},
    {"n_clipped", GEODEC_ATTR_I64, 0, "eigenvalues clipped or lifted in all", IN(n_clipped)},
    {"log_g_rounding", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "with /log_g_f32: largest Frobenius norm of what rounding changed in the logarithm of a matrix", IN(rounding),
     WHEN(rounded)},
    {"fisher_scale", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "kinds fisher and blend: median mean eigenvalue of the Fisher information before the ridge, nat per squared "
     "activation",
     IN(fisher.scale), WHEN(fisher.scale)},
    {"fisher_ridge", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "added to it, in mean eigenvalues", IN(fisher.ridge),
     WHEN(fisher.scale)},
    {"fisher_condition", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "its median condition number with the ridge",
     IN(fisher.condition), WHEN(fisher.scale)},
    {"fisher_floored", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "its eigenvalues lifted to the floor with the ridge",
     IN(fisher.floored), WHEN(fisher.scale)},
    {"blend", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "weight of its logarithm in the blend", IN(fisher.blend),
     WHEN(fisher.blended)},
    {"fold_share", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "share of pairs of near points between which the projection of the set onto the n coordinates turns over "
     "(geometry/fold.h; absent: too few points, or no further coordinates)"},
    {"fold_edge_on", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "share of determined tangent spaces that the projection nearly loses a direction of"},
    {"fold_determined", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "share of the points whose tangent space is determined; below 0.5 folds cannot be seen"},
    {"control_fold_share", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "fold_share of a Gaussian cloud with the covariance of all coordinates"},
    {"control_fold_edge_on", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "fold_edge_on there"},
    {"control_fold_determined", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "fold_determined there"},
    {"published_h", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "kind published: step of the differences"},
};

static const geodec_extent extents[] = {{"N", IN(points)}, {"n", IN(n)}, {"k", IN(k)}, {"d", IN(source.d)}};

/* Writes the logarithms unless their slabs are already written. */
static geodec_status put(const void *object, geodec_artifact *a, const char *name, geodec_err *err)
{
    const geodec_metric *m = object;
    if (strcmp(name, "/log_g") != 0 || !m->log_g || geodec_artifact_has(a, "/log_g") ||
        geodec_artifact_has(a, "/log_g_f32"))
        return GEODEC_OK;
    return geodec_metric_write_slab(&(geodec_metric_writer){.file = a, .n = m->n}, 0, m->points, m->log_g, err);
}

const geodec_kind geodec_metric_kind = {
    .name = "metric",
    .major = 1,
    .minor = 4, /* 1.2 had no folds, 1.3 no state_noise */
    .tool = "geodec-metric",
    .purpose = "metrics at points, the width of the smooth field through them, and what kind of metric it is",
    GEODEC_TABLES(fields, attrs, extents),
    .put = put,
};

/* Rows, basis and mean of points that do not come from a cloud: their coordinates are those of the chart. */
static geodec_status write_no_source(const geodec_metric *m, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *row = NULL;
    double *basis = NULL;
    GEODEC_NEW(row, m->points);
    GEODEC_NEW(basis, m->n * m->n + m->n);
    for (int64_t p = 0; p < m->points; p++) row[p] = -1;
    for (int64_t i = 0; i < m->n; i++) basis[i * m->n + i] = 1;
    const geodec_metric_source none = {
        .cloud_row = row, .activation_row = row, .d = m->n, .basis = basis, .mean = basis + m->n * m->n};
    GEODEC_TRY(geodec_metric_write(m, &none, a, err));
done:
    GEODEC_FREE(row, basis);
    return st;
}

/* Frobenius norm of the symmetric matrix whose packed upper triangle is a - b. */
static double change(int64_t n, const double *a, const float *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++, a++, b++) sum += (i == j ? 1 : 2) * (*a - (double)*b) * (*a - (double)*b);
    return sqrt(sum);
}

geodec_status geodec_metric_write_slab(void *writer, int64_t first, int64_t count, const double *log_g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_writer *w = writer;
    const int64_t packed = geodec_sym_packed(w->n);
    float *rounded = NULL;
    if (first == 0) GEODEC_TRY(geodec_artifact_set_dim(w->file, "P", packed, err));
    if (!w->f32) {
        GEODEC_TRY(geodec_artifact_append(w->file, "/log_g", count, log_g, err));
        goto done;
    }
    GEODEC_NEW(rounded, count * packed);
    for (int64_t i = 0; i < count * packed; i++) rounded[i] = (float)log_g[i];
    for (int64_t p = 0; p < count; p++)
        w->rounding = fmax(w->rounding, change(w->n, log_g + p * packed, rounded + p * packed));
    GEODEC_TRY(geodec_artifact_append(w->file, "/log_g_f32", count, rounded, err));
done:
    geodec_mem_free(rounded);
    return st;
}

geodec_status geodec_metric_write(const geodec_metric *m, const geodec_metric_source *source, geodec_artifact *a,
                                  geodec_err *err)
{
    if (!source) return write_no_source(m, a, err);
    geodec_metric file = *m;
    file.source = *source;
    if (!source->sequence || !source->position) file.source.sequence = file.source.position = NULL;
    file.sigma_nn = m->sigma / m->median_nn;
    file.n_clipped = 0;
    for (int64_t p = 0; p < m->points; p++) file.n_clipped += m->clipped[p];
    GEODEC_PASS(geodec_metric_summary(m, &file.median, err));
    GEODEC_PASS(geodec_artifact_save(a, &file, err));
    return GEODEC_OK;
}

void geodec_metric_clear(geodec_metric *m)
{
    geodec_artifact_clear(&geodec_metric_kind, m);
    geodec_mem_free(m->log_g);
    memset(m, 0, sizeof *m);
}

geodec_status geodec_metric_read_tables(const geodec_artifact *a, geodec_metric *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {0};
    int64_t packed;
    const char *path = geodec_artifact_path(a);
    GEODEC_TRY(geodec_artifact_load(a, &m, err));
    GEODEC_TRY(geodec_artifact_dim(a, "P", &packed, err));
    if (m.points < 1 || m.n < 1 || m.n > GEODEC_RBF_MAX_N || packed != geodec_sym_packed(m.n) || m.k < 1) {
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together (N %lld, n %lld, P %lld, k %lld)", path,
                     (long long)m.points, (long long)m.n, (long long)packed, (long long)m.k);
    }
    if (geodec_artifact_has(a, "/log_g") == geodec_artifact_has(a, "/log_g_f32"))
        GEODEC_THROW(GEODEC_FORMAT, "%s: there must be either /log_g or /log_g_f32", path);
    for (int64_t i = 0; i < m.points * m.k; i++)
        if (m.knn_index[i] < 0 || m.knn_index[i] >= m.points) {
            GEODEC_THROW(GEODEC_FORMAT, "%s: /knn_index holds %d with %lld points", path, (int)m.knn_index[i],
                         (long long)m.points);
        }
    if (!(m.options.clip_max > 0)) m.options.clip_max = geodec_metric_defaults().clip_max;
    m.options.sigma_nn = m.sigma_nn;
    m.options.k = m.k;
    m.options.sigma = m.sigma;
    *out = m;
done:
    if (st != GEODEC_OK) geodec_metric_clear(&m);
    return st;
}

/* Rows first .. first+count-1 of log_g [count][n(n+1)/2], as float64 whatever the file holds. */
static geodec_status read_rows(const geodec_artifact *a, int64_t first, int64_t count, double *log_g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t packed;
    float *rounded = NULL;
    GEODEC_TRY(geodec_artifact_dim(a, "P", &packed, err));
    if (geodec_artifact_has(a, "/log_g")) {
        GEODEC_TRY(geodec_artifact_read_rows(a, "/log_g", first, count, log_g, err));
    } else {
        GEODEC_NEW(rounded, count * packed);
        GEODEC_TRY(geodec_artifact_read_rows(a, "/log_g_f32", first, count, rounded, err));
        for (int64_t i = 0; i < count * packed; i++) log_g[i] = (double)rounded[i];
    }
    for (int64_t i = 0; i < count * packed; i++)
        if (!isfinite(log_g[i]))
            GEODEC_THROW(GEODEC_NUMERIC, "%s: the metric of point %lld is not finite", geodec_artifact_path(a),
                         (long long)(first + i / packed));
done:
    geodec_mem_free(rounded);
    return st;
}

geodec_status geodec_metric_read_matrices(const geodec_artifact *a, geodec_metric *m, geodec_err *err)
{
    enum { ROWS = 4096 };
    geodec_status st = GEODEC_OK;
    const int64_t packed = geodec_sym_packed(m->n);
    double *log_g = NULL;
    GEODEC_NEW(log_g, m->points * packed);
    for (int64_t p = 0; p < m->points; p += ROWS)
        GEODEC_TRY(read_rows(a, p, m->points - p < ROWS ? m->points - p : ROWS, log_g + p * packed, err));
    geodec_mem_free(m->log_g);
    m->log_g = log_g;
    log_g = NULL;
done:
    geodec_mem_free(log_g);
    return st;
}

geodec_status geodec_metric_read(const geodec_artifact *a, geodec_metric *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {0};
    GEODEC_TRY(geodec_metric_read_tables(a, &m, err));
    GEODEC_TRY(geodec_metric_read_matrices(a, &m, err));
    *out = m;
done:
    if (st != GEODEC_OK) geodec_metric_clear(&m);
    return st;
}

int64_t geodec_metric_field_limit(void) { return geodec_memory_limit_whole() / 4; }

static geodec_status rows_of_file(void *ctx, int64_t first, int64_t count, double *log_g, geodec_err *err)
{
    return read_rows(ctx, first, count, log_g, err);
}

geodec_status geodec_metric_field_from(const geodec_artifact *a, const geodec_metric *m, int64_t limit,
                                       geodec_rbf **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = geodec_artifact_path(a), *slash = strrchr(path, '/');
    char *folder = NULL;
    if (m->points * geodec_sym_packed(m->n) * (int64_t)sizeof *m->log_g > limit) {
        folder = geodec_mem_strdup(slash ? path : ".");
        if (!folder) GEODEC_THROW(GEODEC_NOMEM, "no memory for a name");
        if (slash) folder[slash == path ? 1 : slash - path] = 0;
    }
    GEODEC_TRY(geodec_rbf_create_rows(m->points, m->n, m->point, rows_of_file, (void *)(uintptr_t)a, m->sigma, folder,
                                      out, err));
done:
    geodec_mem_free(folder);
    return st;
}

void geodec_metric_say(const geodec_hooks *hooks, const geodec_metric *m, const geodec_metric_medians *own,
                       const geodec_metric_medians *control)
{
    geodec_hooks_log(hooks, GEODEC_LOG_INFO, "%s: %lld points, dimension %lld, %lld neighbours; sigma %.4g",
                     geodec_metric_type_name(m->kind), (long long)m->points, (long long)m->n, (long long)m->k,
                     m->sigma);
    if (m->kind == GEODEC_METRIC_MAHALANOBIS)
        geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                         "medians (and of a Gaussian control): condition %.3g (%.3g), shrinkage %.2f (%.2f), nearest "
                         "neighbour at %.4g (%.4g)",
                         own->condition, control->condition, own->shrinkage, control->shrinkage, own->nn_distance,
                         control->nn_distance);
    else
        geodec_hooks_log(hooks, GEODEC_LOG_INFO, "medians: condition %.3g, nearest neighbour at %.4g", own->condition,
                         own->nn_distance);
}
