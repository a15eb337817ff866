/* geodec-validity: how far a start may be moved before the linear propagator fails. */
#include "base/mem.h"
#include "chain/validity.h"
#include "cli/cli.h"
#include "cli/space.h"
#include "cli/sweep.h"
#include "geometry/space_closed.h"
#include "io/foreign.h"
#include "lab/validity/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *output = "validity.h5", *scheme = "magnus4", *mode = "correct", *draws, *eps_list, *shard, *joined;
static int64_t starts = 12, perturbations = 6, steps = 16, bootstrap = 1000, sphere_starts = 16;
enum { HALVINGS = 6 };
static double dl = 0.1, slope_min = 1.8, eps_min = 0.005, eps_max = 5, tolerance = 1e-5;
static bool no_check;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "validity.h5"),
    CLI_MODE_OPTION(mode),
    CLI_DRAWS_OPTION(draws),
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
    {.name = "settle",
     .type = CLI_F64,
     .target = &tolerance,
     .min = 0,
     .max = 1,
     .metavar = "X",
     .help = "halve the step until no propagator changes by more than X of itself, six times at most; 0 = keep it"},
    {.name = "scheme",
     .type = CLI_CHOICE,
     .target = &scheme,
     .choices = GEODEC_MAGNUS_CHOICES,
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
    {.name = "eps",
     .type = CLI_STR,
     .target = &eps_list,
     .metavar = "LIST",
     .help = "perturbations joined by commas, rising, in place of those (at most 64)"},
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
     .help = "starts of each control: unit sphere, hyperbolic space, flat torus, normal distributions"},
    {.name = "slope-min",
     .type = CLI_F64,
     .target = &slope_min,
     .min = -10,
     .max = 10,
     .metavar = "X",
     .help = "a smaller slope of the error over the smallest three perturbations ends with code 4"},
    {.name = "no-check", .type = CLI_FLAG, .target = &no_check, .help = "write the result whatever the slope is"},
    CLI_SWEEP_OPTIONS(shard, joined, "starts"),
};

static const cli_tool tool = {
    .name = "geodec-validity",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "validity radius of the linear propagators",
    .usage = "[OPTIONS] METRIC.h5\n       geodec-validity --mode ref --draws FILE.h5 [OPTIONS]",
    .description =
        "Moves starts by g-length eps in random directions and compares the end of the moved path with x_T + Phi_T d.\n"
        "The error of a right linear map is of second order: its log-log slope is 2; near 1 the map is wrong. Beside "
        "it\n"
        "stands the same experiment on the unit sphere, in hyperbolic space, on a flat torus (where the errors are\n"
        "rounding) and among normal distributions. Radii eps* for 5, 10 and 20 % are found by bisection and flagged "
        "as\n"
        "censored when they lie outside the range. --mode ref measures as the published harness does, on its own "
        "draws;\n"
        "for the sampled sphere the same rule with exact geometry and the right map stand beside it.",
    .examples = "  geodec-validity -o validity.h5 metric.h5\n"
                "  geodec-validity --mode ref --draws sphere_n4.h5 -o validity-ref.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 0,
    .max_args = 1,
};

static const char *mark(geodec_censored c)
{
    return c == GEODEC_CENSORED_ABOVE ? ">= " : c == GEODEC_CENSORED_BELOW ? "< " : "";
}

static void summarise(const cli *c, const char *what, const geodec_validity *v)
{
    const int64_t e = v->n_eps / 2;
    if (!v->slope_known) {
        cli_say(c, "%-15s %lld starts x %lld directions: no slope, %s (%.2g at eps %.2g)", what, (long long)v->starts,
                (long long)v->perturbations,
                v->flat ? "the errors are rounding" : "fewer than three mean errors lie above rounding", v->mean[e],
                v->eps[e]);
        return;
    }
    cli_say(c,
            "%-15s %lld starts x %lld directions: slope %.2f [%.2f, %.2f]; eps* at 5/10/20 %%: %s%.3g, %s%.3g, %s%.3g; "
            "at eps %.2g error %.2g, plain shift %.2g",
            what, (long long)v->starts, (long long)v->perturbations, v->slope.value, v->slope.low, v->slope.high,
            mark(v->censored[0]), v->radius[0].value, mark(v->censored[1]), v->radius[1].value, mark(v->censored[2]),
            v->radius[2].value, v->eps[e], v->mean[e], v->shift[e]);
}

