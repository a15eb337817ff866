/* geodec-train: text and vocabulary -> model files and a loss curve. */
#include "cli/cli.h"
#include "cli/text.h"
#include "lab/shf/correct.h"
#include "train/params.h"
#include "train/start.h"
#include "train/trainer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
static const char *text_path, *held_out_path, *vocab_path, *init_path, *floor_path, *output = "model.gguf";
static const char *out_f16, *out_q8, *curve_path, *checkpoint_path, *model_name = "geodec";
static const char *type_name = "f32", *schedule_name = "cosine", *separator_name = "auto";
static int64_t d_model = 128, layers = 6, heads = 8, kv_heads = 4, ff = 352, ctx, experts, experts_used = 2;
static int64_t checkpoint_every = 200, length;
static bool untied, resume;
static double shf_weight;
static const char *shf_metric = "fitted";
static int64_t shf_dim = 4, shf_refresh = 50, shf_stride = 8, shf_probe = 4;
static geodec_train_options o = {.steps = 1000, .batch = 32, .lr = 3e-3, .lr_final = 0.02, .warmup = 100, .clip = 1,
                                 .decay = 0.1, .beta1 = 0.9, .beta2 = 0.98, .balance = 0.01, .eval_every = 100,
                                 .eval_tokens = 32768};

/* Choices, in the order of the library's enumerations. */
#define SCHEDULES "cosine|linear|constant"

#define OPTION(name_, type_, target_, flags_, meta_, help_) .name = name_, .type = type_, .target = &(target_), .flags = flags_, .metavar = meta_, .help = help_
#define INT(name_, target_, lo, hi, help_) {OPTION(name_, CLI_I64, target_, 0, "N", help_), .min = lo, .max = hi}
#define REAL(name_, target_, lo, hi, help_) {OPTION(name_, CLI_F64, target_, 0, "X", help_), .min = lo, .max = hi}
#define INPUT(name_, target_, flags_, help_) {OPTION(name_, CLI_STR, target_, CLI_PATH | (flags_), "FILE", help_)}
#define OUTPUT(name_, target_, help_) {OPTION(name_, CLI_STR, target_, CLI_PATH | CLI_VOLATILE, "FILE", help_)}
#define CHOICE(name_, target_, flags_, choices_, help_) {OPTION(name_, CLI_CHOICE, target_, flags_, NULL, help_), .choices = choices_}
#define FLAG(name_, target_, flags_, help_) {OPTION(name_, CLI_FLAG, target_, flags_, NULL, help_)}

static const cli_option options[] = {
    INPUT("text", text_path, CLI_REQUIRED, "training text"),
    INPUT("held-out", held_out_path, CLI_REQUIRED, "text the loss is measured on"),
    INPUT("vocab", vocab_path, 0, "GGUF whose tokenizer is taken; needed without --init"),
    INPUT("init", init_path, 0, "GGUF to start from: its shape, weights and tokenizer are taken"), CLI_OUTPUT_OPTION(output, "model.gguf"),
    CHOICE("type", type_name, CLI_VOLATILE, "f32|f16|bf16|q8_0", "type of the output's matrices"),
    OUTPUT("out-f16", out_f16, "write the model as F16 too"),
    OUTPUT("out-q8", out_q8, "write the model as Q8_0 too"),
    OUTPUT("curve", curve_path, "write the loss curve artifact"),
    INPUT("floor", floor_path, 0, "report of geodec-corpus on the held-out text: its entropy goes into the curve"),
    OUTPUT("checkpoint", checkpoint_path, "state of the run (default: output with .ckpt.h5)"),
    {OPTION("checkpoint-every", CLI_I64, checkpoint_every, CLI_VOLATILE, "N", "steps between checkpoints"), .min = 1, .max = 1e9},
    FLAG("resume", resume, CLI_VOLATILE, "go on from the checkpoint if there is one"),
    {OPTION("name", CLI_STR, model_name, 0, "TEXT", "general.name of the model")},
    CLI_SEPARATOR_OPTION(separator_name),
    INT("d-model", d_model, 2, 65536, "width of the residual stream"),
    INT("layers", layers, 1, 1024, "blocks"),
    INT("heads", heads, 1, 1024, "query heads"),
    INT("kv-heads", kv_heads, 1, 1024, "key and value heads"),
    INT("ff", ff, 1, 1048576, "width of the feed-forward part, or of one expert"),
    INT("ctx", ctx, 0, 65536, "context length, 0 for 512 or that of --init"),
    INT("experts", experts, 0, 256, "experts a layer, 0 for a dense model"),
    INT("experts-used", experts_used, 1, 256, "experts a token uses"),
    FLAG("untied", untied, 0, "an output matrix of its own"),
    INT("steps", o.steps, 1, 1e9, "optimiser steps"),
    INT("batch", o.batch, 1, 65536, "sequences a step"),
    INT("length", length, 0, 65536, "tokens of a sequence, 0 for the context length"),
    REAL("lr", o.lr, 1e-12, 100, "highest learning rate"),
    CHOICE("lr-schedule", schedule_name, 0, SCHEDULES, "its course after the warm-up"),
    REAL("lr-final", o.lr_final, 0, 1, "learning rate at the end, as a fraction"),
    INT("warmup", o.warmup, 0, 1e9, "steps of linear warm-up"),
    REAL("clip", o.clip, 0, 1e9, "largest norm of the gradient, 0 for none"),
    REAL("decay", o.decay, 0, 100, "weight decay of matrices"),
    REAL("beta1", o.beta1, 0, 0.999999, "Adam's average of the gradient"),
    REAL("beta2", o.beta2, 0, 0.999999, "Adam's average of its square"),
    REAL("balance", o.balance, 0, 100, "weight of the experts' load-balance term"),
    REAL("shf", shf_weight, 0, 1e6, "weight of the penalty on departures of residual streams from geodesics, 0 for none"),
    CHOICE("shf-metric", shf_metric, 0, "fitted|flat", "of the geodesics: fitted to the states at every refresh, or flat (the control)"),
    INT("shf-dim", shf_dim, 1, 16, "principal directions of the penalty's chart"),
    INT("shf-refresh", shf_refresh, 1, 1e9, "steps between two fits of chart and metric"),
    INT("shf-stride", shf_stride, 1, 65536, "one token in so many is penalised"),
    INT("shf-probe", shf_probe, 1, 65536, "held-out windows the fits see"),
    INT("eval-every", o.eval_every, 1, 1e9, "steps between rows of the loss curve"),
    INT("eval-tokens", o.eval_tokens, 0, 1e12, "held-out tokens scored for a row, 0 for all"),
};
/* clang-format on */

