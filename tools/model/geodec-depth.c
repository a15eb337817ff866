/* geodec-depth: the depth at which the residual stream reaches its final dimension, and a probe of a model there. */
#include "cli/stage.h"
#include "cli/streaming.h"
#include "drafters/depth_sink.h"

#include <stdio.h>
#include <string.h>

static const char *output = "depth.h5", *model_path, *probe;
static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "depth.h5"),
    CLI_MODEL_OPTION(model_path),
    OPT_FILE("probe", 0, &probe, "FILE.h5",
             "check that the model is the one of FILE, and write nothing: run the texts of FILE through the first l* "
             "blocks, compare the spectrum within 1e-6 (status 4 if it differs), then the fingerprints (status 3)"),
    CLI_STREAMING_OPTIONS,
};
static const cli_tool tool = {
    .name = "geodec-depth",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure the depth sink, the first layer at which the explained variance reaches its plateau",
    .usage = "--model FILE [OPTIONS]",
    .description =
        "The states are those of texts that the model writes itself. The table on standard output has one row per\n"
        "layer. E is the share of the variance in the leading components, as many as explain 95 % after the last\n"
        "block. The table also gives the distance of E from its largest value. The first layer within 1e-3 of it is\n"
        "l*; the papers place it at about 2/3 of the depth.",
    .examples = "geodec-depth --model model.gguf\n  geodec-depth --model model.gguf --probe depth.h5",
    CLI_TAKES(options, 0, 0),
};

static geodec_status run_probe(const cli *c, const geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    geodec_depth d = {0};
    double difference;
    const char *fingerprint;
    GEODEC_TRY(geodec_artifact_open(&geodec_depth_kind, probe, &a, err));
    GEODEC_TRY(geodec_depth_read(a, &d, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "model_fingerprint", &fingerprint, err));
    GEODEC_TRY_MSG(geodec_depth_probe(m, &d, &difference, err), "%s", probe);
    const bool same = strcmp(fingerprint, geodec_model_fingerprint(m)) == 0;
    printf("sink\t%d\ndifference\t%.3g\nfingerprint_equal\t%d\n", d.sink.layer, difference, same);
    if (!same)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: measured on another model (%.12s..., not %.12s...); spectra differ by %.3g",
                     probe, fingerprint, geodec_model_fingerprint(m), difference);
    if (!(difference <= GEODEC_DEPTH_PROBE))
        GEODEC_THROW(GEODEC_CHECK, "%s: the spectrum after %d blocks differs by %.3g", probe, d.sink.layer, difference);
    cli_say(c, "this is the same model: spectra after %d blocks differ by %.3g", d.sink.layer, difference);
done:
    geodec_depth_clear(&d);
    geodec_artifact_close(a);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_model *m = NULL;
    geodec_depth d = {0};
    double plateau = 0;
    if (!probe) GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    GEODEC_TRY(streaming_begin(c, m, GEODEC_EXACT, 1, err));
    if (probe) {
        GEODEC_TRY(run_probe(c, m, err));
        goto done;
    }
    GEODEC_TRY(geodec_depth_measure(m, &d, err));
    GEODEC_TRY(stage_model(&stage, model_path, m, err));
    STAGE_WRITE(&stage, &geodec_depth_kind, geodec_depth_write(&d, stage.out, err));
    for (int32_t l = 0; l < d.n_layer; l++) plateau = d.explained[l] > plateau ? d.explained[l] : plateau;
    printf("layer\tof_layers\texplained\tbelow_plateau\tsink\n");
    for (int32_t l = 0; l < d.n_layer; l++)
        printf("%d\t%.4f\t%.6f\t%.6f\t%d\n", l + 1, (double)(l + 1) / d.n_layer, d.explained[l],
               plateau - d.explained[l], l + 1 == d.sink.layer);
    cli_say(c, "depth sink %d of %d layers (%.3f), %d components, %lld states", d.sink.layer, d.n_layer,
            (double)d.sink.layer / d.n_layer, d.sink.components, (long long)d.sink.states);
done:
    stage_end(&stage);
    geodec_depth_clear(&d);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
