/* geodec-train: training of a small model; writes model files and a loss curve. */
#include "cli/cli.h"
#include "cli/text.h"
#include "kernels/settings.h"
#include "linalg/lapack.h"
#include "shf/shf.h"
#include "train/params.h"
#include "train/start.h"
#include "train/trainer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *text_path, *held_out_path, *vocab_path, *init_path, *floor_path, *output = "model.gguf";
static const char *out_f16, *out_q8, *curve_path, *checkpoint_path, *model_name = "geodec";
static const char *type_name = "f32", *schedule_name = "cosine", *separator_name = "auto";
static int64_t d_model = 128, layers = 6, heads = 8, kv_heads = 4, ff = 352, ctx, experts, experts_used = 2;
static int64_t checkpoint_every = 200, length;
static bool untied, resume, dense_experts;
static const char *arch = "llama", *route = "mod", *route_at = "pre", *lattice;
static int64_t rank = 32, period = 4, window = 64;
static double log_decay_min = -0.5;
static double shf_weight;
static const char *shf_metric = "fitted";
static int64_t shf_dim = 4, shf_refresh = 50, shf_stride = 8, shf_probe = 4;
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
                                 .router_clip = 0.1,
                                 .eval_every = 100,
                                 .eval_tokens = 32768};

/* Choices, in the order of the library's enumerations. */
#define SCHEDULES "cosine|linear|constant"
#define ROUTES "softmax|mod|angle"

