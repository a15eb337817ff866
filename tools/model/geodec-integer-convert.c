/* geodec-integer-convert: a model whose weights and constants are integers. */
#include "cli/cli.h"
#include "integer/engine/network_file.h"
#include "session/integer_network.h"

#include <stdio.h>
#include <string.h>

static const char *output = "", *bits = "8", *activations = "16";

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "MODEL.int.gguf"),
    OPT_CHOICE("bits", 0, &bits, "4|8|16", "N", "bits of weights that are not in Q8_0 or Q4_0, which keep their codes"),
    OPT_CHOICE("activations", 0, &activations, "8|16", "N", "bits of the inputs of products"),
};

static const cli_tool tool = {
    .name = "geodec-integer-convert",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "convert a GGUF model to integers, for inference that gives the same bits on every processor",
    .usage = "[OPTIONS] MODEL.gguf",
    .description =
        "Weights become codes of 4, 8 or 16 bits in blocks of 32 with integer multipliers and shifts; norms, biases,\n"
        "angles and all constants of the configuration become integers too. The output is a GGUF with the vocabulary\n"
        "and keys of the input. Tools that take --arithmetic run it as integer; its fingerprint identifies the\n"
        "results. --arithmetic integer on the original file gives the same logits as a conversion with the default\n"
        "options.",
    .examples = "  geodec-integer-convert -o model.int.gguf model-q8_0.gguf\n"
                "  geodec-decode --model model.int.gguf -p \"Once upon a time\"",
    CLI_TAKES(options, 1, 1),
    .takes_model = true,
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char name[4096];
    geodec_model *m = NULL;
    geodec_network *n = NULL;
    const char *path = c->args[0], *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const size_t stem =
        strlen(base) > 5 && strcmp(base + strlen(base) - 5, ".gguf") == 0 ? strlen(base) - 5 : strlen(base);
    (void)snprintf(name, sizeof name, "%.*s.int.gguf", (int)stem, base);
    const char *to = output[0] ? output : name;
    const geodec_integer_options o = {.bits = bits[0] == '1' ? 16 : bits[0] - '0',
                                      .activation_bits = activations[0] == '8' ? 8 : 16};
    GEODEC_TRY(cli_may_write(c, to, err));
    GEODEC_TRY(geodec_model_open(path, &m, err));
    GEODEC_TRY_MSG(geodec_integer_network_make(m, &o, c->pool, &n, err), "%s", path);
    GEODEC_TRY(geodec_network_file_write(to, n, geodec_model_gguf(m), geodec_model_fingerprint(m), err));
    cli_say(c, "%d layers in integers, %.1f MB in memory, activations of %s bits -> %s", n->config.n_layer,
            (double)geodec_network_bytes(n) * 1e-6, activations, to);
done:
    geodec_network_free(n);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
