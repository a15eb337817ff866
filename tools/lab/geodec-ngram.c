/* geodec-ngram: byte n-gram models of a text, the control of trained models. */
#include "cli/cli.h"
#include "cli/text.h"
#include "io/tsv.h"
#include "lab/corpus/control.h"

static const char *text_path, *separator = "auto";
static int64_t order = 6, limit = 64 << 20;

static const cli_option options[] = {
    OPT_FILE("text", 0, &text_path, "FILE", "training text", .flags = CLI_REQUIRED),
    OPT_I64("order", 0, &order, 1, GEODEC_CONTROL_ORDER_MAX, "N", "largest number of bytes of context"),
    OPT_I64("limit", 0, &limit, 1, 1e12, "BYTES", "refuse training texts larger than this"),
    CLI_SEPARATOR_OPTION(separator),
};

static const cli_tool tool = {
    .name = "geodec-ngram",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "measure a text in bits per byte under byte n-gram models trained on another text",
    .usage = "--text FILE [OPTIONS] HELD_OUT",
    .description =
        "Interpolated Witten-Bell smoothing. Documents are those of geodec-train, each with its end, so that the\n"
        "figures are controls for its held-out bits per byte. Standard output has one TSV row per number of bytes\n"
        "of context, from 0 to --order. With --order 6 the model needs about 50 bytes of memory per byte of text.",
    .examples = "geodec-ngram --text train.txt --order 5 held-out.txt",
    CLI_TAKES(options, 1, 1),
};

static geodec_status learn(const cli *c, const text_file *f, geodec_control *model, int64_t *bytes, geodec_err *err)
{
    for (int64_t i = 0; i < f->documents.n; i++) {
        const geodec_document d = f->documents.item[i];
        GEODEC_PASS(geodec_control_learn(model, f->documents.text + d.begin, (size_t)(d.end - d.begin), err));
        *bytes += (int64_t)(d.end - d.begin);
        if (i % 256 == 0) GEODEC_PASS(geodec_hooks_progress(&c->hooks, "reading documents", i, f->documents.n, err));
    }
    return GEODEC_OK;
}

static geodec_status print(const double *bits, int64_t bytes, int64_t held_out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "context bytes held_out_bytes bits_per_byte", err));
    for (int64_t k = 0; k <= order; k++) {
        geodec_tsv_i64(t, k);
        geodec_tsv_i64(t, bytes);
        geodec_tsv_i64(t, held_out);
        geodec_tsv_f64(t, bits[k] / (double)held_out);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file train = {.run = NULL}, test = {.run = NULL};
    geodec_control *model = NULL;
    double bits[GEODEC_CONTROL_ORDER_MAX + 1] = {0};
    int64_t bytes = 0, held_out = 0, best = 0;
    GEODEC_TRY(text_open(text_path, separator, NULL, false, &train, err));
    GEODEC_TRY(text_open(c->args[0], separator, NULL, false, &test, err));
    if ((int64_t)train.map.size > limit)
        GEODEC_THROW(GEODEC_LIMIT, "%s: %zu bytes; the limit is %lld", text_path, train.map.size, (long long)limit);
    GEODEC_TRY(geodec_control_create((int)order, &model, err));
    GEODEC_TRY(learn(c, &train, model, &bytes, err));
    for (int64_t i = 0; i < test.documents.n; i++) {
        const geodec_document d = test.documents.item[i];
        GEODEC_TRY(geodec_control_score(model, test.documents.text + d.begin, (size_t)(d.end - d.begin), bits, err));
        held_out += (int64_t)(d.end - d.begin);
    }
    GEODEC_TRY(print(bits, bytes, held_out, err));
    for (int64_t k = 1; k <= order; k++)
        if (bits[k] < bits[best]) best = k;
    cli_say(c, "%lld training bytes: %.4f bits per byte with %lld bytes of context, %.4f with none", (long long)bytes,
            bits[best] / (double)held_out, (long long)best, bits[0] / (double)held_out);
done:
    geodec_control_destroy(model);
    text_close(&train);
    text_close(&test);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