static const cli_option options[] = {
    OPT_FILE("text", 0, &text_path, "FILE", "training text", .flags = CLI_REQUIRED),
    OPT_FILE("held-out", 0, &held_out_path, "FILE", "text on which the loss is measured", .flags = CLI_REQUIRED),
    OPT_FILE("vocab", 0, &vocab_path, "FILE", "GGUF file with the tokenizer; required without --init"),
    OPT_FILE("init", 0, &init_path, "FILE", "GGUF file to start from, with its shape, weights and tokenizer"),
    CLI_OUTPUT_OPTION(output, "model.gguf"),
    OPT_CHOICE("type", 0, &type_name, "f32|f16|bf16|q8_0", NULL, "type of the output's matrices",
               .flags = CLI_VOLATILE),
    OPT_FILE("out-f16", 0, &out_f16, "FILE", "also write the model as F16", .flags = CLI_VOLATILE),
    OPT_FILE("out-q8", 0, &out_q8, "FILE", "also write the model as Q8_0", .flags = CLI_VOLATILE),
    OPT_FILE("curve", 0, &curve_path, "FILE", "write the loss curve to FILE, an artifact", .flags = CLI_VOLATILE),
    OPT_FILE("floor", 0, &floor_path, "FILE",
             "report of geodec-corpus on the held-out text, whose entropy is added to the curve"),
    OPT_FILE("checkpoint", 0, &checkpoint_path, "FILE",
             "file of the state of the run (default: the output with the suffix .ckpt.h5)", .flags = CLI_VOLATILE),
    OPT_I64("checkpoint-every", 0, &checkpoint_every, 1, 1e9, "N", "steps between checkpoints", .flags = CLI_VOLATILE),
    OPT_FLAG("resume", 0, &resume, "continue from the checkpoint if there is one", .flags = CLI_VOLATILE),
    OPT_STR("name", 0, &model_name, "TEXT", "general.name of the model"),
    CLI_SEPARATOR_OPTION(separator_name),
    OPT_I64("d-model", 0, &d_model, 2, 65536, "N", "width of the residual stream"),
    OPT_I64("layers", 0, &layers, 1, 1024, "N", "blocks"),
    OPT_I64("heads", 0, &heads, 1, 1024, "N", "query heads"),
    OPT_I64("kv-heads", 0, &kv_heads, 1, 1024, "N", "key and value heads"),
    OPT_I64("ff", 0, &ff, 1, 1048576, "N", "width of the feed-forward layer, or of one expert"),
    OPT_I64("ctx", 0, &ctx, 0, 65536, "N", "context length (0: that of --init, else 512)"),
    OPT_I64("experts", 0, &experts, 0, 256, "N", "experts per layer (0: a dense model)"),
    OPT_I64("experts-used", 0, &experts_used, 1, 256, "N", "experts used per token"),
    OPT_CHOICE("arch", 0, &arch, "llama|perspective", NULL,
               "architecture; perspective: recurrent layers with ternary experts, and attention in windows"),
    OPT_I64("rank", 0, &rank, 0, 4096, "N", "perspective: rank of the recurrent state (0: attention in every layer)"),
    OPT_I64(
        "period", 0, &period, 1, 1024, "N",
        "perspective: every N-th layer has attention and a dense feed-forward, the others a recurrence and experts"),
    OPT_I64("window", 0, &window, 0, 1 << 20, "N", "perspective: tokens that attention sees (0: all)"),
    OPT_F64("log-decay-min", 0, &log_decay_min, -80, 0, "X",
            "perspective: least logarithm of a state's decay per token (0: no limit)"),
    OPT_STR("lattice", 0, &lattice, "X,Y,Z", "perspective: experts on a lattice of the torus, in place of --experts"),
    OPT_CHOICE("route", 0, &route, ROUTES, NULL,
               "perspective: choose the nearest expert on the torus, or the one with the best score of a router"),
    OPT_CHOICE("route-at", 0, &route_at, "post|pre", NULL,
               "perspective: choose from the input of the layer's feed-forward, or of its recurrence"),
    OPT_FLAG("float-experts", 0, &dense_experts, "perspective: train experts that are not ternary"),
    OPT_F64("router-clip", 0, &o.router_clip, 0, 1e9, "X",
            "perspective: largest norm of the routers' gradient, which --clip leaves out (0: no limit)"),
    OPT_F64("neighbours", 0, &o.neighbours, 0, 1e6, "X",
            "perspective: weight of the difference between neighbouring experts"),
    OPT_FLAG("untied", 0, &untied, "use a separate output matrix"),
    OPT_I64("steps", 0, &o.steps, 1, 1e9, "N", "optimiser steps"),
    OPT_I64("batch", 0, &o.batch, 1, 65536, "N", "sequences per step"),
    OPT_I64("length", 0, &length, 0, 65536, "N", "tokens of a sequence (0: the context length)"),
    OPT_F64("lr", 0, &o.lr, 1e-12, 100, "X", "highest learning rate"),
    OPT_CHOICE("lr-schedule", 0, &schedule_name, SCHEDULES, NULL, "schedule of the learning rate after the warm-up"),
    OPT_F64("lr-final", 0, &o.lr_final, 0, 1, "X", "learning rate at the end, as a fraction of --lr"),
    OPT_I64("warmup", 0, &o.warmup, 0, 1e9, "N", "steps of linear warm-up"),
    OPT_F64("clip", 0, &o.clip, 0, 1e9, "X", "largest norm of the gradient (0: no limit)"),
    OPT_F64("decay", 0, &o.decay, 0, 100, "X", "weight decay of matrices"),
    OPT_F64("beta1", 0, &o.beta1, 0, 0.999999, "X", "decay rate of Adam's mean of the gradient"),
    OPT_F64("beta2", 0, &o.beta2, 0, 0.999999, "X", "decay rate of Adam's mean of the squared gradient"),
    OPT_F64("balance", 0, &o.balance, 0, 100, "X", "weight of the experts' load-balance term"),
    OPT_F64("shf", 0, &shf_weight, 0, 1e6, "X",
            "weight of the penalty on deviations of residual streams from geodesics (0: no penalty)"),
    OPT_CHOICE("shf-metric", 0, &shf_metric, "fitted|flat", NULL,
               "metric of the geodesics: fitted to the states at each refresh, or flat (the control)"),
    OPT_I64("shf-dim", 0, &shf_dim, 1, 16, "N", "principal directions of the penalty's chart"),
    OPT_I64("shf-refresh", 0, &shf_refresh, 1, 1e9, "N", "steps between two fits of the chart and the metric"),
    OPT_I64("shf-stride", 0, &shf_stride, 1, 65536, "N", "apply the penalty to one token in N"),
    OPT_I64("shf-probe", 0, &shf_probe, 1, 65536, "N", "held-out windows used by the fits"),
    OPT_I64("eval-every", 0, &o.eval_every, 1, 1e9, "N", "steps between rows of the loss curve"),
    OPT_I64("eval-tokens", 0, &o.eval_tokens, 0, 1e12, "N", "held-out tokens scored for a row (0: all)"),
};

