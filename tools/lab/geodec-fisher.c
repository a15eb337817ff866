/* geodec-fisher: how many directions of the residual stream the next-token distribution feels, layer by layer. */
#include "lab/fisher/rank.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/layers.h"
#include "cli/text.h"
#include "io/file.h"
#include "io/tsv.h"

#include <string.h>

enum { DRAWS = 4 /* of the control */ };

static const char *model_path, *layers = "all", *separator = "auto";
static int64_t window = 32, windows = 8;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_RUN_SEPARATOR_OPTION(separator),
    OPT_STR("layers", 0, &layers, "LIST",
            "boundaries: all, last, sink (2/3 of the depth) or numbers (0 = embedding) joined by commas"),
    OPT_I64("window", 'w', &window, 1, 1 << 16, "N", "tokens of a window, BOS included; its last one is measured"),
    OPT_I64("windows", 'n', &windows, 1, 1e9, "N", "windows, evenly spread over the text"),
};

static const cli_tool tool = {
    .name = "geodec-fisher",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "effective rank of the next token's Fisher metric on the residual stream, beside its control",
    .usage = "--model FILE [OPTIONS] TEXT",
    .description =
        "J is the derivative of a window's last logits with respect to the residual stream of the same token at a\n"
        "layer's boundary, p the next-token distribution, G = J^T (diag p - p p^T) J the Fisher metric of p. One TSV "
        "row\n"
        "a window and layer: entropy of p (nats), trace of G, its largest eigenvalue as a share of the trace, and its\n"
        "effective rank (tr G)^2 / tr G^2. A concentrated p makes the rank small by itself; control_rank is that of "
        "the\n"
        "same p with a random J (mean of 4 draws). check is the relative difference between u^T G u and the second "
        "difference of the\n"
        "Kullback-Leibler divergence along a random u. All in float64; the time grows with the square of the width.",
    .examples = "geodec-fisher --model model.gguf --windows 20 book.txt\n"
                "geodec-fisher --model model.gguf --layers 0,sink,last --window 64 book.txt",
    CLI_TAKES(options, 1, 1),
};

typedef struct state {
    const cli *c;
    geodec_reference *reference;
    int32_t layer[MAX_LAYERS], n_layers;
    int32_t *token; /* [window] */
    double *x, *y;  /* [window][d_model] */
    double *p;      /* [n_vocab] */
    geodec_tsv *table;
} state;

static geodec_status begin_table(state *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char *const columns[] = {"window",  "token", "layer",        "entropy", "trace",
                                          "largest", "rank",  "control_rank", "check"};
    GEODEC_TRY(geodec_tsv_on(stdout, &s->table, err));
    GEODEC_TRY(geodec_tsv_columns(s->table, CLI_COUNT(columns), columns, err));
done:
    return st;
}

static geodec_status control_of(const state *s, int64_t number, double *rank, geodec_err *err)
{
    const geodec_model_config *mc = geodec_model_configuration(geodec_reference_model(s->reference));
    return geodec_fisher_control(mc->d_model, mc->n_vocab, s->p, DRAWS, s->c->seed, (uint64_t)number, rank, err);
}

/* Every layer of one window: the stream is carried from each to the next. */
static geodec_status one_window(state *s, int64_t number, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_reference *r = s->reference;
    const size_t bytes = (size_t)(n * geodec_reference_width(r, 0)) * sizeof *s->x;
    int32_t at = 0;
    double control = 0; /* p is the same from every layer: it is the whole model's */
    GEODEC_TRY(geodec_reference_embed(r, s->token, n, s->x, err));
    for (int32_t i = 0; i < s->n_layers; i++) {
        geodec_fisher_figures f;
        GEODEC_TRY(geodec_reference_run(r, at, s->layer[i], n, s->x, NULL, s->y, err));
        memcpy(s->x, s->y, bytes);
        at = s->layer[i];
        GEODEC_TRY_MSG(geodec_fisher_at(r, at, n, s->x, s->c->seed, (uint64_t)number, &f, s->p, err), "layer %d", at);
        if (i == 0) GEODEC_TRY(control_of(s, number, &control, err));
        geodec_tsv_i64(s->table, number);
        geodec_tsv_i64(s->table, s->token[n - 1]);
        geodec_tsv_i64(s->table, at);
        geodec_tsv_f64(s->table, f.entropy);
        geodec_tsv_f64(s->table, f.trace);
        geodec_tsv_f64(s->table, f.largest);
        geodec_tsv_f64(s->table, f.rank);
        geodec_tsv_f64(s->table, control);
        geodec_tsv_f64(s->table, f.check);
        GEODEC_TRY(geodec_tsv_end_row(s->table, err));
        GEODEC_TRY(
            geodec_hooks_progress(&s->c->hooks, "measuring", number * s->n_layers + i + 1, windows * s->n_layers, err));
    }
done:
    return st;
}

static geodec_status all_windows(state *s, const char *path, const geodec_tokenizer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t n;
    const int32_t bos = geodec_tokenizer_bos(t);
    const int64_t each = window - (bos >= 0);
    GEODEC_TRY(text_ids(path, separator, t, &ids, &n, err));
    if (each < 1 || n < each)
        GEODEC_THROW(n == 0 ? GEODEC_FORMAT : GEODEC_SCARCE, "%s: %lld tokens; a window needs at least %lld", path,
                     (long long)n, (long long)each);
    for (int64_t w = 0; w < windows; w++) {
        const int64_t first = windows > 1 ? (n - each) * w / (windows - 1) : 0;
        s->token[0] = bos;
        memcpy(s->token + window - each, ids + first, (size_t)each * sizeof *ids);
        GEODEC_TRY_MSG(one_window(s, w, window, err), "%s: window %lld", path, (long long)w);
    }
done:
    geodec_mem_free(ids);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    state s = {.c = c};
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    const geodec_model_config *mc = geodec_model_configuration(m);
    const geodec_reference_options o = {.pool = c->pool, .n_ctx = (int32_t)window};
    GEODEC_TRY(parse_layers(layers, mc->n_layer, s.layer, &s.n_layers, err));
    GEODEC_TRY(geodec_reference_create(m, &o, &s.reference, err));
    GEODEC_NEW(s.token, window);
    GEODEC_NEW(s.x, window * mc->d_model);
    GEODEC_NEW(s.y, window * mc->d_model);
    GEODEC_NEW(s.p, mc->n_vocab);
    GEODEC_TRY(begin_table(&s, err));
    GEODEC_TRY(all_windows(&s, c->args[0], geodec_model_tokenizer(m), err));
    GEODEC_TRY(geodec_tsv_finish(&s.table, err));
done:
    geodec_tsv_abandon(s.table);
    geodec_reference_destroy(s.reference);
    geodec_mem_free(s.token);
    geodec_mem_free(s.x);
    geodec_mem_free(s.y);
    geodec_mem_free(s.p);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
