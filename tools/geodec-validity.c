/* geodec-validity: how far a start may be moved before the linear propagator fails. */
#include "base/mem.h"
#include "geometry/validity.h"
#include "support/cli.h"
#include "support/space.h"

static const char *output = "validity.h5", *scheme = "magnus4";
static int64_t starts = 12, perturbations = 6, steps = 16, bootstrap = 1000, sphere_starts = 16;
static double dl = 0.1, slope_min = 1.8, eps_min = 0.005, eps_max = 5;
static bool no_check;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "validity.h5"),
    {.name = "starts",
     .letter = 's',
     .type = CLI_I64,
     .target = &starts,
     .min = 1,
     .max = 1e6,
     .metavar = "N",
     .help = "starts, a random choice of points"},
    {.name = "perturbations",
     .letter = 'u',
     .type = CLI_I64,
     .target = &perturbations,
     .min = 1,
     .max = 1e6,
     .metavar = "N",
     .help = "directions in which each start is moved"},
    {.name = "steps",
     .letter = 'T',
     .type = CLI_I64,
     .target = &steps,
     .min = 1,
     .max = 1e5,
     .metavar = "N",
     .help = "steps of a path"},
    {.name = "dl",
     .type = CLI_F64,
     .target = &dl,
     .min = 1e-12,
     .max = 1e12,
     .metavar = "X",
     .help = "arc length of a step"},
    {.name = "scheme",
     .type = CLI_CHOICE,
     .target = &scheme,
     .choices = "midpoint|magnus3|magnus4|cf4|magnus6|taylor3",
     .metavar = "NAME",
     .help = "exponential integrator of the propagator"},
    {.name = "eps-min",
     .type = CLI_F64,
     .target = &eps_min,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "X",
     .help = "smallest perturbation, as g-length"},
    {.name = "eps-max",
     .type = CLI_F64,
     .target = &eps_max,
     .min = 1e-9,
     .max = 1e9,
     .metavar = "X",
     .help = "largest perturbation; eleven lengths, evenly spaced in the logarithm"},
    {.name = "bootstrap",
     .type = CLI_I64,
     .target = &bootstrap,
     .min = 0,
     .max = 1e6,
     .metavar = "N",
     .help = "replicates over starts for the 95 % intervals"},
    {.name = "sphere-starts",
     .type = CLI_I64,
     .target = &sphere_starts,
     .min = 1,
     .max = 1e6,
     .metavar = "N",
     .help = "starts of the control on the unit sphere of the same dimension"},
    {.name = "slope-min",
     .type = CLI_F64,
     .target = &slope_min,
     .min = -10,
     .max = 10,
     .metavar = "X",
     .help = "a smaller slope of the error over the smallest three perturbations ends with code 4"},
    {.name = "no-check", .type = CLI_FLAG, .target = &no_check, .help = "write the result whatever the slope is"},
};

static const cli_tool tool = {
    .name = "geodec-validity",
    .purpose = "validity radius of the linear propagators",
    .usage = "[OPTIONS] METRIC.h5",
    .description =
        "Moves starts by g-length eps in random directions and compares the end of the moved path with x_T + Phi_T d.\n"
        "The error of a right linear map is of second order: its log-log slope is 2; near 1 the map is wrong. Beside "
        "it\n"
        "stands the same experiment on the unit sphere. Radii eps* for 5, 10 and 20 % are found by bisection and\n"
        "flagged as censored when they lie outside the range.",
    .examples = "geodec-validity -o validity.h5 metric.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 1,
};

static const char *mark(geodec_censored c)
{
    return c == GEODEC_CENSORED_ABOVE ? ">= " : c == GEODEC_CENSORED_BELOW ? "< " : "";
}

static void summarise(const cli *c, const char *what, const geodec_validity *v)
{
    const int64_t e = v->n_eps / 2;
    cli_say(c,
            "%-6s %lld starts x %lld directions: slope %.2f [%.2f, %.2f]; eps* at 5/10/20 %%: %s%.3g, %s%.3g, %s%.3g; "
            "at eps %.2g error %.2g, plain shift %.2g",
            what, (long long)v->starts, (long long)v->perturbations, v->slope.value, v->slope.low, v->slope.high,
            mark(v->censored[0]), v->radius[0].value, mark(v->censored[1]), v->radius[1].value, mark(v->censored[2]),
            v->radius[2].value, v->eps[e], v->mean[e], v->shift[e]);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    space_handle in = {0};
    geodec_validity v = {0}, sphere = {0};
    geodec_validity_options o = geodec_validity_defaults();
    geodec_provenance p = cli_provenance(c);
    double *x0 = NULL, *v0 = NULL;
    GEODEC_TRY(geodec_magnus_find(scheme, &o.propagate.scheme, err));
    if (!(eps_max > eps_min)) GEODEC_THROW(GEODEC_RANGE, "--eps-max must exceed --eps-min");
    o.path.steps = steps;
    o.path.dl = dl;
    o.perturbations = perturbations;
    o.bootstrap = bootstrap;
    o.slope_min = slope_min;
    geodec_validity_grid(&o, 11, eps_min, eps_max);
    if (geodec_magnus_order(o.propagate.scheme) > 4) o.propagate.dense = GEODEC_DENSE_INTEGRATE;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(space_open(c->args[0], &in, err));
    const geodec_space *s = in.space;
    const int64_t count = starts < in.metric.points ? starts : in.metric.points;
    GEODEC_NEW(x0, count * in.metric.n);
    GEODEC_NEW(v0, count * in.metric.n);
    GEODEC_TRY(geodec_validity_starts(&in.metric, s, count, c->seed, x0, v0, err));
    GEODEC_TRY(geodec_validity_run(s, &o, c->pool, &c->hooks, count, x0, v0, NULL, c->seed, &v, err));
    GEODEC_TRY(geodec_validity_sphere(s->n, &o, c->pool, &c->hooks, sphere_starts, c->seed, &sphere, err));
    if (!v.slope_ok && !no_check)
        GEODEC_THROW(
            GEODEC_CHECK,
            "the error of the linear map has slope %.2f, below %.2f: the map is not the derivative (sphere: %.2f)",
            v.slope.value, slope_min, sphere.slope.value);
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in.file, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_validity, output, &p, &out, err));
    GEODEC_TRY(geodec_validity_write(&v, &sphere, &o, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(c, "field", &v);
    summarise(c, "sphere", &sphere);
done:
    geodec_artifact_close(out);
    space_close(&in);
    geodec_validity_clear(&v);
    geodec_validity_clear(&sphere);
    geodec_mem_free(x0);
    geodec_mem_free(v0);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