static const cli_tool tool = {
    .name = "geodec-train",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "train a small llama-family model on text",
    .usage = "--text FILE --held-out FILE --vocab VOCAB.gguf [OPTIONS]",
    .description = "AdamW on next-token cross-entropy, in float32. The result depends on the options and the seed, not "
                   "or interruptions. A run that is stopped leaves a checkpoint, and --resume goes on from it.",
    .examples = "  geodec-train --text train.txt --held-out test.txt --vocab vocab.gguf --resume \\\n"
                "      --out-q8 model-q8_0.gguf --curve curve.h5 -o model-f32.gguf",
    .options = options,
    .n_options = CLI_COUNT(options),
};

/* Place of a value among choices parted by bars. */
static int place(const char *choices, const char *value)
{
    int n = 0;
    for (const char *p = choices; p < strstr(choices, value); p++) n += *p == '|';
    return n;
}

typedef struct run_state {
    geodec_start start;
    geodec_text *train, *held_out;
    geodec_trainer *trainer;
    geodec_shf *shf;
    geodec_provenance provenance;
    char checkpoint[4096];
    geodec_train_summary summary;
} run_state;

static geodec_status read_floor(const char *path, double *bits, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    json_error_t e;
    json_t *j = json_load_file(path, 0, &e);
    if (!j) GEODEC_THROW(GEODEC_FORMAT, "%s: %s", path, e.text);
    const json_t *v = json_object_get(j, "bits_per_byte");
    if (!json_is_number(v)) GEODEC_THROW(GEODEC_FORMAT, "%s: no number bits_per_byte", path);
    *bits = json_number_value(v);
done:
    json_decref(j);
    return st;
}

static geodec_status set_up_model(const cli *c, geodec_start *s, geodec_err *err)
{
    if (init_path && vocab_path)
        return geodec_err_set(err, GEODEC_INVAL, __func__, __LINE__,
                              "--init brings its own tokenizer; --vocab does not go with it");
    if (init_path) return geodec_start_from(init_path, (int32_t)ctx, s, err);
    if (!vocab_path) return geodec_err_set(err, GEODEC_INVAL, __func__, __LINE__, "--vocab or --init is required");
    geodec_model_config shape = {.n_layer = (int32_t)layers, .d_model = (int32_t)d_model, .n_head = (int32_t)heads};
    shape.n_kv_head = (int32_t)kv_heads;
    shape.d_ff = (int32_t)ff;
    shape.n_ctx = ctx ? (int32_t)ctx : 512;
    shape.n_expert = (int32_t)experts;
    shape.n_expert_used = experts ? (int32_t)experts_used : 0;
    shape.rms_eps = 1e-5f;
    shape.rope_base = 10000;
    shape.tied = !untied;
    return geodec_start_new(vocab_path, &shape, c->seed, s, err);
}

static geodec_status may_write_all(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *paths[] = {output, out_f16, out_q8, curve_path};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (paths[i]) GEODEC_TRY(cli_may_write(c, paths[i], err));
done:
    return st;
}

static geodec_status write_all(const run_state *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const struct {
        const char *path;
        int type;
    } files[] = {
        {out_f16, GEODEC_GGML_F16}, {out_q8, GEODEC_GGML_Q8_0}, {output, geodec_ggml_traits_named(type_name)->type}};
    if (curve_path) GEODEC_TRY(geodec_trainer_write_curve(s->trainer, curve_path, &s->summary, &s->provenance, err));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i].path)
            GEODEC_TRY(geodec_params_write(s->start.layout, geodec_trainer_params(s->trainer), s->start.tokenizer,
                                           model_name, files[i].type, files[i].path, err));
