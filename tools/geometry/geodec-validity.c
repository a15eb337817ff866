/* geodec-validity: largest displacement of a start for which the linear propagator is accurate. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "chain/validity_needs.h"
#include "cli/needs.h"
#include "cli/space.h"
#include "cli/sweep.h"

#include <float.h>
#include <math.h>

static const char *output = "validity.h5", *scheme = "magnus4", *eps_list, *shard, *joined;
static int64_t starts = 12, sphere_starts = 16;
enum { HALVINGS = 6 };
static double eps_min = 0.005, eps_max = 5, tolerance = 1e-5;
static geodec_validity_options opt;
static bool no_check;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "validity.h5"),
    OPT_I64("starts", 's', &starts, 1, 1e6, "N", "random sample of points as starts"),
    OPT_I64("perturbations", 'u', &opt.perturbations, 1, 1e6, "N", "number of directions in which each start is moved"),
    OPT_I64("steps", 'T', &opt.path.steps, 1, 1e5, "N", "steps of a path"),
    OPT_F64("dl", 0, &opt.path.dl, 1e-12, 1e12, "X", "arc length of a step"),
    OPT_F64("settle", 0, &tolerance, 0, 1, "X",
            "halve the step, at most six times, until no propagator has a relative change above X; 0 = keep the step"),
    OPT_CHOICE("scheme", 0, &scheme, GEODEC_MAGNUS_CHOICES, "NAME", "exponential integrator of the propagator"),
    OPT_F64("eps-min", 0, &eps_min, 1e-9, 1e9, "X", "smallest perturbation, as g-length"),
    OPT_F64("eps-max", 0, &eps_max, 1e-9, 1e9, "X",
            "largest perturbation; eleven lengths are evenly spaced in the logarithm"),
    OPT_STR("eps", 0, &eps_list, "LIST",
            "perturbations separated by commas, ascending, instead of these lengths (at most 64)"),
    OPT_I64("bootstrap", 0, &opt.bootstrap, 0, 1e6, "N", "replicates over starts for the 95 % intervals"),
    OPT_I64("sphere-starts", 0, &sphere_starts, 1, 1e6, "N",
            "starts of each control: unit sphere, hyperbolic space, flat torus, normal distributions"),
    OPT_F64("slope-min", 0, &opt.slope_min, -10, 10, "X",
            "smallest slope of the error over the smallest three perturbations; a smaller one ends with code 4"),
    OPT_FLAG("no-check", 0, &no_check, "write the result for any slope"),
    CLI_SWEEP_OPTIONS(shard, joined, "starts"),
};

static const cli_tool tool = {
    .name = "geodec-validity",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "measure the validity radius of the linear propagators",
    .usage = "[OPTIONS] METRIC.h5",
    .description =
        "The radius is that of the space of the metric, the first coordinates of the cloud, not of the states.\n"
        "Moves starts by g-length eps in random directions and compares the end of the moved path with x_T + Phi_T\n"
        "d. The error of a correct linear map is of second order, with a log-log slope of 2; a slope near 1 shows a\n"
        "wrong map. The controls are the same experiment on the unit sphere, in hyperbolic space, on a flat torus\n"
        "(where the errors are rounding) and on normal distributions. Radii eps* for 5, 10 and 20 % are found by\n"
        "bisection and flagged as censored if they are outside the range.",
    .examples = "  geodec-validity -o validity.h5 metric.h5",
    CLI_TAKES(options, 1, 1),
    .plans = true,
};

/* --plan. The results are small: their memory is that of the pilot. */
static geodec_status plan(const cli *c, const cli_stage *stage, const geodec_space *s, int64_t count, const double *x0,
                          const double *v0, geodec_err *err)
{
    geodec_shard slice;
    GEODEC_PASS(geodec_shard_parse(shard, &slice, err));
    const geodec_validity_plan p = {.tolerance = tolerance,
                                    .most = HALVINGS,
                                    .sphere_starts = sphere_starts,
                                    .shares = shard ? slice.count : 1,
                                    .seed = c->seed};
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_validity_needs(s, &opt, &p, count, x0, v0, NEEDS_BUDGET, c->pool, &c->hooks, c->needs, err));
    needs_process(c->needs);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_file in = {0};
    geodec_validity v = {0}, sphere = {0}, cases[GEODEC_VALIDITY_CASES] = {{0}};
    cli_stage stage = {0};
    double *x0 = NULL, *v0 = NULL;
    bool part;
    GEODEC_TRY(geodec_magnus_find(scheme, &opt.propagate.scheme, err));
    if (!(eps_max > eps_min)) GEODEC_THROW(GEODEC_RANGE, "--eps-max must exceed --eps-min");
    geodec_validity_grid(&opt, 11, eps_min, eps_max);
    if (eps_list)
        GEODEC_TRY(geodec_numbers_parse(eps_list, "--eps", -DBL_MAX, DBL_MAX, GEODEC_VALIDITY_EPS_MAX, opt.eps,
                                        &opt.n_eps, err));
    if (geodec_magnus_order(opt.propagate.scheme) > 4) opt.propagate.dense = GEODEC_DENSE_INTEGRATE;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(stage_space(&stage, c->args[0], &in, err));
    if (!c->needs) GEODEC_TRY(stage_sweep(&stage, shard, joined, &opt.sweep, err));
    const geodec_space *s = in.space;
    opt.noise = in.metric.source.noise;
    int halvings = 0;
    double settled = 0;
    const int64_t count = starts < in.metric.points ? starts : in.metric.points;
    GEODEC_NEW_EACH(count * in.metric.n, x0, v0);
    GEODEC_TRY(geodec_validity_starts(&in.metric, s, count, c->seed, x0, v0, err));
    if (c->needs) {
        needs_since(c->needs, "load", begin);
        GEODEC_TRY(plan(c, &stage, s, count, x0, v0, err));
        goto done;
    }
    if (tolerance > 0)
        GEODEC_TRY(geodec_validity_settle(s, &opt, c->pool, &c->hooks, count, x0, v0, tolerance, HALVINGS, &halvings,
                                          &settled, err));
    GEODEC_TRY(geodec_validity_run(s, &opt, c->pool, &c->hooks, count, x0, v0, NULL, c->seed, &v, err));
    opt.noise = 0; /* the controls have exact points */
    GEODEC_TRY(geodec_validity_sphere(s->n, &opt, c->pool, &c->hooks, sphere_starts, c->seed, &sphere, err));
    for (int w = 0; w < GEODEC_VALIDITY_CASES; w++)
        GEODEC_TRY(geodec_validity_case(w, s->n, &opt, c->pool, &c->hooks, sphere_starts, c->seed, &cases[w], err));
    GEODEC_TRY(stage_part(&stage, &part, err));
    if (part) goto done;
    /* a sphere of dimension one is flat: its errors are rounding, without a slope */
    if (!sphere.slope_known && !no_check && s->n > 1)
        GEODEC_THROW(GEODEC_CHECK, "the control fails: on the unit sphere the error has no slope");
    if (sphere.slope_known && !sphere.slope_ok && !no_check && s->n > 1)
        GEODEC_THROW(GEODEC_CHECK, "the control fails: on the unit sphere the error has slope %.2f, below %.2f",
                     sphere.slope.value, opt.slope_min);
    /* An unknown slope does not test the map. A step that did not settle gives no result, also with --no-check. */
    if (v.slope_known && !v.slope_ok && settled > tolerance)
        GEODEC_THROW(GEODEC_SCARCE,
                     "after %d halvings of the step propagators still change by %.1e: the field of %lld points is too "
                     "rough for the paths; more points are needed",
                     halvings, settled, (long long)in.metric.points);
    if (v.slope_known && !v.slope_ok && !no_check)
        GEODEC_THROW(
            GEODEC_CHECK,
            "the error of the linear map has slope %.2f, below %.2f: the map is not the derivative (sphere: %.2f)",
            v.slope.value, opt.slope_min, sphere.slope.value);
    GEODEC_TRY(stage_create(&stage, &geodec_validity_kind, err));
    opt.settles = tolerance > 0;
    opt.halvings = halvings;
    opt.settled = settled;
    GEODEC_TRY(geodec_validity_write(&v, &sphere, cases, &opt, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    geodec_validity_say(&c->hooks, "field", &v);
    geodec_validity_say(&c->hooks, "sphere", &sphere);
    for (int w = 0; w < GEODEC_VALIDITY_CASES; w++)
        geodec_validity_say(&c->hooks, geodec_metric_type_name(geodec_validity_case_kind(w)), &cases[w]);
done:
    stage_end(&stage);
    geodec_metric_file_close(&in);
    geodec_validity_clear(&v);
    geodec_validity_clear(&sphere);
    for (int w = 0; w < GEODEC_VALIDITY_CASES; w++) geodec_validity_clear(&cases[w]);
    GEODEC_FREE(x0, v0);
    return st;
}

CLI_MAIN(opt = geodec_validity_defaults(); opt.perturbations = 6)