/* --eps into the options. */
static geodec_status read_eps(geodec_validity_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    o->n_eps = 0;
    for (const char *at = eps_list;;) {
        char *end;
        const double x = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !isfinite(x))
            GEODEC_THROW(GEODEC_INVAL, "--eps: no length at '%.40s'", at);
        if (o->n_eps == GEODEC_VALIDITY_EPS_MAX)
            GEODEC_THROW(GEODEC_RANGE, "--eps: more than %d lengths", GEODEC_VALIDITY_EPS_MAX);
        o->eps[o->n_eps++] = x;
        if (!*end) break;
        at = end + 1;
    }
done:
    return st;
}

static geodec_status run_correct(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    space_handle in = {0};
    geodec_validity v = {0}, sphere = {0}, cases[GEODEC_VALIDITY_CASES] = {{0}};
    geodec_validity_options o = geodec_validity_defaults();
    geodec_provenance p = cli_provenance(c);
    double *x0 = NULL, *v0 = NULL;
    bool part;
    GEODEC_TRY(geodec_magnus_find(scheme, &o.propagate.scheme, err));
    if (!(eps_max > eps_min)) GEODEC_THROW(GEODEC_RANGE, "--eps-max must exceed --eps-min");
    o.path.steps = steps;
    o.path.dl = dl;
    o.perturbations = perturbations;
    o.bootstrap = bootstrap;
    o.slope_min = slope_min;
    geodec_validity_grid(&o, 11, eps_min, eps_max);
    if (eps_list) GEODEC_TRY(read_eps(&o, err));
    if (geodec_magnus_order(o.propagate.scheme) > 4) o.propagate.dense = GEODEC_DENSE_INTEGRATE;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(space_open(c->args[0], &in, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in.file, err));
    GEODEC_TRY(sweep_begin(shard, joined, &p, &o.sweep, err));
    const geodec_space *s = in.space;
    int halvings = 0;
    double settled = 0;
    const int64_t count = starts < in.metric.points ? starts : in.metric.points;
    GEODEC_NEW(x0, count * in.metric.n);
    GEODEC_NEW(v0, count * in.metric.n);
    GEODEC_TRY(geodec_validity_starts(&in.metric, s, count, c->seed, x0, v0, err));
    if (tolerance > 0)
        GEODEC_TRY(geodec_validity_settle(s, &o, c->pool, &c->hooks, count, x0, v0, tolerance, HALVINGS, &halvings,
                                          &settled, err));
    GEODEC_TRY(geodec_validity_run(s, &o, c->pool, &c->hooks, count, x0, v0, NULL, c->seed, &v, err));
    GEODEC_TRY(geodec_validity_sphere(s->n, &o, c->pool, &c->hooks, sphere_starts, c->seed, &sphere, err));
    for (int w = 0; w < GEODEC_VALIDITY_CASES; w++)
        GEODEC_TRY(geodec_validity_case(w, s->n, &o, c->pool, &c->hooks, sphere_starts, c->seed, &cases[w], err));
    GEODEC_TRY(sweep_end(c, o.sweep, &p, output, &part, err));
    if (part) goto done;
    /* a sphere of one dimension is flat: its errors are rounding, and have no slope */
    if (!sphere.slope_known && !no_check && s->n > 1)
        GEODEC_THROW(GEODEC_CHECK, "the control fails: on the unit sphere the error has no slope");
    if (sphere.slope_known && !sphere.slope_ok && !no_check && s->n > 1)
        GEODEC_THROW(GEODEC_CHECK, "the control fails: on the unit sphere the error has slope %.2f, below %.2f",
                     sphere.slope.value, slope_min);
    /* An unknown slope shows nothing: neither a right map nor a wrong one. A step that did not settle measures nothing,
     * with --no-check too. */
    if (v.slope_known && !v.slope_ok && settled > tolerance)
        GEODEC_THROW(GEODEC_SCARCE,
                     "after %d halvings of the step propagators still change by %.1e: the field of %lld points is too "
                     "rough for the paths; more points are needed",
                     halvings, settled, (long long)in.metric.points);
    if (v.slope_known && !v.slope_ok && !no_check)
        GEODEC_THROW(
            GEODEC_CHECK,
            "the error of the linear map has slope %.2f, below %.2f: the map is not the derivative (sphere: %.2f)",
            v.slope.value, slope_min, sphere.slope.value);
    GEODEC_TRY(geodec_artifact_create(&geodec_validity_kind, output, &p, &out, err));
    o.settles = tolerance > 0;
    o.halvings = halvings;
    o.settled = settled;
    GEODEC_TRY(geodec_validity_write(&v, &sphere, cases, &o, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(c, "field", &v);
    summarise(c, "sphere", &sphere);
    for (int w = 0; w < GEODEC_VALIDITY_CASES; w++)
        summarise(c, geodec_metric_type_name(geodec_validity_case_kind(w)), &cases[w]);
done:
    geodec_artifact_close(out);
    geodec_sweep_close(o.sweep);
    space_close(&in);
    geodec_validity_clear(&v);
    geodec_validity_clear(&sphere);
    for (int w = 0; w < GEODEC_VALIDITY_CASES; w++) geodec_validity_clear(&cases[w]);
    geodec_mem_free(x0);
    geodec_mem_free(v0);
    return st;
}

/* ---- the published measurement ---------------------------------------------------------------------------------- */

/* The draws of a golden file: a cloud's own table in /validity, or the sphere's at the root. */
typedef struct published {
    bool sphere;
    geodec_harness_manifold m;
    geodec_published_perturbations p;
    double *point, *g, *gamma, *x0, *v0, *delta0, *eps, *tau;
    int64_t *index;
} published;

static void published_clear(published *d)
{
    double *all[] = {d->point, d->g, d->gamma, d->x0, d->v0, d->delta0, d->eps, d->tau};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    geodec_mem_free(d->index);
    geodec_harness_manifold_clear(&d->m);
}

static geodec_status published_read(published *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    double steps_read, sigma = GEODEC_PUBLISHED_SPHERE_SIGMA;
    st = geodec_foreign_read(draws, "/validity/sample_points", 2, shape, NULL, &d->point, err);
    d->sphere = st == GEODEC_NOTFOUND;
    if (d->sphere)
        GEODEC_TRY(geodec_foreign_read(draws, "/points", 2, shape, NULL, &d->point, err));
    else
        GEODEC_TRY(st);
    const int64_t samples = shape[0], n = shape[1];
    shape[2] = shape[3] = n, shape[1] = n;
    GEODEC_TRY(geodec_foreign_read(draws, d->sphere ? "/g" : "/validity/g_field", 3, shape, NULL, &d->g, err));
    GEODEC_TRY(geodec_foreign_read(draws, d->sphere ? "/gamma_fd" : "/validity/gamma", 4, shape, NULL, &d->gamma, err));
    if (!d->sphere) GEODEC_TRY(geodec_foreign_attr(draws, "/", "sigma", &sigma, err));
    GEODEC_TRY(geodec_harness_manifold_table(samples, n, d->point, d->g, d->gamma, sigma, &d->m, err));
    geodec_published_perturbations *p = &d->p;
    shape[0] = shape[1] = shape[2] = -1, shape[3] = n;
    GEODEC_TRY(geodec_foreign_read(draws, "/validity/delta0", 4, shape, NULL, &d->delta0, err));
    p->starts = shape[0], p->n_eps = shape[1], p->perturbations = shape[2];
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/validity/seed_index", 1, (int64_t[]){p->starts}, 0, samples - 1,
                                       &d->index, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/validity/v0", 2, (int64_t[]){p->starts, n}, NULL, &d->v0, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/validity/eps", 1, (int64_t[]){p->n_eps}, NULL, &d->eps, err));
    shape[0] = -1;
    GEODEC_TRY(geodec_foreign_read(draws, "/validity/tau", 1, shape, NULL, &d->tau, err));
    p->n_tau = shape[0];
    GEODEC_TRY(geodec_foreign_attr(draws, "/validity", "T", &steps_read, err));
    GEODEC_TRY(geodec_foreign_attr(draws, "/validity", "dl", &p->dl, err));
    if (!(steps_read >= 1 && steps_read <= 100000)) GEODEC_THROW(GEODEC_RANGE, "%s: %g steps", draws, steps_read);
    p->steps = (int64_t)steps_read;
    GEODEC_NEW(d->x0, p->starts * n);
    for (int64_t i = 0; i < p->starts; i++)
        memcpy(d->x0 + i * n, d->point + d->index[i] * n, (size_t)n * sizeof *d->x0);
    p->x0 = d->x0, p->v0 = d->v0, p->delta0 = d->delta0, p->eps = d->eps, p->tau = d->tau;
done:
    return st;
}

