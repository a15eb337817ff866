/* The curvature artifact. */
#include "base/mem.h"
#include "geometry/curvature.h"
#include "io/merge.h"

#include <string.h>

static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "Q,n", 0, "activation", "where: principal coordinates", 0},
    {"/place", GEODEC_U8, "Q", 0, "1", "0 point of the cloud, 1 midpoint of an edge, 2 node of a geodesic, 3 given", 0},
    {"/index", GEODEC_I32, "Q", 0, "1", "point of the metric, or path", 0},
    {"/partner", GEODEC_I32, "Q", 0, "1", "its nearest neighbour (midpoints), node (paths), else -1", 0},
    {"/scalar", GEODEC_F64, "Q", 0, "1", "scalar curvature g^bd R_bd (per squared g-length)", 0},
    {"/norm", GEODEC_F64, "Q", 0, "1", "sqrt(R_abcd R^abcd)", 0},
    {"/sectional_max", GEODEC_F64, "Q", 0, "1", "largest sectional curvature over the planes of a g-orthonormal frame",
     0},
    {"/sectional_min", GEODEC_F64, "Q", 0, "1", "smallest of them", 0},
    {"/ricci", GEODEC_F64, "Q,n,n", 0, "1", "R_bd = R^a_bad", 0},
    {"/residual", GEODEC_F64, "Q,4", 0, "1",
     "symmetries broken, relative to max |R_abcd|: first pair, last pair, exchange of pairs, first Bianchi", 0},
    {"/riemann", GEODEC_F64, "Q,n,n,n,n", GEODEC_FIELD_OPTIONAL, "1",
     "R^a_bcd = d_c Gamma^a_bd - d_d Gamma^a_bc + Gamma^a_ce Gamma^e_bd - Gamma^a_de Gamma^e_bc", 0},
};

static const geodec_attr attrs[] = {
    {"median_abs_scalar_samples", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED,
     "median |scalar curvature| at points of the cloud"},
    {"median_abs_scalar_midpoints", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED, "the same half-way to the nearest neighbour"},
    {"median_abs_scalar_paths", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED, "the same on geodesics; 0 without"},
    {"worst_symmetry", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest residual of the pair symmetries"},
    {"worst_bianchi", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest residual of the first Bianchi identity"},
    {"control_sphere_error", GEODEC_ATTR_F64, 0,
     "control: largest relative error of the scalar curvature on the unit sphere of the same dimension"},
    {"control_differences_gap", GEODEC_ATTR_F64, GEODEC_ATTR_MAX,
     "control: relative gap to the tensor with dGamma by central differences, at 4 samples"},
};

/* The medians of joined parts. */
static geodec_status derive(geodec_merge *whole, const char *attr, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *scalar = NULL;
    uint8_t *place = NULL;
    int64_t points;
    const int where = strstr(attr, "samples") ? GEODEC_PLACE_SAMPLE
                      : strstr(attr, "mid")   ? GEODEC_PLACE_MIDPOINT
                                              : GEODEC_PLACE_PATH;
    GEODEC_TRY(geodec_merge_dim(whole, "Q", &points, err));
    GEODEC_TRY(geodec_merge_read(whole, "/scalar", &scalar, err));
    GEODEC_TRY(geodec_merge_read(whole, "/place", &place, err));
    *value = geodec__curvature_median(points, scalar, place, where);
done:
    geodec_mem_free(scalar);
    geodec_mem_free(place);
    return st;
}

const geodec_kind geodec_kind_riemann = {
    .name = "riemann",
    .major = 1,
    .minor = 0,
    .tool = "geodec-riemann",
    .purpose = "curvature of the smooth field",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
    .shards = "Q",
    .derive = derive,
};

geodec_status geodec_curvature_write(const geodec_curvature *c, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t Q = c->points;
    double *block = NULL;
    GEODEC_NEW(block, 8 * Q);
    double *scalar = block, *norm = scalar + Q, *most = norm + Q, *least = most + Q, *residual = least + Q;
    for (int64_t q = 0; q < Q; q++) {
        const geodec_riemann_invariants *v = &c->inv[q];
        scalar[q] = v->scalar;
        norm[q] = v->norm;
        most[q] = v->sectional_max;
        least[q] = v->sectional_min;
        residual[4 * q] = v->check.first_pair;
        residual[4 * q + 1] = v->check.last_pair;
        residual[4 * q + 2] = v->check.exchange;
        residual[4 * q + 3] = v->check.bianchi;
    }
    const geodec_riemann_check *w = &c->worst;
    double symmetry = w->first_pair > w->exchange ? w->first_pair : w->exchange;
    if (w->last_pair > symmetry) symmetry = w->last_pair;
    GEODEC_TRY(geodec_artifact_set_dim(a, "Q", Q, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "n", c->n, err));
    GEODEC_TRY(geodec_artifact_write(a, "/x", c->x, err));
    GEODEC_TRY(geodec_artifact_write(a, "/place", c->place, err));
    GEODEC_TRY(geodec_artifact_write(a, "/index", c->index, err));
    GEODEC_TRY(geodec_artifact_write(a, "/partner", c->partner, err));
    GEODEC_TRY(geodec_artifact_write(a, "/scalar", scalar, err));
    GEODEC_TRY(geodec_artifact_write(a, "/norm", norm, err));
    GEODEC_TRY(geodec_artifact_write(a, "/sectional_max", most, err));
    GEODEC_TRY(geodec_artifact_write(a, "/sectional_min", least, err));
    GEODEC_TRY(geodec_artifact_write(a, "/ricci", c->ricci, err));
    GEODEC_TRY(geodec_artifact_write(a, "/residual", residual, err));
    if (c->riem) GEODEC_TRY(geodec_artifact_write(a, "/riemann", c->riem, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "median_abs_scalar_samples", c->median_abs_scalar[GEODEC_PLACE_SAMPLE], err));
    GEODEC_TRY(
        geodec_artifact_put_f64(a, "median_abs_scalar_midpoints", c->median_abs_scalar[GEODEC_PLACE_MIDPOINT], err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "median_abs_scalar_paths", c->median_abs_scalar[GEODEC_PLACE_PATH], err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "worst_symmetry", symmetry, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "worst_bianchi", w->bianchi, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "control_sphere_error", c->sphere_error, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "control_differences_gap", c->differences_gap, err));
done:
    geodec_mem_free(block);
    return st;
}
