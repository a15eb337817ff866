/* geodec-consistency: measures whether the metric of one half of the texts holds for the states of the other half. */
#include "base/mem.h"
#include "chain/cloud.h"
#include "cli/charts.h"
#include "cli/cli.h"
#include "lab/consistency/correct.h"

#include <string.h>

static const char *output = "consistency.h5";
static int64_t dim, bootstrap = 1000;
static double tau = 0.25;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "consistency.h5"),
    {.name = "dim",
     .letter = 'n',
     .type = CLI_I64,
     .target = &dim,
     .min = 0,
     .max = GEODEC_RBF_MAX_N,
     .metavar = "N",
     .help = "use the first N principal coordinates (0: the cloud's integer dimension)"},
    {.name = "tau",
     .type = CLI_F64,
     .target = &tau,
     .min = 0.001,
     .max = 0.999,
     .metavar = "X",
     .help = "tolerance: share of pairs of neighbours in another order, and relative error of a step's length"},
    {.name = "bootstrap",
     .type = CLI_I64,
     .target = &bootstrap,
     .min = 0,
     .max = 1e6,
     .metavar = "N",
     .help = "replicates over texts for the 95 % intervals"},
};

static const cli_tool tool = {
    .name = "geodec-consistency",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "measure whether the metric of one half of the texts holds for the states of the other half",
    .usage = "[OPTIONS] CLOUD.h5 ACTIVATIONS.h5",
    .description =
        "A metric is fitted to the states of one half of the texts. At each state of the other half it predicts the\n"
        "order of the nearest neighbours by length, and the length of the step to the text's next state; both are\n"
        "compared with the local metric of that state's own neighbours, within tau. The consistency is the share of\n"
        "states for which both hold. Controls: the matrices dealt out anew, turned at random, one for all places.\n"
        "ACTIVATIONS.h5 is what the cloud was made from; it says what the texts are.",
    .examples = "  geodec-consistency -o consistency.h5 cloud.h5 activations.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 2,
    .max_args = 2,
};

static void say(const cli *c, const geodec_consistency *r)
{
    for (int m = 0; m < GEODEC_CONSISTENT_METRICS; m++) {
        const geodec_estimate *s = &r->score[m], *g = &r->gain[m];
        cli_say(c, "%-8s consistency %.3f [%.3f, %.3f]: order %.3f, step %.3f; fitted less this %.3f [%.3f, %.3f]",
                geodec_consistency_name((geodec_consistency_metric)m), s->value, s->low, s->high, r->order[m].value,
                r->step[m].value, g->value, g->low, g->high);
    }
    cli_say(c, "%lld held-out states, %lld steps, %lld neighbours in %lld dimensions; the field from %lld states",
            (long long)r->held_out, (long long)r->steps, (long long)r->k, (long long)r->n, (long long)r->fitted);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *states = NULL, *out = NULL;
    geodec_activations v;
    geodec_cloud cloud = {0};
    geodec_split split;
    geodec_consistency r = {0};
    geodec_consistency_options o = geodec_consistency_defaults();
    geodec_provenance p = cli_provenance(c);
    double *x = NULL;
    int32_t *unit_of_row = NULL, *unit = NULL;
    o.tau = tau;
    o.replicates = bootstrap;
    o.seed = c->seed;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, c->args[1], &states, err));
    GEODEC_TRY(geodec_activations_view(states, &v, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, states, err));
    GEODEC_TRY(geodec_activations_units(states, &unit_of_row, &split, err));
    say_split(c, &split);
    const int64_t n = dim > 0 ? dim : cloud.k_int;
    if (n > cloud.k)
        GEODEC_THROW(GEODEC_RANGE, "--dim: %s has %lld coordinates, not %lld", c->args[0], (long long)cloud.k,
                     (long long)n);
    GEODEC_NEW(x, cloud.points * n);
    GEODEC_NEW(unit, cloud.points);
    for (int64_t i = 0; i < cloud.points; i++) {
        if (cloud.row[i] < 0 || cloud.row[i] >= v.rows)
            GEODEC_THROW(GEODEC_FORMAT, "%s is not of %s: there is no row %d", c->args[0], c->args[1], cloud.row[i]);
        memcpy(x + i * n, cloud.coordinate + i * cloud.k, (size_t)n * sizeof *x);
        unit[i] = unit_of_row[cloud.row[i]];
    }
    GEODEC_TRY(geodec_consistency_run(cloud.points, n, x, cloud.sequence, unit, &o, c->pool, &c->hooks, &r, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_consistency_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_consistency_write(&r, &cloud, &split, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    say(c, &r);
done:
    geodec_artifact_close(out);
    geodec_artifact_close(states);
    geodec_artifact_close(in);
    geodec_cloud_clear(&cloud);
    geodec_consistency_clear(&r);
    geodec_mem_free(x);
    geodec_mem_free(unit);
    geodec_mem_free(unit_of_row);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
