/* The validity artifact: the experiment on the measured field and, in /sphere, the same on the unit sphere. */
#include "base/mem.h"
#include "geometry/validity.h"

#include <math.h>
#include <string.h>

/* clang-format off */
#define ONE(path_, type_, dims_, text_) {path_, type_, dims_, 0, "1", text_, 0}
#define EXPERIMENT(at, dim)                                                                                            \
    {at "/x0", GEODEC_F64, dim ",n", 0, "activation", "starts", 0},                                                    \
    {at "/v0", GEODEC_F64, dim ",n", 0, "activation", "initial velocities, g-unit", 0},                                \
    ONE(at "/status", GEODEC_U8, dim, "reference path: 0 ok, 1 non-finite (takes no part), 2 drift, 3 left hull"),     \
    ONE(at "/error", GEODEC_F64, dim ",E,U",                                                                           \
        "|x_T' - (x_T + Phi_T d)| / |x_T' - x0| in g(x_T'); -1 = the perturbed path broke down"),                      \
    ONE(at "/mean", GEODEC_F64, "E", "mean error"),                                                                    \
    ONE(at "/mean_low", GEODEC_F64, "E", "lower end of its 95 % bootstrap interval over starts"),                      \
    ONE(at "/mean_high", GEODEC_F64, "E", "upper end"),                                                                \
    ONE(at "/median", GEODEC_F64, "E", "median error"),                                                                \
    ONE(at "/p95", GEODEC_F64, "E", "95th percentile"),                                                                \
    ONE(at "/shift", GEODEC_F64, "E", "control: mean error of the plain shift x_T + d (Phi = I)"),                     \
    ONE(at "/miss", GEODEC_F64, "E", "mean |x_T' - (x_T + Phi_T d)| in g(x_T'); the path is T dl long"),               \
    ONE(at "/broken", GEODEC_I64, "E", "perturbed paths that broke down"),                                             \
    ONE(at "/radius", GEODEC_F64, "3", "eps*: g-length at which the mean error reaches tau"),                          \
    ONE(at "/radius_low", GEODEC_F64, "3", "lower end of its 95 % bootstrap interval"),                                \
    ONE(at "/radius_high", GEODEC_F64, "3", "upper end"),                                                              \
    ONE(at "/censored", GEODEC_U8, "3", "0 no, 1 at least the largest eps, 2 below the smallest eps")
#define LATER(path_, type_, dims_, text_) {path_, type_, dims_, GEODEC_FIELD_OPTIONAL, "1", text_, 1}
#define CASE(at, what)                                                                                                 \
    LATER(at "/mean", GEODEC_F64, "E", "control: mean error " what),                                                   \
    LATER(at "/mean_low", GEODEC_F64, "E", "lower end of its 95 % bootstrap interval over starts"),                    \
    LATER(at "/mean_high", GEODEC_F64, "E", "upper end"),                                                              \
    LATER(at "/shift", GEODEC_F64, "E", "mean error of the plain shift"),                                              \
    LATER(at "/broken", GEODEC_I64, "E", "perturbed paths that left the chart"),                                       \
    LATER(at "/radius", GEODEC_F64, "3", "eps*"),                                                                      \
    LATER(at "/censored", GEODEC_U8, "3", "0 no, 1 at least the largest eps, 2 below the smallest eps")
/* clang-format on */

static const geodec_field fields[] = {
    {"/eps", GEODEC_F64, "E", 0, "1", "g-lengths of the perturbations", 0},
    {"/tau", GEODEC_F64, "3", 0, "1", "tolerances of the radii", 0},
    EXPERIMENT("/field", "A"),
    EXPERIMENT("/sphere", "B"),
    CASE("/hyperbolic", "in hyperbolic space of curvature -1"),
    CASE("/flat", "on a flat torus: rounding"),
    CASE("/gaussian_fisher", "among normal distributions with the Fisher information (dimension 2)"),
};

static const geodec_attr attrs[] = {
    {"slope", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE,
     "log-log slope of the mean error over the smallest three eps; NaN = not measured (before 1.3: 0)"},
    {"slope_low", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "lower end of its 95 % bootstrap interval"},
    {"slope_high", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "upper end"},
    {"slope_verdict", GEODEC_ATTR_STR, 0,
     "pass (at least slope_min), fail, flat (every error is rounding: the map is exact to working precision) or "
     "unknown "
     "(fewer than three mean errors lie above rounding)"},
    {"slope_min", GEODEC_ATTR_F64, 0, "smallest slope that passes"},
    {"sphere_slope", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE,
     "control: the same slope on the unit sphere; exact value 2"},
    {"sphere_slope_low", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "lower end of its 95 % bootstrap interval"},
    {"sphere_slope_high", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "upper end"},
    {"hyperbolic_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE,
     "control: the slope in hyperbolic space; exact value 2"},
    {"flat_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE,
     "control: NaN, for on a flat torus the map is exact and its errors are rounding (before 1.3: 0)"},
    {"flat_error", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "largest mean error there"},
    {"gaussian_fisher_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE,
     "control: the slope among normal distributions; exact value 2"},
    {"steps", GEODEC_ATTR_I64, 0, "steps of a path"},
    {"dl", GEODEC_ATTR_F64, 0, "parameter length of a step"},
    {"halvings", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "how often the step was halved until the propagators settled; steps and dl are what came of it"},
    {"settled", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "largest relative change of a propagator when the step is halved once more"},
    {"scheme", GEODEC_ATTR_STR, 0, "exponential integrator of Phi"},
};

