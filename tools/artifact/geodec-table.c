/* geodec-table: fields of an artifact as columns of text, for gnuplot and notebooks. */
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/kinds.h"
#include "io/format.h"
#include "io/tsv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 1 << 16, SLAB_BYTES = 4 << 20, NAME_ROOM = 128 };

static bool attrs;
static const char *rows_text;
static const cli_option options[] = {
    {.name = "attrs",
     .type = CLI_FLAG,
     .target = &attrs,
     .help = "print the attributes, one a row, in place of fields"},
    {.name = "rows",
     .type = CLI_STR,
     .target = &rows_text,
     .metavar = "A:B",
     .help = "rows A to B-1 only; either may be left out"},
};

static const cli_tool tool = {
    .name = "geodec-table",
    .topic = CLI_TOPIC_ARTIFACTS,
    .purpose = "prints fields of an artifact as a table: a header line, then tab-separated rows",
    .usage = "[OPTIONS] FILE [FIELD...]",
    .description =
        "The fields stand side by side and must have the same number of rows. A field with more axes than one takes a\n"
        "column an element: field_0, field_1, ..., field_1_2. Numbers are printed so that no bit is lost.\n"
        "geodec-info names the fields.",
    .examples = "  geodec-table cloud.h5 spectrum > spectrum.tsv\n  geodec-table --rows 0:100 propagators.h5 knn/index",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = -1,
};

typedef struct column_set { /* the columns of one field */
    const geodec_field *field;
    char path[NAME_ROOM];
    int64_t shape[GEODEC_RANK_MAX], width; /* width: elements of a row */
    int rank;
    char *slab; /* [rows][width] */
} column_set;

static geodec_status pick_field(const geodec_artifact *a, const char *name, column_set *set, int64_t *n_rows,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_kind *kind = geodec_artifact_kind(a);
    int64_t width = 1;
    (void)snprintf(set->path, sizeof set->path, "%s%s", name[0] == '/' ? "" : "/", name);
    for (int i = 0; i < kind->n_fields; i++)
        if (strcmp(kind->fields[i].path, set->path) == 0) set->field = &kind->fields[i];
    if (!set->field)
        GEODEC_THROW(GEODEC_INVAL, "kind '%s' has no field '%s'; geodec-info names them", kind->name, name);
    GEODEC_TRY(geodec_artifact_shape(a, set->path, set->shape, &set->rank, err));
    const int64_t rows = set->rank ? set->shape[0] : 1;
    if (*n_rows >= 0 && rows != *n_rows)
        GEODEC_THROW(GEODEC_INVAL, "field '%s' has %" PRId64 " rows, the fields before it %" PRId64, name, rows,
                     *n_rows);
    for (int d = 1; d < set->rank; d++)
        if (geodec_mem_mul(width, set->shape[d], &width) != 0 || width > COLUMNS_MAX)
            GEODEC_THROW(GEODEC_LIMIT, "field '%s' has more than %d columns", name, COLUMNS_MAX);
    set->width = width;
    *n_rows = rows;
done:
    return st;
}

/* name, name_1 or name_1_2: the indices of element j of a row. */
static void column_name(const column_set *set, int64_t j, char *name, size_t room)
{
    int64_t index[GEODEC_RANK_MAX];
    for (int d = set->rank - 1; d > 0; d--) {
        index[d] = j % set->shape[d];
        j /= set->shape[d];
    }
    int at = snprintf(name, room, "%s", set->path + 1);
    for (int d = 1; d < set->rank; d++) at += snprintf(name + at, room - (size_t)at, "_%" PRId64, index[d]);
    for (char *p = name; *p; p++)
        if (*p == '/') *p = '_';
}

static geodec_status print_header(geodec_tsv *t, const column_set *sets, int n_sets, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { ROOM = NAME_ROOM + 5 * 24 };
    int64_t total = 0, at = 0;
    char(*names)[ROOM] = NULL;
    const char **list = NULL;
    for (int s = 0; s < n_sets; s++) total += sets[s].width;
    if (total < 1 || total > COLUMNS_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "%" PRId64 " columns; 1 to %d can be printed", total, COLUMNS_MAX);
    GEODEC_NEW(names, total);
    GEODEC_NEW(list, total);
    for (int s = 0; s < n_sets; s++)
        for (int64_t j = 0; j < sets[s].width; j++, at++) {
            column_name(&sets[s], j, names[at], ROOM);
            list[at] = names[at];
        }
    GEODEC_TRY(geodec_tsv_columns(t, (int)total, list, err));
done:
    geodec_mem_free(names);
    geodec_mem_free(list);
    return st;
}

