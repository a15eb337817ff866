/* geodec-perplexity: perplexity of texts under a model, compared with a second model or arithmetic. */
#include "base/clock.h"
#include "evaluate/perplexity_needs.h"

#include "cli/cli.h"
#include "cli/context.h"
#include "cli/evaluation.h"
#include "cli/needs.h"
#include "cli/streaming.h"
#include "cli/text.h"
#include "lowrank/kv_projection.h"
#include "lowrank/projection.h"

#include <string.h>

enum { DEFAULT_WINDOW = 512 };

static const char *model_path, *against_path, *arithmetic = "auto", *against_arithmetic, *kv = "f32", *against_kv;
static const char *isa = "auto", *separator = "auto", *json_path, *projection, *against_projection;
static const char *attnres, *against_attnres, *kv_projection, *against_kv_projection;
static int64_t window, stride, windows, rows;
static bool parse_special;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_RUN_SEPARATOR_OPTION(separator),
    OPT_I64("window", 'w', &window, 0, 1 << 20, "N",
            "tokens of a window, BOS included (0: the model's context, at most 512)"),
    OPT_I64("windows", 'n', &windows, 0, 1e12, "N", "windows to read from each text (0: all)"),
    OPT_I64("stride", 0, &stride, 0, 1 << 20, "S",
            "distance between the beginnings of overlapping windows; each window scores the tokens that no earlier one "
            "has scored (0: no overlap)"),
    OPT_I64("rows", 0, &rows, 0, 64, "N",
            "tokens of a pass, for measurements of time (0: 64); 1: as in decoding. No result depends on it",
            .flags = CLI_VOLATILE),
    OPT_FLAG("parse-special", 0, &parse_special,
             "control tokens in the text, as they are written (<|im_start|>), are these tokens"),
    OPT_CHOICE("arithmetic", 0, &arithmetic, "auto|exact|fast|integer|float64", "MODE",
               "exact: float activations; fast: int8 activations where weights are quantised; float64: the reference; "
               "auto: fast where at least half of the weights' bytes are quantised in blocks, else exact"),
    CLI_KV_OPTION(kv),
    OPT_FILE("against", 0, &against_path, "FILE", "second model with the same vocabulary"),
    OPT_CHOICE("against-arithmetic", 0, &against_arithmetic, "auto|exact|fast|integer|float64", "MODE",
               "arithmetic of the second evaluation, of --against or of the same model (default: --arithmetic; auto: "
               "chosen from the file of the second model)"),
    OPT_CHOICE("against-kv", 0, &against_kv, GEODEC_KV_CHOICES, "TYPE",
               "cache of the second evaluation (default: --kv)"),
    OPT_FILE("projection", 0, &projection, "FILE",
             "projection.h5 of the model (geodec-project), which replaces weights"),
    OPT_FILE("against-projection", 0, &against_projection, "FILE",
             "projection.h5 for the second evaluation: of --against, or of the model itself"),
    CLI_KV_PROJECTION_OPTION(kv_projection),
    OPT_FILE("against-kv-projection", 0, &against_kv_projection, "FILE", "--kv-projection of the second evaluation"),
    CLI_ATTNRES_OPTION(attnres),
    OPT_STR("against-attnres", 0, &against_attnres, "WHAT",
            "--attnres of the second evaluation; off: none (default: --attnres)"),
    CLI_ISA_OPTION(isa),
    OPT_FILE("json", 0, &json_path, "FILE", "write the figures of the texts and of each window to FILE as JSON",
             .flags = CLI_VOLATILE),
    CLI_STREAMING_OPTIONS_OF_PLAN,
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-perplexity",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure the perplexity of texts under a model, alone or compared with a second model or arithmetic",
    .usage = "--model FILE [OPTIONS] TEXT...",
    .description =
        "Each text is tokenized once. Without --stride, windows do not overlap: each contains BOS and the next N - 1\n"
        "tokens, and every token after BOS is scored. With --stride S, windows begin S tokens apart; the first\n"
        "scores all its tokens after BOS, each later one its last S tokens. Standard output has one TSV row per\n"
        "text: negative log-likelihood (nats per token), perplexity, bits per byte of text, and two controls: the\n"
        "perplexity of a uniform guess, and of the token frequencies of the scored tokens. Standard errors (_se)\n"
        "treat blocks as independent. A block is a window, or with --stride as many windows as cover one window\n"
        "length. With P the model and Q the second one: difference = nll of Q - nll of P (paired), kl = mean KL(P ||\n"
        "Q), agreement = share of tokens with the same argmax, max_delta = largest |log p - log q| of a scored\n"
        "token.",
    .examples = "geodec-perplexity --model model.gguf --window 256 --windows 40 book.txt\n"
                "geodec-perplexity --model model-f16.gguf --against model-q8_0.gguf --stride 128 --window 512 book.txt",
    CLI_TAKES(options, 1, -1),
    .plans = true,
};

/* What the second evaluation took. */
static const char *against_of(const geodec_perplexity_report *s, const geodec_perplexity_result *r, char text[64])
{
    (void)snprintf(text, 64, ", those of the second evaluation %.3f s", r->against_seconds);
    return s->q ? text : "";
}

