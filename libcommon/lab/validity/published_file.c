#include "artifact/binding.h"
#include "lab/validity/published.h"

/* Pointers that are NULL: there are no controls. */
typedef struct report {
    geodec_validity_published v;
    const double *control_mean, *control_slope, *correct_mean, *correct_slope;
    const geodec_validity_estimate *correct_radius;
} report;
static const geodec_rows radii = {"3", sizeof(geodec_validity_estimate), offsetof(report, correct_radius), false};
#define AT(m) GEODEC_AT(report, m)
#define IN(m) GEODEC_IN(report, m)

static const geodec_field fields[] = {
    {"/eps", GEODEC_F64, "E", 0, "1", "Euclidean lengths of the perturbations", 0, AT(v.eps)},
    {"/tau", GEODEC_F64, "K", 0, "1", "tolerances of the radii", 0, AT(v.tau)},
    {"/x_T", GEODEC_F64, "A,n", 0, "activation", "ends of the published geodesics", 0, AT(v.x_T)},
    {"/phi", GEODEC_F64, "A,n,n", 0, "1", "published propagators", 0, AT(v.phi)},
    {"/error", GEODEC_F64, "A,E,U", 0, "1", "|x_T' - (x_T + Phi_T d)| / |x_T' - x0| in g(x_T'); -1 = not finite", 0,
     AT(v.error)},
    {"/mean", GEODEC_F64, "E", 0, "1", "mean error", 0, AT(v.mean)},
    {"/median", GEODEC_F64, "E", 0, "1", "median error", 0, AT(v.median)},
    {"/p95", GEODEC_F64, "E", 0, "1", "95th percentile", 0, AT(v.p95)},
    {"/broken", GEODEC_I64, "E", 0, "1", "errors that are not finite: they take no part", 0, AT(v.broken)},
    {"/radius", GEODEC_F64, "K", 0, "1", "eps*: largest eps of the grid whose mean error is at most tau", 0,
     AT(v.radius)},
    {"/shift", GEODEC_F64, "E", 0, "1", "control: mean error of the plain shift x_T + d (Phi = I)", 0, AT(v.shift)},
    {"/control/mean", GEODEC_F64, "E", GEODEC_FIELD_OPTIONAL, "1",
     "control: mean error of the published rule with exact geodesics and true curvature", 0, AT(control_mean)},
    {"/control/correct", GEODEC_F64, "E", GEODEC_FIELD_OPTIONAL, "1",
     "control: mean error of the right linear map on the same samples", 0, AT(correct_mean)},
    {"/control/correct_radius", GEODEC_F64, "3", GEODEC_FIELD_OPTIONAL, "1", "control: its radii on the grid", 0,
     GEODEC_OF_ROWS(&radii, geodec_validity_estimate, value, 0, 0)},
};

static const geodec_attr attrs[] = {
    {"slope", GEODEC_ATTR_F64, 0,
     "log-log slope of the mean error over the smallest three eps; a right linear map has 2; 0 = not measurable",
     IN(v.slope)},
    {"control_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "of the published rule with exact geometry",
     AT(control_slope)},
    {"correct_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "of the right linear map", AT(correct_slope)},
};

static const geodec_extent extents[] = {
    {"A", IN(v.starts)}, {"E", IN(v.n_eps)}, {"U", IN(v.perturbations)}, {"K", IN(v.n_tau)}, {"n", IN(v.n)}};

const geodec_kind geodec_validity_published_kind = {
    .name = "validity-ref",
    .major = 1,
    .minor = 0,
    .tool = "geodec-validity --mode ref",
    .purpose = "validity radius as the published harness measures it",
    GEODEC_TABLES(fields, attrs, extents),
    .first = "/eps,/tau,/x_T,/phi,/error,/mean,/median,/p95,/broken,/radius,/shift,slope",
};

geodec_status geodec_validity_published_write(const geodec_validity_published *v,
                                              const geodec_validity_published *control, const geodec_validity *correct,
                                              geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if ((control == NULL) != (correct == NULL) ||
        (control && (control->n_eps != v->n_eps || correct->n_eps != v->n_eps)))
        GEODEC_THROW(GEODEC_INVAL, "the controls have another shape than the experiment");
    report r = {.v = *v};
    if (control)
        r = (report){*v, control->mean, &control->slope, correct->mean, &correct->slope.value, correct->radius};
    GEODEC_TRY(geodec_artifact_save(a, &r, err));
done:
    return st;
}
