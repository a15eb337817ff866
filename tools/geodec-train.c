/* geodec-train: text and vocabulary -> model files and a loss curve. */
#include "base/mem.h"
#include "io/file.h"
#include "support/cli.h"
#include "train/params.h"
#include "train/trainer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *text_path, *held_out_path, *vocab_path, *init_path, *floor_path, *output = "model.gguf";
static const char *out_f16, *out_q8, *curve_path, *checkpoint_path, *model_name = "geodec";
static const char *type_name = "f32", *schedule_name = "cosine", *separator_name = "mark";
static int64_t d_model = 128, layers = 6, heads = 8, kv_heads = 4, ff = 352, ctx = 512, experts, experts_used = 2;
static int64_t checkpoint_every = 200, length;
static bool untied, resume;
static geodec_train_options o = {.steps = 1000,
                                 .batch = 32,
                                 .lr = 3e-3,
                                 .lr_final = 0.02,
                                 .warmup = 100,
                                 .clip = 1,
                                 .decay = 0.1,
                                 .beta1 = 0.9,
                                 .beta2 = 0.98,
                                 .balance = 0.01,
                                 .eval_every = 100,
                                 .eval_tokens = 32768};

#define INT(name_, target_, lo, hi, help_)                                                                             \
    {                                                                                                                  \
        .name = name_, .type = CLI_I64, .target = &(target_), .min = lo, .max = hi, .metavar = "N", .help = help_      \
    }
#define REAL(name_, target_, lo, hi, help_)                                                                            \
    {                                                                                                                  \
        .name = name_, .type = CLI_F64, .target = &(target_), .min = lo, .max = hi, .metavar = "X", .help = help_      \
    }
#define INPUT(name_, target_, flags_, help_)                                                                           \
    {                                                                                                                  \
        .name = name_, .type = CLI_STR, .flags = CLI_PATH | (flags_), .target = &(target_), .metavar = "FILE",         \
        .help = help_                                                                                                  \
    }

static const cli_option options[] = {
    INPUT("text", text_path, CLI_REQUIRED, "training text"),
    INPUT("held-out", held_out_path, CLI_REQUIRED, "text the loss is measured on"),
    INPUT("vocab", vocab_path, 0, "GGUF whose tokenizer is taken (default: that of --init)"),
    INPUT("init", init_path, 0, "GGUF to start from: its shape and weights are taken"),
    CLI_OUTPUT_OPTION(output, "model.gguf"),
    {.name = "type",
     .type = CLI_CHOICE,
     .flags = CLI_VOLATILE,
     .target = &type_name,
     .choices = "f32|f16|bf16|q8_0",
     .help = "type of the output's matrices"},
    INPUT("out-f16", out_f16, CLI_VOLATILE, "write the model as F16 too"),
    INPUT("out-q8", out_q8, CLI_VOLATILE, "write the model as Q8_0 too"),
    INPUT("curve", curve_path, CLI_VOLATILE, "write the loss curve artifact"),
    INPUT("floor", floor_path, 0, "report of geodec-corpus on the held-out text: its entropy goes into the curve"),
    INPUT("checkpoint", checkpoint_path, CLI_VOLATILE, "state of the run (default: output with .ckpt.h5)"),
    {.name = "checkpoint-every",
     .type = CLI_I64,
     .flags = CLI_VOLATILE,
     .target = &checkpoint_every,
     .min = 1,
     .max = 1e9,
     .metavar = "N",
     .help = "steps between checkpoints"},
    {.name = "resume",
     .type = CLI_FLAG,
     .flags = CLI_VOLATILE,
     .target = &resume,
     .help = "go on from the checkpoint if there is one"},
    {.name = "name", .type = CLI_STR, .target = &model_name, .metavar = "TEXT", .help = "general.name of the model"},
    {.name = "separator",
     .type = CLI_CHOICE,
     .target = &separator_name,
     .choices = "mark|blank|none",
     .help = "documents end at a line <|endoftext|>, at a blank line, or not at all"},
    INT("d-model", d_model, 2, 65536, "width of the residual stream"),
    INT("layers", layers, 1, 1024, "blocks"),
    INT("heads", heads, 1, 1024, "query heads"),
    INT("kv-heads", kv_heads, 1, 1024, "key and value heads"),
    INT("ff", ff, 1, 1048576, "width of the feed-forward part, or of one expert"),
    INT("ctx", ctx, 2, 65536, "context length"),
    INT("experts", experts, 0, 256, "experts a layer, 0 for a dense model"),
    INT("experts-used", experts_used, 1, 256, "experts a token uses"),
    {.name = "untied", .type = CLI_FLAG, .target = &untied, .help = "an output matrix of its own"},
    INT("steps", o.steps, 1, 1e9, "optimiser steps"),
    INT("batch", o.batch, 1, 65536, "sequences a step"),
    INT("length", length, 0, 65536, "tokens of a sequence, 0 for the context length"),
    REAL("lr", o.lr, 1e-12, 100, "highest learning rate"),
    {.name = "lr-schedule",
     .type = CLI_CHOICE,
     .target = &schedule_name,
     .choices = "cosine|linear|constant",
     .help = "its course after the warm-up"},
    REAL("lr-final", o.lr_final, 0, 1, "learning rate at the end, as a fraction"),
    INT("warmup", o.warmup, 0, 1e9, "steps of linear warm-up"),
    REAL("clip", o.clip, 0, 1e9, "largest norm of the gradient, 0 for none"),
    REAL("decay", o.decay, 0, 100, "weight decay of matrices"),
    REAL("beta1", o.beta1, 0, 0.999999, "Adam's average of the gradient"),
    REAL("beta2", o.beta2, 0, 0.999999, "Adam's average of its square"),
    REAL("balance", o.balance, 0, 100, "weight of the experts' load-balance term"),
    INT("eval-every", o.eval_every, 1, 1e9, "steps between rows of the loss curve"),
    INT("eval-tokens", o.eval_tokens, 0, 1e12, "held-out tokens scored for a row, 0 for all; the last row takes all"),
};

