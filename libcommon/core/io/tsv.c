#include "io/tsv.h"

#include "base/mem.h"
#include "io/atomic.h"
#include "io/format.h"

#include <inttypes.h>
#include <string.h>

struct geodec_tsv {
    geodec_atomic *file; /* NULL on a caller's stream */
    FILE *stream;
    int columns, cells; /* 0 before the header */
};

static geodec_status make(geodec_atomic *file, FILE *stream, geodec_tsv **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    if (!stream) GEODEC_THROW(GEODEC_IO, "cannot open a stream");
    GEODEC_NEW(t, 1);
    t->file = file;
    t->stream = stream;
    *out = t;
done:
    return st;
}

geodec_status geodec_tsv_create(const char *path, geodec_tsv **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_atomic *file = NULL;
    GEODEC_TRY(geodec_atomic_open(path, &file, err));
    GEODEC_TRY(make(file, geodec_atomic_stream(file), out, err));
    file = NULL;
done:
    geodec_atomic_abandon(file);
    return st;
}

geodec_status geodec_tsv_on(FILE *stream, geodec_tsv **out, geodec_err *err) { return make(NULL, stream, out, err); }

static geodec_status width(geodec_tsv *t, int n, geodec_err *err)
{
    if (t->columns || n < 1) GEODEC_FAIL(GEODEC_INVAL, "a table has one header of at least one column");
    t->columns = n;
    return GEODEC_OK;
}

geodec_status geodec_tsv_columns(geodec_tsv *t, int n, const char *const *names, geodec_err *err)
{
    if (t->columns || n < 1) GEODEC_FAIL(GEODEC_INVAL, "a table has one header of at least one column");
    for (int i = 0; i < n; i++) {
        if (strpbrk(names[i], "\t\n\r")) GEODEC_FAIL(GEODEC_INVAL, "column name '%s' breaks the line", names[i]);
        (void)fprintf(t->stream, "%s%c", names[i], i + 1 < n ? '\t' : '\n');
    }
    if (ferror(t->stream)) GEODEC_FAIL(GEODEC_IO, "cannot write the table");
    t->columns = n;
    return GEODEC_OK;
}

geodec_status geodec_tsv_names(geodec_tsv *t, const char *names, geodec_err *err)
{
    int n = 1;
    for (const char *p = names; *p; p++) n += *p == ' ';
    GEODEC_PASS(width(t, n, err));
    for (const char *p = names; *p; p++) (void)fputc(*p == ' ' ? '\t' : *p, t->stream);
    (void)fputc('\n', t->stream);
    if (ferror(t->stream)) GEODEC_FAIL(GEODEC_IO, "cannot write the table");
    return GEODEC_OK;
}

static void separator(geodec_tsv *t)
{
    if (t->cells++) (void)fputc('\t', t->stream);
}

void geodec_tsv_i64(geodec_tsv *t, int64_t v)
{
    separator(t);
    (void)fprintf(t->stream, "%" PRId64, v);
}

void geodec_tsv_u64(geodec_tsv *t, uint64_t v)
{
    separator(t);
    (void)fprintf(t->stream, "%" PRIu64, v);
}

void geodec_tsv_f64(geodec_tsv *t, double v)
{
    char text[GEODEC_FORMAT_ROOM];
    separator(t);
    (void)fputs(geodec_format_f64(v, text), t->stream);
}

void geodec_tsv_f64s(geodec_tsv *t, int n, const double *v)
{
    for (int i = 0; i < n; i++) geodec_tsv_f64(t, v[i]);
}

void geodec_tsv_str(geodec_tsv *t, const char *v)
{
    separator(t);
    for (; *v; v++) (void)fputc((unsigned char)*v < 0x20 || *v == 0x7f ? ' ' : *v, t->stream);
}

geodec_status geodec_tsv_end_row(geodec_tsv *t, geodec_err *err)
{
    const int cells = t->cells;
    t->cells = 0;
    (void)fputc('\n', t->stream);
    if (cells != t->columns) GEODEC_FAIL(GEODEC_INVAL, "a row of %d cells in a table of %d columns", cells, t->columns);
    if (ferror(t->stream)) GEODEC_FAIL(GEODEC_IO, "cannot write the table");
    return GEODEC_OK;
}

static geodec_status commit(geodec_tsv *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (t->cells) GEODEC_THROW(GEODEC_INVAL, "the table's last row is not ended");
    if (t->file) {
        geodec_atomic *file = t->file;
        t->file = NULL;
        GEODEC_TRY(geodec_atomic_commit(file, err));
    } else if (fflush(t->stream) != 0 || ferror(t->stream)) {
        GEODEC_THROW(GEODEC_IO, "cannot write the table");
    }
done:
    geodec_tsv_abandon(t);
    return st;
}

geodec_status geodec_tsv_finish(geodec_tsv **t, geodec_err *err)
{
    geodec_tsv *table = *t;
    *t = NULL;
    return commit(table, err);
}

void geodec_tsv_abandon(geodec_tsv *t)
{
    if (!t) return;
    geodec_atomic_abandon(t->file);
    geodec_mem_free(t);
}
