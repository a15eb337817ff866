/* geodec-adapt: adapts a PERSPECTIVE model to a text, by forward derivatives or by an evolution strategy. */
#include "cli/cli.h"
#include "cli/text.h"
#include "io/tsv.h"
#include "lab/adapt/adaptation.h"
#include "train/params.h"
#include "train/start.h"

#include <math.h>
#include <string.h>

static const char *model_path, *text_path, *held_out_path, *output, *separator_name = "auto", *what = "adapters";
static int64_t rank = 4, first_layer, layers = 1, length = 64;
static geodec_adaptation_options o = {
    .windows = 4, .steps = 8, .rate = 0.05, .lambda = -1, .rise = 0.01, .sigma = 0.01, .budget = 2};

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    OPT_FILE("text", 0, &text_path, "FILE", "text to adapt to"),
    OPT_FILE("held-out", 0, &held_out_path, "FILE", "text on which each step is checked"),
    OPT_FILE("output", 'o', &output, "FILE", "also write the adapted model to FILE, a GGUF of type f32",
             .flags = CLI_VOLATILE),
    CLI_SEPARATOR_OPTION(separator_name),
    OPT_CHOICE("what", 0, &what, "adapters|places", NULL,
               "adapters of low rank on the gates, by derivatives in random directions; or the places of the experts, "
               "by an evolution strategy"),
    OPT_I64("rank", 0, &rank, 1, 256, "N", "rank of an adapter"),
    OPT_I64("first", 0, &first_layer, 0, 1 << 16, "N", "first recurrent layer with an adapter, from 0"),
    OPT_I64("layers", 0, &layers, 1, 1 << 16, "N", "recurrent layers with an adapter"),
    OPT_I64("window", 'w', &length, 2, 1 << 20, "N", "tokens of a window"),
    OPT_I64("windows", 'n', &o.windows, 1, 1 << 20, "N", "windows of each text"),
    OPT_I64("steps", 0, &o.steps, 0, 1 << 20, "N", "steps (0: only measure)"),
    OPT_I64("directions", 0, &o.directions, 0, 4096, "N",
            "derivatives, or pairs of candidates, of a step (0: as many as --budget allows)"),
    OPT_F64("budget", 0, &o.budget, 1e-6, 1e6, "X", "seconds of a step, with --directions 0"),
    OPT_F64("rate", 0, &o.rate, 0, 1e6, "X", "length of a step relative to the gradient"),
    OPT_F64("anchor", 0, &o.lambda, -1, 1e6, "X", "pull towards the start (-1: 0.01 for adapters, 0.1 for places)"),
    OPT_F64("rise", 0, &o.rise, 0, 1e6, "X", "a step that raises the held-out loss by more than this share is undone"),
    OPT_F64("sigma", 0, &o.sigma, 1e-9, 1, "X", "places: deviation of the candidates"),
    OPT_FLAG("exact", 0, &o.exact, "also measure a step down the exact gradient, the control"),
};

static const cli_tool tool = {
    .name = "geodec-adapt",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "adapt a PERSPECTIVE model to a text without a backward pass",
    .usage = "--model FILE --text FILE --held-out FILE [OPTIONS]",
    .description =
        "Derivatives of the loss in random directions, by dual numbers in float64, estimate its gradient; or the\n"
        "places of the experts are moved by an evolution strategy. After each step the loss on the held-out text is\n"
        "measured; a step that raises it too much is undone and ends the run. The table has losses in nats a token:\n"
        "of the text and of the held-out text, at the start and at the end. Controls: a step of the same length in a\n"
        "random direction, and with --exact one down the exact gradient. With --directions 0 the result depends on\n"
        "the machine's speed; the table has the number that was used.",
    .examples =
        "  geodec-adapt --model perspective.gguf --text new.txt --held-out old.txt -o adapted.gguf\n"
        "  geodec-adapt --model perspective.gguf --text new.txt --held-out old.txt --what places --directions 16",
    CLI_TAKES(options, 0, 0),
};