/* "A:B" within 0..n. */
static geodec_status parse_rows(const char *text, int64_t n, int64_t *from, int64_t *to, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *from = 0;
    *to = n;
    if (!text) goto done;
    char *end = NULL;
    const char *colon = strchr(text, ':');
    if (!colon || strspn(text, "0123456789:") != strlen(text) || strchr(colon + 1, ':'))
        GEODEC_THROW(GEODEC_INVAL, "--rows: '%s' is not A:B", text);
    if (colon != text) *from = strtoll(text, &end, 10);
    if (colon[1]) *to = strtoll(colon + 1, &end, 10);
    if (*from >= n && n >= 0 && *from < *to)
        GEODEC_THROW(GEODEC_SCARCE, "--rows: no rows %s in a table of %" PRId64, text, n);
    if (*to > n) *to = n;
    if (*from > *to) GEODEC_THROW(GEODEC_RANGE, "--rows: no rows %s in a table of %" PRId64, text, n);
done:
    return st;
}

static void print_cell(geodec_tsv *t, geodec_type type, const void *data, int64_t i)
{
    char text[GEODEC_FORMAT_ROOM];
    geodec_tsv_str(t, geodec_format_element(type, data, i, text));
}

static geodec_status print_rows(const cli *c, const geodec_artifact *a, geodec_tsv *t, column_set *sets, int n_sets,
                                int64_t n_rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t from, to, step = 1 << 16;
    GEODEC_TRY(parse_rows(rows_text, n_rows, &from, &to, err));
    for (int s = 0; s < n_sets; s++) {
        const int64_t bytes = sets[s].width * (int64_t)geodec_type_size(sets[s].field->type);
        if (bytes && SLAB_BYTES / bytes < step) step = SLAB_BYTES / bytes > 1 ? SLAB_BYTES / bytes : 1;
    }
    for (int s = 0; s < n_sets; s++)
        GEODEC_NEW(sets[s].slab, step * sets[s].width * (int64_t)geodec_type_size(sets[s].field->type));
    for (int64_t row = from; row < to; row += step) {
        const int64_t take = row + step < to ? step : to - row;
        GEODEC_TRY(geodec_hooks_progress(&c->hooks, "rows", row, to, err));
        for (int s = 0; s < n_sets; s++) {
            if (sets[s].rank) {
                GEODEC_TRY(geodec_artifact_read_rows(a, sets[s].path, row, take, sets[s].slab, err));
            } else {
                geodec_mem_free(sets[s].slab);
                sets[s].slab = NULL;
                GEODEC_TRY(geodec_artifact_read(a, sets[s].path, &sets[s].slab, err));
            }
        }
        for (int64_t i = 0; i < take; i++) {
            for (int s = 0; s < n_sets; s++)
                for (int64_t j = 0; j < sets[s].width; j++)
                    print_cell(t, sets[s].field->type, sets[s].slab, i * sets[s].width + j);
            GEODEC_TRY(geodec_tsv_end_row(t, err));
        }
    }
done:
    return st;
}

static geodec_status print_attrs(const geodec_artifact *a, geodec_tsv *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_kind *kind = geodec_artifact_kind(a);
    GEODEC_TRY(geodec_tsv_columns(t, 2, (const char *const[]){"attribute", "value"}, err));
    for (int i = 0; i < kind->n_attrs; i++) {
        const char *name = kind->attrs[i].name, *s;
        int64_t k;
        double d;
        if (!geodec_artifact_has_attr(a, name)) continue;
        geodec_tsv_str(t, name);
        switch (kind->attrs[i].type) {
        case GEODEC_ATTR_I64:
            GEODEC_TRY(geodec_artifact_get_i64(a, name, &k, err));
            geodec_tsv_i64(t, k);
            break;
        case GEODEC_ATTR_F64:
            GEODEC_TRY(geodec_artifact_get_f64(a, name, &d, err));
            geodec_tsv_f64(t, d);
            break;
        case GEODEC_ATTR_STR:
            GEODEC_TRY(geodec_artifact_get_str(a, name, &s, err));
            geodec_tsv_str(t, s);
            break;
        }
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
done:
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    geodec_tsv *t = NULL;
    column_set *sets = NULL;
    const int n = c->n_args - 1;
    int64_t n_rows = -1;
    if (attrs ? n > 0 || rows_text : n < 1) GEODEC_THROW(GEODEC_INVAL, "name fields, or give --attrs alone");
    GEODEC_TRY(cli_open_any(c->args[0], &a, err));
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    if (attrs) {
        GEODEC_TRY(print_attrs(a, t, err));
    } else {
        GEODEC_NEW(sets, n);
        for (int s = 0; s < n; s++)
            GEODEC_TRY_MSG(pick_field(a, c->args[s + 1], &sets[s], &n_rows, err), "%s", c->args[0]);
        GEODEC_TRY(print_header(t, sets, n, err));
        GEODEC_TRY(print_rows(c, a, t, sets, n, n_rows, err));
    }
    geodec_tsv *table = t;
    t = NULL;
    GEODEC_TRY(geodec_tsv_commit(table, err));
done:
    for (int s = 0; sets && s < n; s++) geodec_mem_free(sets[s].slab);
    geodec_mem_free(sets);
    geodec_tsv_abandon(t);
    geodec_artifact_close(a);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
