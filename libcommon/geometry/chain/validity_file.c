/* The validity artifact: the experiment on the measured field and, in /sphere, the same on the unit sphere. */
#include "artifact/binding.h"
#include "chain/validity.h"

#include <math.h>

enum { SLOPE_PASS, SLOPE_FAIL, SLOPE_FLAT, SLOPE_UNKNOWN };
static const char *const verdicts[] = {"pass", "fail", "flat", "unknown", NULL};

/* Members of the artifact; all are borrowed. */
typedef struct all {
    geodec_validity field, sphere, control[GEODEC_VALIDITY_CASES];
    bool cases; /* the controls exist */
    unsigned verdict;
    double slope_min, flat_error, dl, settled;
    int64_t steps;
    int halvings;
    bool settles;
    const char *scheme;
} all;

/* clang-format off */
#define BORROWED(m) GEODEC_BORROWED(all, m)
#define IN(m) GEODEC_IN(all, m)
#define RADIUS(v, end) GEODEC_ARRAY_APART(all, v.radius, [0].end, sizeof(geodec_validity_estimate))
#define ONE(path_, type_, dims_, text_, at_) {path_, type_, dims_, 0, "1", text_, 0, at_}
#define EXPERIMENT(at, v, dim)                                                                                         \
    {at "/x0", GEODEC_F64, dim ",n", 0, "activation", "starts", 0, BORROWED(v.x0)},                                    \
    {at "/v0", GEODEC_F64, dim ",n", 0, "activation", "initial velocities, g-unit", 0, BORROWED(v.v0)},                \
    ONE(at "/status", GEODEC_U8, dim, "reference path: 0 ok, 1 non-finite (takes no part), 2 drift, 3 left hull",      \
        BORROWED(v.status)),                                                                                           \
    ONE(at "/error", GEODEC_F64, dim ",E,U",                                                                           \
        "|x_T' - (x_T + Phi_T d)| / |x_T' - x0| in g(x_T'); -1 = the perturbed path broke down", BORROWED(v.error)),   \
    ONE(at "/mean", GEODEC_F64, "E", "mean error", BORROWED(v.mean)),                                                  \
    ONE(at "/mean_low", GEODEC_F64, "E", "lower end of its 95 % bootstrap interval over starts",                       \
        BORROWED(v.mean_low)),                                                                                         \
    ONE(at "/mean_high", GEODEC_F64, "E", "upper end", BORROWED(v.mean_high)),                                         \
    ONE(at "/median", GEODEC_F64, "E", "median error", BORROWED(v.median)),                                            \
    ONE(at "/p95", GEODEC_F64, "E", "95th percentile", BORROWED(v.p95)),                                               \
    ONE(at "/shift", GEODEC_F64, "E", "control: mean error of the plain shift x_T + d (Phi = I)", BORROWED(v.shift)),  \
    ONE(at "/miss", GEODEC_F64, "E", "mean |x_T' - (x_T + Phi_T d)| in g(x_T'); the path is T dl long",                \
        BORROWED(v.miss)),                                                                                             \
    ONE(at "/broken", GEODEC_I64, "E", "perturbed paths that broke down", BORROWED(v.broken)),                         \
    ONE(at "/radius", GEODEC_F64, "3", "eps*: g-length at which the mean error reaches tau", RADIUS(v, value)),        \
    ONE(at "/radius_low", GEODEC_F64, "3", "lower end of its 95 % bootstrap interval", RADIUS(v, low)),                \
    ONE(at "/radius_high", GEODEC_F64, "3", "upper end", RADIUS(v, high)),                                             \
    ONE(at "/censored", GEODEC_U8, "3", "0 no, 1 at least the largest eps, 2 below the smallest eps",                  \
        GEODEC_ARRAY(all, v.censored, [0]))
#define LATER(path_, type_, dims_, text_, at_)                                                                         \
    {path_, type_, dims_, GEODEC_FIELD_OPTIONAL, "1", text_, 1, at_, GEODEC_WHEN(all, cases)}
