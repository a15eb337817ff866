/* geodec-shape: a model of a public shape with random weights, for measurements of speed. */
#include "cli/cli.h"
#include "session/shape.h"

#include <stdio.h>

static const char *output = "", *type = "f16";
static int64_t layers = 0;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "SHAPE-random-TYPE.gguf"),
    OPT_CHOICE("type", 0, &type, GEODEC_SHAPE_TYPES, "TYPE", "type of the matrices, or a mix of types"),
    OPT_I64("layers", 0, &layers, 0, 1024, "N", "the first N layers only (0: all)"),
};

static const cli_tool tool = {
    .name = "geodec-shape",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "write a model of a public shape with random weights",
    .usage = "[OPTIONS] SHAPE",
    .description =
        "The file has the sizes of the named model, random weights and an artificial vocabulary. It is only for\n"
        "measurements of speed and memory; its name and metadata say so. The same seed gives the same file.\n"
        "Published files of gpt-oss are like --type mxfp4: experts in MXFP4, other matrices in Q8_0.\n\n"
        "Shapes: " GEODEC_SHAPE_DENSE "\n"
        "Mixtures of experts: " GEODEC_SHAPE_MIXTURES,
    .examples = "geodec-shape --type q8_0 smollm2-135m && geodec-bench smollm2-135m-random-q8_0.gguf",
    CLI_TAKES(options, 1, 1),
    .args_are_text = true,
};

static geodec_status run(const cli *c, geodec_err *err)
{
    char name[128];
    int64_t weights;
    const geodec_shape *named = geodec_shape_named(c->args[0]);
    if (!named) GEODEC_FAIL(GEODEC_INVAL, "no shape '%.60s' (%s)", c->args[0], GEODEC_SHAPE_CHOICES);
    geodec_shape s = *named;
    if (layers > s.n_layer)
        GEODEC_FAIL(GEODEC_INVAL, "--layers %lld: %s has %d", (long long)layers, s.title, (int)s.n_layer);
    if (layers) s.n_layer = (int32_t)layers;
    (void)snprintf(name, sizeof name, "%s-random-%s.gguf", s.name, type);
    const char *path = output[0] ? output : name;
    GEODEC_PASS(cli_may_write(c, path, err));
    GEODEC_PASS(geodec_shape_write(path, &s, type, c->seed, c->pool, &c->hooks, err));
    GEODEC_PASS(geodec_shape_weights(&s, &weights, err));
    cli_say(c, "%lld random weights in the shape of %s, %d layers -> %s", (long long)weights, s.title, (int)s.n_layer,
            path);
    return GEODEC_OK;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
