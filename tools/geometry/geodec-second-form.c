/* geodec-second-form: curvature of the set. */
#include "artifact/binding.h"
#include "base/clock.h"
#include "base/mem.h"
#include "chain/second_form.h"
#include "cli/needs.h"
#include "cli/shard.h"

#include <math.h>

static const char *shard, *output = "second-form.h5";
static geodec_second_form_options opt;
static bool no_control;
enum { LEAST = 30 }; /* centres that carry a median */

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "second-form.h5"),
    OPT_I64("dim", 'n', &opt.n, 0, 12, "N", "dimension of the set (0: the integer dimension of the cloud)"),
    OPT_I64("samples", 's', &opt.samples, 0, 1e7, "N", "random sample of points of the cloud (0: all)"),
    OPT_I64("neighbours", 'k', &opt.k, 0, 1e6, "N", "neighbours of a fit (0: those with the least error)"),
    OPT_I64("groups", 0, &opt.groups, 2, 64, "N", "groups of texts that are left out for standard errors"),
    OPT_FLAG("no-control", 0, &no_control, "without the same fits to noise"),
    CLI_SHARD_OPTION(shard, "centres"),
};

static const cli_tool tool = {
    .name = "geodec-second-form",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "measure the curvature of the set that the states lie near",
    .usage = "[OPTIONS] CLOUD.h5 [ACTIVATIONS.h5]",
    .description =
        "Quadratic fits to the nearest points give the tangent space and the second fundamental form; the Gauss\n"
        "equation gives the curvature of the set itself, with standard errors. geodec-riemann gives that of a metric\n"
        "which is fitted to the density of the points. With ACTIVATIONS.h5, the file that the cloud was made from, "
        "the\n"
        "fits are in all coordinates of the states; without it in the kept coordinates of the cloud, where directions\n"
        "that hold the curvature may be missing. The number of neighbours is the one with the least sum of variance\n"
        "and bias^2, which follow from a ladder of numbers. Centres at an edge of the points are counted and left "
        "out.\n"
        "The control is Gaussian noise with the covariance of the points, which has no curvature.",
    .examples = "geodec-second-form -o second-form.h5 cloud.h5 activations.h5",
    CLI_TAKES(options, 1, 2),
    .plans = true,
};

static void say(const cli *c, const geodec_second_form *s)
{
    cli_say(c,
            "%lld of %lld points in %lld coordinates%s, dimension %lld, %lld neighbours: mean scalar curvature %.4g "
            "(standard error %.2g), median %.4g (%.2g), bias of a point about %.2g",
            (long long)s->pool.centres, (long long)s->points, (long long)s->d, s->whole ? "" : " of the cloud",
            (long long)s->n, (long long)s->k, s->pool.mean, s->pool.mean_se, s->pool.median, s->pool.median_se,
            s->bias);
    if (s->control_k > 0)
        cli_say(c, "Gaussian noise of the same covariance, %lld neighbours: mean %.4g (%.2g), median %.4g (%.2g)",
                (long long)s->control_k, s->control.mean, s->control.mean_se, s->control.median, s->control.median_se);
    if (s->pool.centres < LEAST)
        cli_warn("%lld centres are inside the set, fewer than %d: its curvature is not measured; errors across the set "
                 "may be as large as the set",
                 (long long)s->pool.centres, LEAST);
    cli_say(c, "error of a point in one normal direction: %.3g; left out: %lld centres at an edge, %lld without a fit",
            s->noise, (long long)s->pool.edge, (long long)s->pool.failed);
}

/* --plan */
static geodec_status plan(const cli *c, const cli_stage *stage, const geodec_cloud *cloud, int64_t d, const double *x,
                          geodec_err *err)
{
    geodec_size size;
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_second_form_needs(cloud, d, x, &opt, NEEDS_BUDGET, c->pool, &c->hooks, c->needs, &size, err));
    needs_process(c->needs);
    needs_output(c->needs, &size);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *states = NULL;
    geodec_activations view;
    geodec_cloud cloud = {0};
    geodec_second_form s = {0};
    cli_stage stage = {0};
    double *x = NULL;
    int64_t d;
    opt.seed = c->seed;
    opt.control = !no_control;
    GEODEC_TRY(geodec_shard_parse(shard, &opt.shard, err));
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    if (c->n_args > 1) {
        GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[1], &states, err));
        GEODEC_TRY(geodec_activations_view(states, &view, err));
    }
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(geodec_second_form_points(&cloud, states ? &view : NULL, &x, &d, err));
    if (c->needs) {
        needs_since(c->needs, "load", begin);
        GEODEC_TRY(plan(c, &stage, &cloud, d, x, err));
        goto done;
    }
    GEODEC_TRY(geodec_second_form_compute(&cloud, d, x, &opt, c->pool, &c->hooks, &s, err));
    s.whole = states != NULL;
    STAGE_WRITE(&stage, &geodec_second_form_kind, geodec_artifact_save(stage.out, &s, err));
    say(c, &s);
done:
    stage_end(&stage);
    geodec_mem_free(x);
    geodec_cloud_clear(&cloud);
    geodec_second_form_clear(&s);
    return st;
}

int main(int argc, char **argv)
{
    opt = geodec_second_form_defaults();
    return cli_main(argc, argv, &tool, run);
}