#define CASE(at, v, what)                                                                                              \
    LATER(at "/mean", GEODEC_F64, "E", "control: mean error " what, BORROWED(v.mean)),                                 \
    LATER(at "/mean_low", GEODEC_F64, "E", "lower end of its 95 % bootstrap interval over starts",                     \
          BORROWED(v.mean_low)),                                                                                       \
    LATER(at "/mean_high", GEODEC_F64, "E", "upper end", BORROWED(v.mean_high)),                                       \
    LATER(at "/shift", GEODEC_F64, "E", "mean error of the plain shift", BORROWED(v.shift)),                           \
    LATER(at "/broken", GEODEC_I64, "E", "perturbed paths that left the chart", BORROWED(v.broken)),                   \
    LATER(at "/radius", GEODEC_F64, "3", "eps*", RADIUS(v, value)),                                                    \
    LATER(at "/censored", GEODEC_U8, "3", "0 no, 1 at least the largest eps, 2 below the smallest eps",                \
          GEODEC_ARRAY(all, v.censored, [0]))
/* clang-format on */

static const geodec_field fields[] = {
    {"/eps", GEODEC_F64, "E", 0, "1", "g-lengths of the perturbations", 0, BORROWED(field.eps)},
    {"/tau", GEODEC_F64, "3", 0, "1", "tolerances of the radii", 0, GEODEC_ARRAY(all, field.tau, [0])},
    EXPERIMENT("/field", field, "A"),
    EXPERIMENT("/sphere", sphere, "B"),
    CASE("/hyperbolic", control[0], "in hyperbolic space of curvature -1"),
    CASE("/flat", control[1], "on a flat torus: rounding"),
    CASE("/gaussian_fisher", control[2], "among normal distributions with the Fisher information (dimension 2)"),
};

static const geodec_attr attrs[] = {
    {"hyperbolic_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE,
     "control: the slope in hyperbolic space; exact value 2", IN(control[0].slope.value), GEODEC_WHEN(all, cases)},
    {"flat_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE,
     "control: NaN, for on a flat torus the map is exact and its errors are rounding (before 1.3: 0)",
     IN(control[1].slope.value), GEODEC_WHEN(all, cases)},
    {"flat_error", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "largest mean error there", IN(flat_error),
     GEODEC_WHEN(all, cases)},
    {"gaussian_fisher_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_NONFINITE,
     "control: the slope among normal distributions; exact value 2", IN(control[2].slope.value),
     GEODEC_WHEN(all, cases)},
    {"slope", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE,
     "log-log slope of the mean error over the smallest three eps; NaN = not measured (before 1.3: 0)",
     IN(field.slope.value)},
    {"slope_low", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "lower end of its 95 % bootstrap interval",
     IN(field.slope.low)},
    {"slope_high", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "upper end", IN(field.slope.high)},
    {"slope_verdict", GEODEC_ATTR_STR, 0,
     "pass (at least slope_min), fail, flat (every error is rounding: the map is exact to working precision) or "
     "unknown (fewer than three mean errors lie above rounding)",
     GEODEC_NAMED(all, verdict, verdicts)},
    {"slope_min", GEODEC_ATTR_F64, 0, "smallest slope that passes", IN(slope_min)},
    {"sphere_slope", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE,
     "control: the same slope on the unit sphere; exact value 2", IN(sphere.slope.value)},
    {"sphere_slope_low", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "lower end of its 95 % bootstrap interval",
     IN(sphere.slope.low)},
    {"sphere_slope_high", GEODEC_ATTR_F64, GEODEC_FIELD_NONFINITE, "upper end", IN(sphere.slope.high)},
    {"steps", GEODEC_ATTR_I64, 0, "steps of a path", IN(steps)},
    {"dl", GEODEC_ATTR_F64, 0, "parameter length of a step", IN(dl)},
    {"scheme", GEODEC_ATTR_STR, 0, "exponential integrator of Phi", IN(scheme)},
    {"noise_length", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "mean g-length of an error of a state at the starts; a radius below it is not reached by two measurements of one "
     "state",
     IN(field.noise_length), GEODEC_WHEN(all, field.noise_length)},
    {"halvings", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "how often the step was halved until the propagators settled; steps and dl are what came of it", IN(halvings),
     GEODEC_WHEN(all, settles)},
    {"settled", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "largest relative change of a propagator when the step is halved once more", IN(settled),
     GEODEC_WHEN(all, settles)},
};

