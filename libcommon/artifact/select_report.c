#include "artifact/select_report.h"

#include "base/mem.h"
#include "io/frame.h"
#include "io/tsv.h"

#include <inttypes.h>
#include <string.h>

enum { NAME_ROOM = 128 };

typedef struct input {
    const geodec_select_report *o;
    const char *path;
    FILE *out;
    geodec_artifact *artifact, *second;
    geodec_table table;
    bool text;
    char (*quoted)[NAME_ROOM]; /* {name} of each column of the table */
    char name[NAME_ROOM];
    geodec_select_source source[2];
    int n;
} input;

/* Whether a file begins as text that is no artifact; what cannot be read is left to whoever opens it. */
static bool is_text(const char *path)
{
    char head[64];
    const char *dot = strrchr(path, '.');
    if (strcmp(path, "-") == 0) return true;
    if (dot && strcmp(dot, ".h5") == 0) return false;
    FILE *f = fopen(path, "rb");
    if (!f) return dot && strcmp(dot, ".tsv") == 0;
    const size_t n = fread(head, 1, sizeof head, f);
    (void)fclose(f);
    return !memchr(head, 0, n) && !(n >= 15 && memcmp(head, "geodec artifact", 15) == 0) &&
           !(n >= 4 && memcmp(head, "\211HDF", 4) == 0);
}

static geodec_status open_input(input *in, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    in->text = is_text(in->path);
    if (in->text)
        GEODEC_TRY(geodec_table_read(in->path, &in->table, err));
    else
        GEODEC_TRY(geodec_artifact_open_any(in->o->kinds, in->o->n_kinds, in->path, &in->artifact, err));
    in->source[0] = (geodec_select_source){"", in->artifact, in->text ? &in->table : NULL};
    in->n = 1;
    GEODEC_NEW(in->quoted, in->table.columns);
    for (int64_t k = 0; k < in->table.columns; k++) (void)snprintf(in->quoted[k], NAME_ROOM, "{%s}", in->table.cell[k]);
    if (in->o->also) {
        const char *equal = strchr(in->o->also, '=');
        if (!equal || equal == in->o->also || equal - in->o->also >= NAME_ROOM)
            GEODEC_THROW(GEODEC_INVAL, "--also: '%s' is not NAME=FILE", in->o->also);
        (void)snprintf(in->name, sizeof in->name, "%.*s", (int)(equal - in->o->also), in->o->also);
        GEODEC_TRY(geodec_artifact_open_any(in->o->kinds, in->o->n_kinds, equal + 1, &in->second, err));
        in->source[in->n++] = (geodec_select_source){in->name, in->second, NULL};
    }
done:
    return st;
}

static void close_input(input *in)
{
    geodec_artifact_close(in->artifact);
    geodec_artifact_close(in->second);
    geodec_table_free(&in->table);
    geodec_mem_free(in->quoted);
}

typedef struct stream { /* rows that are printed as they come */
    const input *in;
    geodec_tsv *t;
    int64_t n;
} stream;

static geodec_status put_names(const input *in, geodec_tsv *t, int64_t n, const char *const *names, geodec_err *err)
{
    return in->o->bare ? geodec_tsv_width(t, (int)n, err) : geodec_tsv_columns(t, (int)n, names, err);
}

static geodec_status put_cells(geodec_tsv *t, int64_t n, const char *const *cells, geodec_err *err)
{
    for (int64_t k = 0; k < n; k++) geodec_tsv_str(t, cells[k]);
    return geodec_tsv_end_row(t, err);
}

static geodec_status stream_header(void *ctx, int n, const char *const *names, geodec_err *err)
{
    stream *s = ctx;
    s->n = n;
    return put_names(s->in, s->t, n, names, err);
}

static geodec_status stream_row(void *ctx, const char *const *cells, geodec_err *err)
{
    stream *s = ctx;
    return put_cells(s->t, s->n, cells, err);
}

