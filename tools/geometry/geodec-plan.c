/* geodec-plan: sizes of a run, adapted to a model and a text. */
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "documents/plan.h"
#include "gguf/gguf.h"
#include "io/tsv.h"
#include "session/model.h"

#include <stdio.h>

static const char *model_path, *text_path, *separator = "auto", *output;
static int64_t tokens = 30000, points = 2000, store_texts = 768, store_length = 256, prompts = 100, prompt_length = 16,
               new_tokens = 128;

static double work;

#define SIZE(word, variable, text) OPT_I64(word, 0, &(variable), 1, 1e12, "N", text)

static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "FILE", "write to FILE (default: standard output)", .flags = CLI_VOLATILE),
    CLI_MODEL_OPTION(model_path),
    OPT_FILE("text", 0, &text_path, "FILE", "UTF-8 text or JSON Lines", .flags = CLI_REQUIRED),
    CLI_SEPARATOR_OPTION(separator),
    SIZE("tokens", tokens, "tokens of the text to read"),
    SIZE("points", points, "points of the cloud"),
    SIZE("store-texts", store_texts, "texts that the model writes for the store of the flow map"),
    SIZE("store-length", store_length, "tokens of a text of the store"),
    SIZE("prompts", prompts, "prompts of the decoding measurements"),
    SIZE("prompt-length", prompt_length, "tokens of a prompt, including BOS"),
    SIZE("new-tokens", new_tokens, "tokens to generate for each prompt"),
    OPT_F64("work", 0, &work, 0, 1e300, "X",
            "limit of weights times tokens for each of text, store and decoding, where the model is large (0: none)"),
};

static const cli_tool tool = {
    .name = "geodec-plan",
    .topic = CLI_TOPIC_STATES,
    .purpose = "choose the sizes of a run for a model and a text",
    .usage = "--model FILE --text FILE [OPTIONS]",
    .description =
        "Prints one size per line: name, value and reason. A size that the model and the text allow is kept; it is\n"
        "at least 1. Otherwise\n"
        "  tokens         at most the tokens of the text, with BOS at the head of each document\n"
        "  points         at most tokens\n"
        "  store_texts    as given: the model writes these texts itself\n"
        "  store_length   at most the model's context\n"
        "  new_tokens     at most half of the context\n"
        "  prompt_length  at most context - new_tokens; shorter, but at least 8, if the text would otherwise give\n"
        "                 fewer prompts\n"
        "  prompts        at most the number of pieces of that length in the text\n"
        "With --work X, a model of w weights reads at most X / w tokens of the text, samples as many for the store, "
        "and\n"
        "decodes a sixteenth of them; but at least 1024 tokens, 8 texts and 2 prompts.\n"
        "  reference      whether float64 evaluations with derivatives are measured: no if --work allows fewer than\n"
        "                 6400 tokens\n"
        "  split          unit of held-out splits: document if at least 4 documents that are not windows are read,\n"
        "                 else block\n"
        "The status is 3 for a text that is empty or not UTF-8. What a stage needs for such sizes, in memory and "
        "time,\n"
        "is printed by the option --plan of the stage.",
    .examples = "geodec-plan --model model.gguf --text book.txt -o plan.tsv",
    CLI_TAKES(options, 0, 0),
};

static geodec_status write_plan(const geodec_plan *p, double unknown, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(output ? geodec_tsv_create(output, &t, err) : geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "name value reason", err));
    for (int i = 0; i < GEODEC_PLAN_ROWS; i++) {
        geodec_tsv_str(t, p->row[i].name);
        geodec_tsv_str(t, p->row[i].value);
        geodec_tsv_str(t, p->row[i].reason);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    geodec_tsv_str(t, "unknown_share");
    geodec_tsv_f64(t, unknown);
    geodec_tsv_str(t,
                   "share of the text's tokens that the vocabulary does not have; above 0.1 the text is not measured");
    GEODEC_TRY(geodec_tsv_end_row(t, err));
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

/* Weights that a token reads: the head once, whatever tables have a row for each token; of experts those in use. */
static int64_t weights_of(const geodec_model *m)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const geodec_gguf *g = geodec_model_gguf(m);
    double sum = (double)c->d_model * (double)c->n_vocab;
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        const bool experts = c->n_expert > 0 && t->n_dims == 3 && t->dim[2] == c->n_expert;
        if (t->n_dims == 2 && t->dim[1] == c->n_vocab) continue;
        sum += (double)geodec_gguf_elements(t) * (experts ? (double)c->n_expert_used / (double)c->n_expert : 1);
    }
    return (int64_t)sum;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    text_file text = {.run = NULL};
    int64_t *length = NULL, sum = 0;
    geodec_plan plan;
    const geodec_plan_sizes asked = {.tokens = tokens,
                                     .points = points,
                                     .store_texts = store_texts,
                                     .store_length = store_length,
                                     .prompts = prompts,
                                     .prompt_length = prompt_length,
                                     .new_tokens = new_tokens,
                                     .work = work};
    if (output) GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const geodec_model_config *mc = geodec_model_configuration(m);
    text_allow_unknown = true; /* the stages judge it */
    GEODEC_TRY(text_open(text_path, separator, t, false, &text, err));
    GEODEC_NEW(length, text.documents.n);
    GEODEC_TRY(geodec_documents_count(&text.documents, t, length, &sum, err));
    const geodec_plan_model shape = {.context = mc->n_ctx,
                                     .layers = mc->n_layer,
                                     .width = mc->d_model,
                                     .vocabulary = mc->n_vocab,
                                     .weights = weights_of(m),
                                     .bos = geodec_tokenizer_start(t) >= 0};
    GEODEC_TRY(geodec_plan_make(&shape, &text.documents, length, &asked, &plan, err));
    GEODEC_TRY(write_plan(&plan, text.unknown, err));
    if (output)
        cli_say(c, "%lld documents by the rule '%s', %lld tokens -> %s", (long long)text.documents.n,
                geodec_documents_separator_name(text.documents.rule), (long long)sum, output);
done:
    geodec_mem_free(length);
    text_close(&text);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
