/* The injectivity artifact. */
#include "base/mem.h"
#include "experiments/injectivity.h"

static const geodec_field fields[] = {
    {"/point", GEODEC_I64, "A", 0, "1", "anchor: point of the metric", 0},
    {"/radius", GEODEC_F64, "A", 0, "g-length", "least of conjugate, meeting, half loop and reach", 0},
    {"/censored", GEODEC_U8, "A", 0, "1", "1 = nothing was found up to the reach", 0},
    {"/conjugate", GEODEC_F64, "A", 0, "g-length", "first conjugate point; the reach = none", 0},
    {"/meeting", GEODEC_F64, "A", 0, "g-length", "first point to which a shorter geodesic leads; the reach = none", 0},
    {"/half_loop", GEODEC_F64, "A", GEODEC_FIELD_NONFINITE, "g-length", "half the shortest loop; infinite = none", 0},
    {"/k_max", GEODEC_F64, "A", GEODEC_FIELD_NONFINITE, "1", "largest sectional curvature on the anchor's geodesics",
     0},
    {"/k_operator", GEODEC_F64, "A", GEODEC_FIELD_NONFINITE, "1", "largest eigenvalue of the curvature operator", 0},
    {"/bound", GEODEC_F64, "A", GEODEC_FIELD_NONFINITE, "g-length", "pi / sqrt(k_max); infinite for k_max <= 0", 0},
    {"/raw", GEODEC_F64, "A", 0, "1", "heat-kernel estimate before calibration", 0},
    {"/validity", GEODEC_F64, "A", 0, "g-length", "perturbation at which the propagator errs by tau", 0},
    {"/validity_censored", GEODEC_U8, "A", 0, "1", "1 = outside 1e-4 to 4 times the reach", 0},
};

static const geodec_attr attrs[] = {
    {"reach", GEODEC_ATTR_F64, 0, "g-length of the geodesics"},
    {"kernel", GEODEC_ATTR_F64, 0, "tau of the heat kernel"},
    {"found", GEODEC_ATTR_I64, 0, "anchors with a radius below the reach"},
    {"found_share", GEODEC_ATTR_F64, 0, "the same as a share"},
    {"below_bound", GEODEC_ATTR_I64, 0, "anchors with a radius below pi / sqrt(k_max)"},
    {"median_radius", GEODEC_ATTR_F64, 0, "median over the anchors, censored ones at the reach"},
    {"median_bound", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "median of pi / sqrt(k_max)"},
    {"median_validity", GEODEC_ATTR_F64, 0, "median validity radius"},
    {"validity_count", GEODEC_ATTR_I64, 0, "anchors the estimate is compared on, with the validity radius"},
    {"validity_r_in", GEODEC_ATTR_F64, 0, "correlation of the estimate with the validity radius, in sample"},
    {"validity_r_out", GEODEC_ATTR_F64, 0, "held out: C without the anchor itself"},
    {"validity_p", GEODEC_ATTR_F64, 0, "control: share of permutations of the anchors that correlate as much"},
    {"validity_mape_in", GEODEC_ATTR_F64, 0, "mean |error| / radius, in sample"},
    {"validity_mape_out", GEODEC_ATTR_F64, 0, "held out"},
    {"validity_mape_constant", GEODEC_ATTR_F64, 0, "control: the mean of the other anchors as the prediction"},
    {"radius_count", GEODEC_ATTR_I64, 0, "anchors the estimate is compared on, with the injectivity radius"},
    {"radius_r_in", GEODEC_ATTR_F64, 0, "correlation with the injectivity radius, in sample"},
    {"radius_r_out", GEODEC_ATTR_F64, 0, "held out"},
    {"radius_p", GEODEC_ATTR_F64, 0, "control: permutations"},
    {"radius_mape_in", GEODEC_ATTR_F64, 0, "mean |error| / radius, in sample"},
    {"radius_mape_out", GEODEC_ATTR_F64, 0, "held out"},
    {"radius_mape_constant", GEODEC_ATTR_F64, 0, "control: the mean of the others"},
    {"universal", GEODEC_ATTR_F64, 0, "Gamma(1/n)/sqrt(pi) (V_n/N)^(1/n) sigma, said to be the nearest distance"},
    {"nearest", GEODEC_ATTR_F64, 0, "mean Euclidean distance of a point to its nearest"},
    {"nearest_closed_form", GEODEC_ATTR_F64, 0, "control: that of a normal cloud, closed form for many points"},
    {"nearest_null", GEODEC_ATTR_F64, 0, "control: that of normal clouds of the same covariance, measured"},
    {"control_sphere", GEODEC_ATTR_F64, 0, "control: relative error of pi on the unit sphere"},
    {"control_torus", GEODEC_ATTR_F64, 0, "control: relative error of half the shortest side of a flat torus"},
    {"control_hyperbolic", GEODEC_ATTR_I64, 0,
     "control: 1 = a limit was found in hyperbolic space, where there is none"},
};

