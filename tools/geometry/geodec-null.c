/* geodec-null: a cloud of noise that keeps one property of another cloud: the control of every later stage. */
#include "chain/null.h"
#include "cli/cli.h"

static const char *output = "null.h5", *kind = "gaussian";

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "null.h5"),
    {.name = "kind",
     .letter = 'k',
     .type = CLI_CHOICE,
     .target = &kind,
     .choices = "gaussian|phase|shuffle",
     .metavar = "NAME",
     .help = "what is kept: the spectrum; the spectrum and the correlations along the text; each coordinate's values"},
};

static const cli_tool tool = {
    .name = "geodec-null",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "a cloud of noise that keeps one property of another",
    .usage = "[OPTIONS] CLOUD.h5",
    .description =
        "Same number of points, directions and integer dimension; of the model only this is left:\n"
        "gaussian: the variances. phase: Fourier phases along the text are random, the same for all coordinates, so\n"
        "covariance, power spectra and linear correlations along the text stay. shuffle: each coordinate is permuted\n"
        "on its own, so its values stay. What a later stage reports of it is what noise gives.",
    .examples = "geodec-null -o null.h5 cloud.h5 && geodec-metric -o null-metric.h5 null.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 1,
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *out = NULL;
    geodec_surrogate what;
    geodec_provenance p = cli_provenance(c);
    GEODEC_TRY(geodec_surrogate_find(kind, &what, err));
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_cloud_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_null_build(in, what, c->seed, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    if (st == GEODEC_OK) cli_say(c, "%s surrogate of %s -> %s", kind, c->args[0], output);
done:
    geodec_artifact_close(out);
    geodec_artifact_close(in);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