/* On the unit sphere: the published rule with exact geometry, and the right map, from unit velocities of the same
 * directions. */
static geodec_status sphere_controls(const cli *c, published *d, geodec_validity_published *rule,
                                     geodec_validity *correct, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = d->m.n;
    const geodec_published_perturbations *p = &d->p;
    geodec_space_conformal sphere;
    geodec_validity_options o = geodec_validity_defaults();
    GEODEC_TRY(geodec_space_conformal_init(&sphere, (int32_t)n, 1, err));
    if (p->n_tau != GEODEC_VALIDITY_TAUS || p->n_eps > GEODEC_VALIDITY_EPS_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "%s: %lld tolerances, %lld lengths", draws, (long long)p->n_tau,
                     (long long)p->n_eps);
    for (int64_t i = 0; i < p->starts; i++) {
        double square = 0, length = 0;
        for (int64_t k = 0; k < n; k++) {
            square += d->x0[i * n + k] * d->x0[i * n + k];
            length += d->v0[i * n + k] * d->v0[i * n + k];
        }
        length = sqrt(length) * 2 / (1 + square);
        if (!(length > 0)) GEODEC_THROW(GEODEC_NUMERIC, "%s: velocity %lld is zero", draws, (long long)i);
        for (int64_t k = 0; k < n; k++) d->v0[i * n + k] /= length;
    }
    GEODEC_TRY(geodec_validity_published_control(&sphere.base, p, c->pool, &c->hooks, rule, err));
    o.path.steps = p->steps;
    o.path.dl = p->dl;
    o.perturbations = p->perturbations;
    o.n_eps = p->n_eps;
    o.bootstrap = bootstrap;
    memcpy(o.eps, p->eps, (size_t)p->n_eps * sizeof *o.eps);
    memcpy(o.tau, p->tau, sizeof o.tau);
    GEODEC_TRY(geodec_validity_run(&sphere.base, &o, c->pool, &c->hooks, p->starts, p->x0, p->v0, p->delta0, c->seed,
                                   correct, err));
done:
    return st;
}

