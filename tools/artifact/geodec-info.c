/* geodec-info: descriptions of artifacts, schema pages of kinds, tables of the library. */
#include "artifact/schema.h"
#include "cli/cli.h"
#include "cli/describe.h"
#include "cli/drafters.h"
#include "cli/kinds.h"
#include "cli/pages.h"
#include "io/json.h"

#include <stdio.h>
#include <stdlib.h>

static bool as_json, schema, kinds, drafters, types, architectures, integrators;
static const cli_option options[] = {
    OPT_FLAG("json", 0, &as_json, "print JSON"),
    OPT_FLAG("schema", 0, &schema, "print the schema pages (Markdown) of each KIND, or of all kinds"),
    OPT_FLAG("kinds", 0, &kinds, "print the names of all kinds"),
    OPT_FLAG("drafters", 0, &drafters, "print the table of drafters (Markdown)"),
    OPT_FLAG("tensor-types", 0, &types, "print the table of tensor types (Markdown)"),
    OPT_FLAG("architectures", 0, &architectures, "print the table of architectures (Markdown)"),
    OPT_FLAG("integrators", 0, &integrators, "print the tables of integrators (Markdown)"),
};

static const cli_tool tool = {
    .name = "geodec-info",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "print the kind, origin, attributes, dimensions and fields of artifacts",
    .usage = "[OPTIONS] FILE...\n       geodec-info --schema [KIND...]\n       geodec-info --kinds\n       geodec-info "
             "--drafters|--tensor-types|--architectures|--integrators",
    .examples =
        "  geodec-info metric.h5\n  geodec-info --json metric.h5 | python3 -m json.tool\n  geodec-info --schema cloud",
    CLI_TAKES(options, 0, -1),
};

static geodec_json_writer *json; /* with --json */
static int printed;

static geodec_status print_one(const cli *c, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    (void)c;
    GEODEC_TRY(cli_open_any(path, &a, err));
    if (!geodec_artifact_sha256(a)[0]) GEODEC_THROW(GEODEC_IO, "%s: cannot read the file again for its digest", path);
    if (printed && !json) printf("\n");
    printed++;
    if (json)
        GEODEC_TRY(describe_json(json, a, path, err));
    else
        GEODEC_TRY(describe_text(stdout, a, path, err));
done:
    geodec_artifact_close(a);
    return st;
}

static geodec_status print_schemas(const cli *c, geodec_err *err)
{
    for (int i = 0; i < c->n_args; i++)
        if (!cli_kind_find(c->args[i]))
            GEODEC_FAIL(GEODEC_INVAL, "there is no kind '%s'; --kinds lists the kinds", c->args[i]);
    for (int i = 0; i < cli_n_kinds(); i++) GEODEC_PASS(geodec_kind_check(cli_kinds()[i], err));
    for (int i = 0; i < c->n_args; i++) geodec_schema_print(stdout, cli_kind_find(c->args[i]));
    for (int i = 0; !c->n_args && i < cli_n_kinds(); i++) geodec_schema_print(stdout, cli_kinds()[i]);
    return GEODEC_OK;
}

/* Writes to memory first, so that nothing is printed if no file could be opened. */
static geodec_status print_json(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (!memory) GEODEC_THROW(GEODEC_NOMEM, "no memory for the text");
    GEODEC_TRY(geodec_json_on(memory, &json, err));
    geodec_json_begin_array(json, "artifacts");
    const geodec_status each = cli_each(c, print_one, err);
    geodec_json_end(json);
    GEODEC_TRY(geodec_json_commit(json, each == GEODEC_OK ? err : NULL));
    if (printed) (void)fwrite(text, 1, n, stdout);
    st = each;
done:
    if (memory) (void)fclose(memory);
    free(text);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    if (kinds) {
        for (int i = 0; i < cli_n_kinds(); i++) printf("%s\n", cli_kinds()[i]->name);
    } else if (drafters) {
        drafters_page(stdout);
    } else if (types) {
        tensor_types_page(stdout);
    } else if (architectures) {
        architectures_table(stdout);
    } else if (integrators) {
        integrators_page(stdout);
    } else if (schema) {
        GEODEC_PASS(print_schemas(c, err));
    } else if (!c->n_args) {
        GEODEC_FAIL(GEODEC_INVAL, "a file is missing; see geodec-info --help");
    } else if (as_json) {
        GEODEC_PASS(print_json(c, err));
    } else {
        GEODEC_PASS(cli_each(c, print_one, err));
    }
    return GEODEC_OK;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
