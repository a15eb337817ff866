/* The validity artifact of the published mode. */
#include "published/validity.h"

static const geodec_field fields[] = {
    {"/eps", GEODEC_F64, "E", 0, "1", "Euclidean lengths of the perturbations", 0},
    {"/tau", GEODEC_F64, "K", 0, "1", "tolerances of the radii", 0},
    {"/x_T", GEODEC_F64, "A,n", 0, "activation", "ends of the published geodesics", 0},
    {"/phi", GEODEC_F64, "A,n,n", 0, "1", "published propagators", 0},
    {"/error", GEODEC_F64, "A,E,U", 0, "1", "|x_T' - (x_T + Phi_T d)| / |x_T' - x0| in g(x_T'); -1 = not finite", 0},
    {"/mean", GEODEC_F64, "E", 0, "1", "mean error", 0},
    {"/median", GEODEC_F64, "E", 0, "1", "median error", 0},
    {"/p95", GEODEC_F64, "E", 0, "1", "95th percentile", 0},
    {"/broken", GEODEC_I64, "E", 0, "1", "errors that are not finite: they take no part", 0},
    {"/radius", GEODEC_F64, "K", 0, "1", "eps*: largest eps of the grid whose mean error is at most tau", 0},
    {"/shift", GEODEC_F64, "E", 0, "1", "control: mean error of the plain shift x_T + d (Phi = I)", 0},
    {"/control/mean", GEODEC_F64, "E", GEODEC_FIELD_OPTIONAL, "1",
     "control: mean error of the published rule with exact geodesics and true curvature", 0},
    {"/control/correct", GEODEC_F64, "E", GEODEC_FIELD_OPTIONAL, "1",
     "control: mean error of the right linear map on the same draws", 0},
    {"/control/correct_radius", GEODEC_F64, "3", GEODEC_FIELD_OPTIONAL, "1", "control: its radii on the grid", 0},
};

static const geodec_attr attrs[] = {
    {"slope", GEODEC_ATTR_F64, 0,
     "log-log slope of the mean error over the smallest three eps; a right linear map has 2; 0 = not measurable"},
    {"control_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "of the published rule with exact geometry"},
    {"correct_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "of the right linear map"},
};

const geodec_kind geodec_kind_validity_ref = {
    .name = "validity-ref",
    .major = 1,
    .minor = 0,
    .tool = "geodec-validity --mode ref",
    .purpose = "validity radius as the published harness measures it",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

geodec_status geodec_published_validity_write(const geodec_published_validity *v,
                                              const geodec_published_validity *control, const geodec_validity *correct,
                                              geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if ((control == NULL) != (correct == NULL) ||
        (control && (control->n_eps != v->n_eps || correct->n_eps != v->n_eps)))
        GEODEC_THROW(GEODEC_INVAL, "the controls have another shape than the experiment");
    GEODEC_TRY(geodec_artifact_set_dim(a, "A", v->starts, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "E", v->n_eps, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "U", v->perturbations, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "K", v->n_tau, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "n", v->n, err));
    GEODEC_TRY(geodec_artifact_write(a, "/eps", v->eps, err));
    GEODEC_TRY(geodec_artifact_write(a, "/tau", v->tau, err));
    GEODEC_TRY(geodec_artifact_write(a, "/x_T", v->x_T, err));
    GEODEC_TRY(geodec_artifact_write(a, "/phi", v->phi, err));
    GEODEC_TRY(geodec_artifact_write(a, "/error", v->error, err));
    GEODEC_TRY(geodec_artifact_write(a, "/mean", v->mean, err));
    GEODEC_TRY(geodec_artifact_write(a, "/median", v->median, err));
    GEODEC_TRY(geodec_artifact_write(a, "/p95", v->p95, err));
    GEODEC_TRY(geodec_artifact_write(a, "/broken", v->broken, err));
    GEODEC_TRY(geodec_artifact_write(a, "/radius", v->radius, err));
    GEODEC_TRY(geodec_artifact_write(a, "/shift", v->shift, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "slope", v->slope, err));
    if (control) {
        double radius[GEODEC_VALIDITY_TAUS];
        for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) radius[t] = correct->radius[t].value;
        GEODEC_TRY(geodec_artifact_write(a, "/control/mean", control->mean, err));
        GEODEC_TRY(geodec_artifact_write(a, "/control/correct", correct->mean, err));
        GEODEC_TRY(geodec_artifact_write(a, "/control/correct_radius", radius, err));
        GEODEC_TRY(geodec_artifact_put_f64(a, "control_slope", control->slope, err));
        GEODEC_TRY(geodec_artifact_put_f64(a, "correct_slope", correct->slope.value, err));
    }
done:
    return st;
}
