/* geodec-gain: gain of one drafter over another on the same texts. */
#include "base/mem.h"
#include "cli/cli.h"
#include "measure/gain.h"

#include <stdio.h>

enum { RESAMPLES = 2000 };

static const char *drafter, *control;

static const cli_option options[] = {
    OPT_STR("drafter", 'd', &drafter, "NAME", "drafter to evaluate"),
    OPT_STR("control", 'c', &control, "NAME", "drafter to compare with (default: the same one, in the second file)"),
};

static const cli_tool tool = {
    .name = "geodec-gain",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "measure the gain of one drafter over another on the same texts",
    .usage = "--drafter NAME [--control NAME] BENCHDECODE.h5 [CONTROL.h5]",
    .description =
        "Reads the counts per text of geodec-bench-decode. The second file (default: the first) contains the\n"
        "control, measured on the same prompts. The output has a row for each setting that both files contain: the\n"
        "tokens per pass (at every position: 1 + accepted drafts) of both drafters and their difference, with 95 %\n"
        "bootstrap intervals over texts. All three use the same resamples.",
    .examples = "geodec-gain --drafter ngram+flowmap --control ngram benchdecode.h5",
    CLI_TAKES(options, 1, 2),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gain *gain = NULL;
    int64_t n = 0;
    if (!drafter) GEODEC_THROW(GEODEC_INVAL, "--drafter is missing");
    const char *other = c->n_args > 1 ? c->args[1] : c->args[0];
    GEODEC_TRY(geodec_gain_measure(c->args[0], drafter, other, control ? control : drafter, c->seed, RESAMPLES, &gain,
                                   &n, err));
    GEODEC_TRY(geodec_gain_print(stdout, gain, n, err));
done:
    geodec_mem_free(gain);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
