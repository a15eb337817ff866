#include "artifact/binding.h"
#include "artifact/merge.h"
#include "base/mem.h"
#include "chain/riemann.h"

#include <string.h>

#define AT(m) GEODEC_AT(geodec_riemann, m)
#define IN(m) GEODEC_IN(geodec_riemann, m)
#define ROW(m) GEODEC_OF_ROW(geodec_curvature_invariants, m)
static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "Q,n", 0, "activation", "where: principal coordinates", 0, AT(x)},
    {"/place", GEODEC_U8, "Q", 0, "1", "0 point of the cloud, 1 midpoint of an edge, 2 node of a geodesic, 3 given", 0,
     AT(place)},
    {"/index", GEODEC_I32, "Q", 0, "1", "point of the metric, or path", 0, AT(index)},
    {"/partner", GEODEC_I32, "Q", 0, "1", "its nearest neighbour (midpoints), node (paths), else -1", 0, AT(partner)},
    {"/scalar", GEODEC_F64, "Q", 0, "1", "scalar curvature g^bd R_bd (per squared g-length)", 0, ROW(scalar)},
    {"/norm", GEODEC_F64, "Q", 0, "1", "sqrt(R_abcd R^abcd)", 0, ROW(norm)},
    {"/sectional_max", GEODEC_F64, "Q", 0, "1", "largest sectional curvature over the planes of a g-orthonormal frame",
     0, ROW(sectional_max)},
    {"/sectional_min", GEODEC_F64, "Q", 0, "1", "smallest of them", 0, ROW(sectional_min)},
    {"/ricci", GEODEC_F64, "Q,n,n", 0, "1", "R_bd = R^a_bad", 0, AT(ricci)},
    {"/residual", GEODEC_F64, "Q,4", 0, "1",
     "symmetries broken, relative to max |R_abcd|: first pair, last pair, exchange of pairs, first Bianchi", 0,
     ROW(check.first_pair)},
    {"/riemann", GEODEC_F64, "Q,n,n,n,n", GEODEC_FIELD_OPTIONAL, "1",
     "R^a_bcd = d_c Gamma^a_bd - d_d Gamma^a_bc + Gamma^a_ce Gamma^e_bd - Gamma^a_de Gamma^e_bc", 0, AT(riem)},
};

static const geodec_attr attrs[] = {
    {"median_abs_scalar_samples", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED,
     "median |scalar curvature| at points of the cloud", IN(median_abs_scalar[GEODEC_PLACE_SAMPLE])},
    {"median_abs_scalar_midpoints", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED, "the same half-way to the nearest neighbour",
     IN(median_abs_scalar[GEODEC_PLACE_MIDPOINT])},
    {"median_abs_scalar_paths", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED, "the same on geodesics; 0 without",
     IN(median_abs_scalar[GEODEC_PLACE_PATH])},
    {"worst_symmetry", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest residual of the pair symmetries", IN(worst_symmetry)},
    {"worst_bianchi", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest residual of the first Bianchi identity",
     IN(worst.bianchi)},
    {"control_sphere_error", GEODEC_ATTR_F64, 0,
     "control: largest relative error of the scalar curvature on the unit sphere of the same dimension",
     IN(sphere_error)},
    {"control_differences_gap", GEODEC_ATTR_F64, GEODEC_ATTR_MAX,
     "control: relative gap to the tensor with dGamma by central differences, at 4 samples", IN(differences_gap)},
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
    *value = geodec__riemann_median(points, scalar, place, where);
done:
    geodec_mem_free(scalar);
    geodec_mem_free(place);
    return st;
}

static const geodec_extent extents[] = {{"Q", IN(points)}, {"n", IN(n)}};

const geodec_kind geodec_riemann_kind = {
    .name = "riemann",
    .major = 1,
    .minor = 0,
    .tool = "geodec-riemann",
    .purpose = "curvature of the smooth field",
    GEODEC_TABLES(fields, attrs, extents),
    .shards = "Q",
    .derive = derive,
    .rows = {"Q", sizeof(geodec_curvature_invariants), offsetof(geodec_riemann, inv), false},
};

geodec_status geodec_riemann_write(const geodec_riemann *c, geodec_artifact *a, geodec_err *err)
{
    return geodec_artifact_save(a, c, err);
}

void geodec_riemann_clear(geodec_riemann *c)
{
    geodec_artifact_clear(&geodec_riemann_kind, c);
    *c = (geodec_riemann){0};
}
