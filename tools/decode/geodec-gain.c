/* geodec-gain: what one drafter gains on another, paired by text. */
#include "base/mem.h"
#include "cli/cli.h"
#include "io/tsv.h"
#include "measure/gain.h"

#include <stdio.h>

enum { RESAMPLES = 2000 };

static const char *drafter, *control;

static const cli_option options[] = {
    OPT_STR("drafter", 'd', &drafter, "NAME", "the one that is judged"),
    OPT_STR("control", 'c', &control, "NAME", "the one it is held against (default: the same, in the second file)"),
};

static const cli_tool tool = {
    .name = "geodec-gain",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "what one drafter gains on another, paired by text",
    .usage = "--drafter NAME [--control NAME] BENCHDECODE.h5 [CONTROL.h5]",
    .description = "Reads the counts by text of geodec-bench-decode; the second file (default: the first) has the "
                   "control, measured\n"
                   "on the same prompts. A row for every setting both have: tokens a pass (at every position: 1 + "
                   "accepted drafts)\n"
                   "of both and their difference, with 95 % intervals of a bootstrap over texts, the same resamples "
                   "for all three.",
    .examples = "geodec-gain --drafter ngram+flowmap --control ngram benchdecode.h5",
    CLI_TAKES(options, 1, 2),
};

static void interval(geodec_tsv *t, geodec_interval v)
{
    geodec_tsv_f64(t, v.value);
    geodec_tsv_f64(t, v.low);
    geodec_tsv_f64(t, v.high);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    static const char *const columns[] = {"mode",         "setting",     "drafts",   "tokens",
                                          "tokens_low",   "tokens_high", "control",  "control_low",
                                          "control_high", "gain",        "gain_low", "gain_high"};
    geodec_status st = GEODEC_OK;
    geodec_gain *gain = NULL;
    geodec_tsv *t = NULL;
    int64_t n = 0;
    if (!drafter) GEODEC_THROW(GEODEC_INVAL, "--drafter is missing");
    const char *other = c->n_args > 1 ? c->args[1] : c->args[0];
    GEODEC_TRY(geodec_gain_measure(c->args[0], drafter, other, control ? control : drafter, c->seed, RESAMPLES, &gain,
                                   &n, err));
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_columns(t, CLI_COUNT(columns), columns, err));
    for (int64_t i = 0; i < n; i++) {
        const geodec_gain *g = &gain[i];
        geodec_tsv_str(t, g->sampled ? "sampled" : "greedy");
        geodec_tsv_str(t, g->every_position ? g->budget > 0 ? "tree-every-position" : "every-position"
                          : g->budget > 0   ? "tree"
                                            : "loop");
        geodec_tsv_i64(t, g->budget > 0 ? g->budget : g->gamma);
        interval(t, g->tokens);
        interval(t, g->control);
        interval(t, g->difference);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    geodec_mem_free(gain);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
