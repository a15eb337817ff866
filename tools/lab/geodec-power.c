/* geodec-power: what the positive controls of the findings say of the power of their rules. */
#include "base/mem.h"
#include "cli/cli.h"
#include "io/table.h"
#include "io/tsv.h"
#include "lab/power/power.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *output, *levels_path;
static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "FILE", "write to FILE (default: standard output)", .flags = CLI_VOLATILE),
    OPT_FILE("levels", 0, &levels_path, "FILE", "also write a row for each finding and strength to FILE",
             .flags = CLI_VOLATILE),
};

static const cli_tool tool = {
    .name = "geodec-power",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "compute the power of the rules of findings from trials on worlds with a known effect",
    .usage = "[OPTIONS] FINDINGS.tsv TRIALS.tsv",
    .description =
        "FINDINGS.tsv has at least the columns finding, unit, published, size, world; TRIALS.tsv has a row for each\n"
        "world: finding, strength, seed, points, data, measured, found (1, 0, or - if it could not be measured).\n"
        "The output has a row for each finding: the share of the worlds of the published size in which its rule\n"
        "finds the effect (Wilson interval), the least strength that is found in 80 % of them, the share found\n"
        "without the effect, and the recovery (slope and spread of the measured value over the strength). A finding\n"
        "without a world has no power figure, with the reason. geodec-verdict and geodec-claims read the table.",
    .examples = "  geodec-power -o power.tsv pipelines/power/findings.tsv trials.tsv",
    CLI_TAKES(options, 2, 2),
};

static const char *cell(const geodec_table *t, int64_t row, const char *column)
{
    const char *c = geodec_table_cell(t, row, geodec_table_column(t, column));
    return c ? c : "-";
}

static double number(const char *text)
{
    char *end;
    const double x = strtod(text, &end);
    return end != text && !*end ? x : NAN;
}