const geodec_kind geodec_kind_injectivity = {
    .name = "injectivity",
    .major = 1,
    .minor = 0,
    .tool = "geodec-injectivity",
    .purpose = "injectivity radius, its bounds, and an estimate from a heat kernel held against both",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_injectivity_write(const geodec_injectivity *r, const double nn[4], geodec_artifact *a,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t A = r->anchors;
    double *block = NULL;
    int64_t *point = NULL;
    uint8_t *flag = NULL;
    GEODEC_NEW(block, 9 * A);
    GEODEC_NEW(point, A);
    GEODEC_NEW(flag, 2 * A);
    for (int64_t i = 0; i < A; i++) {
        const geodec_injectivity_anchor *x = &r->anchor[i];
        const double row[9] = {x->radius,     x->conjugate, x->meeting, x->half_loop, x->k_max,
                               x->k_operator, x->bound,     x->raw,     x->validity};
        for (int k = 0; k < 9; k++) block[k * A + i] = row[k];
        point[i] = x->point;
        flag[i] = x->censored;
        flag[A + i] = x->validity_censored;
    }
    GEODEC_TRY(geodec_artifact_set_dim(a, "A", A, err));
    GEODEC_TRY(geodec_artifact_write(a, "/point", point, err));
    GEODEC_TRY(geodec_artifact_write(a, "/censored", flag, err));
    GEODEC_TRY(geodec_artifact_write(a, "/validity_censored", flag + A, err));
    static const char *const names[9] = {"/radius",     "/conjugate", "/meeting", "/half_loop", "/k_max",
                                         "/k_operator", "/bound",     "/raw",     "/validity"};
    for (int k = 0; k < 9; k++) GEODEC_TRY(geodec_artifact_write(a, names[k], block + k * A, err));
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"reach", r->reach},
                   {"kernel", r->kernel},
                   {"found_share", (double)r->found / (double)A},
                   {"median_radius", r->median_radius},
                   {"median_bound", r->median_bound},
                   {"median_validity", r->median_validity},
                   {"validity_r_in", r->on_validity.r_in},
                   {"validity_r_out", r->on_validity.r_out},
                   {"validity_p", r->on_validity.p},
                   {"validity_mape_in", r->on_validity.mape_in},
                   {"validity_mape_out", r->on_validity.mape_out},
                   {"validity_mape_constant", r->on_validity.mape_constant},
                   {"radius_r_in", r->on_radius.r_in},
                   {"radius_r_out", r->on_radius.r_out},
                   {"radius_p", r->on_radius.p},
                   {"radius_mape_in", r->on_radius.mape_in},
                   {"radius_mape_out", r->on_radius.mape_out},
                   {"radius_mape_constant", r->on_radius.mape_constant},
                   {"universal", nn[0]},
                   {"nearest", nn[1]},
                   {"nearest_closed_form", nn[2]},
                   {"nearest_null", nn[3]},
                   {"control_sphere", r->sphere},
                   {"control_torus", r->torus}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        GEODEC_TRY(geodec_artifact_put_f64(a, numbers[i].name, numbers[i].value, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "found", r->found, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "below_bound", r->below_bound, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "validity_count", r->on_validity.count, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "radius_count", r->on_radius.count, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "control_hyperbolic", r->hyperbolic, err));
done:
    geodec_mem_free(block);
    geodec_mem_free(point);
    geodec_mem_free(flag);
    return st;
}
