#include "artifact/binding.h"
#include "lab/injectivity/injectivity.h"

typedef struct report {
    geodec_injectivity r;
    double nn[4], found_share;
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_injectivity_anchor, m)

static const geodec_field fields[] = {
    {"/point", GEODEC_I64, "A", 0, "1", "anchor: point of the metric", 0, OF(point)},
    {"/radius", GEODEC_F64, "A", 0, "g-length", "least of conjugate, meeting, half loop and reach", 0, OF(radius)},
    {"/censored", GEODEC_U8, "A", 0, "1", "1 = nothing was found up to the reach", 0, OF(censored)},
    {"/conjugate", GEODEC_F64, "A", 0, "g-length", "first conjugate point; the reach = none", 0, OF(conjugate)},
    {"/meeting", GEODEC_F64, "A", 0, "g-length", "first point to which a shorter geodesic leads; the reach = none", 0,
     OF(meeting)},
    {"/half_loop", GEODEC_F64, "A", GEODEC_FIELD_NONFINITE, "g-length", "half the shortest loop; infinite = none", 0,
     OF(half_loop)},
    {"/k_max", GEODEC_F64, "A", GEODEC_FIELD_NONFINITE, "1", "largest sectional curvature on the anchor's geodesics", 0,
     OF(k_max)},
    {"/k_operator", GEODEC_F64, "A", GEODEC_FIELD_NONFINITE, "1", "largest eigenvalue of the curvature operator", 0,
     OF(k_operator)},
    {"/bound", GEODEC_F64, "A", GEODEC_FIELD_NONFINITE, "g-length", "pi / sqrt(k_max); infinite for k_max <= 0", 0,
     OF(bound)},
    {"/raw", GEODEC_F64, "A", 0, "1", "heat-kernel estimate before calibration", 0, OF(raw)},
    {"/validity", GEODEC_F64, "A", 0, "g-length", "perturbation at which the propagator errs by tau", 0, OF(validity)},
    {"/validity_censored", GEODEC_U8, "A", 0, "1", "1 = outside 1e-4 to 4 times the reach", 0, OF(validity_censored)},
};

static const geodec_attr attrs[] = {
    {"reach", GEODEC_ATTR_F64, 0, "g-length of the geodesics", IN(r.reach)},
    {"kernel", GEODEC_ATTR_F64, 0, "tau of the heat kernel", IN(r.kernel)},
    {"found_share", GEODEC_ATTR_F64, 0, "share of anchors with a radius below the reach", IN(found_share)},
    {"median_radius", GEODEC_ATTR_F64, 0, "median over the anchors, censored ones at the reach", IN(r.median_radius)},
    {"median_bound", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "median of pi / sqrt(k_max)", IN(r.median_bound)},
    {"median_validity", GEODEC_ATTR_F64, 0, "median validity radius", IN(r.median_validity)},
    {"validity_r_in", GEODEC_ATTR_F64, 0, "correlation of the estimate with the validity radius, in sample",
     IN(r.on_validity.r_in)},
    {"validity_r_out", GEODEC_ATTR_F64, 0, "held out: C without the anchor itself", IN(r.on_validity.r_out)},
    {"validity_p", GEODEC_ATTR_F64, 0, "control: share of permutations of the anchors that correlate as much",
     IN(r.on_validity.p)},
    {"validity_mape_in", GEODEC_ATTR_F64, 0, "mean |error| / radius, in sample", IN(r.on_validity.mape_in)},
    {"validity_mape_out", GEODEC_ATTR_F64, 0, "held out", IN(r.on_validity.mape_out)},
    {"validity_mape_constant", GEODEC_ATTR_F64, 0, "control: the mean of the other anchors as the prediction",
     IN(r.on_validity.mape_constant)},
    {"radius_r_in", GEODEC_ATTR_F64, 0, "correlation with the injectivity radius, in sample", IN(r.on_radius.r_in)},
    {"radius_r_out", GEODEC_ATTR_F64, 0, "held out", IN(r.on_radius.r_out)},
    {"radius_p", GEODEC_ATTR_F64, 0, "control: permutations", IN(r.on_radius.p)},
    {"radius_mape_in", GEODEC_ATTR_F64, 0, "mean |error| / radius, in sample", IN(r.on_radius.mape_in)},
    {"radius_mape_out", GEODEC_ATTR_F64, 0, "held out", IN(r.on_radius.mape_out)},
    {"radius_mape_constant", GEODEC_ATTR_F64, 0, "control: the mean of the others", IN(r.on_radius.mape_constant)},
    {"universal", GEODEC_ATTR_F64, 0, "Gamma(1/n)/sqrt(pi) (V_n/N)^(1/n) sigma, claimed to be the nearest distance",
     IN(nn[0])},
    {"nearest", GEODEC_ATTR_F64, 0, "mean Euclidean distance of a point to its nearest", IN(nn[1])},
    {"nearest_closed_form", GEODEC_ATTR_F64, 0, "control: that of a normal cloud, closed form for many points",
     IN(nn[2])},
    {"nearest_null", GEODEC_ATTR_F64, 0, "control: that of normal clouds of the same covariance, measured", IN(nn[3])},
    {"control_sphere", GEODEC_ATTR_F64, 0, "control: relative error of pi on the unit sphere", IN(r.sphere)},
    {"control_torus", GEODEC_ATTR_F64, 0, "control: relative error of half the shortest side of a flat torus",
     IN(r.torus)},
    {"found", GEODEC_ATTR_I64, 0, "anchors with a radius below the reach", IN(r.found)},
    {"below_bound", GEODEC_ATTR_I64, 0, "anchors with a radius below pi / sqrt(k_max)", IN(r.below_bound)},
    {"validity_count", GEODEC_ATTR_I64, 0, "anchors the estimate is compared on, with the validity radius",
     IN(r.on_validity.count)},
    {"radius_count", GEODEC_ATTR_I64, 0, "anchors the estimate is compared on, with the injectivity radius",
     IN(r.on_radius.count)},
    {"control_hyperbolic", GEODEC_ATTR_I64, 0,
     "control: 1 = a limit was found in hyperbolic space, where there is none", IN(r.hyperbolic)},
};

static const geodec_extent extents[] = {{"A", IN(r.anchors)}};

const geodec_kind geodec_injectivity_kind = {
    GEODEC_ABOUT("injectivity", 1, 0, "geodec-injectivity",
                 "injectivity radius, its bounds, and an estimate from a heat kernel compared with both"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"A", sizeof(geodec_injectivity_anchor), offsetof(report, r.anchor), false},
};

geodec_status geodec_injectivity_write(const geodec_injectivity *r, const double nn[4], geodec_artifact *a,
                                       geodec_err *err)
{
    const report all = {*r, {nn[0], nn[1], nn[2], nn[3]}, (double)r->found / (double)r->anchors};
    return geodec_artifact_save(a, &all, err);
}