static const cli_tool tool = {
    .name = "geodec-train",
    .purpose = "Train a small llama-family model on text",
    .usage = "--text FILE --held-out FILE --vocab VOCAB.gguf [OPTIONS]",
    .description = "AdamW on next-token cross-entropy; float32; the result depends on the options and the seed, not on "
                   "threads or\n"
                   "interruptions. A run that is stopped leaves a checkpoint, and --resume goes on from it.",
    .examples = "  geodec-train --text train.txt --held-out test.txt --vocab vocab.gguf --resume \\\n"
                "      --out-q8 model-q8_0.gguf --curve curve.h5 -o model-f32.gguf",
    .options = options,
    .n_options = CLI_COUNT(options),
};

typedef struct run_state {
    geodec_gguf *init;
    geodec_tokenizer *tokenizer;
    geodec_layout *layout;
    float *params;
    geodec_text *train, *held_out;
    geodec_trainer *trainer;
    geodec_provenance provenance;
    char checkpoint[4096];
    double floor_bits;
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

static geodec_status load_text(const cli *c, const char *path, const geodec_tokenizer *t, geodec_text **out,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_map map = {0};
    const geodec_separator separator = separator_name[0] == 'm'   ? GEODEC_SEPARATOR_MARK
                                       : separator_name[0] == 'b' ? GEODEC_SEPARATOR_BLANK
                                                                  : GEODEC_SEPARATOR_NONE;
    GEODEC_TRY(geodec_map_open(path, &map, err));
    const int64_t bad = geodec_utf8_check((const char *)map.data, map.size);
    if (bad >= 0) GEODEC_THROW(GEODEC_FORMAT, "%s: byte %lld is not UTF-8", path, (long long)bad);
    GEODEC_TRY_MSG(geodec_text_encode((const char *)map.data, map.size, separator, t, c->pool, &c->hooks, out, err),
                   "%s", path);
done:
    geodec_map_close(&map);
    return st;
}

/* Shape, tokenizer and first values. */
static geodec_status set_up_model(const cli *c, run_state *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf *vocab = NULL;
    if (!vocab_path) GEODEC_THROW(GEODEC_INVAL, "option --vocab is required");
    GEODEC_TRY(geodec_gguf_open(vocab_path, &vocab, err));
    GEODEC_TRY(geodec_tokenizer_from_gguf(vocab, &s->tokenizer, err));
    if (d_model % heads)
        GEODEC_THROW(GEODEC_INVAL, "a width of %lld does not split into %lld heads", (long long)d_model,
                     (long long)heads);
    const geodec_model_config config = {.n_layer = (int32_t)layers,
                                        .d_model = (int32_t)d_model,
                                        .n_head = (int32_t)heads,
                                        .n_kv_head = (int32_t)kv_heads,
                                        .head_dim = (int32_t)(d_model / heads),
                                        .rope_dim = (int32_t)(d_model / heads),
                                        .d_ff = (int32_t)ff,
                                        .n_vocab = geodec_tokenizer_size(s->tokenizer),
                                        .n_ctx = (int32_t)ctx,
                                        .n_expert = (int32_t)experts,
                                        .n_expert_used = experts ? (int32_t)experts_used : 0,
                                        .rms_eps = 1e-5f,
                                        .rope_base = 10000,
                                        .tied = !untied};
    GEODEC_TRY(geodec_layout_create(&config, &s->layout, err));
    GEODEC_NEW(s->params, s->layout->total);
    geodec_params_init(s->layout, c->seed, s->params);
done:
    geodec_gguf_close(vocab);
    return st;
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
    const int type = strcmp(type_name, "f16") == 0    ? GEODEC_GGML_F16
                     : strcmp(type_name, "bf16") == 0 ? GEODEC_GGML_BF16
                     : strcmp(type_name, "q8_0") == 0 ? GEODEC_GGML_Q8_0
                                                      : GEODEC_GGML_F32;
    const struct {
        const char *path;
        int type;
    } files[] = {{out_f16, GEODEC_GGML_F16}, {out_q8, GEODEC_GGML_Q8_0}, {output, type}};
    if (curve_path) GEODEC_TRY(geodec_trainer_write_curve(s->trainer, curve_path, s->floor_bits, &s->provenance, err));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i].path)
            GEODEC_TRY(geodec_params_write(s->layout, geodec_trainer_params(s->trainer), s->tokenizer, model_name,
                                           files[i].type, files[i].path, err));
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
    s->provenance.tokenizer_fingerprint = geodec_tokenizer_fingerprint(s->tokenizer);
