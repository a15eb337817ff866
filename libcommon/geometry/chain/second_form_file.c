#include "artifact/binding.h"
#include "artifact/merge.h"
#include "base/mem.h"
#include "base/vec_internal.h"
#include "chain/second_form_internal.h"

#include <string.h>

geodec_status geodec_second_form_points(const geodec_cloud *cloud, const geodec_activations *states, double **x,
                                        int64_t *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *sequence = NULL, *position = NULL;
    double *out = NULL;
    float *row = NULL;
    char *scratch = NULL;
    int64_t layer;
    if (!states) {
        *d = cloud->k;
        return geodec_cloud_coordinates(cloud, cloud->k, x, err);
    }
    const char *path = geodec_artifact_path(states->file);
    if (states->d != cloud->d)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: states of width %lld, the cloud's have %lld", path, (long long)states->d,
                     (long long)cloud->d);
    GEODEC_TRY(geodec_activations_find_layer(states, cloud->layer, &layer, err));
    GEODEC_TRY(geodec_artifact_read(states->file, "/sequence", &sequence, err));
    GEODEC_TRY(geodec_artifact_read(states->file, "/position", &position, err));
    GEODEC_NEW(out, cloud->points * cloud->d);
    GEODEC_NEW(row, cloud->d);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(states, 1) + 1);
    for (int64_t i = 0; i < cloud->points; i++) {
        const int64_t r = cloud->row[i];
        if (r < 0 || r >= states->rows || sequence[r] != cloud->sequence[i] || position[r] != cloud->position[i])
            GEODEC_THROW(GEODEC_CHECKSUM, "%s: point %lld of the cloud is not its row %lld", path, (long long)i,
                         (long long)r);
        GEODEC_TRY(geodec_activations_read(states, layer, r, 1, row, scratch, err));
        for (int64_t j = 0; j < cloud->d; j++) out[i * cloud->d + j] = (double)row[j];
        if (!geodec__finite(cloud->d, out + i * cloud->d))
            GEODEC_THROW(GEODEC_NUMERIC, "%s: row %lld is not finite", path, (long long)r);
    }
    *x = out;
    *d = cloud->d;
    out = NULL;
done:
    GEODEC_FREE(sequence, position, out, row, scratch);
    return st;
}

#define AT(m) GEODEC_AT(geodec_second_form, m)
#define IN(m) GEODEC_IN(geodec_second_form, m)
#define ROW(m) GEODEC_OF_ROW(geodec_second_form_centre, m)
static const geodec_rows ladder = {"L", sizeof(geodec_second_form_rung), offsetof(geodec_second_form, rung), false};
#define RUNG(m) GEODEC_OF_ROWS(&ladder, geodec_second_form_rung, m, sizeof(double), 0)
static const geodec_field fields[] = {
    {"/index", GEODEC_I32, "Q", 0, "1", "point of the cloud", 0, AT(index)},
    {"/scalar", GEODEC_F64, "Q", GEODEC_FIELD_NONFINITE, "activation^-2",
     "scalar curvature |tr A|^2 - |A|^2; NaN without a fit", 0, ROW(scalar)},
    {"/scalar_se", GEODEC_F64, "Q", GEODEC_FIELD_NONFINITE, "activation^-2",
     "its standard error, by leaving out groups of points", 0, ROW(scalar_se)},
    {"/sectional_min", GEODEC_F64, "Q", GEODEC_FIELD_NONFINITE, "activation^-2",
     "least sectional curvature of the coordinate planes", 0, ROW(sectional_min)},
    {"/sectional_max", GEODEC_F64, "Q", GEODEC_FIELD_NONFINITE, "activation^-2", "largest of them", 0,
     ROW(sectional_max)},
    {"/mean_squared", GEODEC_F64, "Q", GEODEC_FIELD_NONFINITE, "activation^-2",
     "square of the mean curvature, |tr A|^2 / n^2", 0, ROW(mean_squared)},
    {"/noise", GEODEC_F64, "Q", GEODEC_FIELD_NONFINITE, "activation^2", "variance of an error in one normal direction",
     0, ROW(noise)},
    {"/radius", GEODEC_F64, "Q", 0, "activation", "distance at which the weight of a neighbour becomes 0", 0,
     ROW(radius)},
    {"/offset", GEODEC_F64, "Q", GEODEC_FIELD_NONFINITE, "1",
     "distance of the neighbours' mean in radii; above .25: at an edge", 0, ROW(offset)},
    {"/left_out", GEODEC_F64, "Q", GEODEC_FIELD_NONFINITE, "activation",
     "root mean square error of a neighbour that is left out", 0, ROW(left_out)},
    {"/scalar_without", GEODEC_F64, "Q,G", GEODEC_FIELD_NONFINITE, "activation^-2",
     "scalar curvature without each group of points", 0, AT(without)},
    {"/ladder/k", GEODEC_I64, "L", 0, "1", "neighbours", 0, RUNG(k)},
    {"/ladder/radius", GEODEC_F64, "L", 0, "activation", "median radius over the centres of the pilot", 0,
     RUNG(radius)},
    {"/ladder/median", GEODEC_F64, "L", GEODEC_FIELD_NONFINITE, "activation^-2", "median scalar curvature there", 0,
     RUNG(median)},
    {"/ladder/median_se", GEODEC_F64, "L", GEODEC_FIELD_NONFINITE, "activation^-2", "its standard error", 0,
     RUNG(median_se)},
    {"/ladder/point_se", GEODEC_F64, "L", GEODEC_FIELD_NONFINITE, "activation^-2", "median standard error at a centre",
     0, RUNG(point_se)},
};

