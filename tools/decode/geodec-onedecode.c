/* geodec-onedecode: OneDecode with counts in cells of states, and the published table. */
#include "base/mem.h"
#include "cli/stage.h"
#include "cli/streaming.h"
#include "drafters/onedecode.h"
#include "drafters/onedecode_ref.h"
#include "session/rows.h"

#include <math.h>
#include <string.h>

static const char *output = "onedecode.h5", *mode = "correct", *model_path, *labels = "argmax";
static int64_t cells = 4096, dims = 32;
static double ridge = 10;
static geodec_onedecode_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "onedecode.h5"),
    OPT_CHOICE("mode", 0, &mode, "correct|ref", "MODE",
               "ref: build the published table from the embeddings of --model"),
    OPT_FILE("model", 'm', &model_path, "FILE", "model as GGUF, for --mode ref"),
    OPT_I64("cells", 0, &cells, 1, 1e6, "C", "number of cells of states"),
    OPT_I64("rounds", 0, &opt.rounds, 0, 1000, "N", "rounds of k-means"),
    OPT_I64("n-min", 0, &opt.n_min, 1, 1e9, "N", "positions that a cell needs; a cell with fewer is a miss"),
    OPT_I64("dims", 'k', &dims, 1, GEODEC_STEP_DIMS_MAX, "K", "principal coordinates of a state"),
    OPT_F64("ridge", 0, &ridge, 1e-9, 1e9, "X", "ridge of the map from a state to the next one, in observations"),
    OPT_CHOICE("labels", 0, &labels, "argmax|text", "KIND",
               "label to count: the argmax of the model, or the next token of the text"),
    CLI_STREAMING_OPTIONS,
};

static const cli_tool tool = {
    .name = "geodec-onedecode",
    .topic = CLI_TOPIC_DRAFTING,
    .purpose = "count the next tokens of a model in cells of its hidden states, or build the published table",
    .usage = "[OPTIONS] ACTIVATIONS.h5",
    .description =
        "The states before the newest token and the newest token give an estimate of the state after it. Estimates\n"
        "are divided into cells (k-means); each cell holds the counts of the model's next tokens. One tenth of the\n"
        "texts calibrates the confidences and another tenth gives the figures; the controls are a bigram and a\n"
        "unigram model of the remaining texts. --mode ref with --model builds the published table: a radial step\n"
        "from each embedding under one global tensor, with the rates of its next tokens and a control without the\n"
        "tensor. Its drafter expects the file name onedecode-ref.h5.",
    .examples = "geodec-onedecode -o results/onedecode.h5 store.h5\n"
                "geodec-onedecode --mode ref --model model.gguf -o results/onedecode-ref.h5 store.h5\n"
                "geodec-decode --model model.gguf --artifacts results --draft onedecode --prompt \"Once\"",
    CLI_TAKES(options, 1, 1),
};

static geodec_status bake(cli_stage *stage, const geodec_activations *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *c = stage->c;
    geodec_onedecode t = {0};
    geodec_onedecode_summary s;
    opt.cells = cells;
    opt.step.k = dims;
    opt.step.ridge = ridge;
    opt.step.seed = c->seed;
    opt.text = strcmp(labels, "text") == 0;
    GEODEC_TRY(stage_create(stage, &geodec_onedecode_kind, err));
    GEODEC_TRY(geodec_onedecode_bake(a, &opt, &t, &s, c->pool, &c->hooks, err));
    GEODEC_TRY(geodec_onedecode_write(&t, &s, stage->out, err));
    GEODEC_TRY(stage_commit(stage, err));
    cli_say(c,
            "%lld positions in %lld cells; %lld held-out positions: first token correct %.1f %%, among eight %.1f %% "
            "(bigram %.1f %%, %.1f %%; unigram %.1f %%, %.1f %%)",
            (long long)s.fitted, (long long)s.cells, (long long)s.places, 100 * s.cells_figures.top1,
            100 * s.cells_figures.top8, 100 * s.bigram.top1, 100 * s.bigram.top8, 100 * s.unigram.top1,
            100 * s.unigram.top8);
    cli_say(c, "%.1f %% of lookups hit; their mean confidence is %.1f %%, and %.1f %% are correct", 100 * s.covered,
            100 * s.claimed, 100 * s.right);
done:
    geodec_onedecode_clear(&t);
    return st;
}

static geodec_status bake_ref(cli_stage *stage, const geodec_activations *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *c = stage->c;
    geodec_model *m = NULL;
    geodec_onedecode_ref t = {0}, flat = {0};
    geodec_onedecode_rates r, rf;
    geodec_step_options so = geodec_step_defaults();
    geodec_step step = {0};
    geodec_step_rows rows = {0};
    float *embedding = NULL;
    so.seed = c->seed;
    if (!model_path) GEODEC_THROW(GEODEC_INVAL, "--mode ref needs --model, whose embeddings it uses");
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    GEODEC_TRY(streaming_begin(c, m, GEODEC_EXACT, 1, err));
    GEODEC_TRY(stage_file(stage, model_path, err));
    if (strcmp(geodec_model_fingerprint(m), geodec_artifact_provenance(a->file)->model_fingerprint) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: activations of another model than %s", c->args[0], model_path);
    const geodec_model_config *k = geodec_model_configuration(m);
    GEODEC_NEW(embedding, (int64_t)k->n_vocab * k->d_model);
    GEODEC_TRY(geodec_model_embeddings(m, 0, k->n_vocab, embedding, err));
    GEODEC_TRY(geodec_step_fit(a, &so, c->pool, &step, &rows, err));
    GEODEC_TRY(geodec_onedecode_ref_bake(k->n_vocab, k->d_model, embedding, false, c->pool, &t, err));
    GEODEC_TRY(geodec_onedecode_ref_bake(k->n_vocab, k->d_model, embedding, true, c->pool, &flat, err));
    GEODEC_TRY(geodec_onedecode_ref_rates(&t, &rows, c->seed, &r, err));
    GEODEC_TRY(geodec_onedecode_ref_rates(&flat, &rows, c->seed, &rf, err));
    STAGE_WRITE(stage, &geodec_onedecode_ref_kind, geodec_onedecode_ref_write(&t, &r, &rf, stage->out, err));
    const geodec_onedecode_rates *const both[] = {&r, &rf};
    for (int i = 0; i < 2; i++)
        cli_say(c,
                "%s: %.1f %% of %lld entries predict themselves, %.1f %% the most frequent token, %.1f %% one of ten; "
                "entropy %.2f of %.2f bits; correct on texts: entries %.2f %%, lookups %.2f %%",
                i ? "Gamma = 0" : "as published", 100 * both[i]->self_loop, (long long)t.n, 100 * both[i]->hub,
                100 * both[i]->hub10, both[i]->entropy, log2((double)t.n), 100 * both[i]->entry_top1,
                100 * both[i]->lookup_top1);
    cli_say(c, "controls: bigram %.2f %%, unigram %.2f %% of %lld positions", 100 * r.bigram_top1, 100 * r.unigram_top1,
            (long long)r.places);
done:
    geodec_onedecode_ref_clear(&t);
    geodec_onedecode_ref_clear(&flat);
    geodec_step_clear(&step);
    geodec_step_rows_clear(&rows);
    geodec_mem_free(embedding);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_activations a;
    cli_stage stage = {0};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &a, err));
    if (strcmp(mode, "ref") == 0)
        GEODEC_TRY(bake_ref(&stage, &a, err));
    else
        GEODEC_TRY(bake(&stage, &a, err));
done:
    stage_end(&stage);
    return st;
}

CLI_MAIN(opt = geodec_onedecode_defaults())
