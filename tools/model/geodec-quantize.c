/* geodec-quantize: a model in other tensor types, with the error of each tensor. */
#include "gguf/quantize.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "io/json.h"
#include "io/tsv.h"

#include <math.h>
#include <stdio.h>

static const char *output, *json_path, *type;
static geodec_quantize_options o;

static const cli_option options[] = {
    OPT_CHOICE("type", 0, &type, GEODEC_QUANTIZE_CHOICES, "TYPE", "type of the matrices, or a mix of types",
               .flags = CLI_REQUIRED),
    OPT_FILE("output", 'o', &output, "FILE", "write to FILE", .flags = CLI_VOLATILE | CLI_REQUIRED),
    OPT_FLAG("pure", 0, &o.pure, "every matrix in TYPE, without a mix"),
    OPT_STR("tensor", 0, &o.overrides, "PATTERN=TYPE,...",
            "tensors whose names match a shell pattern get another type; the first match decides"),
    OPT_FLAG("nearest", 0, &o.nearest, "only round to the nearest level, without the search for better scales"),
    OPT_FILE("json", 0, &json_path, "FILE", "write the table to FILE as JSON too", .flags = CLI_VOLATILE),
};

static const cli_tool tool = {
    .name = "geodec-quantize",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "writes a GGUF model with its matrices in other types and prints the error of each",
    .usage = "--type TYPE -o OUT.gguf [OPTIONS] IN.gguf",
    .description =
        "Keys and vocabulary are copied; norm gains, biases and expert routers keep their type. The mixes q4_k_s,\n"
        "q4_k_m (= q4_k), q5_k_s and q5_k_m (= q5_k) choose types as llama.cpp does, and every quantised type has\n"
        "the output matrix in Q6_K, unless --pure. Rows that are no multiple of a type's block get the type that\n"
        "docs/manual/tensor-types.md names instead, and F16 where that does not fit either.\n"
        "One TSV row a tensor on standard output: types, values, bytes, root mean square of the weights (size) and of\n"
        "the error (rms), rms / size (relative), the largest error, the cosine of weights before and after, and two\n"
        "controls: the rms of plain rounding to the same type, and of Q8_0. Errors are against the input as decoded:\n"
        "of a quantised input, not against the weights it was made from.",
    .examples =
        "  geodec-quantize --type q4_k_m -o model-q4_k_m.gguf model-f16.gguf\n"
        "  geodec-quantize --type q4_k --tensor '*.attn_v.*=q8_0,token_embd.*=f16' -o mixed.gguf model-f32.gguf",
    CLI_TAKES(options, 1, 1),
};

static double relative(const geodec_quantize_row *r) { return r->size > 0 ? r->rms / r->size : 0; }

static geodec_status print_table(const geodec_quantize_row *rows, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char *const names[] = {"tensor", "from",     "to",      "values", "bytes",       "size",
                                        "rms",    "relative", "largest", "cosine", "nearest_rms", "q8_0_rms"};
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_columns(t, CLI_COUNT(names), names, err));
    for (int64_t i = 0; i < n; i++) {
        const geodec_quantize_row *r = &rows[i];
        geodec_tsv_str(t, r->name);
        geodec_tsv_str(t, geodec_ggml_type_name(r->from));
        geodec_tsv_str(t, geodec_ggml_type_name(r->to));
        geodec_tsv_i64(t, r->values);
        geodec_tsv_u64(t, r->bytes);
        const double v[] = {r->size, r->rms, relative(r), r->largest, r->cosine, r->nearest, r->q8_0};
        for (int k = 0; k < CLI_COUNT(v); k++) geodec_tsv_f64(t, v[k]);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

static geodec_status write_json(const cli *c, const geodec_quantize_row *rows, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json_writer *w = NULL;
    GEODEC_TRY(geodec_json_create(json_path, &w, err));
    geodec_json_put_str(w, "command_line", c->command_line);
    geodec_json_begin_array(w, "tensors");
    for (int64_t i = 0; i < n; i++) {
        const geodec_quantize_row *r = &rows[i];
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "tensor", r->name);
        geodec_json_put_str(w, "from", geodec_ggml_type_name(r->from));
        geodec_json_put_str(w, "to", geodec_ggml_type_name(r->to));
        geodec_json_put_i64(w, "values", r->values);
        geodec_json_put_u64(w, "bytes", r->bytes);
        geodec_json_put_f64(w, "size", r->size);
        geodec_json_put_f64(w, "rms", r->rms);
        geodec_json_put_f64(w, "relative", relative(r));
        geodec_json_put_f64(w, "largest", r->largest);
        geodec_json_put_f64(w, "cosine", r->cosine);
        geodec_json_put_f64(w, "nearest_rms", r->nearest);
        geodec_json_put_f64(w, "q8_0_rms", r->q8_0);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_writer *finished = w;
    w = NULL;
    GEODEC_TRY(geodec_json_commit(finished, err));
done:
    geodec_json_abandon(w);
    return st;
}

/* Over all tensors that changed, weighted by their values. */
static void say_total(const cli *c, const geodec_quantize_row *rows, int64_t n)
{
    double values = 0, bytes = 0, size = 0, error = 0, nearest = 0, changed = 0;
    for (int64_t i = 0; i < n; i++) {
        const double k = (double)rows[i].values;
        values += k;
        bytes += (double)rows[i].bytes;
        if (rows[i].from == rows[i].to) continue;
        changed++;
        size += k * rows[i].size * rows[i].size;
        error += k * rows[i].rms * rows[i].rms;
        nearest += k * rows[i].nearest * rows[i].nearest;
    }
    cli_say(c, "%s: %.0f of %lld tensors changed, %.3f bits a weight, relative error %.5g (plain rounding %.5g)",
            output, changed, (long long)n, 8 * bytes / values, size > 0 ? sqrt(error / size) : 0.0,
            size > 0 ? sqrt(nearest / size) : 0.0);
}

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
    GEODEC_TRY(print_table(rows, n, err));
    if (json_path) GEODEC_TRY(write_json(c, rows, n, err));
    say_total(c, rows, n);
done:
    geodec_mem_free(rows);
    geodec_gguf_close(in);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