static geodec_status stream_gap(void *ctx, geodec_err *err)
{
    (void)err;
    geodec_tsv_gap(((stream *)ctx)->t);
    return GEODEC_OK;
}

static geodec_status keep_header(void *ctx, int n, const char *const *names, geodec_err *err)
{
    return geodec_frame_header(ctx, n, names, err);
}

static geodec_status keep_row(void *ctx, const char *const *cells, geodec_err *err)
{
    return geodec_frame_row(ctx, cells, err);
}

static geodec_status keep_gap(void *ctx, geodec_err *err)
{
    geodec_frame *f = ctx;
    (void)err;
    if (f->rows) f->gap[f->rows - 1] = true;
    return GEODEC_OK;
}

/* The rows with this value in the column, without it; how many. */
static int64_t print_block(FILE *out, const geodec_frame *f, int64_t column, const char *value, size_t n)
{
    int64_t found = 0;
    (void)fprintf(out, "%.*s\n", (int)n, value);
    for (int64_t i = 0; i < f->rows; i++) {
        const char *const *cell = f->cell + i * f->columns;
        if (strlen(cell[column]) != n || strncmp(cell[column], value, n) != 0) continue;
        const char *between = "";
        for (int64_t k = 0; k < f->columns; k++) {
            if (k == column) continue;
            (void)fprintf(out, "%s%s", between, cell[k]);
            between = "\t";
        }
        (void)fprintf(out, f->gap[i] ? "\n\n" : "\n");
        found++;
    }
    return found;
}

static geodec_status print_blocks(const input *in, const geodec_frame *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char name[NAME_ROOM];
    int64_t column, printed = 0;
    const char *words = NULL, *between = "";
    const size_t n = strcspn(in->o->blocks, "=");
    (void)snprintf(name, sizeof name, "%.*s", (int)n, in->o->blocks);
    GEODEC_TRY(geodec_frame_column(f, name, &column, err));
    if (in->o->blocks[n] && !in->artifact)
        GEODEC_THROW(GEODEC_INVAL, "--blocks: a table has no attribute '%s'", in->o->blocks + n + 1);
    if (in->o->blocks[n]) GEODEC_TRY(geodec_artifact_get_str(in->artifact, in->o->blocks + n + 1, &words, err));
    for (int64_t i = 0; i < f->rows && !words; i++) { /* values in the in->o->order of their first rows */
        const char *value = f->cell[i * f->columns + column];
        bool first = true;
        for (int64_t k = 0; k < i && first; k++) first = strcmp(f->cell[k * f->columns + column], value) != 0;
        if (!first) continue;
        (void)fprintf(in->out, "%s", between);
        printed += print_block(in->out, f, column, value, strlen(value));
        between = "\n\n";
    }
    while (words) {
        const size_t length = strcspn(words, ",");
        (void)fprintf(in->out, "%s", between);
        printed += print_block(in->out, f, column, words, length);
        between = "\n\n";
        words = words[length] ? words + length + 1 : NULL;
    }
    if (printed != f->rows) GEODEC_THROW(GEODEC_INVAL, "--blocks: a row's '%s' is not in the list", name);
    if (fflush(in->out) != 0 || ferror(in->out)) GEODEC_THROW(GEODEC_IO, "cannot write the table");
done:
    return st;
}

static geodec_status print_markdown(const input *in, const geodec_frame *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int64_t k = 0; k < f->columns && !in->o->bare; k++) (void)fprintf(in->out, "| %s ", f->name[k]);
    if (!in->o->bare) (void)fprintf(in->out, "|\n");
    for (int64_t k = 0; k < f->columns && !in->o->bare; k++) (void)fprintf(in->out, "|---");
    if (!in->o->bare) (void)fprintf(in->out, "|\n");
    for (int64_t i = 0; i < f->rows; i++) {
        for (int64_t k = 0; k < f->columns; k++) (void)fprintf(in->out, "| %s ", f->cell[i * f->columns + k]);
        (void)fprintf(in->out, "|\n");
    }
    if (fflush(in->out) != 0 || ferror(in->out)) GEODEC_THROW(GEODEC_IO, "cannot write the table");
