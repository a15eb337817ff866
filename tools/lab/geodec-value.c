/* geodec-value: single numbers of artifacts and tables by reference, for tables with values from many files. */
#include "cli/cli.h"
#include "cli/kinds.h"
#include "io/tsv.h"
#include "lab/verdict/reference.h"

#include <stdio.h>
#include <string.h>

static const char *missing, *root = ".";
static const cli_option options[] = {
    OPT_STR("missing", 0, &missing, "TEXT",
            "print TEXT for a missing file, optional member or row, instead of an error"),
    OPT_STR("root", 0, &root, "DIR", "root folder of FILE"),
};

static const cli_tool tool = {
    .name = "geodec-value",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "print single numbers of artifacts and tables, one row for each reference",
    .usage = "[OPTIONS] [REFERENCE...]",
    .description =
        "A reference is FILE#NAME. NAME is an attribute or a field, with an index for each axis of the field:\n"
        "FILE#NAME[2][0]. [-1] is the last element; [eps=0.01] is the position at which the field eps has this\n"
        "value. FILE#NAME|WORD summarises a field: max, max_finite, min, sum, count, distinct, nonfinite, nonzero,\n"
        "abs_median, abs_median_low, abs_median_high; {place=0} before it selects rows. In a table (FILE.tsv, a\n"
        "header and rows) NAME is a column: FILE.tsv#NAME{drafter=ngram,gamma=4} is its cell in the only row with\n"
        "these words, gamma~4 selects the nearest value, and FILE.tsv#NAME[3] is the cell of the fourth row. If\n"
        "FILE.not-measured exists, there is no value. Without references on the command line, they are read from\n"
        "standard input, one per line.",
    .examples = "  geodec-value riemann.h5#median_abs_scalar_samples 'coverage.h5#hit[0][1][4]'\n"
                "  geodec-value 'benchdecode.tsv#speedup{drafter=flowmap,gamma=4,mode=greedy,setting=loop}'",
    CLI_TAKES(options, 0, -1),
};

static geodec_status print(geodec_tsv *t, geodec_references *refs, const char *text, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static char value[GEODEC_REFERENCE_MAX];
    geodec_err inner = {0};
    st = geodec_reference_read(refs, text, value, &inner);
    if (st == GEODEC_NOTFOUND && missing) {
        (void)snprintf(value, sizeof value, "%s", missing);
    } else if (st != GEODEC_OK) {
        if (err) *err = inner;
        GEODEC_TRY_MSG(st, "%.200s", text);
    }
    geodec_tsv_str(t, text);
    geodec_tsv_str(t, value);
    GEODEC_TRY(geodec_tsv_end_row(t, err));
done:
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    geodec_references *refs = NULL;
    static char line[GEODEC_REFERENCE_MAX];
    GEODEC_TRY(geodec_references_open(root, cli_kinds(), cli_n_kinds(), &refs, err));
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "reference value", err));
    for (int i = 0; i < c->n_args; i++) GEODEC_TRY(print(t, refs, c->args[i], err));
    while (c->n_args == 0 && fgets(line, sizeof line, stdin)) {
        const size_t n = strcspn(line, "\n");
        if (!line[n] && n + 1 == sizeof line) GEODEC_THROW(GEODEC_LIMIT, "standard input: a line is too long");
        line[n] = 0;
        if (n > 0) GEODEC_TRY(print(t, refs, line, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    geodec_references_close(refs);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