static const cli_tool tool = {
    .name = "geodec-train",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "train a small llama-family or PERSPECTIVE model on text",
    .usage = "--text FILE --held-out FILE --vocab VOCAB.gguf [OPTIONS]",
    .description =
        "AdamW on next-token cross-entropy, in float32. The result depends on the options and the seed, not on\n"
        "threads or interruptions. An interrupted run leaves a checkpoint; --resume continues from it.",
    .examples = "  geodec-train --text train.txt --held-out test.txt --vocab vocab.gguf --resume \\\n"
                "      --out-q8 model-q8_0.gguf --curve curve.h5 -o model-f32.gguf",
    CLI_TAKES(options, 0, 0),
};

/* Index of a value among choices separated by '|'. */
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

static geodec_status set_up_perspective(geodec_model_config *s, geodec_err *err)
{
    s->recur_rank = (int32_t)rank;
    s->recur_period = (int32_t)period;
    s->recur_log_decay_min = (float)log_decay_min;
    s->window = (int32_t)window;
    s->route = (geodec_route)place(ROUTES, route);
    s->route_before = strcmp(route_at, "pre") == 0;
    s->embed_scale = (float)sqrt((double)s->d_model);
    s->rms_eps = 1e-6f;
    if (lattice) {
        int end = 0;
        int32_t *size = s->expert_lattice;
        if (sscanf(lattice, "%4d,%4d,%4d%n", &size[0], &size[1], &size[2], &end) != 3 || lattice[end])
            GEODEC_FAIL(GEODEC_INVAL, "--lattice %s: three numbers are wanted, as 4,2,2", lattice);
        for (int a = 0; a < GEODEC_TORUS_AXES; a++)
            if (size[a] < 1 || size[a] > 64) GEODEC_FAIL(GEODEC_INVAL, "--lattice %s: 1 to 64 on each axis", lattice);
        s->n_expert = size[0] * size[1] * size[2];
    }
    s->n_expert_used = s->n_expert > 0;
    if (s->n_expert > 0 && s->route != GEODEC_ROUTE_SCORES && !lattice)
        GEODEC_FAIL(GEODEC_INVAL, "--route %s needs --lattice", route);
    if (s->n_expert > 0) s->d_ff_dense = s->d_ff;
    o.ternary = s->n_expert > 0 && !dense_experts;
    return GEODEC_OK;
}

static geodec_status set_up_model(const cli *c, geodec_start *s, geodec_err *err)
{
    if (init_path && vocab_path) GEODEC_FAIL(GEODEC_INVAL, "--init has its own tokenizer and excludes --vocab");
    if (init_path) return geodec_start_from(init_path, (int32_t)ctx, s, err);
    if (!vocab_path) GEODEC_FAIL(GEODEC_INVAL, "--vocab or --init is required");
    geodec_model_config shape = {.n_layer = (int32_t)layers, .d_model = (int32_t)d_model, .n_head = (int32_t)heads};
    shape.n_kv_head = (int32_t)kv_heads;
    shape.d_ff = (int32_t)ff;
    shape.n_ctx = ctx ? (int32_t)ctx : 512;
    shape.n_expert = (int32_t)experts;
    shape.n_expert_used = experts ? (int32_t)experts_used : 0;
    shape.rms_eps = 1e-5f;
    shape.rope_base = 10000;
    shape.tied = !untied;
    if (strcmp(arch, "perspective") == 0) GEODEC_PASS(set_up_perspective(&shape, err));
    return geodec_start_new(vocab_path, &shape, c->seed, s, err);
}

static geodec_status may_write_all(const cli *c, geodec_err *err)
{
    const char *paths[] = {output, out_f16, out_q8, curve_path};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (paths[i]) GEODEC_PASS(cli_may_write(c, paths[i], err));
    return GEODEC_OK;
}

