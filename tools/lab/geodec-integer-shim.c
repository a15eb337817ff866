/* geodec-integer-shim: a model whose matrices went through the encoding of Config B or E, to measure their effect. */
#include "lab/integer/ring/shim_file.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "io/tsv.h"

#include <string.h>

static const char *output, *config = "B", *pattern = "blk.*.weight";
static int64_t reading = 2, bits = 12;

static const cli_option options[] = {
    OPT_CHOICE("config", 0, &config, "none|B|E", "NAME",
               "B: (p, k) = (41, 8); E: (2, 2); none: plain encoding, the control"),
    OPT_I64("reading", 0, &reading, 1, GEODEC_RING_SHIM_READINGS, "N",
            "1: Frobenius of the residue field on the codes; 2: encoding with the factor |pi^k|, 41^4 or 4"),
    OPT_I64("bits", 0, &bits, 1, GEODEC_RING_ENCODE_BITS, "N", "bits of a code, without its sign"),
    OPT_STR("tensor", 0, &pattern, "PATTERN", "encode the matrices whose names match the shell pattern"),
    OPT_FILE("output", 'o', &output, "FILE", "write to FILE", .flags = CLI_VOLATILE | CLI_REQUIRED),
};

static const cli_tool tool = {
    .name = "geodec-integer-shim",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "write a GGUF model whose matrices were encoded in the ring Z[w] under Config B or E",
    .usage = "-o OUT.gguf [OPTIONS] IN.gguf",
    .description =
        "Each matrix is rounded to codes with one power-of-two step and decoded to float32; other tensors keep their\n"
        "bytes. The perplexity of the result, compared with that of --config none at the same --bits by\n"
        "geodec-perplexity --against, is the effect of the configuration. Reading 1, and Config E, change no code.\n"
        "Standard output has one TSV row per encoded matrix: its values, their root mean square (size), the exponent\n"
        "of the step, the number of values that differ from plain encoding, and the root mean square errors of this\n"
        "and of plain encoding.",
    .examples = "  geodec-integer-shim --config none -o plain.gguf model.gguf\n"
                "  geodec-integer-shim --config B -o b.gguf model.gguf\n"
                "  geodec-perplexity --model plain.gguf --against b.gguf text",
    CLI_TAKES(options, 1, 1),
    .takes_model = true,
};

static geodec_status table(const geodec_ring_shim_row *rows, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "tensor from values size exponent changed rms plain_rms", err));
    for (int64_t i = 0; i < n; i++) {
        const geodec_ring_shim_row *r = &rows[i];
        if (r->values == 0) continue;
        geodec_tsv_str(t, r->name);
        geodec_tsv_str(t, geodec_ggml_type_name(r->from));
        geodec_tsv_i64(t, r->values);
        geodec_tsv_f64(t, r->size);
        geodec_tsv_i64(t, r->report.exponent);
        geodec_tsv_i64(t, r->report.changed);
        geodec_tsv_f64(t, r->report.error);
        geodec_tsv_f64(t, r->report.plain);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf *in = NULL;
    geodec_ring_shim_row *rows = NULL;
    geodec_ring_shim_options o = {.reading = (int)reading, .q_max = (int)bits, .pattern = pattern};
    int64_t values = 0, changed = 0;
    for (int k = 0; k < GEODEC_RING_SHIM_CONFIGS; k++)
        if (strcmp(geodec_ring_shim_of((geodec_ring_shim_config)k)->name, config) == 0)
            o.config = (geodec_ring_shim_config)k;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_gguf_open(c->args[0], &in, err));
    const int64_t n = geodec_gguf_n_tensors(in);
    GEODEC_NEW(rows, n);
    GEODEC_TRY(geodec_ring_shim_file(in, output, &o, &c->hooks, rows, err));
    for (int64_t i = 0; i < n; i++) {
        values += rows[i].values;
        changed += rows[i].report.changed;
    }
    GEODEC_TRY(table(rows, n, err));
    cli_say(c, "%s: %lld of %lld values differ from plain encoding", output, (long long)changed, (long long)values);
done:
    geodec_mem_free(rows);
    geodec_gguf_close(in);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
