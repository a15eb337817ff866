/* geodec-project: weights of a model as products of two low-rank factors. */
#include "base/mem.h"
#include "cli/stage.h"
#include "cli/text.h"
#include "lowrank/projection.h"

#include <string.h>

static const char *model_path, *output = "projection.h5", *slots = "q,k,v", *basis = "weights", *rule = "share";
static const char *storage = "auto", *text, *separator = "auto";
static bool own;
static int64_t rank, tokens = 16384, window = 256;
static geodec_projection_options opt;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_OUTPUT_OPTION(output, "projection.h5"),
    OPT_STR("slots", 0, &slots, "LIST", "matrices to project: any of q,k,v,o,gate,up,down, joined by commas, or all"),
    OPT_CHOICE("basis", 'b', &basis, "weights|whitened|random|coordinates", "NAME",
               "weights: eigenvectors of the weights' Gram matrix; whitened: the same, weighted by activations; "
               "random, coordinates: controls"),
    OPT_FLAG("own", 0, &own,
             "use a separate basis for each slot (its truncated SVD) instead of one for all slots with the same input"),
    OPT_F64("share", 's', &opt.share, 0, 1, "X",
            "rank as a share of the input's width; with --rule energy, the share of the trace to keep"),
    OPT_I64("rank", 'k', &rank, 0, 1 << 20, "K", "rank, which replaces --share (0: use --share)"),
    OPT_CHOICE("rule", 0, &rule, "share|energy|layers", "NAME",
               "rank of each layer: share: the same for all; energy: by the share of the trace; layers: in proportion "
               "to the effective rank of the layer"),
    OPT_F64("floor", 0, &opt.floor, 0, 1, "X",
            "smallest rank of --rule layers, as a share of the width (the papers: 0.55)"),
    OPT_CHOICE("storage", 0, &storage, "auto|f32|f16", "TYPE",
               "type of the factors at run time (auto: f32 if all weights of the slots are f32, else f16)"),
    OPT_FILE("text", 0, &text, "FILE",
             "text to run the model on, for the activations of whitening and of output errors"),
    CLI_RUN_SEPARATOR_OPTION(separator),
    OPT_I64("tokens", 0, &tokens, 1, 1e9, "N", "tokens to read from the beginning of the text"),
    OPT_I64("window", 'w', &window, 2, 1 << 20, "N", "tokens of a window, BOS included (at most the model's context)"),
    OPT_F64("ridge", 0, &opt.ridge, 0, 1, "X", "share of the mean variance to add to all directions before whitening"),
};

static const cli_tool tool = {
    .name = "geodec-project",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "project weights of a model on a few directions of their input",
    .usage = "--model FILE [OPTIONS]",
    .description =
        "A matrix W [rows][cols] is replaced by two factors, [rows][k] and [k][cols]. By default q, k and v share\n"
        "the leading eigenvectors of the sum of their W^T W, at half the width. --own uses the truncated SVD of\n"
        "each. --basis whitened minimises the error of the outputs over the activations of --text. random and\n"
        "coordinates are controls of the same rank. Bytes are those that the pass of one token reads, in the actual\n"
        "storage of the weights: rho = 1 - projected / full. geodec-perplexity, geodec-decode and\n"
        "geodec-bench-decode take the result with --projection.",
    .examples = "  geodec-project --model model.gguf --share 0.65 -o projection.h5\n"
                "  geodec-project --model model.gguf --slots all --basis whitened --text book.txt -o projection.h5",
    CLI_TAKES(options, 0, 0),
};

static geodec_status run_text(const cli *c, const geodec_model *m, unsigned set, geodec_input_moments *out,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t n;
    const int32_t n_ctx = geodec_model_configuration(m)->n_ctx;
    GEODEC_TRY(text_ids(text, separator, geodec_model_tokenizer(m), &ids, &n, err));
    if (n > tokens) n = tokens;
    GEODEC_TRY_MSG(geodec_input_moments_run(m, set, n, ids, window < n_ctx ? (int32_t)window : n_ctx, c->pool,
                                            &c->hooks, out, err),
                   "%s", text);
done:
    geodec_mem_free(ids);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_input_moments moments = {0};
    geodec_projection p = {0};
    cli_stage stage = {0};
    unsigned set;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    GEODEC_TRY(geodec_factors_slots(slots, geodec_model_configuration(m), &set, err));
    if (strcmp(basis, "whitened") == 0 && !text) GEODEC_THROW(GEODEC_INVAL, "--basis whitened needs --text");
    if (text) GEODEC_TRY(run_text(c, m, set, &moments, err));
    opt.slots = set;
    opt.shared = !own;
    while (strcmp(basis, geodec_projection_basis_name(opt.basis)) != 0) opt.basis++;
    opt.rule = strcmp(rule, "energy") == 0   ? GEODEC_RANK_ENERGY
               : strcmp(rule, "layers") == 0 ? GEODEC_RANK_LAYERS
                                             : GEODEC_RANK_SHARE;
    opt.k = rank;
    opt.half = strcmp(storage, "auto") == 0 ? geodec_factors_half(m, set) : strcmp(storage, "f16") == 0;
    opt.seed = c->seed;
    opt.moments = text ? &moments : NULL;
    opt.pool = c->pool;
    opt.hooks = &c->hooks;
    GEODEC_TRY_MSG(geodec_projection_fit(m, &opt, &p, err), "%s", model_path);
    stage.p.model_fingerprint = geodec_model_fingerprint(m);
    GEODEC_TRY(stage_file(&stage, model_path, err));
    if (text) GEODEC_TRY(stage_file(&stage, text, err));
    STAGE_WRITE(&stage, &geodec_projection_kind, geodec_projection_write(&p, stage.out, err));
    geodec_projection_say(&c->hooks, &p);
    cli_say(c,
            "bytes per token: %lld instead of %lld, rho %.4f; the slots alone: %lld of %lld, break-even at k/d = %.3f",
            (long long)p.bytes_projected, (long long)p.bytes_full, p.rho, (long long)p.slots_projected,
            (long long)p.slots_full, p.break_even);
done:
    stage_end(&stage);
    geodec_projection_clear(&p);
    geodec_input_moments_clear(&moments);
    geodec_model_close(m);
    return st;
}

CLI_MAIN(opt = geodec_projection_defaults())
