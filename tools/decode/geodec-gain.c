/* geodec-gain: the gain of one drafter over another, paired by text. */
#include "base/mem.h"
#include "cli/cli.h"
#include "measure/gain.h"

#include <stdio.h>

enum { RESAMPLES = 2000 };

static const char *drafter, *control;

static const cli_option options[] = {
    OPT_STR("drafter", 'd', &drafter, "NAME", "drafter that is judged"),
    OPT_STR("control", 'c', &control, "NAME", "drafter it is compared with (default: the same, in the second file)"),
};

static const cli_tool tool = {
    .name = "geodec-gain",
    .topic = CLI_TOPIC_DECODING,
    .purpose = "measure the gain of one drafter over another on the same texts",
    .usage = "--drafter NAME [--control NAME] BENCHDECODE.h5 [CONTROL.h5]",
    .description =
        "Reads the counts by text of geodec-bench-decode; the second file (default: the first) has the control,\n"
        "measured on the same prompts. A row for every setting both have: tokens a pass (at every position: 1 +\n"
        "accepted drafts) of both and their difference, with 95 % intervals of a bootstrap over texts, the same\n"
        "resamples for all three.",
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
