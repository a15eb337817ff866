/* geodec-model-info: configuration, tensor types and fingerprints of a model. */
#include "cli/cli.h"
#include "session/model.h"

#include <stdio.h>

static bool tensors;
static const cli_option options[] = {
    OPT_FLAG("tensors", 0, &tensors, "list every tensor with its type and dimensions"),
};

static const cli_tool tool = {
    .name = "geodec-model-info",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "print the configuration, tensor types and fingerprints of a GGUF model",
    .usage = "[OPTIONS] MODEL.gguf",
    .description =
        "The file is opened with all checks. Each line of the output is a name, a tab and a value. The fingerprint\n"
        "of the model is the SHA-256 of its tensors (name, type, dimensions and bytes, sorted by name). The\n"
        "fingerprint of the tokenizer covers types, scores, pieces and special tokens. Artifacts contain both and\n"
        "are refused with another model. A split model is given by its first file, NAME-00001-of-0000N.gguf.\n"
        "Tensors without values, or of a name that no architecture has, are not read; they are counted and named.",
    .examples = "  geodec-model-info model.gguf\n  geodec-model-info --tensors model.gguf",
    CLI_TAKES(options, 1, 1),
    .takes_model = true,
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    GEODEC_TRY(geodec_model_open(c->args[0], &m, err));
    geodec_model_print(stdout, m, tensors);
done:
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