static const geodec_attr attrs[] = {
    {"k", GEODEC_ATTR_I64, 0, "neighbours of a fit", IN(k)},
    {"points", GEODEC_ATTR_I64, 0, "points of the cloud", IN(points)},
    {"d", GEODEC_ATTR_I64, 0, "coordinates of a point", IN(d)},
    {"n", GEODEC_ATTR_I64, 0, "dimension of the set", IN(n)},
    {"whole", GEODEC_ATTR_I64, 0, "1: all coordinates of the states; 0: the kept ones of the cloud", IN(whole)},
    {"bias", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "size of the bias at a centre, from the ladder", IN(bias)},
    {"noise_deviation", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED | GEODEC_FIELD_NONFINITE, "root of the median of /noise",
     IN(noise)},
    {"mean", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED | GEODEC_FIELD_NONFINITE,
     "mean scalar curvature of the centres inside", IN(pool.mean)},
    {"mean_se", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED | GEODEC_FIELD_NONFINITE, "its standard error", IN(pool.mean_se)},
    {"median", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED | GEODEC_FIELD_NONFINITE,
     "median scalar curvature of the centres inside", IN(pool.median)},
    {"median_se", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED | GEODEC_FIELD_NONFINITE, "its standard error",
     IN(pool.median_se)},
    {"inside", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "centres of mean and median", IN(pool.centres)},
    {"edge", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "centres at an edge, left out", IN(pool.edge)},
    {"failed", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "centres without a fit, left out", IN(pool.failed)},
    {"control_k", GEODEC_ATTR_I64, 0,
     "control: neighbours of the same fits to Gaussian noise with the covariance of the points; 0 = none",
     IN(control_k)},
    {"control_mean", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "control: mean scalar curvature", IN(control.mean)},
    {"control_mean_se", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "control: its standard error", IN(control.mean_se)},
    {"control_median", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "control: median scalar curvature", IN(control.median)},
    {"control_median_se", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "control: its standard error",
     IN(control.median_se)},
};

/* Means and medians of joined parts. */
static geodec_status derive(geodec_merge *whole, const char *attr, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *scalar = NULL, *offset = NULL, *without = NULL;
    int64_t centres, groups;
    geodec_second_form_pool p;
    GEODEC_TRY(geodec_merge_dim(whole, "Q", &centres, err));
    if (strcmp(attr, "noise_deviation") == 0) {
        GEODEC_TRY(geodec_merge_read(whole, "/noise", &scalar, err));
        GEODEC_TRY(geodec__second_form_noise(centres, 1, scalar, value, err));
        goto done;
    }
    GEODEC_TRY(geodec_merge_dim(whole, "G", &groups, err));
    GEODEC_TRY(geodec_merge_read(whole, "/scalar", &scalar, err));
    GEODEC_TRY(geodec_merge_read(whole, "/offset", &offset, err));
    GEODEC_TRY(geodec_merge_read(whole, "/scalar_without", &without, err));
    GEODEC_TRY(geodec__second_form_pool(centres, 1, scalar, offset, groups, without, &p, err));
    const bool error = strlen(attr) > 3 && strcmp(attr + strlen(attr) - 3, "_se") == 0;
    if (strncmp(attr, "mean", 4) == 0)
        *value = error ? p.mean_se : p.mean;
    else
        *value = error ? p.median_se : p.median;
done:
    GEODEC_FREE(scalar, offset, without);
    return st;
}

static const geodec_extent extents[] = {{"Q", IN(centres)}, {"G", IN(groups)}, {"L", IN(rungs)}};

const geodec_kind geodec_second_form_kind = {
    GEODEC_ABOUT("second_form", 1, 0, "geodec-second-form", "curvature of the set, from its second fundamental form"),
    GEODEC_TABLES(fields, attrs, extents),
    .shards = "Q",
    .derive = derive,
    .rows = {"Q", sizeof(geodec_second_form_centre), offsetof(geodec_second_form, at), false},
};

void geodec_second_form_clear(geodec_second_form *s)
{
    geodec_artifact_clear(&geodec_second_form_kind, s);
    *s = (geodec_second_form){0};
}
