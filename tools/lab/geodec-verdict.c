/* geodec-verdict: headline of the report; each quantity has a control and the verdict of a rule. */
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/kinds.h"
#include "cli/lab/gate.h"
#include "io/tsv.h"
#include "lab/verdict/headline.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *output, *root = ".", *data = "data/model";
static const char *unknown = "plan.tsv#value{name=unknown_share}";
static const char *power = "power.tsv", *only;
static bool check;
static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "FILE", "write to FILE (default: standard output)", .flags = CLI_VOLATILE),
    OPT_STR("root", 0, &root, "DIR", "root folder of references"),
    OPT_STR("data", 0, &data, "DIR", "folder of the embedded model, @DATA in a reference"),
    OPT_STR("unknown", 0, &unknown, "REFERENCE", "share of the text's tokens that the vocabulary does not have"),
    OPT_STR("power", 0, &power, "FILE",
            "table of power of the findings, relative to --root (geodec-power); -: judge without it, as the worlds of "
            "the positive controls are judged"),
    OPT_STR("row", 0, &only, "KEY", "judge only this row"),
    OPT_FLAG("check", 0, &check, "check only the rules; read no results and write nothing"),
};

static const cli_tool tool = {
    .name = "geodec-verdict",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "judge the quantities of the report's headline by rules from a table",
    .usage = "[OPTIONS] RULES.tsv...",
    .description =
        "Each row of RULES.tsv names values by reference (geodec-value), a control, a rule of ordered conditions,\n"
        "and its least sample. A row is \"not measured\", with the reason, if a value is missing, empty, not a\n"
        "number or infinite, if the sample is smaller, or if the row depends on a text of which more than 10 % of\n"
        "the tokens are unknown. Otherwise the verdict of the rule is holds, mixed (the control explains the\n"
        "number), refuted (the claim is contradicted), broken (a requirement of exactness or a closed form is\n"
        "missed; shown with any sample), or none if nothing is claimed. A row that says something of a geometry\n"
        "names its finding in the column power. Without a power figure of the finding it is not measured. A negative\n"
        "outcome with a power below 0.8, or of a rule that finds the effect without it, is \"no power\". The output\n"
        "table has the columns key, quantity, value, control, verdict (word: sentence), command.\n"
        "docs/manual/verdicts.md describes the rules.",
    .examples = "  geodec-verdict --root results/my-model pipelines/report/headline.tsv\n"
                "  geodec-verdict --check pipelines/report/headline.tsv",
    CLI_TAKES(options, 1, -1),
};

/* The command that made FILE.h5, the text after '=', or a dash. */
static const char *command_of(geodec_references *refs, const char *command)
{
    const geodec_artifact *a = NULL;
    if (command[0] == '=') return command + 1;
    if (geodec_reference_artifact(refs, command, &a, NULL) != GEODEC_OK) return "-";
    return geodec_artifact_provenance(a)->command_line;
}

/* NaN if the reference cannot be read. */
static double unknown_share(geodec_references *refs)
{
    static char text[GEODEC_REFERENCE_MAX];
    geodec_value v = {.optional = true};
    if (geodec_reference_read(refs, unknown, text, NULL) != GEODEC_OK) return NAN;
    geodec_value_set(&v, text);
    return v.state == GEODEC_EXPR_KNOWN ? v.x : NAN;
}

static geodec_status print_row(geodec_tsv *t, const geodec_headline_row *row, geodec_references *refs,
                               const geodec_gate *gate, double share, geodec_err *err)
{
    static geodec_values values;
    static geodec_headline_verdict v;
    static char verdict[GEODEC_SENTENCE_MAX + 32];
    GEODEC_PASS(geodec_headline_values(row, refs, data, &values, err));
    GEODEC_PASS_MSG(geodec_headline_decide(row, &values, share, &v, err), "%s", row->key);
    GEODEC_PASS_MSG(geodec_gate_judge(gate, row->finding, v.word, v.sentence, err), "%s", row->key);
    (void)snprintf(verdict, sizeof verdict, "%s: %s", v.word, v.sentence);
    geodec_tsv_str(t, row->key);
    geodec_tsv_str(t, v.quantity);
    geodec_tsv_str(t, v.value);
    geodec_tsv_str(t, v.control);
    geodec_tsv_str(t, verdict);
    geodec_tsv_str(t, command_of(refs, row->command));
    GEODEC_PASS(geodec_tsv_end_row(t, err));
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_headline *h = NULL;
    geodec_references *refs = NULL;
    geodec_tsv *t = NULL;
    geodec_gate gate = {0};
    bool found = !only;
    GEODEC_NEW(h, c->n_args);
    for (int k = 0; k < c->n_args; k++) GEODEC_TRY(geodec_headline_read(c->args[k], &h[k], err));
    for (int k = 0; check && k < c->n_args; k++)
        if (!h[k].gated) GEODEC_THROW(GEODEC_FORMAT, "%s: no column power", c->args[k]);
    if (check) goto done;
    if (output) GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(cli_gate_open(root, power, &gate, err));
    static char whole[PATH_MAX];
    if (realpath(data, whole)) data = whole; /* references are relative to the root */
    GEODEC_TRY(geodec_references_open(root, cli_kinds(), cli_n_kinds(), &refs, err));
    GEODEC_TRY(output ? geodec_tsv_create(output, &t, err) : geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "key quantity value control verdict command", err));
    const double share = unknown_share(refs);
    for (int k = 0; k < c->n_args; k++)
        for (int64_t i = 0; i < h[k].n; i++) {
            if (only && strcmp(only, h[k].row[i].key) != 0) continue;
            found = true;
            GEODEC_TRY(print_row(t, &h[k].row[i], refs, &gate, share, err));
        }
    if (!found) GEODEC_THROW(GEODEC_NOTFOUND, "no row '%s'", only);
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    geodec_references_close(refs);
    geodec_gate_close(&gate);
    for (int k = 0; h && k < c->n_args; k++) geodec_headline_free(&h[k]);
    geodec_mem_free(h);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
