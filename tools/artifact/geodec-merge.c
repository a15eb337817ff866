/* geodec-merge: joins the parts of a sweep. */
#include "artifact/merge.h"
#include "cli/cli.h"
#include "cli/kinds.h"

static const char *output;
static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "FILE", "write to FILE", .flags = CLI_VOLATILE | CLI_REQUIRED),
};

static const cli_tool tool = {
    .name = "geodec-merge",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "join the parts that a tool wrote with --shard 1/m to m/m",
    .usage = "-o FILE PART...",
    .description =
        "The result has the same bytes as a run without --shard. Parts from different inputs, options or versions,\n"
        "missing parts and repeated parts are refused.",
    .examples = "  geodec-riemann --shard 1/2 -o a.h5 metric.h5\n  geodec-riemann --shard 2/2 -o b.h5 metric.h5\n"
                "  geodec-merge -o riemann.h5 a.h5 b.h5",
    CLI_TAKES(options, 1, -1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_merge *m = NULL;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_merge_open(cli_kinds(), cli_n_kinds(), c->n_args, (const char *const *)c->args, &m, err));
    GEODEC_TRY(geodec_merge_write(m, output, err));
    cli_say(c, "%lld parts of kind '%s' joined", (long long)geodec_merge_parts(m), geodec_merge_kind(m)->name);
done:
    geodec_merge_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