done:
    return st;
}

static geodec_status add_inputs(const cli *c, run_state *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *inputs[] = {text_path, held_out_path, vocab_path, init_path, floor_path};
    s->provenance = cli_provenance(c);
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        if (inputs[i]) GEODEC_TRY(geodec_provenance_add_file(&s->provenance, inputs[i], err));
    s->provenance.tokenizer_fingerprint = geodec_tokenizer_fingerprint(s->start.tokenizer);
done:
    return st;
}

static void say_result(const cli *c, const geodec_train_summary *s)
{
    char floor[96] = "";
    if (isfinite(s->floor_bytes) && s->floor_bytes > 0)
        (void)snprintf(floor, sizeof floor, ", %.1f %% above the floor of %.4f",
                       100 * (s->held_out_bytes / s->floor_bytes - 1), s->floor_bytes);
    cli_say(c, "%s: held-out %.4f nats a token, %.4f bits a byte%s", output, s->held_out, s->held_out_bytes, floor);
}

static geodec_status add_penalty(const cli *c, run_state *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_shf_options so = geodec_shf_defaults();
    so.n = shf_dim;
    so.stride = shf_stride;
    so.flat = shf_metric[1] == 'l';
    so.seed = c->seed;
    GEODEC_TRY(geodec_shf_create(&so, &s->shf, err));
    const geodec_train_penalty penalty = {.weight = shf_weight,
                                          .refresh = shf_refresh,
                                          .probe = shf_probe,
                                          .recipe = geodec_shf_recipe(s->shf),
                                          .ctx = s->shf,
                                          .prepare = geodec_shf_prepare,
                                          .apply = geodec_shf_apply};
    GEODEC_TRY(geodec_trainer_set_penalty(s->trainer, &penalty, err));
done:
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static run_state s;
    geodec_documents_separator separator;
    GEODEC_TRY(geodec_documents_separator_of(separator_name, &separator, err));
    s.summary.floor_bytes = NAN;
    const int n = snprintf(s.checkpoint, sizeof s.checkpoint, "%s%s", checkpoint_path ? checkpoint_path : output,
                           checkpoint_path ? "" : ".ckpt.h5");
    if (n < 0 || (size_t)n >= sizeof s.checkpoint) GEODEC_THROW(GEODEC_LIMIT, "the checkpoint's name is too long");
    const bool going_on = resume && access(s.checkpoint, F_OK) == 0;
    if (!going_on) GEODEC_TRY(may_write_all(c, err));
    if (floor_path) GEODEC_TRY(read_floor(floor_path, &s.summary.floor_bytes, err));
    GEODEC_TRY(set_up_model(c, &s.start, err));
    GEODEC_TRY(geodec_text_load(text_path, separator, s.start.tokenizer, c->pool, &c->hooks, &s.train, err));
    GEODEC_TRY(geodec_text_load(held_out_path, separator, s.start.tokenizer, c->pool, &c->hooks, &s.held_out, err));
    GEODEC_TRY(add_inputs(c, &s, err));
    o.length = length ? length : s.start.layout->config.n_ctx;
    o.seed = c->seed;
    o.schedule = (geodec_schedule)place(SCHEDULES, schedule_name);
    GEODEC_TRY(
        geodec_trainer_create(s.start.layout, &o, s.start.params, s.train, s.held_out, c->pool, &s.trainer, err));
    if (shf_weight > 0) GEODEC_TRY(add_penalty(c, &s, err));
    cli_say(c, "%lld training documents by the rule '%s', %lld held-out ones by '%s'", (long long)s.train->n_docs,
            geodec_documents_separator_name(s.train->rule), (long long)s.held_out->n_docs,
            geodec_documents_separator_name(s.held_out->rule));
    cli_say(c, "%lld parameters, %lld training tokens, %.2f bytes a token", (long long)s.start.layout->total,
            (long long)s.train->n_tokens, (double)s.train->n_bytes / (double)s.train->n_tokens);
    if (going_on) {
        GEODEC_TRY(geodec_trainer_load(s.trainer, s.checkpoint, err));
        cli_say(c, "going on from step %lld", (long long)geodec_trainer_done(s.trainer));
    }
    GEODEC_TRY(geodec_trainer_run(s.trainer, s.checkpoint, checkpoint_every, &s.provenance, &c->hooks, err));
    GEODEC_TRY(geodec_trainer_evaluate(s.trainer, 0, &s.summary.held_out, &s.summary.held_out_bytes, err));
    GEODEC_TRY(write_all(&s, err));
    (void)unlink(s.checkpoint); /* its work is done */
    say_result(c, &s.summary);
done:
    geodec_trainer_destroy(s.trainer);
    geodec_shf_destroy(s.shf);
    geodec_text_destroy(s.train);
    geodec_text_destroy(s.held_out);
    geodec_start_clear(&s.start);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
