/* geodec-project-kv: bases for a key and value cache of low rank. */
#include "base/mem.h"
#include "cli/stage.h"
#include "cli/streaming.h"
#include "cli/text.h"
#include "lowrank/kv_projection.h"

#include <math.h>
#include <string.h>

static const char *model_path, *output = "kvprojection.h5", *basis = "whitened", *storage = "auto", *text,
                               *separator = "auto";
static int64_t group, tokens = 16384, window = 256;
static double keys = 0.5, values = 0.5, ridge = 1e-6;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_OUTPUT_OPTION(output, "kvprojection.h5"),
    OPT_F64("keys", 0, &keys, 0, 1, "X",
            "coefficients of a group's keys, as a share of their dimensions (0: keys are not projected)"),
    OPT_F64("values", 0, &values, 0, 1, "X",
            "coefficients of a group's values, as a share of their dimensions (0: values are not projected)"),
    OPT_I64("group", 'g', &group, 0, 1 << 16, "N",
            "number of key heads that share coefficients, a divisor of the number of key heads (0: up to 4)"),
    OPT_CHOICE("basis", 'b', &basis, "weights|whitened|random", "NAME",
               "weights: singular vectors of the group's weights; whitened: the same, weighted by activations; random: "
               "the control"),
    OPT_CHOICE("storage", 0, &storage, "auto|f32|f16", "TYPE",
               "type of the matrices at run time (auto: f32 if the key weights are f32, else f16)"),
    OPT_FILE("text", 0, &text, "FILE",
             "text to run the model on, for the activations of whitening and of output errors"),
    CLI_RUN_SEPARATOR_OPTION(separator),
    OPT_I64("tokens", 0, &tokens, 1, 1e9, "N", "tokens to read from the beginning of the text"),
    OPT_I64("window", 'w', &window, 2, 1 << 20, "N", "tokens of a window, BOS included (at most the model's context)"),
    OPT_F64("ridge", 0, &ridge, 0, 1, "X", "share of the mean variance to add to all directions before whitening"),
    CLI_STREAMING_OPTIONS,
};

static const cli_tool tool = {
    .name = "geodec-project-kv",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "compute bases for a key and value cache of low rank",
    .usage = "--model FILE [OPTIONS]",
    .description =
        "The stacked key matrix W of a group of heads is replaced by two factors, W ~ B A, and the cache stores A x.\n"
        "Keys are rebuilt and rotated when they are read. Values are mixed as coefficients, with B merged into the\n"
        "output matrix. geodec-perplexity, geodec-decode and geodec-bench-decode take the result with\n"
        "--kv-projection, also together with --kv.",
    .examples = "  geodec-project-kv --model model.gguf --text book.txt --keys 0.5 --values 0.75 -o kvprojection.h5",
    CLI_TAKES(options, 0, 0),
};

static geodec_status run_text(const cli *c, const geodec_model *m, geodec_input_moments *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t n;
    const int32_t n_ctx = geodec_model_configuration(m)->n_ctx;
    GEODEC_TRY(text_ids(text, separator, geodec_model_tokenizer(m), &ids, &n, err));
    GEODEC_TRY_MSG(geodec_input_moments_run(m, 1u << GEODEC_SLOT_K, n < tokens ? n : tokens, ids,
                                            window < n_ctx ? (int32_t)window : n_ctx, c->pool, &c->hooks, out, err),
                   "%s", text);
done:
    geodec_mem_free(ids);
    return st;
}

static double mean(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; x && i < n; i++) sum += x[i] / (double)n;
    return x ? sum : (double)NAN;
}

static bool half_of(const geodec_model *m)
{
    int64_t rows, cols;
    if (strcmp(storage, "auto") != 0) return strcmp(storage, "f16") == 0;
    geodec_factors_slot_shape(geodec_model_configuration(m), GEODEC_SLOT_K, &rows, &cols);
    return geodec_model_slot_bytes(m, 0, GEODEC_SLOT_K) < 4 * rows * cols;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_input_moments moments = {0};
    geodec_kv_projection p = {0};
    cli_stage stage = {0};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    if (strcmp(basis, "whitened") == 0 && !text) GEODEC_THROW(GEODEC_INVAL, "--basis whitened needs --text");
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    GEODEC_TRY(streaming_begin(c, m, GEODEC_EXACT, 1, err));
    if (text) GEODEC_TRY(run_text(c, m, &moments, err));
    geodec_kv_projection_options o = {.group = (int32_t)group,
                                      .k_share = keys,
                                      .v_share = values,
                                      .ridge = ridge,
                                      .half = half_of(m),
                                      .seed = c->seed,
                                      .moments = text ? &moments : NULL};
    while (strcmp(basis, geodec_projection_basis_name(o.basis)) != 0) o.basis++;
    GEODEC_TRY_MSG(geodec_kv_projection_fit(m, &o, &p, err), "%s", model_path);
    stage.p.model_fingerprint = geodec_model_fingerprint(m);
    GEODEC_TRY(stage_file(&stage, model_path, err));
    if (text) GEODEC_TRY(stage_file(&stage, text, err));
    STAGE_WRITE(&stage, &geodec_kv_projection_kind, geodec_kv_projection_write(&p, stage.out, err));
    cli_say(c, "keys: rank %lld of groups of %d, error %.4f, of outputs %.4f", (long long)p.k.rank, p.k.group,
            mean(p.n_layer, p.k.error), mean(p.n_layer, p.k.output_error));
    cli_say(c, "values: rank %lld of groups of %d, error %.4f, of outputs %.4f", (long long)p.v.rank, p.v.group,
            mean(p.n_layer, p.v.error), mean(p.n_layer, p.v.output_error));
    cli_say(c, "numbers cached per token: %lld instead of %lld", (long long)p.numbers_kept, (long long)p.numbers_full);
done:
    stage_end(&stage);
    geodec_kv_projection_clear(&p);
    geodec_input_moments_clear(&moments);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