static geodec_status one_text(const cli *c, geodec_perplexity_report *s, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file file = {.run = NULL};
    geodec_perplexity_result r = {0};
    char hex[GEODEC_SHA256_HEX], against[64];
    const char *name = cli_base_name(path);
    GEODEC_TRY(text_open(path, separator, geodec_model_tokenizer(s->p->model), true, &file, err));
    GEODEC_TRY_MSG(geodec_perplexity_text(s->p, s->q, s->o, file.run, file.n_run, &r, c->pool, &c->hooks, err), "%s",
                   path);
    geodec_sha256_of(file.map.data, file.map.size, hex);
    GEODEC_TRY(geodec_perplexity_report_add(s, name, hex, geodec_documents_separator_name(file.documents.rule),
                                            file.documents.n, &r, err));
    if (c->verbose > 0)
        cli_say(c, "%s: passes took %.3f s of processor time%s", name, r.seconds, against_of(s, &r, against));
    if (file.documents.rule != GEODEC_SEPARATOR_NONE)
        cli_say(c, "%s: %lld documents by the rule '%s', read as one text", name, (long long)file.documents.n,
                geodec_documents_separator_name(file.documents.rule));
done:
    geodec_perplexity_free(&r);
    text_close(&file);
    return st;
}

/* --plan of one text. */
static geodec_status plan_text(const cli *c, const geodec_perplexity_report *s, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file file = {.run = NULL};
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(text_open(path, separator, geodec_model_tokenizer(s->p->model), true, &file, err));
    needs_since(c->needs, "read", begin);
    needs_digest(c->needs, "digest", (double)file.map.size, 1);
    GEODEC_TRY_MSG(geodec_perplexity_needs(s->p, s->q, s->o, file.run, file.n_run, NEEDS_BUDGET / c->n_args, c->pool,
                                           &c->hooks, c->needs, err),
                   "%s", path);
done:
    text_close(&file);
    return st;
}

static geodec_status plan(const cli *c, const geodec_perplexity_report *s, const geodec_model *m, double begin,
                          geodec_err *err)
{
    needs_since(c->needs, "load", begin);
    for (int i = 0; i < c->n_args; i++) GEODEC_PASS(plan_text(c, s, c->args[i], err));
    const double model = (double)geodec_gguf_file_bytes(geodec_model_gguf(m));
    geodec_needs_size(c->needs, "model_bytes", model);
    if (json_path) needs_digest(c->needs, "fingerprint", model, 1);
    if (json_path)
        needs_process_and_file(c->needs, model);
    else
        needs_process(c->needs);
    return GEODEC_OK;
}

/* Replaces auto by the arithmetic that suits each file. */
static void settle(const cli *c, const geodec_model *m, const geodec_model *second, bool compared)
{
    if (compared && !against_arithmetic && strcmp(arithmetic, "auto") == 0) against_arithmetic = "auto";
    if (against_arithmetic) (void)arithmetic_settle(c, second, &against_arithmetic);
    if (arithmetic_settle(c, m, &arithmetic)) arithmetic_say(c, m, arithmetic);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL, *other = NULL;
    geodec_perplexity_options o = {
        .stride = (int32_t)stride, .max_windows = windows, .rows = (int32_t)rows, .parse_special = parse_special};
    geodec_scorer_evaluation p, q;
    geodec_perplexity_report s = {.p = &p, .o = &o, .out = stdout};
    const bool compared = against_path || against_arithmetic || against_kv || against_projection || against_attnres ||
                          against_kv_projection;
    if (json_path) GEODEC_TRY(cli_may_write(c, json_path, err));
    const double begin = geodec_clock_process_seconds();
    const bool planned = c->needs && !streaming_plans(c);
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    if (against_path || against_projection || against_kv_projection)
        GEODEC_TRY(geodec_model_open(against_path ? against_path : model_path, &other, err));
    settle(c, m, other ? other : m, compared);
    GEODEC_TRY(streaming_begin(c, m, arithmetic_of(arithmetic), compared && !other ? 2 : 1, err));
    if (projection) GEODEC_TRY(geodec_projection_load(projection, m, err));
    if (kv_projection) GEODEC_TRY(geodec_kv_projection_load(kv_projection, m, err));
    if (against_projection) GEODEC_TRY(geodec_projection_load(against_projection, other, err));
    if (against_kv_projection) GEODEC_TRY(geodec_kv_projection_load(against_kv_projection, other, err));
    const int32_t n_ctx = geodec_model_configuration(m)->n_ctx;
    o.window = (int32_t)(window ? window : n_ctx < DEFAULT_WINDOW ? n_ctx : DEFAULT_WINDOW);
    context_check(c, m, "windows", o.window);
    p = evaluation_of(m, arithmetic, kv, isa);
    q = evaluation_of(other ? other : m, against_arithmetic ? against_arithmetic : arithmetic,
                      against_kv ? against_kv : kv, isa);
    GEODEC_TRY(geodec_attnres_parse(attnres, &p.attnres, err));
    GEODEC_TRY(geodec_attnres_parse(against_attnres ? against_attnres : attnres, &q.attnres, err));
    if (compared) s.q = &q;
    if (planned) {
        GEODEC_TRY(plan(c, &s, m, begin, err));
        goto done;
    }
    if (json_path) GEODEC_TRY(geodec_perplexity_report_begin_json(&s, json_path, c->command_line, err));
    for (int i = 0; i < c->n_args; i++) GEODEC_TRY(one_text(c, &s, c->args[i], err));
    GEODEC_TRY(geodec_perplexity_report_end(&s, err));
done:
    geodec_perplexity_report_abandon(&s);
    st = streaming_end(c, m, st, err);
    geodec_model_close(m);
    geodec_model_close(other);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
