/* geodec-kv-merge: the papers' merging of tokens in the key and value cache, against the whole cache. */
#include "cli/cli.h"
#include "cli/context.h"
#include "cli/evaluation.h"
#include "cli/text.h"
#include "evaluate/needle.h"
#include "evaluate/perplexity.h"
#include "lab/kv/kv_merge.h"

static const char *model_path, *isa = "auto", *separator = "auto";
static double threshold = 0.15;
static int64_t window, windows, trials = 40;
static bool needle;

static const cli_option options[] = {
    CLI_MODEL_OPTION(model_path),
    CLI_RUN_SEPARATOR_OPTION(separator),
    OPT_F64("threshold", 0, &threshold, 1e-9, 1e6, "T", "distance below which a token becomes a copy"),
    OPT_I64("window", 'w', &window, 0, 1 << 20, "N",
            "tokens of a window or of a trial (0: the model's context, at most 256)"),
    OPT_I64("windows", 'n', &windows, 0, 1e12, "N", "windows to read (0: all)"),
    OPT_FLAG("needle", 0, &needle, "measure retrieval in place of perplexity, as geodec-needle does"),
    OPT_I64("trials", 0, &trials, 1, 10000, "N", "trials of each depth of --needle"),
    CLI_ISA_OPTION(isa),
    CLI_ALLOW_LONG_OPTION,
};

static const cli_tool tool = {
    .name = "geodec-kv-merge",
    .topic = CLI_TOPIC_MEASURES,
    .purpose = "measure the papers' merging of tokens in the key and value cache against the whole cache",
    .usage = "--model FILE [OPTIONS] TEXT",
    .description =
        "In each layer and head, the key of a token is projected on 32 directions, and compared with at most 256\n"
        "tokens before it. If one is nearer than --threshold, the token's key and value become copies of that one's.\n"
        "The cache keeps its size, so this measures what merging costs, not what it saves. The text is read in\n"
        "windows, with the whole cache and with merged tokens. The table has both perplexities, the figures of\n"
        "their comparison as in geodec-perplexity, and the share of tokens and heads that were merged.",
    .examples = "geodec-kv-merge --model model.gguf book.txt\n"
                "geodec-kv-merge --model model.gguf --threshold 0.3 --needle book.txt",
    CLI_TAKES(options, 1, 1),
};

static geodec_status compare(const cli *c, const geodec_scorer_evaluation *q, geodec_kv_merge *g, int32_t of_window,
                             const text_file *file, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_perplexity_result r = {0};
    geodec_kv_merges k;
    geodec_tsv *table = NULL;
    const geodec_perplexity_options o = {.window = of_window, .max_windows = windows};
    geodec_scorer_evaluation p = *q;
    p.rewrite = NULL;
    GEODEC_TRY_MSG(geodec_perplexity_text(&p, q, &o, file->run, file->n_run, &r, c->pool, &c->hooks, err), "%s",
                   c->args[0]);
    GEODEC_TRY(geodec_kv_merge_counts(g, &k, err));
    GEODEC_TRY(geodec_tsv_on(stdout, &table, err));
    GEODEC_TRY(geodec_tsv_names(table,
                                "threshold windows tokens perplexity perplexity_se merged_perplexity difference "
                                "difference_se kl agreement merged",
                                err));
    geodec_tsv_f64(table, threshold);
    geodec_tsv_i64(table, r.windows);
    geodec_tsv_i64(table, r.tokens);
    geodec_tsv_f64(table, r.perplexity);
    geodec_tsv_f64(table, r.perplexity * r.nll.se); /* to first order */
    geodec_tsv_f64(table, r.against_perplexity);
    geodec_tsv_f64(table, r.difference.mean);
    geodec_tsv_f64(table, r.difference.se);
    geodec_tsv_f64(table, r.kl.mean);
    geodec_tsv_f64(table, r.agreement.mean);
    geodec_tsv_f64(table, (double)k.merged / (double)k.seen);
    GEODEC_TRY(geodec_tsv_end_row(table, err));
    GEODEC_TRY(geodec_tsv_finish(&table, err));
done:
    geodec_tsv_abandon(table);
    geodec_perplexity_free(&r);
    return st;
}

static geodec_status find(const cli *c, const geodec_scorer_evaluation *q, geodec_kv_merge *g, int32_t of_window,
                          const text_file *file, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_needle_result r = {0};
    geodec_kv_merges k;
    geodec_needle_options o = geodec_needle_defaults();
    o.window = of_window;
    o.trials = (int32_t)trials;
    o.seed = c->seed;
    GEODEC_TRY_MSG(geodec_needle_run(q, &o, file->run, file->n_run, &c->hooks, &r, err), "%s", c->args[0]);
    GEODEC_TRY(geodec_kv_merge_counts(g, &k, err));
    GEODEC_TRY(geodec_needle_table(stdout, &r, err));
done:
    geodec_needle_free(&r);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    enum { DEFAULT_WINDOW = 256 };
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_kv_merge *g = NULL;
    text_file file = {.run = NULL};
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    const int32_t n_ctx = geodec_model_configuration(m)->n_ctx;
    const int32_t n = (int32_t)(window ? window : n_ctx < DEFAULT_WINDOW ? n_ctx : DEFAULT_WINDOW);
    context_check(c, m, "windows", n);
    GEODEC_TRY(geodec_kv_merge_create(m, threshold, &g, err));
    geodec_scorer_evaluation q = evaluation_of(m, "exact", "f32", isa);
    q.rewrite = geodec_kv_merge_rewrite(g);
    GEODEC_TRY(text_open(c->args[0], separator, geodec_model_tokenizer(m), true, &file, err));
    GEODEC_TRY((needle ? find : compare)(c, &q, g, n, &file, err));
done:
    text_close(&file);
    geodec_kv_merge_destroy(g);
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
