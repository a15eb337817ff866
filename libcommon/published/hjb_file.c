/* The published residuals of the three classes, with the residual of the geodesic equation beside them. */
#include "published/hjb.h"

/* clang-format off */
static const geodec_field fields[] = {
    {"/kinetic", GEODEC_F64, "C", 0, "activation^2", "mean |D2 s|^2 of a node", 0},
    {"/curvature", GEODEC_F64, "C", 0, "activation^2", "mean |R(D s) D s|^2: zero for every metric, what stands here is rounding", 0},
    {"/total", GEODEC_F64, "C", 0, "activation^2", "mean |J|^2", 0},
    {"/covariant", GEODEC_F64, "C", 0, "activation^2", "control: mean |D2 s + Gamma(Dc s, Dc s)|^2 in the smooth field of width sigma", 0},
    {"/connection", GEODEC_F64, "C", 0, "activation^2", "mean |Gamma(Dc s, Dc s)|^2 there", 0},
    {"/paths", GEODEC_I64, "C", 0, "1", "paths", 0},
};
/* clang-format on */

static const geodec_attr attrs[] = {
    {"classes", GEODEC_ATTR_STR, 0, "axis C"},
    {"n", GEODEC_ATTR_I64, 0, "dimension"},
    {"sigma", GEODEC_ATTR_F64, 0, "width of the smooth field: median distance to the nearest neighbour"},
    {"flops", GEODEC_ATTR_I64, 0, "published estimate of a residual's cost, 2 n^4 N + n^5"},
};

const geodec_kind geodec_kind_hjb_ref = {
    .name = "hjb-ref",
    .major = 1,
    .minor = 0,
    .tool = "geodec-hjb --mode ref",
    .purpose = "the published residual along the published trajectories",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_published_hjb_write(const geodec_published_hjb_means *row, int64_t points, int64_t n, double sigma,
                                         geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { C = GEODEC_PUBLISHED_HJB_CLASSES };
    double x[5][C];
    int64_t paths[C];
    for (int c = 0; c < C; c++) {
        const double each[5] = {row[c].kinetic, row[c].curvature, row[c].total, row[c].covariant, row[c].connection};
        for (int k = 0; k < 5; k++) x[k][c] = each[k];
        paths[c] = row[c].paths;
    }
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", C, err));
    GEODEC_TRY(geodec_artifact_write(a, "/kinetic", x[0], err));
    GEODEC_TRY(geodec_artifact_write(a, "/curvature", x[1], err));
    GEODEC_TRY(geodec_artifact_write(a, "/total", x[2], err));
    GEODEC_TRY(geodec_artifact_write(a, "/covariant", x[3], err));
    GEODEC_TRY(geodec_artifact_write(a, "/connection", x[4], err));
    GEODEC_TRY(geodec_artifact_write(a, "/paths", paths, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "classes", "geodesic, nn_walk, straight", err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n", n, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "sigma", sigma, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "flops", 2 * n * n * n * n * points + n * n * n * n * n, err));
done:
    return st;
}