const geodec_kind geodec_kind_validity = {
    .name = "validity",
    .major = 1,
    .minor = 3,
    .tool = "geodec-validity",
    .purpose = "how far the linear propagators are valid",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

static geodec_status put(geodec_artifact *a, const char *group, const char *name, const void *data, geodec_err *err)
{
    char path[64];
    (void)strcpy(path, group);
    (void)strcat(path, name);
    return geodec_artifact_write(a, path, data, err);
}

static geodec_status write_experiment(const geodec_validity *v, const char *group, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double radius[3][GEODEC_VALIDITY_TAUS];
    uint8_t censored[GEODEC_VALIDITY_TAUS];
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) {
        radius[0][t] = v->radius[t].value;
        radius[1][t] = v->radius[t].low;
        radius[2][t] = v->radius[t].high;
        censored[t] = (uint8_t)v->censored[t];
    }
    GEODEC_TRY(put(a, group, "/x0", v->x0, err));
    GEODEC_TRY(put(a, group, "/v0", v->v0, err));
    GEODEC_TRY(put(a, group, "/status", v->status, err));
    GEODEC_TRY(put(a, group, "/error", v->error, err));
    GEODEC_TRY(put(a, group, "/mean", v->mean, err));
    GEODEC_TRY(put(a, group, "/mean_low", v->mean_low, err));
    GEODEC_TRY(put(a, group, "/mean_high", v->mean_high, err));
    GEODEC_TRY(put(a, group, "/median", v->median, err));
    GEODEC_TRY(put(a, group, "/p95", v->p95, err));
    GEODEC_TRY(put(a, group, "/shift", v->shift, err));
    GEODEC_TRY(put(a, group, "/miss", v->miss, err));
    GEODEC_TRY(put(a, group, "/broken", v->broken, err));
    GEODEC_TRY(put(a, group, "/radius", radius[0], err));
    GEODEC_TRY(put(a, group, "/radius_low", radius[1], err));
    GEODEC_TRY(put(a, group, "/radius_high", radius[2], err));
    GEODEC_TRY(put(a, group, "/censored", censored, err));
done:
    return st;
}

static geodec_status write_cases(const geodec_validity *cases, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char *const groups[GEODEC_VALIDITY_CASES] = {"/hyperbolic", "/flat", "/gaussian_fisher"};
    static const char *const slopes[GEODEC_VALIDITY_CASES] = {"hyperbolic_slope", "flat_slope",
                                                              "gaussian_fisher_slope"};
    for (int w = 0; w < GEODEC_VALIDITY_CASES; w++) {
        const geodec_validity *v = &cases[w];
        double radius[GEODEC_VALIDITY_TAUS], largest = 0;
        uint8_t censored[GEODEC_VALIDITY_TAUS];
        for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) {
            radius[t] = v->radius[t].value;
            censored[t] = (uint8_t)v->censored[t];
        }
        for (int64_t e = 0; e < v->n_eps; e++) largest = fmax(largest, v->mean[e]);
        GEODEC_TRY(put(a, groups[w], "/mean", v->mean, err));
        GEODEC_TRY(put(a, groups[w], "/mean_low", v->mean_low, err));
        GEODEC_TRY(put(a, groups[w], "/mean_high", v->mean_high, err));
        GEODEC_TRY(put(a, groups[w], "/shift", v->shift, err));
        GEODEC_TRY(put(a, groups[w], "/broken", v->broken, err));
        GEODEC_TRY(put(a, groups[w], "/radius", radius, err));
        GEODEC_TRY(put(a, groups[w], "/censored", censored, err));
        GEODEC_TRY(geodec_artifact_put_f64(a, slopes[w], v->slope.value, err));
        if (geodec_validity_case_kind(w) == GEODEC_METRIC_FLAT)
            GEODEC_TRY(geodec_artifact_put_f64(a, "flat_error", largest, err));
    }
done:
    return st;
}

geodec_status geodec_validity_write(const geodec_validity *field, const geodec_validity *sphere,
                                    const geodec_validity *cases, const geodec_validity_options *o, geodec_artifact *a,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (sphere->n != field->n || sphere->n_eps != field->n_eps || sphere->perturbations != field->perturbations)
        GEODEC_THROW(GEODEC_INVAL, "the control has another shape than the experiment");
    for (int w = 0; cases && w < GEODEC_VALIDITY_CASES; w++)
        if (cases[w].n_eps != field->n_eps)
            GEODEC_THROW(GEODEC_INVAL, "a control has another shape than the experiment");
    GEODEC_TRY(geodec_artifact_set_dim(a, "A", field->starts, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "B", sphere->starts, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "E", field->n_eps, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "U", field->perturbations, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "n", field->n, err));
    GEODEC_TRY(geodec_artifact_write(a, "/eps", field->eps, err));
    GEODEC_TRY(geodec_artifact_write(a, "/tau", field->tau, err));
    GEODEC_TRY(write_experiment(field, "/field", a, err));
    GEODEC_TRY(write_experiment(sphere, "/sphere", a, err));
    if (cases) GEODEC_TRY(write_cases(cases, a, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "slope", field->slope.value, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "slope_low", field->slope.low, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "slope_high", field->slope.high, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "slope_verdict",
                                       field->slope_ok      ? "pass"
                                       : field->slope_known ? "fail"
                                       : field->flat        ? "flat"
                                                            : "unknown",
                                       err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "slope_min", o->slope_min, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "sphere_slope", sphere->slope.value, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "sphere_slope_low", sphere->slope.low, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "sphere_slope_high", sphere->slope.high, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "steps", o->path.steps, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "dl", o->path.dl, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "scheme", geodec_magnus_name(o->propagate.scheme), err));
done:
    return st;
}