done:
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static run_state s;
    s.floor_bits = NAN;
    (void)snprintf(s.checkpoint, sizeof s.checkpoint, "%s%s", checkpoint_path ? checkpoint_path : output,
                   checkpoint_path ? "" : ".ckpt.h5");
    const bool going_on = resume && access(s.checkpoint, F_OK) == 0;
    if (!going_on) GEODEC_TRY(may_write_all(c, err));
    if (floor_path) GEODEC_TRY(read_floor(floor_path, &s.floor_bits, err));
    GEODEC_TRY(set_up_model(c, &s, err));
    GEODEC_TRY(load_text(c, text_path, s.tokenizer, &s.train, err));
    GEODEC_TRY(load_text(c, held_out_path, s.tokenizer, &s.held_out, err));
    GEODEC_TRY(add_inputs(c, &s, err));
    o.length = length ? length : ctx;
    o.seed = c->seed;
    o.schedule = schedule_name[0] == 'c' && schedule_name[2] == 's' ? GEODEC_SCHEDULE_COSINE
                 : schedule_name[0] == 'l'                          ? GEODEC_SCHEDULE_LINEAR
                                                                    : GEODEC_SCHEDULE_CONSTANT;
    GEODEC_TRY(geodec_trainer_create(s.layout, &o, s.params, s.train, s.held_out, c->pool, &s.trainer, err));
    cli_say(c, "%lld parameters, %lld training tokens, %.2f bytes a token", (long long)s.layout->total,
            (long long)s.train->n_tokens, (double)s.train->n_bytes / (double)s.train->n_tokens);
    if (going_on) {
        GEODEC_TRY(geodec_trainer_load(s.trainer, s.checkpoint, err));
        cli_say(c, "going on from step %lld", (long long)geodec_trainer_done(s.trainer));
    }
    GEODEC_TRY(geodec_trainer_run(s.trainer, s.checkpoint, checkpoint_every, &s.provenance, &c->hooks, err));
    GEODEC_TRY(write_all(&s, err));
    (void)unlink(s.checkpoint); /* its work is done */
    int64_t n;
    const geodec_curve_row *row = geodec_trainer_curve(s.trainer, &n);
    cli_say(c, "%s: held-out %.4f nats a token, %.4f bits a byte%s", output, row[n - 1].held_out,
            row[n - 1].held_out_bytes, isnan(s.floor_bits) ? "" : " (see the curve for the floor)");
done:
    geodec_trainer_destroy(s.trainer);
    geodec_text_destroy(s.train);
    geodec_text_destroy(s.held_out);
    geodec_layout_destroy(s.layout);
    geodec_tokenizer_destroy(s.tokenizer);
    geodec_gguf_close(s.init);
    geodec_mem_free(s.params);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