static geodec_status put(geodec_tsv *t, const char *key, const char *quantity, double value, double control,
                         geodec_err *err)
{
    geodec_tsv_str(t, key);
    geodec_tsv_str(t, quantity);
    geodec_tsv_f64(t, value);
    geodec_tsv_f64(t, control);
    return geodec_tsv_end_row(t, err);
}

static geodec_status table(const geodec_adaptation *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    const geodec_adapt_report *r = &a->report;
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "key quantity value control", err));
    GEODEC_TRY(put(t, "numbers", "numbers that are adapted", (double)a->numbers, NAN, err));
    GEODEC_TRY(put(t, "directions", "derivatives or pairs of a step", (double)a->directions, NAN, err));
    GEODEC_TRY(put(t, "steps", "steps made, control: kept", (double)r->steps, (double)r->kept, err));
    GEODEC_TRY(put(t, "text", "loss of the text at the end, control: at the start", r->end, r->start, err));
    GEODEC_TRY(put(t, "held_out", "the same of the held-out text", r->held, r->held_start, err));
    GEODEC_TRY(put(t, "length", "distance from the start", a->length, NAN, err));
    GEODEC_TRY(
        put(t, "text_random", "loss of the text, control: a random step of this length", r->end, a->random, err));
    GEODEC_TRY(put(t, "held_out_random", "the same of the held-out text", r->held, a->random_held, err));
    GEODEC_TRY(
        put(t, "text_exact", "loss of the text, control: a step down the exact gradient", r->end, a->exact, err));
    GEODEC_TRY(put(t, "held_out_exact", "the same of the held-out text", r->held, a->exact_held, err));
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

static geodec_status write_model(geodec_network *n, const geodec_start *s, const geodec_adaptation *a, geodec_err *err)
{
    geodec_network_merge(n, o.places ? NULL : a->x, o.places ? a->x : NULL, s->params);
    return geodec_params_write(s->layout, s->params, s->tokenizer, geodec_model_name(s->model), GEODEC_GGML_F32, true,
                               output, err);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_start s = {.tokenizer = NULL};
    geodec_network *n = NULL;
    geodec_text *text = NULL, *held_out = NULL;
    geodec_adaptation a = {0};
    geodec_documents_separator separator;
    if (!text_path || !held_out_path) GEODEC_THROW(GEODEC_INVAL, "--text and --held-out are required");
    if (output) GEODEC_TRY(cli_may_write(c, output, err));
    o.places = strcmp(what, "places") == 0;
    o.seed = c->seed;
    if (o.lambda < 0) o.lambda = o.places ? GEODEC_ADAPT_ANCHOR_POSITIONS : GEODEC_ADAPT_ANCHOR_ADAPTERS;
    GEODEC_TRY(geodec_start_recurrent(model_path, &s, err));
    GEODEC_TRY(geodec_documents_separator_of(separator_name, &separator, err));
    GEODEC_TRY(geodec_text_load(text_path, separator, s.tokenizer, c->pool, &c->hooks, &text, err));
    GEODEC_TRY(geodec_text_load(held_out_path, separator, s.tokenizer, c->pool, &c->hooks, &held_out, err));
    const geodec_network_options no = {.rank = rank,
                                       .first = (int32_t)first_layer,
                                       .last = (int32_t)(first_layer + layers - 1),
                                       .length = length,
                                       .threads = geodec_pool_threads(c->pool)};
    GEODEC_TRY_MSG(geodec_network_create(s.layout, s.params, &no, &n, err), "%s", model_path);
    GEODEC_TRY(geodec_adaptation_run(n, length, text, held_out, &o, c->pool, &c->hooks, &a, err));
    GEODEC_TRY(table(&a, err));
    if (output) GEODEC_TRY(write_model(n, &s, &a, err));
    cli_say(c, "%lld numbers, %lld steps kept%s: text %.4f -> %.4f, held-out %.4f -> %.4f nats a token",
            (long long)a.numbers, (long long)a.report.kept, a.report.rolled_back ? ", one undone" : "", a.report.start,
            a.report.end, a.report.held_start, a.report.held);
done:
    geodec_adaptation_clear(&a);
    geodec_network_destroy(n);
    geodec_text_destroy(text);
    geodec_text_destroy(held_out);
    geodec_start_clear(&s);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