static geodec_status run_published(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    published d = {0};
    geodec_validity_published v = {0}, rule = {0};
    geodec_validity correct = {0};
    geodec_provenance p = cli_provenance(c);
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(published_read(&d, err));
    GEODEC_TRY(geodec_validity_published_run(&d.m, &d.p, c->pool, &c->hooks, &v, err));
    if (d.sphere) GEODEC_TRY(sphere_controls(c, &d, &rule, &correct, err));
    GEODEC_TRY(geodec_provenance_add_file(&p, draws, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_validity_published_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_validity_published_write(&v, d.sphere ? &rule : NULL, d.sphere ? &correct : NULL, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    for (int64_t e = 0; e < v.n_eps; e++)
        cli_say(c, "eps %-5g mean %.3g  median %.3g  p95 %.3g; plain shift %.3g", v.eps[e], v.mean[e], v.median[e],
                v.p95[e], v.shift[e]);
    cli_say(c, "slope %.2f (a right linear map: 2)", v.slope);
    if (d.sphere)
        cli_say(c, "the same rule with exact geometry: slope %.2f; the right map: slope %.2f", rule.slope,
                correct.slope.value);
done:
    geodec_artifact_close(out);
    published_clear(&d);
    geodec_validity_published_clear(&v);
    geodec_validity_published_clear(&rule);
    geodec_validity_clear(&correct);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool published_mode = strcmp(mode, "ref") == 0;
    if (published_mode && (shard || joined)) GEODEC_THROW(GEODEC_INVAL, "--mode ref is not divided");
    if (published_mode != (draws != NULL)) GEODEC_THROW(GEODEC_INVAL, "--mode ref and --draws go together");
    if (published_mode == (c->n_args == 1))
        GEODEC_THROW(GEODEC_INVAL, "%s",
                     published_mode ? "--mode ref takes no metric" : "a metric file is missing; see --help");
    GEODEC_TRY(published_mode ? run_published(c, err) : run_correct(c, err));
done:
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
