/* geodec-ternary: stores of ternary experts. One function for each command. */
#include "cli/ternary_files.h"

#include <string.h>

static const char *output = "", *encoding = "base3", *scales = "matrix", *type;
static bool differences, each, lossy;

static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "PATH", "build: the folder (default: MODEL.trits); convert: the file",
             .flags = CLI_VOLATILE),
    OPT_CHOICE("encoding", 0, &encoding, "base3|bits2", "NAME", "build: 1.6 or 2 bits a weight, on disk and in memory"),
    OPT_CHOICE("scales", 0, &scales, "matrix|row", "OF", "build: one scale for a matrix, or for each row"),
    OPT_FLAG("differences", 0, &differences, "build: also the differences of neighbours on the model's lattice"),
    OPT_FLAG("layers", 0, &each, "edges: a line for each layer, too"),
    OPT_CHOICE("type", 0, &type, "tq1_0|tq2_0|f16|bf16|f32", "TYPE", "convert: type of the experts"),
    OPT_FLAG("lossy", 0, &lossy, "convert: allow that scales are rounded"),
};

static const cli_tool tool = {
    .name = "geodec-ternary",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "stores of ternary experts and of the differences between them, and GGUF files of TQ1_0 and TQ2_0",
    .usage = "[OPTIONS] build MODEL.gguf | verify FOLDER | info FOLDER | edges FOLDER | convert MODEL.gguf",
    .description =
        "build packs the experts of a model, whose weights must be exactly -s, 0 and s: expert_EEE.trit for each,\n"
        "delta_AAA_BBB.trd for each edge of the lattice (--differences), resident.gguf with the rest of the model, "
        "and\n"
        "experts.table. Tools take the folder in place of the GGUF, with --ram. A weight that is not ternary is an "
        "error\n"
        "that names layer and expert.\n"
        "\n"
        "verify reads every byte, and applies every difference in both directions. info prints sizes.\n"
        "\n"
        "edges prints a table of the differences. p: share of the trits that differ; bytes; share: of the bytes of\n"
        "whole experts; floor: the same for the entropy H(p) + p of a weight; zeros_a, zeros_b: of both experts.\n"
        "Controls: p_shifted, with the second expert moved by half of its rows and columns; p_independent, of\n"
        "independent trits of the same frequencies (0.625 for a quarter, a half and a quarter).\n"
        "\n"
        "convert writes a GGUF whose ternary experts have another type: llama.cpp's TQ1_0 or TQ2_0, or floats again.\n"
        "All other tensors keep their bytes. The weights keep their values; if a scale is no value of the type (of\n"
        "TQ1_0, TQ2_0 and F16: binary16), the model is refused unless --lossy is given. Rows must be whole blocks of\n"
        "256. build takes such files, too. Standard output has the counts and the largest relative error of a scale.",
    .examples = "geodec-ternary build model.gguf --differences -o model.trits\n"
                "geodec-decode --model model.trits --ram 200M --prompt 'Once upon a time'\n"
                "geodec-ternary verify model.trits\n"
                "geodec-ternary edges model.trits\n"
                "geodec-ternary convert model.gguf --type tq1_0 -o model-tq1_0.gguf",
    CLI_TAKES(options, 2, 2),
    .takes_model = true,
};

static geodec_status build(const cli *c, geodec_err *err)
{
    const geodec_ternary_build o = {.encoding =
                                        strcmp(encoding, "bits2") == 0 ? GEODEC_TERNARY_BITS2 : GEODEC_TERNARY_BASE3,
                                    .by_row = strcmp(scales, "row") == 0,
                                    .differences = differences};
    return ternary_build(c, c->args[1], output, &o, err);
}

static geodec_status verify(const cli *c, geodec_err *err) { return ternary_verify(c, c->args[1], err); }
static geodec_status info(const cli *c, geodec_err *err) { return ternary_info(c, c->args[1], err); }
static geodec_status edges(const cli *c, geodec_err *err) { return ternary_edges(c, c->args[1], each, err); }
static geodec_status convert(const cli *c, geodec_err *err)
{
    if (!type) GEODEC_FAIL(GEODEC_INVAL, "convert needs --type");
    if (!output[0]) GEODEC_FAIL(GEODEC_INVAL, "convert needs --output");
    return ternary_convert(c, c->args[1], output, geodec_ggml_traits_named(type)->type, lossy, err);
}

static const struct {
    const char *name;
    geodec_status (*run)(const cli *c, geodec_err *err);
} commands[] = {{"build", build}, {"verify", verify}, {"info", info}, {"edges", edges}, {"convert", convert}};

static geodec_status run(const cli *c, geodec_err *err)
{
    for (int i = 0; i < CLI_COUNT(commands); i++)
        if (strcmp(c->args[0], commands[i].name) == 0) return commands[i].run(c, err);
    GEODEC_FAIL(GEODEC_INVAL, "no command '%.60s' (build, verify, info, edges, convert)", c->args[0]);
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
