#include "lab/verdict/reference_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool row_matches(const geodec_table *t, const reference *r, const int64_t *column, int64_t row)
{
    for (int k = 0; k < r->n_select; k++) {
        const char *cell = geodec_table_cell(t, row, column[k]);
        double x;
        if (!cell) return false;
        if (r->select[k].nearest ? !geodec__reference_number(cell, &x) || !isfinite(x)
                                 : !geodec__reference_same(cell, r->select[k].word))
            return false;
    }
    return true;
}

static void describe(const reference *r, char *text, size_t room)
{
    size_t at = 0;
    text[0] = 0;
    for (int k = 0; k < r->n_select && at < room; k++)
        at += (size_t)snprintf(text + at, room - at, "%s%s%c%s", k ? "," : "", r->select[k].key,
                               r->select[k].nearest ? '~' : '=', r->select[k].word);
}

/* The only row with the words of the keys. */
static geodec_status select_row(const geodec_table *t, const reference *r, int64_t *row, geodec_err *err)
{
    int64_t column[REFERENCE_KEYS], found = -1, several = 0;
    double best = INFINITY, want = 0, at_best = 0;
    int nearest = -1;
    char keys[160];
    describe(r, keys, sizeof keys);
    for (int k = 0; k < r->n_select; k++) {
        column[k] = geodec_table_column(t, r->select[k].key);
        if (column[k] < 0) GEODEC_FAIL(GEODEC_INVAL, "%s has no column '%.100s'", r->file, r->select[k].key);
        if (!r->select[k].nearest) continue;
        nearest = k;
        if (!geodec__reference_number(r->select[k].word, &want))
            GEODEC_FAIL(GEODEC_INVAL, "'%.100s' is not a number", r->select[k].word);
    }
    for (int64_t i = 0; i < t->rows; i++) {
        double x = 0;
        if (!row_matches(t, r, column, i)) continue;
        if (nearest >= 0) (void)geodec__reference_number(geodec_table_cell(t, i, column[nearest]), &x);
        const double d = nearest >= 0 ? fabs(x - want) : 0;
        if (d < best || (d == best && x > at_best)) { /* the larger number on ties */
            best = d, at_best = x, found = i, several = 0;
        } else if (d == best && x == at_best) {
            several++;
        }
    }
    if (found < 0) GEODEC_FAIL(GEODEC_NOTFOUND, "%s has no row with %s", r->file, keys);
    if (several) GEODEC_FAIL(GEODEC_FORMAT, "%s has %" PRId64 " rows with %s", r->file, several + 1, keys);
    *row = found;
    return GEODEC_OK;
}

geodec_status geodec__reference_cell(const geodec_table *t, const reference *r, char *value, geodec_err *err)
{
    const int64_t column = geodec_table_column(t, r->name);
    int64_t row = -1;
    if (column < 0) GEODEC_FAIL(GEODEC_INVAL, "%s has no column '%.200s'", r->file, r->name);
    if (r->summary || r->n_axis + (r->n_select > 0) != 1 || (r->n_axis && r->axis[0].key))
        GEODEC_FAIL(GEODEC_INVAL, "%s: a cell of a table is COLUMN{KEY=WORD} or COLUMN[ROW]", r->file);
    if (r->n_select) {
        GEODEC_PASS(select_row(t, r, &row, err));
    } else {
        row = r->axis[0].index < 0 ? t->rows - 1 : r->axis[0].index;
        if (row < 0 || row >= t->rows) GEODEC_FAIL(GEODEC_RANGE, "%s has no row %" PRId64, r->file, row);
    }
    const char *cell = geodec_table_cell(t, row, column);
    if (!cell || !*cell || strlen(cell) >= GEODEC_REFERENCE_MAX)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: no cell '%.200s' in line %" PRId64, r->file, r->name, t->line[row]);
    memcpy(value, cell, strlen(cell) + 1);
    return GEODEC_OK;
}