done:
    return st;
}

static geodec_status print_frame(const input *in, const geodec_frame *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    if (f->rows < in->o->at_least)
        GEODEC_THROW(GEODEC_SCARCE, "not measured: %" PRId64 " rows, %" PRId64 " needed", f->rows, in->o->at_least);
    if (in->o->blocks) {
        GEODEC_TRY(print_blocks(in, f, err));
        goto done;
    }
    if (in->o->markdown) {
        GEODEC_TRY(print_markdown(in, f, err));
        goto done;
    }
    GEODEC_TRY(geodec_tsv_on(in->out, &t, err));
    GEODEC_TRY(put_names(in, t, f->columns, f->name, err));
    for (int64_t i = 0; i < f->rows; i++) {
        GEODEC_TRY(put_cells(t, f->columns, f->cell + i * f->columns, err));
        if (f->gap[i]) geodec_tsv_gap(t);
    }
    geodec_tsv *table = t;
    t = NULL;
    GEODEC_TRY(geodec_tsv_commit(table, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

static geodec_status shape_frame(const input *in, geodec_frame *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_table other = {0};
    if (in->o->join) {
        GEODEC_TRY(geodec_table_read(in->o->join, &other, err));
        GEODEC_TRY_MSG(geodec_frame_join(f, &other, in->o->keys, in->o->fill, err), "--join %s", in->o->join);
        geodec_table_free(&other);
    }
    if (in->o->append) {
        GEODEC_TRY(geodec_table_read(in->o->append, &other, err));
        GEODEC_TRY_MSG(geodec_frame_append(f, &other, err), "--append %s", in->o->append);
    }
    if (in->o->order) GEODEC_TRY_MSG(geodec_frame_sort(f, in->o->order, err), "--sort");
done:
    geodec_table_free(&other);
    return st;
}

/* The columns asked for; '*' is all columns of a text table. */
static geodec_status all_columns(const input *in, int asked, const char *const *column, const char ***out, int *n,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t room = asked;
    for (int i = 0; i < asked; i++) room += strcmp(column[i], "*") == 0 ? in->table.columns : 0;
    GEODEC_NEW(*out, room);
    *n = 0;
    for (int i = 0; i < asked; i++) {
        if (strcmp(column[i], "*") != 0 || !in->text) {
            (*out)[(*n)++] = column[i];
            continue;
        }
        for (int64_t k = 0; k < in->table.columns; k++) (*out)[(*n)++] = in->quoted[k];
    }
done:
    return st;
}

static geodec_status print_columns(const input *in, int asked, const char *const *column, const geodec_hooks *hooks,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_frame f = {0};
    stream s = {.in = in};
    const char **columns = NULL;
    int n_columns = 0;
    GEODEC_TRY(all_columns(in, asked, column, &columns, &n_columns, err));
    const geodec_select_query query = {.columns = columns,
                                       .n_columns = n_columns,
                                       .where = in->o->where,
                                       .over = in->o->over,
                                       .gap = in->o->gap,
                                       .rows = in->o->rows_text,
                                       .digits = (int)in->o->digits};
    const bool kept =
        in->o->join || in->o->append || in->o->order || in->o->blocks || in->o->markdown || in->o->at_least;
    const geodec_select_sink streamed = {stream_header, stream_row, stream_gap, &s},
                             framed = {keep_header, keep_row, keep_gap, &f};
    if (!kept) GEODEC_TRY(geodec_tsv_on(in->out, &s.t, err));
    GEODEC_TRY_MSG(geodec_select_run(in->source, in->n, &query, kept ? &framed : &streamed, hooks, err), "%s",
                   in->path);
    if (kept) {
        GEODEC_TRY(shape_frame(in, &f, err));
        GEODEC_TRY(print_frame(in, &f, err));
        goto done;
    }
    geodec_tsv *table = s.t;
    s.t = NULL;
    GEODEC_TRY(geodec_tsv_commit(table, err));
done:
    geodec_tsv_abandon(s.t);
    geodec_frame_free(&f);
    geodec_mem_free(columns);
    return st;
}

static geodec_status put_attr(const geodec_artifact *a, const geodec_attr *which, geodec_tsv *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *s;
    int64_t k;
    double d;
    switch (which->type) {
    case GEODEC_ATTR_I64:
        GEODEC_TRY(geodec_artifact_get_i64(a, which->name, &k, err));
        geodec_tsv_i64(t, k);
        break;
    case GEODEC_ATTR_F64:
        GEODEC_TRY(geodec_artifact_get_f64(a, which->name, &d, err));
        geodec_tsv_f64(t, d);
        break;
    case GEODEC_ATTR_STR:
        GEODEC_TRY(geodec_artifact_get_str(a, which->name, &s, err));
        geodec_tsv_str(t, s);
        break;
    }
    GEODEC_TRY(geodec_tsv_end_row(t, err));
done:
    return st;
}

/* All attributes, or the value of one. */
static geodec_status print_attrs(const input *in, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    const geodec_artifact *a = in->artifact;
    const geodec_kind *kind = geodec_artifact_kind(a);
    const char *text;
    bool found = false;
    GEODEC_TRY(geodec_tsv_on(in->out, &t, err));
    if (in->o->attr)
        GEODEC_TRY(geodec_tsv_width(t, 1, err));
    else
        GEODEC_TRY(put_names(in, t, 2, (const char *const[]){"attribute", "value"}, err));
    if (in->o->attr &&
        geodec_artifact_get_str(a, in->o->attr, &text, NULL) == GEODEC_OK) { /* in->o->also the common ones */
        geodec_tsv_str(t, text);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
        found = true;
    }
    for (int i = 0; i < kind->n_attrs && !(in->o->attr && found); i++) {
        const char *name = kind->attrs[i].name;
        if (in->o->attr && strcmp(in->o->attr, name) != 0) continue;
        found = true;
        if (!geodec_artifact_has_attr(a, name)) {
            if (in->o->attr) GEODEC_THROW(GEODEC_NOTFOUND, "there is no attribute '%s' in this file", in->o->attr);
            continue;
        }
        if (!in->o->attr) geodec_tsv_str(t, name);
        GEODEC_TRY(put_attr(a, &kind->attrs[i], t, err));
    }
    if (in->o->attr && !found) GEODEC_THROW(GEODEC_INVAL, "kind '%s' has no attribute '%s'", kind->name, in->o->attr);
    geodec_tsv *table = t;
    t = NULL;
    GEODEC_TRY(geodec_tsv_commit(table, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

geodec_status geodec_select_report_print(const geodec_select_report *o, const char *path, int n_columns,
                                         const char *const *columns, FILE *out, const geodec_hooks *hooks,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    input in = {.o = o, .path = path, .out = out};
    if (o->attrs || o->attr ? n_columns > 0 || o->rows_text : n_columns < 1)
        GEODEC_THROW(GEODEC_INVAL, "name columns, or give --attrs or --attr alone");
    if (!o->join != !o->keys) GEODEC_THROW(GEODEC_INVAL, "--join and --by go together");
    if (o->fill && !o->join) GEODEC_THROW(GEODEC_INVAL, "--fill is for --join");
    if (o->blocks && o->markdown) GEODEC_THROW(GEODEC_INVAL, "--blocks and --markdown do not go together");
    GEODEC_TRY(open_input(&in, err));
    if (!o->attrs && !o->attr)
        GEODEC_TRY(print_columns(&in, n_columns, columns, hooks, err));
    else if (in.text)
        GEODEC_THROW(GEODEC_INVAL, "%s: a text table has no attributes", path);
    else
        GEODEC_TRY_MSG(print_attrs(&in, err), "%s", path);
done:
    close_input(&in);
    return st;
}
