#include "lab/verdict/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A share of the worlds without the effect in which it is found that a sentence names. */
#define FALSE_SHARE 0.2

static const char *const gated_words[] = {"holds", "mixed", "refuted", "artefact", NULL};

/* ---- rows of rules ----------------------------------------------------------------------------------------------- */

geodec_status geodec_gate_rules(const char *path, int64_t n, const char *const *columns, const char *what,
                                geodec_table *out, bool *gated, geodec_err *err)
{
    GEODEC_PASS(geodec_table_read_full(path, n, columns, "power", what, out, err));
    *gated = out->columns > n;
    return GEODEC_OK;
}

geodec_status geodec_gate_finding(const char *cell, const char **out, geodec_err *err)
{
    *out = NULL;
    if (strncmp(cell, "-: ", 3) == 0 && cell[3]) return GEODEC_OK;
    if (cell[strspn(cell, "abcdefghijklmnopqrstuvwxyz0123456789-")] || cell[0] == '-')
        GEODEC_FAIL(GEODEC_FORMAT, "power '%.60s' is not a finding, nor -: REASON", cell);
    *out = cell;
    return GEODEC_OK;
}

/* ---- the table of power ------------------------------------------------------------------------------------------ */

static void first_line(const char *path, char *out, size_t room)
{
    char name[GEODEC_VALUE_TEXT + 64];
    const char *base = strrchr(path, '/');
    (void)snprintf(out, room, "no file %s", base ? base + 1 : path);
    if (snprintf(name, sizeof name, "%s.not-measured", path) >= (int)sizeof name) return;
    FILE *f = fopen(name, "r");
    if (!f) return;
    char line[GEODEC_VALUE_TEXT];
    if (fgets(line, sizeof line, f) && line[strcspn(line, "\n")] == '\n') {
        line[strcspn(line, "\n")] = 0;
        (void)snprintf(out, room, "%s", line);
    }
    (void)fclose(f);
}

geodec_status geodec_gate_open(const char *path, geodec_gate *out, geodec_err *err)
{
    static const char *const needed[] = {"finding", "unit", "size", "power", "least",
                                         "points",  "data", "none", "reason"};
    geodec_err inner = {0};
    geodec_gate g = {.off = strcmp(path, GEODEC_GATE_OFF) == 0};
    *out = g;
    if (g.off) return GEODEC_OK;
    const geodec_status st = geodec_table_read(path, &g.table, &inner);
    if (st == GEODEC_NOTFOUND) {
        first_line(path, out->missing, sizeof out->missing);
        return GEODEC_OK;
    }
    if (st != GEODEC_OK) {
        if (err) *err = inner;
        return st;
    }
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
        if (geodec_table_column(&g.table, needed[k]) < 0) {
            geodec_table_free(&g.table);
            GEODEC_FAIL(GEODEC_FORMAT, "%s: no column '%s'; it is not a table of power", path, needed[k]);
        }
    *out = g;
    return GEODEC_OK;
}

void geodec_gate_close(geodec_gate *g)
{
    if (g) geodec_table_free(&g->table);
}

static int64_t row_of(const geodec_table *t, const char *finding)
{
    for (int64_t i = 0; i < t->rows; i++) {
        const char *c = geodec_table_cell(t, i, geodec_table_column(t, "finding"));
        if (c && strcmp(c, finding) == 0) return i;
    }
    return -1;
}

static const char *text_of(const geodec_table *t, int64_t row, const char *column)
{
    const char *c = geodec_table_cell(t, row, geodec_table_column(t, column));
    return c ? c : "-";
}

static double number_of(const geodec_table *t, int64_t row, const char *column)
{
    const char *c = text_of(t, row, column);
    char *end;
    const double x = strtod(c, &end);
    return end != c && !*end ? x : NAN;
}

/* power 0.93 at the published size; an effect of at least 0.4 (unit) would have been found; in worlds of 500 states,
 * the data has 2000; also found in 30 % of the worlds without the effect */
static void describe(const geodec_table *t, int64_t row, double power, char *out, size_t room)
{
    char least[GEODEC_VALUE_TEXT], size[64] = "", none[80] = "";
    const double also = number_of(t, row, "none");
    const double x = number_of(t, row, "least"), points = number_of(t, row, "points"), data = number_of(t, row, "data");
    if (isfinite(x))
        (void)snprintf(least, sizeof least, "an effect of at least %.2g (%.150s) would have been found", x,
                       text_of(t, row, "unit"));
    else
        (void)snprintf(least, sizeof least, "no effect that was tried (%.150s) is found at 80 %%",
                       text_of(t, row, "unit"));
    if (points < data) (void)snprintf(size, sizeof size, "; in worlds of %.0f states, the data has %.0f", points, data);
    if (also > FALSE_SHARE)
        (void)snprintf(none, sizeof none, "; also found in %.0f %% of the worlds without the effect", 100 * also);
    (void)snprintf(out, room, "power %.2f at %.100s; %s%s%s", power, text_of(t, row, "size"), least, size, none);
}

static geodec_status join(char sentence[GEODEC_SENTENCE_MAX], const char *with, geodec_err *err)
{
    size_t n = strlen(sentence);
    while (n && sentence[n - 1] == '.') sentence[--n] = 0;
    if (n + strlen(with) + 4 > GEODEC_SENTENCE_MAX) GEODEC_FAIL(GEODEC_LIMIT, "a sentence is too long");
    (void)snprintf(sentence + n, GEODEC_SENTENCE_MAX - n, " (%s)", with);
    return GEODEC_OK;
}

geodec_status geodec_gate_judge(const geodec_gate *g, const char *finding, char word[GEODEC_RULE_WORD],
                                char sentence[GEODEC_SENTENCE_MAX], geodec_err *err)
{
    char text[2 * GEODEC_VALUE_TEXT + 256];
    bool gated = false;
    for (int k = 0; gated_words[k]; k++) gated |= strcmp(word, gated_words[k]) == 0;
    if (g->off || !finding || !gated) return GEODEC_OK;
    const int64_t row = row_of(&g->table, finding);
    const double power = row >= 0 ? number_of(&g->table, row, "power") : NAN;
    if (!isfinite(power)) {
        const char *why = row >= 0 ? text_of(&g->table, row, "reason") : g->missing;
        (void)snprintf(word, GEODEC_RULE_WORD, GEODEC_NOT_MEASURED);
        (void)snprintf(sentence, GEODEC_SENTENCE_MAX, "no power figure of '%s': %s", finding,
                       row < 0 && !why[0] ? "no positive control" : why);
        return GEODEC_OK;
    }
    describe(&g->table, row, power, text, sizeof text);
    GEODEC_PASS(join(sentence, text, err));
    const bool blind = number_of(&g->table, row, "none") > GEODEC_GATE_FALSE;
    if (blind || (strcmp(word, "holds") != 0 && power < GEODEC_GATE_LEAST)) {
        char kept[GEODEC_SENTENCE_MAX];
        (void)snprintf(kept, sizeof kept, "%s", sentence);
        if (snprintf(sentence, GEODEC_SENTENCE_MAX, "the rule alone says %s: %s", word, kept) >= GEODEC_SENTENCE_MAX)
            GEODEC_FAIL(GEODEC_LIMIT, "a sentence is too long");
        (void)snprintf(word, GEODEC_RULE_WORD, GEODEC_NO_POWER);
    }
    return GEODEC_OK;
}