static const geodec_extent extents[] = {{"A", IN(field.starts)},
                                        {"B", IN(sphere.starts)},
                                        {"E", IN(field.n_eps)},
                                        {"U", IN(field.perturbations)},
                                        {"n", IN(field.n)}};

const geodec_kind geodec_validity_kind = {
    .name = "validity",
    .major = 1,
    .minor = 4, /* 1.3 had no noise_length */
    .tool = "geodec-validity",
    .purpose = "how far the linear propagators are valid",
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_validity_write(const geodec_validity *field, const geodec_validity *sphere,
                                    const geodec_validity *cases, const geodec_validity_options *o, geodec_artifact *a,
                                    geodec_err *err)
{
    all v = {.field = *field,
             .sphere = *sphere,
             .cases = cases != NULL,
             .verdict = field->slope_ok      ? SLOPE_PASS
                        : field->slope_known ? SLOPE_FAIL
                        : field->flat        ? SLOPE_FLAT
                                             : SLOPE_UNKNOWN,
             .slope_min = o->slope_min,
             .steps = o->path.steps,
             .dl = o->path.dl,
             .scheme = geodec_magnus_name(o->propagate.scheme),
             .settles = o->settles,
             .halvings = o->halvings,
             .settled = o->settled};
    if (sphere->n != field->n || sphere->n_eps != field->n_eps || sphere->perturbations != field->perturbations)
        GEODEC_FAIL(GEODEC_INVAL, "the control has another shape than the experiment");
    for (int w = 0; cases && w < GEODEC_VALIDITY_CASES; w++) {
        if (cases[w].n_eps != field->n_eps)
            GEODEC_FAIL(GEODEC_INVAL, "a control has another shape than the experiment");
        v.control[w] = cases[w];
        for (int64_t e = 0; geodec_validity_case_kind(w) == GEODEC_METRIC_FLAT && e < cases[w].n_eps; e++)
            v.flat_error = fmax(v.flat_error, cases[w].mean[e]);
    }
    GEODEC_PASS(geodec_artifact_save(a, &v, err));
    return GEODEC_OK;
}

static const char *mark(geodec_censored c)
{
    return c == GEODEC_CENSORED_ABOVE ? ">= " : c == GEODEC_CENSORED_BELOW ? "< " : "";
}

void geodec_validity_say(const geodec_hooks *hooks, const char *what, const geodec_validity *v)
{
    const int64_t e = v->n_eps / 2;
    if (!v->slope_known) {
        geodec_hooks_log(hooks, GEODEC_LOG_INFO, "%-15s %lld starts x %lld directions: no slope, %s (%.2g at eps %.2g)",
                         what, (long long)v->starts, (long long)v->perturbations,
                         v->flat ? "the errors are rounding" : "fewer than three mean errors lie above rounding",
                         v->mean[e], v->eps[e]);
        return;
    }
    geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                     "%-15s %lld starts x %lld directions: slope %.2f [%.2f, %.2f]; eps* at 5/10/20 %%: %s%.3g, "
                     "%s%.3g, %s%.3g; at eps %.2g error %.2g, plain shift %.2g",
                     what, (long long)v->starts, (long long)v->perturbations, v->slope.value, v->slope.low,
                     v->slope.high, mark(v->censored[0]), v->radius[0].value, mark(v->censored[1]), v->radius[1].value,
                     mark(v->censored[2]), v->radius[2].value, v->eps[e], v->mean[e], v->shift[e]);
    if (v->noise_length > 0)
        geodec_hooks_log(hooks, GEODEC_LOG_INFO, "an error of a state has a mean g-length of %.3g", v->noise_length);
}
