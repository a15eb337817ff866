/* geodec-diff: comparison of two artifacts of one kind, field by field, with tolerances. */
#include "artifact/compare.h"
#include "cli/cli.h"
#include "cli/kinds.h"
#include "io/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static double rtol, atol_;
static bool all, provenance;
static const cli_option options[] = {
    OPT_F64("rtol", 'r', &rtol, 0, 1e300, "X", "relative tolerance"),
    OPT_F64("atol", 'a', &atol_, 0, 1e300, "X", "absolute tolerance"),
    OPT_FLAG("all", 0, &all, "also list the members that are equal"),
    OPT_FLAG("provenance", 'p', &provenance, "also compare tool, command line, seed, fingerprints and inputs"),
};

static const cli_tool tool = {
    .name = "geodec-diff",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "compare two artifacts of one kind, field by field",
    .usage = "[OPTIONS] A B",
    .description =
        "Values are equal if |a - b| <= atol + rtol |b|. NaN equals NaN. Status 0: the artifacts are equal. Status\n"
        "4: they differ, and standard output has a table of the members that differ: largest absolute and relative\n"
        "difference, number of values beyond the tolerance, and the index (C order, from 0) and values of the first\n"
        "of them.",
    .examples = "  geodec-diff one/cloud.h5 two/cloud.h5\n  geodec-diff --rtol 1e-12 --atol 1e-15 a.h5 b.h5",
    CLI_TAKES(options, 2, 2),
};

static int members, differing;

static void print_header(void) { printf("member\tdifference\tmax_abs\tmax_rel\tbeyond\tof\tfirst\ta\tb\n"); }

/* Counts a member and prints the header before the first row. */
static void count(bool same)
{
    members++;
    if (!same && differing++ == 0 && !all) print_header();
}

static void print_row(const char *name, const geodec_diff *d)
{
    static const char *const state[] = {"same", "values", "shape", "only in A", "only in B", "absent"};
    char abs_text[GEODEC_FORMAT_ROOM], rel_text[GEODEC_FORMAT_ROOM], a[GEODEC_FORMAT_ROOM], b[GEODEC_FORMAT_ROOM];
    const bool same = d->state == GEODEC_DIFF_SAME;
    if (d->state == GEODEC_DIFF_ABSENT) return;
    count(same);
    if (same && !all) return;
    (void)snprintf(abs_text, sizeof abs_text, "%.3g", d->max_abs);
    (void)snprintf(rel_text, sizeof rel_text, "%.3g", d->max_rel);
    printf("%s\t%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t", name, state[d->state], abs_text, rel_text, d->n_beyond, d->n);
    if (d->first < 0)
        printf("-\t-\t-\n");
    else
        printf("%" PRId64 "\t%s\t%s\n", d->first, geodec_format_f64(d->a, a), geodec_format_f64(d->b, b));
}

/* Prints a cell, with control characters as blanks. */
static void print_cell(const char *text)
{
    (void)putchar('\t');
    for (; *text; text++) (void)putchar((unsigned char)*text < 0x20 ? ' ' : *text);
}

static void print_text(const char *name, const char *a, const char *b)
{
    const geodec_diff same = {.first = -1, .n = 1};
    const bool differ = strcmp(a, b) != 0;
    if (!differ) {
        print_row(name, &same);
        return;
    }
    count(false);
    printf("%s\tvalues\t-\t-\t1\t1\t0", name);
    print_cell(a);
    print_cell(b);
    printf("\n");
}

static void compare_provenance(const geodec_artifact *a, const geodec_artifact *b)
{
    const geodec_provenance *p = geodec_artifact_provenance(a), *q = geodec_artifact_provenance(b);
    char x[64], y[64];
    print_text("tool", p->tool, q->tool);
    print_text("command_line", p->command_line, q->command_line);
    (void)snprintf(x, sizeof x, "%" PRIu64, p->seed);
    (void)snprintf(y, sizeof y, "%" PRIu64, q->seed);
    print_text("seed", x, y);
    print_text("blas_core", p->blas_core, q->blas_core);
    print_text("model_fingerprint", p->model_fingerprint, q->model_fingerprint);
    print_text("tokenizer_fingerprint", p->tokenizer_fingerprint, q->tokenizer_fingerprint);
    const int n = p->n_inputs > q->n_inputs ? p->n_inputs : q->n_inputs;
    for (int i = 0; i < n; i++) {
        (void)snprintf(x, sizeof x, "input_names[%d]", i);
        print_text(x, i < p->n_inputs ? p->input[i].name : "-", i < q->n_inputs ? q->input[i].name : "-");
        (void)snprintf(x, sizeof x, "input_sha256[%d]", i);
        print_text(x, i < p->n_inputs ? p->input[i].sha256 : "-", i < q->n_inputs ? q->input[i].sha256 : "-");
    }
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL, *b = NULL;
    geodec_diff d;
    GEODEC_TRY(cli_open_any(c->args[0], &a, err));
    GEODEC_TRY(cli_open_any(c->args[1], &b, err));
    const geodec_kind *kind = geodec_artifact_kind(a);
    if (kind != geodec_artifact_kind(b))
        GEODEC_THROW(GEODEC_CHECK, "%s is of kind '%s', %s of kind '%s'", c->args[0], kind->name, c->args[1],
                     geodec_artifact_kind(b)->name);
    if (all) print_header();
    for (int i = 0; i < kind->n_attrs; i++) {
        const char *name = kind->attrs[i].name, *x = NULL, *y = NULL;
        if (kind->attrs[i].type == GEODEC_ATTR_STR && geodec_artifact_has_attr(a, name) &&
            geodec_artifact_has_attr(b, name)) {
            GEODEC_TRY(geodec_artifact_get_str(a, name, &x, err));
            GEODEC_TRY(geodec_artifact_get_str(b, name, &y, err));
            print_text(name, x, y);
            continue;
        }
        GEODEC_TRY(geodec_artifact_diff_attr(a, b, name, rtol, atol_, &d, err));
        print_row(name, &d);
    }
    for (int i = 0; i < kind->n_fields; i++) {
        GEODEC_TRY(geodec_artifact_diff_field(a, b, kind->fields[i].path, rtol, atol_, &c->hooks, &d, err));
        print_row(kind->fields[i].path, &d);
    }
    if (provenance) compare_provenance(a, b);
    if (differing)
        GEODEC_THROW(GEODEC_CHECK, "%s and %s differ in %d of %d members", c->args[0], c->args[1], differing, members);
done:
    geodec_artifact_close(a);
    geodec_artifact_close(b);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