static geodec_status write_all(const run_state *s, geodec_err *err)
{
    const struct {
        const char *path;
        int type;
    } files[] = {
        {out_f16, GEODEC_GGML_F16}, {out_q8, GEODEC_GGML_Q8_0}, {output, geodec_ggml_traits_named(type_name)->type}};
    if (curve_path) GEODEC_PASS(geodec_trainer_write_curve(s->trainer, curve_path, &s->summary, &s->provenance, err));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i].path)
            GEODEC_PASS(geodec_params_write(s->start.layout, geodec_trainer_effective(s->trainer), s->start.tokenizer,
                                            model_name, files[i].type, o.ternary, files[i].path, err));
    return GEODEC_OK;
}

static geodec_status add_inputs(const cli *c, run_state *s, geodec_err *err)
{
    const char *inputs[] = {text_path, held_out_path, vocab_path, init_path, floor_path};
    s->provenance = cli_provenance(c);
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        if (inputs[i]) GEODEC_PASS(geodec_provenance_add_file(&s->provenance, inputs[i], err));
    s->provenance.tokenizer_fingerprint = geodec_tokenizer_fingerprint(s->start.tokenizer);
    return GEODEC_OK;
}

static void say_result(const cli *c, const geodec_train_summary *s)
{
    char floor[96] = "";
    if (isfinite(s->floor_bytes) && s->floor_bytes > 0)
        (void)snprintf(floor, sizeof floor, ", %.1f %% above the entropy of %.4f",
                       100 * (s->held_out_bytes / s->floor_bytes - 1), s->floor_bytes);
    cli_say(c, "%s: held-out %.4f nats per token, %.4f bits per byte%s", output, s->held_out, s->held_out_bytes, floor);
}

/* OpenBLAS takes its oldest kernels on a processor that is newer than itself. */
static void say_kernels(const cli *c)
{
    if (strcmp(geodec_linalg_core(), "Prescott") != 0 || !geodec_kernels_isa_available(GEODEC_ISA_AVX2)) return;
    cli_say(c,
            "OpenBLAS does not know this processor and uses its kernels for Prescott; OPENBLAS_CORETYPE=%s is faster",
            geodec_kernels_isa_available(GEODEC_ISA_AVX512) ? "SkylakeX" : "Haswell");
}

static geodec_status add_penalty(const cli *c, run_state *s, geodec_err *err)
{
    geodec_shf_options so = geodec_shf_defaults();
    so.n = shf_dim;
    so.stride = shf_stride;
    so.flat = shf_metric[1] == 'l';
    so.seed = c->seed;
    GEODEC_PASS(geodec_shf_create(&so, &s->shf, err));
    const geodec_train_penalty penalty = {.weight = shf_weight,
                                          .refresh = shf_refresh,
                                          .probe = shf_probe,
                                          .recipe = geodec_shf_recipe(s->shf),
                                          .ctx = s->shf,
                                          .prepare = geodec_shf_prepare,
                                          .apply = geodec_shf_apply};
    GEODEC_PASS(geodec_trainer_set_penalty(s->trainer, &penalty, err));
    return GEODEC_OK;
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
    cli_say(c, "%lld parameters, %lld training tokens, %.2f bytes per token", (long long)s.start.layout->total,
            (long long)s.train->n_tokens, (double)s.train->n_bytes / (double)s.train->n_tokens);
    say_kernels(c);
    if (going_on) {
        GEODEC_TRY(geodec_trainer_load(s.trainer, s.checkpoint, err));
        cli_say(c, "continuing from step %lld", (long long)geodec_trainer_done(s.trainer));
    }
    GEODEC_TRY(geodec_trainer_run(s.trainer, s.checkpoint, checkpoint_every, &s.provenance, &c->hooks, err));
    GEODEC_TRY(geodec_trainer_evaluate(s.trainer, 0, &s.summary.held_out, &s.summary.held_out_bytes, err));
    GEODEC_TRY(write_all(&s, err));
    (void)unlink(s.checkpoint); /* no longer needed */
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
