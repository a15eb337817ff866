/* geodec-quantize: conversion of a model to other tensor types, with the error of each tensor. */
#include "gguf/quantize_report.h"

#include "base/mem.h"
#include "cli/cli.h"

static const char *output, *json_path, *type;
static geodec_quantize_options o;

static const cli_option options[] = {
    OPT_CHOICE("type", 0, &type, GEODEC_QUANTIZE_CHOICES, "TYPE", "type of the matrices, or a mix of types",
               .flags = CLI_REQUIRED),
    OPT_FILE("output", 'o', &output, "FILE", "write to FILE", .flags = CLI_VOLATILE | CLI_REQUIRED),
    OPT_FLAG("pure", 0, &o.pure, "write every matrix in TYPE, without a mix"),
    OPT_STR("tensor", 0, &o.overrides, "PATTERN=TYPE,...",
            "use TYPE for tensors whose names match the shell pattern; the first match decides"),
    OPT_FLAG("nearest", 0, &o.nearest, "round to the nearest level, without a search for better scales"),
    OPT_FILE("json", 0, &json_path, "FILE", "also write the table to FILE as JSON", .flags = CLI_VOLATILE),
};

static const cli_tool tool = {
    .name = "geodec-quantize",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "write a GGUF model with its matrices in other types, and print the error of each",
    .usage = "--type TYPE -o OUT.gguf [OPTIONS] IN.gguf",
    .description =
        "Keys and vocabulary are copied; norm gains, biases and expert routers keep their type. The mixes q4_k_s,\n"
        "q4_k_m (= q4_k), q5_k_s, q5_k_m (= q5_k) and iq4_xs choose types as llama.cpp does; mxfp4 is the type of the\n"
        "experts, where a model has some, and q8_0 that of its other matrices. Unless --pure is given, every\n"
        "quantised type stores the output matrix in Q6_K, mxfp4 in Q8_0. If the row length is not a multiple of a\n"
        "type's block, the tensor gets the replacement type of docs/manual/tensor-types.md, or F16 if that does not\n"
        "fit either.\n"
        "Standard output has one TSV row per tensor: types, values, bytes, root mean square of the weights (size)\n"
        "and of the error (rms), rms / size (relative), the largest error, the cosine of weights before and after,\n"
        "and two controls: the rms of plain rounding to the same type, and of Q8_0. Errors are relative to the\n"
        "decoded input. For a quantised input they do not include the error of the input.",
    .examples =
        "  geodec-quantize --type q4_k_m -o model-q4_k_m.gguf model-f16.gguf\n"
        "  geodec-quantize --type q4_k --tensor '*.attn_v.*=q8_0,token_embd.*=f16' -o mixed.gguf model-f32.gguf",
    CLI_TAKES(options, 1, 1),
    .takes_model = true,
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf *in = NULL;
    geodec_quantize_row *rows = NULL;
    o.recipe = type;
    GEODEC_TRY(cli_may_write(c, output, err));
    if (json_path) GEODEC_TRY(cli_may_write(c, json_path, err));
    GEODEC_TRY(geodec_gguf_open(c->args[0], &in, err));
    const int64_t n = geodec_gguf_n_tensors(in);
    GEODEC_NEW(rows, n);
    GEODEC_TRY(geodec_quantize(in, output, &o, c->pool, &c->hooks, rows, err));
    GEODEC_TRY(geodec_quantize_report_table(stdout, rows, n, err));
    if (json_path) GEODEC_TRY(geodec_quantize_report_json(json_path, c->command_line, rows, n, err));
    geodec_quantize_report_say(&c->hooks, output, rows, n);
done:
    geodec_mem_free(rows);
    geodec_gguf_close(in);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