static geodec_status need(const geodec_table *t, const char *path, const char *const *columns, geodec_err *err)
{
    for (; *columns; columns++)
        if (geodec_table_column(t, *columns) < 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: no column '%s'", path, *columns);
    return GEODEC_OK;
}

static void put(geodec_tsv *t, double x)
{
    if (isfinite(x))
        geodec_tsv_f64(t, x);
    else
        geodec_tsv_str(t, isinf(x) ? "none" : "-");
}

/* The trials of a finding; trial [table rows]. */
static geodec_status gather(const geodec_table *t, const char *path, const char *finding, geodec_power_trial *trial,
                            int64_t *n, int64_t *first, geodec_err *err)
{
    *n = 0;
    for (int64_t i = 0; i < t->rows; i++) {
        if (strcmp(cell(t, i, "finding"), finding) != 0) continue;
        const char *found = cell(t, i, "found");
        const double strength = number(cell(t, i, "strength"));
        if (!isfinite(strength) || (strcmp(found, "0") != 0 && strcmp(found, "1") != 0 && strcmp(found, "-") != 0))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: line %lld is not a trial", path, (long long)t->line[i]);
        if (*n == 0) *first = i;
        trial[(*n)++] =
            (geodec_power_trial){strength, number(cell(t, i, "measured")), found[0] == '-' ? -1 : found[0] - '0'};
    }
    return GEODEC_OK;
}

static geodec_status print_levels(geodec_tsv *t, const char *finding, const geodec_power *p, geodec_err *err)
{
    for (int64_t k = 0; k < p->levels; k++) {
        const geodec_power_level *l = &p->level[k];
        geodec_tsv_str(t, finding);
        geodec_tsv_f64(t, l->strength);
        geodec_tsv_i64(t, l->n);
        geodec_tsv_i64(t, l->failed);
        put(t, l->mean);
        put(t, l->sd);
        geodec_tsv_i64(t, l->found);
        put(t, l->share);
        put(t, l->low);
        put(t, l->high);
        put(t, l->fitted);
        GEODEC_PASS(geodec_tsv_end_row(t, err));
    }
    return GEODEC_OK;
}

/* The reason why there is no power figure, or a dash. */
static void reason_of(const char *world, const geodec_power *p, int64_t n, char *out, size_t room)
{
    if (strncmp(world, "-: ", 3) == 0)
        (void)snprintf(out, room, "no positive control: %s", world + 3);
    else if (n == 0)
        (void)snprintf(out, room, "no positive control: it was not run");
    else if (p->failed == n)
        (void)snprintf(out, room, "no world could be measured");
    else if (!isfinite(p->power))
        (void)snprintf(out, room, "no world of this size was made");
    else
        (void)snprintf(out, room, "-");
}

static geodec_status print_finding(geodec_tsv *out, geodec_tsv *levels, const geodec_table *f, int64_t row,
                                   const geodec_table *t, const char *path, geodec_power_trial *trial, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_power p = {.none = NAN};
    const char *finding = cell(f, row, "finding"), *published = cell(f, row, "published");
    const double none = NAN;
    char reason[512];
    int64_t n, first = -1;
    GEODEC_TRY(gather(t, path, finding, trial, &n, &first, err));
    if (n > 0) GEODEC_TRY(geodec_power_fit(n, trial, number(published), &p, err));
    reason_of(cell(f, row, "world"), &p, n, reason, sizeof reason);
    const bool known = strcmp(reason, "-") == 0;
    geodec_tsv_str(out, finding);
    geodec_tsv_str(out, cell(f, row, "unit"));
    geodec_tsv_str(out, published);
    geodec_tsv_str(out, cell(f, row, "size"));
    geodec_tsv_str(out, first < 0 ? "-" : cell(t, first, "points"));
    geodec_tsv_str(out, first < 0 ? "-" : cell(t, first, "data"));
    geodec_tsv_i64(out, n);
    geodec_tsv_i64(out, p.failed);
    const double shown[] = {p.none,  p.least,     p.power,      p.power_low, p.power_high,
                            p.slope, p.slope_low, p.slope_high, p.spread};
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) put(out, known ? shown[k] : none);
    geodec_tsv_str(out, reason);
    GEODEC_TRY(geodec_tsv_end_row(out, err));
    if (levels) GEODEC_TRY(print_levels(levels, finding, &p, err));
done:
    geodec_power_clear(&p);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    static const char *const of_findings[] = {"finding", "unit", "published", "size", "world", NULL};
    static const char *const of_trials[] = {"finding", "strength", "seed", "points", "data", "measured", "found", NULL};
    geodec_status st = GEODEC_OK;
    geodec_table f = {.rows = 0}, t = {.rows = 0};
    geodec_tsv *out = NULL, *levels = NULL;
    geodec_power_trial *trial = NULL;
    if (output) GEODEC_TRY(cli_may_write(c, output, err));
    if (levels_path) GEODEC_TRY(cli_may_write(c, levels_path, err));
    GEODEC_TRY(geodec_table_read(c->args[0], &f, err));
    GEODEC_TRY(need(&f, c->args[0], of_findings, err));
    GEODEC_TRY(geodec_table_read(c->args[1], &t, err));
    GEODEC_TRY(need(&t, c->args[1], of_trials, err));
    GEODEC_NEW(trial, t.rows + 1);
    GEODEC_TRY(output ? geodec_tsv_create(output, &out, err) : geodec_tsv_on(stdout, &out, err));
    GEODEC_TRY(geodec_tsv_names(out,
                                "finding unit published size points data trials failed none least power power_low "
                                "power_high slope slope_low slope_high spread reason",
                                err));
    if (levels_path) {
        GEODEC_TRY(geodec_tsv_create(levels_path, &levels, err));
        GEODEC_TRY(geodec_tsv_names(levels, "finding strength n failed mean sd found share low high fitted", err));
    }
    for (int64_t i = 0; i < f.rows; i++) GEODEC_TRY(print_finding(out, levels, &f, i, &t, c->args[1], trial, err));
    GEODEC_TRY(geodec_tsv_finish(&out, err));
    if (levels) GEODEC_TRY(geodec_tsv_finish(&levels, err));
done:
    geodec_tsv_abandon(out);
    geodec_tsv_abandon(levels);
    geodec_table_free(&f);
    geodec_table_free(&t);
    geodec_mem_free(trial);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
