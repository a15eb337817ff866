/* geodec-null: a cloud of noise that keeps one property of another cloud, as a control for later stages. */
#include "chain/null.h"
#include "cli/stage.h"

static const char *output = "null.h5", *kind = "gaussian";

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "null.h5"),
    OPT_CHOICE("kind", 'k', &kind, "gaussian|phase|shuffle", "NAME",
               "property to keep: the spectrum; the spectrum and the correlations along the text; the values of each "
               "coordinate"),
};

static const cli_tool tool = {
    .name = "geodec-null",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "generate a cloud of noise that keeps one property of another cloud",
    .usage = "[OPTIONS] CLOUD.h5",
    .description =
        "The result has the same number of points, directions and integer dimension, and one property of the kept\n"
        "coordinates of the cloud; it says nothing of the directions that the cloud left out.\n"
        "gaussian: the variances. phase: covariance, power spectra and linear correlations along the text; the\n"
        "Fourier phases along the text are random and the same for all coordinates. shuffle: the values of each\n"
        "coordinate, which is permuted separately. Results of later stages on this cloud are those of noise.",
    .examples = "geodec-null -o null.h5 cloud.h5 && geodec-metric -o null-metric.h5 null.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_surrogate what;
    cli_stage stage = {0};
    GEODEC_TRY(geodec_surrogate_find(kind, &what, err));
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
    STAGE_WRITE(&stage, &geodec_cloud_kind, geodec_null_build(in, what, c->seed, stage.out, err));
    if (st == GEODEC_OK) cli_say(c, "%s surrogate of %s -> %s", kind, c->args[0], output);
done:
    stage_end(&stage);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
