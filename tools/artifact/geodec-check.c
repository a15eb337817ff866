/* geodec-check: check that artifacts are complete and valid; one line per bad file. */
#include "artifact/compare.h"
#include "cli/cli.h"
#include "cli/kinds.h"

static const char *kind_name;
static const cli_option options[] = {
    OPT_STR("kind", 0, &kind_name, "KIND", "refuse artifacts of another kind"),
};

static const cli_tool tool = {
    .name = "geodec-check",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "check artifacts: header, digest, schema version, every field and all data",
    .usage = "[OPTIONS] FILE...",
    .description =
        "A good file gives no output. A bad file gives one line with the file, the member and the tool that makes\n"
        "it, and status 3 (not a valid artifact) or 4 (valid, but with a value that is not a finite number). All\n"
        "files are checked; the status is that of the first bad one.",
    .examples = "  geodec-check results/*.h5\n  geodec-check --kind cloud cloud.h5",
    CLI_TAKES(options, 1, -1),
};

static geodec_status check(const cli *c, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    const geodec_kind *kind = kind_name ? cli_kind_find(kind_name) : NULL;
    if (kind)
        GEODEC_TRY(geodec_artifact_open(kind, path, &a, err));
    else
        GEODEC_TRY(cli_open_any(path, &a, err));
    GEODEC_TRY(geodec_artifact_verify(a, &c->hooks, err));
done:
    geodec_artifact_close(a);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    if (kind_name && !cli_kind_find(kind_name)) GEODEC_FAIL(GEODEC_INVAL, "--kind: there is no kind '%s'", kind_name);
    GEODEC_PASS(cli_each(c, check, err));
    return GEODEC_OK;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
