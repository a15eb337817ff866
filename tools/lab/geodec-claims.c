/* geodec-claims: table of published claims with reproductions, correct values, controls and verdicts. */
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/kinds.h"
#include "cli/lab/gate.h"
#include "io/tsv.h"
#include "lab/verdict/claims.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *output, *root = "results", *model = ".", *file = "";
static const char *power, *only;
static bool check, strict;
static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "FILE", "write to FILE (default: standard output)", .flags = CLI_VOLATILE),
    OPT_STR("root", 0, &root, "DIR", "root folder of references"),
    OPT_STR("results", 0, &model, "NAME", "folder of the model below the root, @MODEL in a reference"),
    OPT_STR("file", 0, &file, "NAME", "name of the model file without .gguf, @FILE in a reference"),
    OPT_STR(
        "power", 0, &power, "FILE",
        "table of power of the findings, relative to --root (default: power.tsv of --results); -: judge without it"),
    OPT_STR("row", 0, &only, "ID", "judge only this row"),
    OPT_FLAG("check", 0, &check, "check only the fragments; read no results and write nothing"),
    OPT_FLAG("strict", 0, &strict, "end with status 4 if a reference is broken"),
};

static const cli_tool tool = {
    .name = "geodec-claims",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "judge published claims by rules from tables",
    .usage = "[OPTIONS] FRAGMENT.tsv...",
    .description =
        "A fragment has the columns id, section, claim, published, reproduced, exports, model, control, verdict\n"
        "(pipelines/claims/README). References have the syntax of geodec-value. A broken reference is an error only\n"
        "of its row; it is printed in the table and on standard error. Lists of rules with only one possible\n"
        "verdict, `reproduced` without the published figure, and references to table rows by number are refused.\n"
        "A row that says something of a geometry names its finding in a further column, power. Without a power\n"
        "figure of it the words holds, artefact and refuted become not measured; a negative one with a power below\n"
        "0.8 becomes no power.",
    .examples = "  geodec-claims --results my-model pipelines/lab/*/claims.tsv > claims.tsv\n"
                "  geodec-claims --check pipelines/claims/*.tsv pipelines/lab/*/claims.tsv",
    CLI_TAKES(options, 1, -1),
};

static geodec_status print_row(geodec_tsv *t, const geodec_claim *row, geodec_references *refs, const geodec_gate *gate,
                               bool *broken, geodec_err *err)
{
    static geodec_values values;
    static geodec_claim_verdict v;
    static char sentence[GEODEC_SENTENCE_MAX];
    GEODEC_PASS(geodec_claim_values(row, refs, model, file, &values, broken, sentence, err));
    GEODEC_PASS_MSG(geodec_claim_decide(row, &values, &v, err), "%s", row->id);
    GEODEC_PASS_MSG(geodec_gate_judge(gate, row->finding, v.word, v.sentence, err), "%s", row->id);
    if (*broken) (void)fprintf(stderr, "%s: %s: %s\n", tool.name, row->id, sentence);
    geodec_tsv_str(t, row->id);
    geodec_tsv_str(t, row->section);
    geodec_tsv_str(t, row->claim);
    for (int k = 0; k < 5; k++) geodec_tsv_str(t, v.shown[k]);
    geodec_tsv_str(t, *broken ? GEODEC_CLAIM_BROKEN : v.word);
    geodec_tsv_str(t, *broken ? sentence : v.sentence);
    GEODEC_PASS(geodec_tsv_end_row(t, err));
    return GEODEC_OK;
}

/* Refuses an id that occurs in two fragments. */
static geodec_status check_ids(const cli *c, const geodec_claims *f, geodec_err *err)
{
    for (int a = 0; a < c->n_args; a++)
        for (int b = 0; b < a; b++)
            for (int64_t i = 0; i < f[a].n; i++)
                for (int64_t j = 0; j < f[b].n; j++)
                    if (strcmp(f[a].row[i].id, f[b].row[j].id) == 0)
                        GEODEC_FAIL(GEODEC_FORMAT, "%s: the id %.60s is also in %s", c->args[a], f[a].row[i].id,
                                    c->args[b]);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_claims *f = NULL;
    geodec_references *refs = NULL;
    geodec_tsv *t = NULL;
    geodec_gate gate = {0};
    static char of_model[PATH_MAX];
    bool found = !only;
    int64_t n_broken = 0;
    GEODEC_NEW(f, c->n_args);
    for (int k = 0; k < c->n_args; k++) GEODEC_TRY(geodec_claims_read(c->args[k], &f[k], err));
    GEODEC_TRY(check_ids(c, f, err));
    for (int k = 0; check && k < c->n_args; k++)
        if (!f[k].gated) GEODEC_THROW(GEODEC_FORMAT, "%s: no column power", c->args[k]);
    if (check) goto done;
    if (!power) {
        if (snprintf(of_model, sizeof of_model, "%s/power.tsv", model) >= (int)sizeof of_model)
            GEODEC_THROW(GEODEC_LIMIT, "the name of the results is too long");
        power = of_model;
    }
    GEODEC_TRY(cli_gate_open(root, power, &gate, err));
    if (output) GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_references_open(root, cli_kinds(), cli_n_kinds(), &refs, err));
    GEODEC_TRY(output ? geodec_tsv_create(output, &t, err) : geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(
        geodec_tsv_names(t, "id section claim published reproduced exports model control verdict sentence", err));
    for (int k = 0; k < c->n_args; k++)
        for (int64_t i = 0; i < f[k].n; i++) {
            bool broken;
            if (only && strcmp(only, f[k].row[i].id) != 0) continue;
            found = true;
            GEODEC_TRY(print_row(t, &f[k].row[i], refs, &gate, &broken, err));
            n_broken += broken;
        }
    if (!found) GEODEC_THROW(GEODEC_NOTFOUND, "no row '%s'", only);
    GEODEC_TRY(geodec_tsv_finish(&t, err));
    if (strict && n_broken) GEODEC_THROW(GEODEC_CHECK, "%lld broken references", (long long)n_broken);
done:
    geodec_tsv_abandon(t);
    geodec_references_close(refs);
    geodec_gate_close(&gate);
    for (int k = 0; f && k < c->n_args; k++) geodec_claims_free(&f[k]);
    geodec_mem_free(f);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
