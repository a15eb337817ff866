/* geodec-density: how near new states lie to a library of states. */
#include "base/mem.h"
#include "chain/cloud.h"
#include "cli/cli.h"
#include "cli/sweep.h"
#include "lab/density/correct.h"
#include "lab/density/published.h"

#include <string.h>

static const char *output = "density.h5", *mode = "correct", *telemetry, *metric = "cosine", *shard, *joined;
static int64_t dim, nulls = 6;
static double held_out = 0.3, radius;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "density.h5"),
    CLI_MODE_OPTION(mode),
    {.name = "telemetry",
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &telemetry,
     .metavar = "FILE.tsv",
     .help = "states of a generation: step, source, token, numbers (with --mode ref)"},
    {.name = "metric",
     .type = CLI_CHOICE,
     .target = &metric,
     .choices = "cosine|l2",
     .metavar = "NAME",
     .help = "distance of --mode ref"},
    {.name = "radius",
     .type = CLI_F64,
     .target = &radius,
     .min = 0,
     .max = 1e300,
     .metavar = "X",
     .help = "radius that --mode ref sets its distances against, in whatever metric it is (0: none)"},
    {.name = "dim",
     .letter = 'n',
     .type = CLI_I64,
     .target = &dim,
     .min = 0,
     .max = 65536,
     .metavar = "N",
     .help = "use the first N principal coordinates (0: all)"},
    {.name = "held-out",
     .type = CLI_F64,
     .target = &held_out,
     .min = 0.01,
     .max = 0.99,
     .metavar = "X",
     .help = "share of the texts that are no part of the library"},
    {.name = "nulls",
     .type = CLI_I64,
     .target = &nulls,
     .min = 0,
     .max = 1000,
     .metavar = "N",
     .help = "surrogate clouds, the control"},
    CLI_SWEEP_OPTIONS(shard, joined, "states"),
};

static const cli_tool tool = {
    .name = "geodec-density",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "density of new states against a library of states",
    .usage = "[OPTIONS] CLOUD.h5\n       geodec-density --mode ref --telemetry FILE.tsv [OPTIONS]",
    .description =
        "Texts are split into a library and held-out ones. Distances of held-out states to the library are compared\n"
        "with those of library states to each other from text to text, in one metric; the number of states needed "
        "grows\n"
        "with the intrinsic dimension, ratio^n. Within a text, states near in time are left out in steps. Surrogates\n"
        "are the control. --mode ref prints what the published harness makes of one generation.",
    .examples = "  geodec-density -o density.h5 cloud.h5\n"
                "  geodec-density --mode ref --telemetry live.tsv --radius 3 -o density-ref.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 0,
    .max_args = 1,
};

static geodec_status run_correct(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *out = NULL;
    geodec_cloud cloud = {0};
    geodec_density d = {0};
    geodec_density_options o = geodec_density_defaults();
    geodec_provenance p = cli_provenance(c);
    bool part;
    double *x = NULL;
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    if (dim > cloud.k)
        GEODEC_THROW(GEODEC_RANGE, "--dim: %s has %lld coordinates, not %lld", c->args[0], (long long)cloud.k,
                     (long long)dim);
    const int64_t n = dim > 0 ? dim : cloud.k;
    GEODEC_NEW(x, cloud.points * n);
    for (int64_t i = 0; i < cloud.points; i++) memcpy(x + i * n, cloud.coordinate + i * cloud.k, (size_t)n * sizeof *x);
    o.held_out = held_out;
    o.nulls = nulls;
    o.seed = c->seed;
    o.surrogate = geodec_surrogate_for(cloud.points, cloud.sequence);
    GEODEC_TRY(sweep_begin(shard, joined, &p, &o.sweep, err));
    GEODEC_TRY(geodec_density_run(cloud.points, n, x, cloud.sequence, cloud.position, &o, c->pool, &c->hooks, &d, err));
    GEODEC_TRY(sweep_end(c, o.sweep, &p, output, &part, err));
    if (part) goto done;
    GEODEC_TRY(geodec_artifact_create(&geodec_density_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_density_write(&d, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    cli_say(c,
            "%lld held-out states to the library: %.3g [%.3g, %.3g]; library states of other texts: %.3g [%.3g, %.3g]",
            (long long)d.online_points, d.online.value, d.online.low, d.online.high, d.offline.value, d.offline.low,
            d.offline.high);
    cli_say(c,
            "ratio %.3f [%.3f, %.3f] (%s surrogates %.3f, z %.1f); dimension %.1f [%.1f, %.1f]; enrichment %.3g [%.3g, "
            "%.3g], by the published rule %.0f",
            d.ratio.value, d.ratio.low, d.ratio.high, geodec_surrogate_name(d.surrogate), d.null_ratio, d.z,
            d.dimension.fit, d.dimension.fit_low, d.dimension.fit_high, d.enrichment.value, d.enrichment.low,
            d.enrichment.high, d.published_rule);
    for (int64_t w = 0; w < d.n_windows; w++)
        if (d.within_count[w] > 0)
            cli_say(c, "own text, at least %2lld tokens away: %.3g (surrogates %.3g)", (long long)d.window[w],
                    d.within[w], d.within_null[w]);
done:
    geodec_sweep_close(o.sweep);
    geodec_artifact_close(out);
    geodec_artifact_close(in);
    geodec_cloud_clear(&cloud);
    geodec_density_clear(&d);
    geodec_mem_free(x);
    return st;
}

static geodec_status run_published(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    geodec_telemetry t = {0};
    geodec_density_published d = {0};
    geodec_provenance p = cli_provenance(c);
    GEODEC_TRY(geodec_density_telemetry_read(telemetry, &t, err));
    GEODEC_TRY(geodec_density_published_run(&t, strcmp(metric, "cosine") == 0, radius, c->pool, &c->hooks, &d, err));
    GEODEC_TRY(geodec_provenance_add_file(&p, telemetry, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_density_published_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_density_published_write(&d, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    cli_say(c,
            "%lld states (%lld lines left out), %s: consecutive mean %.3g, median %.3g, p90 %.3g; nearest mean %.3g, "
            "median %.3g, p90 %.3g",
            (long long)d.states, (long long)d.left_out, metric, d.consecutive.mean, d.consecutive.p50,
            d.consecutive.p90, d.nearest.mean, d.nearest.p50, d.nearest.p90);
    if (radius > 0)
        cli_say(c, "ratio to the radius %.3g: %.3g, enrichment %lld", radius, d.ratio, (long long)d.enrichment);
done:
    geodec_artifact_close(out);
    geodec_density_telemetry_clear(&t);
    geodec_density_published_clear(&d);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool published = strcmp(mode, "ref") == 0;
    if (published && (shard || joined)) GEODEC_THROW(GEODEC_INVAL, "--mode ref is not divided");
    if (published != (telemetry != NULL)) GEODEC_THROW(GEODEC_INVAL, "--mode ref and --telemetry go together");
    if (published == (c->n_args == 1))
        GEODEC_THROW(GEODEC_INVAL, "%s", published ? "--mode ref takes no cloud" : "a cloud is wanted");
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(published ? run_published(c, err) : run_correct(c, err));
done:
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
