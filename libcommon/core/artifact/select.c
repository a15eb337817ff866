#include "artifact/select.h"

#include "artifact/select_internal.h"
#include "base/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { QUERY_BYTES_MAX = 1 << 20, VALUE_BYTES_MAX = 1 << 28, DEPTH_MAX = 100, STEPS = 10000 };

typedef struct column { /* of the result */
    bool hidden;
    const geodec_field *field; /* field whose values are printed unchanged */
    int64_t width;             /* cells */
    geodec__select_array array;
} column;

typedef struct output {
    const geodec_select *o;
    FILE *out;
    sqlite3_stmt *query;
    column *column;
    int n, gap, block;  /* columns; -1: none */
    const char *words;  /* names of the blocks, or NULL */
    char *value[2];     /* values of the gap and the block in the previous row */
    bool begun, opened; /* a row of this gap or of a block has been printed */
    int64_t rows;
} output;

/* ---- cells ------------------------------------------------------------------------------------------------------ */

/* A computed number. */
static const char *format_computed(double x, int digits, char buf[GEODEC_FORMAT_ROOM])
{
    if (isfinite(x) && floor(x) == x && fabs(x) < 0x1p53)
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%.0f", x == 0 ? 0.0 : x);
    else if (digits > 0 && isfinite(x))
        (void)snprintf(buf, GEODEC_FORMAT_ROOM, "%.*g", digits, x);
    else
        return geodec_format_f64(x, buf);
    return buf;
}

/* Text of a value that is not an array. */
static const char *cell_text(const output *w, int k, char buf[GEODEC_FORMAT_ROOM])
{
    const column *c = &w->column[k];
    double x;
    switch (sqlite3_column_type(w->query, k)) {
    case SQLITE_NULL:
        return "nan";
    case SQLITE_FLOAT:
        x = sqlite3_column_double(w->query, k);
        return !c->field                      ? format_computed(x, (int)w->o->digits, buf)
               : c->field->type == GEODEC_F64 ? geodec_format_f64(x, buf)
                                              : geodec_format_f32((float)x, buf);
    default:
        return (const char *)sqlite3_column_text(w->query, k);
    }
}

static void put_text(const output *w, int64_t cell, const char *text)
{
    if (w->o->markdown)
        (void)fputs("| ", w->out);
    else if (cell > 0)
        (void)fputc('\t', w->out);
    for (; text && *text; text++)
        if (*text != *GEODEC__SELECT_LARGE)
            (void)fputc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, w->out);
    if (w->o->markdown) (void)fputc(' ', w->out);
}

static geodec_status end_line(const output *w, geodec_err *err)
{
    (void)fputs(w->o->markdown ? "|\n" : "\n", w->out);
    if (ferror(w->out)) GEODEC_FAIL(GEODEC_IO, "cannot write the table");
    return GEODEC_OK;
}

static geodec_status finish(const output *w, geodec_err *err)
{
    if (fflush(w->out) != 0 || ferror(w->out)) GEODEC_FAIL(GEODEC_IO, "cannot write the table");
    return GEODEC_OK;
}

static geodec_status put_cells(const output *w, geodec_err *err)
{
    char buf[GEODEC_FORMAT_ROOM];
    geodec__select_array array;
    uint64_t room;
    int64_t cell = 0, n;
    for (int k = 0; k < w->n; k++) {
        const column *c = &w->column[k];
        if (c->hidden) continue;
        if (!c->array.rank && sqlite3_column_type(w->query, k) != SQLITE_BLOB) {
            put_text(w, cell++, cell_text(w, k, buf));
            continue;
        }
        const char *data =
            geodec__select_elements(sqlite3_column_blob(w->query, k), sqlite3_column_bytes(w->query, k), &array, &n);
        if (!data || n != c->width || !c->array.rank)
            GEODEC_FAIL(GEODEC_INVAL, "'%s': arrays of different shapes", sqlite3_column_name(w->query, k));
        const geodec_type type = (geodec_type)array.type;
        for (int64_t j = 0; j < n; j++)
            put_text(w, cell++, geodec_format_element(type, geodec__select_element(type, data, j, &room), 0, buf));
    }
    GEODEC_PASS(end_line(w, err));
    return GEODEC_OK;
}

/* ---- header ----------------------------------------------------------------------------------------------------- */

static void put_name(const output *w, int64_t cell, int k, int64_t j)
{
    const geodec__select_array *a = &w->column[k].array;
    char name[GEODEC__SELECT_NAME + GEODEC_RANK_MAX * 24];
    int64_t index[GEODEC_RANK_MAX];
    for (int d = (int)a->rank - 1; d >= 0; j /= a->shape[d--]) index[d] = j % a->shape[d];
    int at = snprintf(name, GEODEC__SELECT_NAME, "%s", sqlite3_column_name(w->query, k));
    if (at >= GEODEC__SELECT_NAME) at = GEODEC__SELECT_NAME - 1;
    for (uint32_t d = 0; d < a->rank; d++) at += snprintf(name + at, sizeof name - (size_t)at, "_%" PRId64, index[d]);
    for (char *p = name; *p; p++)
        if (*p == '/') *p = '_';
    put_text(w, cell, name[0] == '_' && sqlite3_column_name(w->query, k)[0] == '/' ? name + 1 : name);
}

/* The number of cells of each column: that of its field, or as in the first row. */
static geodec_status measure(output *w, bool any, geodec_err *err)
{
    int64_t cells = 0, n;
    for (int k = 0; k < w->n; k++) {
        column *c = &w->column[k];
        c->width = 1;
        if (any && sqlite3_column_type(w->query, k) == SQLITE_BLOB &&
            !geodec__select_elements(sqlite3_column_blob(w->query, k), sqlite3_column_bytes(w->query, k), &c->array,
                                     &n))
            GEODEC_FAIL(GEODEC_INVAL, "'%s' is no array", sqlite3_column_name(w->query, k));
        for (uint32_t d = 0; d < c->array.rank; d++)
            if (geodec_mem_mul(c->width, c->array.shape[d], &c->width) != 0) c->width = INT64_MAX;
        if (c->width > GEODEC_SELECT_COLUMNS_MAX - cells)
            GEODEC_FAIL(GEODEC_LIMIT, "more than %d columns", GEODEC_SELECT_COLUMNS_MAX);
        cells += c->width;
    }
    return GEODEC_OK;
}

static geodec_status put_header(const output *w, geodec_err *err)
{
    int64_t cell = 0;
    if (w->o->bare || w->block >= 0) return GEODEC_OK;
    for (int k = 0; k < w->n; k++)
        for (int64_t j = 0; !w->column[k].hidden && j < w->column[k].width; j++) put_name(w, cell++, k, j);
    GEODEC_PASS(end_line(w, err));
    if (!w->o->markdown) return GEODEC_OK;
    for (; cell > 0; cell--) (void)fputs("|---", w->out);
    GEODEC_PASS(end_line(w, err));
    return GEODEC_OK;
}

/* ---- gaps and blocks -------------------------------------------------------------------------------------------- */

static void open_block(output *w, const char *name, size_t n)
{
    if (w->begun && w->gap >= 0) (void)fputc('\n', w->out);
    (void)fprintf(w->out, "%s%.*s\n", w->opened ? "\n\n" : "", (int)n, name);
    w->opened = true;
    w->begun = false;
}

/* Opens the next block of the list. */
static void next_word(output *w)
{
    const size_t n = strcspn(w->words, ",");
    open_block(w, w->words, n);
    w->words += n + (w->words[n] == ',');
}

/* Ends the line of a plot, or the block, when the value of its column differs from that of the previous row. */
static geodec_status divide(output *w, geodec_err *err)
{
    const int columns[2] = {w->gap, w->block};
    char buf[GEODEC_FORMAT_ROOM];
    for (int i = 1; i >= 0; i--) {
        if (columns[i] < 0) continue;
        const char *text = cell_text(w, columns[i], buf);
        const bool same = w->value[i] && text && strcmp(text, w->value[i]) == 0;
        if (same) continue;
        const size_t n = text ? strlen(text) : 0;
        geodec_mem_free(w->value[i]);
        w->value[i] = geodec_mem_strdup(text ? text : "");
        if (!w->value[i]) GEODEC_FAIL(GEODEC_NOMEM, "no memory for a cell");
        if (i == 0) {
            if (w->begun) (void)fputc('\n', w->out);
            w->begun = false;
        } else if (!w->words) {
            open_block(w, w->value[i], n);
        } else {
            while (*w->words && !(strcspn(w->words, ",") == n && strncmp(w->words, w->value[i], n) == 0)) next_word(w);
            if (!*w->words)
                GEODEC_FAIL(GEODEC_INVAL, "--blocks: '%s' is not in the list, or not in its order", w->value[i]);
            next_word(w);
        }
    }
    w->begun = true;
    return GEODEC_OK;
}

/* The result column of --gap or --blocks, which is not printed; -1 without the option. */
static geodec_status find_hidden(output *w, const char *option, const char *name, int *k, geodec_err *err)
{
    *k = -1;
    if (!name) return GEODEC_OK;
    const size_t n = strcspn(name, "=");
    for (int i = 0; i < w->n && *k < 0; i++) {
        const char *column_name = sqlite3_column_name(w->query, i);
        if (strlen(column_name) == n && strncmp(column_name, name, n) == 0) *k = i;
    }
    if (*k < 0) GEODEC_FAIL(GEODEC_INVAL, "%s: the query has no column '%.*s'", option, (int)n, name);
    w->column[*k].hidden = true;
    return GEODEC_OK;
}

/* ---- the query -------------------------------------------------------------------------------------------------- */

/* Lets a query only read the tables and call deterministic functions. Records the fields that are read. */
static int authorize(void *query, int action, const char *a, const char *b, const char *database, const char *trigger)
{
    static const char *const refused[] = {"random",       "randomblob",        "load_extension", "current_date",
                                          "current_time", "current_timestamp", "date",           "time",
                                          "datetime",     "julianday",         "unixepoch",      "strftime"};
    geodec__select *s = query;
    (void)database;
    (void)trigger;
    if (action == SQLITE_SELECT) return SQLITE_OK;
    for (size_t i = 0; action == SQLITE_FUNCTION && i < sizeof refused / sizeof *refused; i++)
        if (strcasecmp(b, refused[i]) == 0) return SQLITE_DENY;
    if (action == SQLITE_FUNCTION) return SQLITE_OK;
    for (int i = 0; action == SQLITE_READ && i < s->n_tables; i++) {
        if (strcasecmp(a, s->table[i].name) != 0) continue;
        geodec__select_field *f = geodec__select_find(&s->table[i], b);
        if (f) f->used = true;
        return SQLITE_OK;
    }
    return SQLITE_DENY;
}

static int interrupted(void *query)
{
    geodec__select *s = query;
    if (s->st == GEODEC_OK) s->st = geodec_hooks_progress(s->hooks, "rows", 0, 0, &s->err);
    return s->st != GEODEC_OK;
}

/* The error of SQLite, or of the reader called by SQLite. */
static geodec_status failed(geodec__select *s, int rc, geodec_err *err)
{
    if (s->st != GEODEC_OK) GEODEC_FAIL(s->st, "%s", s->err.depth ? s->err.frame[0].text : "");
    const geodec_status st = rc == SQLITE_NOMEM ? GEODEC_NOMEM : rc == SQLITE_TOOBIG ? GEODEC_LIMIT : GEODEC_INVAL;
    GEODEC_FAIL(st, "%.200s", sqlite3_errmsg(s->db));
}

static geodec_status open_database(geodec__select *s, geodec_err *err)
{
    static const int limits[][2] = {{SQLITE_LIMIT_SQL_LENGTH, QUERY_BYTES_MAX},
                                    {SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX},
                                    {SQLITE_LIMIT_EXPR_DEPTH, DEPTH_MAX},
                                    {SQLITE_LIMIT_ATTACHED, 0},
                                    {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
                                    {SQLITE_LIMIT_WORKER_THREADS, 0}};
    if (sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(s->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL) != SQLITE_OK ||
        geodec__select_functions(s->db) != SQLITE_OK)
        GEODEC_FAIL(GEODEC_NOMEM, "no memory for a database");
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL); /* "name" in double quotes is never a text */
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) (void)sqlite3_limit(s->db, limits[i][0], limits[i][1]);
    sqlite3_progress_handler(s->db, STEPS, interrupted, s);
    return GEODEC_OK;
}

static bool is_query(const char *text)
{
    const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return (n == 6 && strncasecmp(text, "SELECT", n) == 0 && text[n]) ||
           (n == 4 && strncasecmp(text, "WITH", n) == 0 && text[n]);
}

/* The query of a list of columns. */
static geodec_status write_query(geodec__select *s, int n, const char *const *what, char **out, geodec_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(s->db);
    if (n == 1 && is_query(what[0])) {
        sqlite3_str_appendall(sql, what[0]);
    } else {
        for (int i = 0; i < n; i++) {
            const char *name = what[i];
            if (name[0] == '/' && !geodec__select_find(&s->table[0], name)) name++;
            sqlite3_str_appendf(sql, strcmp(name, "*") == 0 ? "%s%s" : "%s\"%w\"", i ? ", " : "SELECT ", name);
        }
        sqlite3_str_appendall(sql, " FROM t");
    }
    *out = sqlite3_str_finish(sql);
    if (!*out) GEODEC_FAIL(GEODEC_NOMEM, "no memory for the query");
    return GEODEC_OK;
}

static geodec_status bind_attribute(sqlite3_stmt *query, int i, const geodec__select_table *t, const char *name,
                                    geodec_err *err)
{
    const geodec_artifact *a = t->artifact;
    char room[GEODEC_FORMAT_ROOM];
    const char *text;
    if (!a) GEODEC_FAIL(GEODEC_INVAL, "a text table has no attribute '%s'", name);
    GEODEC_PASS(geodec_artifact_attr_text(a, name, room, &text, err));
    const int k = geodec__kind_attr_find(a->kind, name);
    if (k < 0 || a->kind->attrs[k].type == GEODEC_ATTR_STR)
        (void)sqlite3_bind_text(query, i, text, -1, SQLITE_STATIC);
    else if (a->kind->attrs[k].type == GEODEC_ATTR_I64)
        (void)sqlite3_bind_int64(query, i, a->attr[k].i64);
    else
        (void)sqlite3_bind_double(query, i, a->attr[k].f64);
    return GEODEC_OK;
}

/* Binds @attribute, @table_attribute and :dimension. */
static geodec_status bind_parameters(geodec__select *s, sqlite3_stmt *query, geodec_err *err)
{
    for (int i = 1; i <= sqlite3_bind_parameter_count(query); i++) {
        const char *name = sqlite3_bind_parameter_name(query, i);
        const geodec__select_table *t = &s->table[0];
        int64_t extent;
        if (name && name[0] == '@') {
            const size_t n = strlen(s->table[1].name);
            if (s->n_tables > 1 && strncmp(name + 1, s->table[1].name, n) == 0 && name[n + 1] == '_') {
                t = &s->table[1];
                name += n + 1;
            }
            GEODEC_PASS(bind_attribute(query, i, t, name + 1, err));
            continue;
        }
        if (!name || name[0] != ':' || !t->artifact)
            GEODEC_FAIL(GEODEC_INVAL, "parameter '%s': @attribute or :dimension of an artifact", name ? name : "?");
        GEODEC_PASS(geodec_artifact_dim(t->artifact, name + 1, &extent, err));
        (void)sqlite3_bind_int64(query, i, extent);
    }
    return GEODEC_OK;
}

/* Result columns that are fields are printed like the fields. */
static void trace_columns(geodec__select *s, output *w)
{
    for (int k = 0; k < w->n; k++) {
        const char *table = sqlite3_column_table_name(w->query, k), *name = sqlite3_column_origin_name(w->query, k);
        for (int i = 0; table && name && i < s->n_tables; i++) {
            const geodec__select_field *f =
                strcasecmp(table, s->table[i].name) == 0 ? geodec__select_find(&s->table[i], name) : NULL;
            if (!f) continue;
            w->column[k].field = f->field;
            w->column[k].array = f->array;
        }
    }
}

/* Whole numbers above 2^63 - 1 in the query as in the cells (GEODEC__SELECT_LARGE): 'N' and N are the text N. */
static geodec_status mark_large(char **sql, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { DIGITS = 64 };
    const size_t n = strlen(*sql);
    char *out = NULL, number[DIGITS], before = ' ';
    size_t at = 0;
    out = sqlite3_malloc64(2 * n + 4);
    if (!out) GEODEC_THROW(GEODEC_NOMEM, "no memory for the query");
    for (size_t i = 0, k; i < n; i += k) {
        const char *p = *sql + i;
        const bool quoted = *p == '\'', named = *p == '"';
        k = 1;
        if (quoted || named) {
            while (p[k] && p[k] != *p) k++;
            k += p[k] != 0;
        } else if (strchr("0123456789", *p) && !strchr("0123456789._@:$?", before) && !isalpha((unsigned char)before)) {
            k = strspn(p, "0123456789");
        }
        const size_t digits = quoted ? k - 2 : k;
        const char *first = p + quoted;
        const bool plain =
            quoted ? k > 2 && p[k - 1] == '\'' : !isalpha((unsigned char)p[k]) && !strchr("._", p[k] ? p[k] : ' ');
        before = p[k - 1];
        if (!named && plain && digits < DIGITS && digits >= 19) {
            (void)snprintf(number, sizeof number, "%.*s", (int)digits, first);
            if (strspn(number, "0123456789") == digits && geodec__select_large(number)) {
                at += (size_t)snprintf(out + at, DIGITS + 8, "'%s" GEODEC__SELECT_LARGE "'", number);
                continue;
            }
        }
        memcpy(out + at, p, k);
        at += k;
    }
    out[at] = 0;
    sqlite3_free(*sql);
    *sql = out;
done:
    return st;
}

static geodec_status prepare(geodec__select *s, output *w, int n, const char *const *what, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *sql = NULL;
    const char *tail = NULL;
    GEODEC_TRY(write_query(s, n, what, &sql, err));
    GEODEC_TRY(mark_large(&sql, err));
    (void)sqlite3_set_authorizer(s->db, authorize, s);
    const int rc = sqlite3_prepare_v2(s->db, sql, -1, &w->query, &tail);
    if (rc != SQLITE_OK) {
        st = failed(s, rc, err);
        goto done;
    }
    if (!w->query || tail[strspn(tail, "; \n\t")]) GEODEC_THROW(GEODEC_INVAL, "one query is needed");
    GEODEC_TRY(bind_parameters(s, w->query, err));
    for (int i = 0; i < s->n_tables; i++)
        GEODEC_TRY(geodec__select_bind(&s->table[i], i == 0 ? w->o->rows : NULL, err));
    w->n = sqlite3_column_count(w->query);
    GEODEC_NEW(w->column, w->n);
    trace_columns(s, w);
    GEODEC_TRY(find_hidden(w, "--gap", w->o->gap, &w->gap, err));
    GEODEC_TRY(find_hidden(w, "--blocks", w->o->blocks, &w->block, err));
    const char *list = w->o->blocks ? strchr(w->o->blocks, '=') : NULL;
    if (list && !s->table[0].artifact)
        GEODEC_THROW(GEODEC_INVAL, "--blocks: a text table has no attribute '%s'", list + 1);
    if (list) GEODEC_TRY(geodec_artifact_get_str(s->table[0].artifact, list + 1, &w->words, err));
done:
    sqlite3_free(sql);
    return st;
}

/* Runs the query: counts its rows, or prints them. */
static geodec_status take_rows(geodec__select *s, output *w, bool print, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int rc;
    for (w->rows = 0; (rc = sqlite3_step(w->query)) == SQLITE_ROW; w->rows++) {
        if (!print) continue;
        if (w->rows == 0) {
            GEODEC_TRY(measure(w, true, err));
            GEODEC_TRY(put_header(w, err));
        }
        GEODEC_TRY(divide(w, err));
        GEODEC_TRY(put_cells(w, err));
    }
    if (rc != SQLITE_DONE) st = failed(s, rc, err);
done:
    return st;
}

static geodec_status print_rows(geodec__select *s, output *w, geodec_err *err)
{
    if (w->o->at_least > 0) {
        GEODEC_PASS(take_rows(s, w, false, err));
        if (w->rows < w->o->at_least)
            GEODEC_FAIL(GEODEC_SCARCE, "not measured: %" PRId64 " rows, %" PRId64 " needed", w->rows, w->o->at_least);
        (void)sqlite3_reset(w->query);
    }
    GEODEC_PASS(take_rows(s, w, true, err));
    if (w->rows == 0) {
        GEODEC_PASS(measure(w, false, err));
        GEODEC_PASS(put_header(w, err));
    }
    while (w->words && *w->words) next_word(w);
    if (w->begun && w->gap >= 0) (void)fputc('\n', w->out);
    GEODEC_PASS(finish(w, err));
    return GEODEC_OK;
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

/* Prints all attributes of the kind, or the value of one attribute, which may also be a common one. */
static geodec_status print_attrs(const output *w, const geodec_artifact *a, geodec_err *err)
{
    const geodec_kind *kind = geodec_artifact_kind(a);
    char room[GEODEC_FORMAT_ROOM];
    const char *text;
    if (!w->o->attr && !w->o->bare) (void)fputs("attribute\tvalue\n", w->out);
    for (int i = 0; i < (w->o->attr ? 1 : kind->n_attrs); i++) {
        const char *name = w->o->attr ? w->o->attr : kind->attrs[i].name;
        if (!w->o->attr && !geodec_artifact_has_attr(a, name)) continue;
        GEODEC_PASS(geodec_artifact_attr_text(a, name, room, &text, err));
        if (!w->o->attr) put_text(w, 0, name);
        put_text(w, w->o->attr ? 0 : 1, text);
        GEODEC_PASS(end_line(w, err));
    }
    GEODEC_PASS(finish(w, err));
    return GEODEC_OK;
}

/* ---- entry point ------------------------------------------------------------------------------------------------ */

static geodec_status open_also(geodec__select *s, const geodec_select *o, geodec_err *err)
{
    char name[GEODEC__SELECT_NAME];
    const char *equal = strchr(o->also, '=');
    if (!equal || equal == o->also || equal - o->also >= GEODEC__SELECT_NAME)
        GEODEC_FAIL(GEODEC_INVAL, "--also: '%s' is not NAME=FILE", o->also);
    (void)snprintf(name, sizeof name, "%.*s", (int)(equal - o->also), o->also);
    GEODEC_PASS(geodec__select_open(s, o, name, equal + 1, err));
    return GEODEC_OK;
}

geodec_status geodec_select_print(const geodec_select *o, const char *path, int n, const char *const *what, FILE *out,
                                  const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select s = {.hooks = hooks};
    output w = {.o = o, .out = out};
    if (o->attrs || o->attr ? n > 0 || o->rows : n < 1)
        GEODEC_THROW(GEODEC_INVAL, "give a query or columns, or --attrs or --attr alone");
    if (o->markdown && (o->blocks || o->gap))
        GEODEC_THROW(GEODEC_INVAL, "--markdown does not go together with --blocks or --gap");
    GEODEC_TRY(open_database(&s, err));
    GEODEC_TRY(geodec__select_open(&s, o, "t", path, err));
    if (o->also) GEODEC_TRY(open_also(&s, o, err));
    if (o->attrs || o->attr) {
        if (!s.table[0].artifact) GEODEC_THROW(GEODEC_INVAL, "%s: a text table has no attributes", path);
        GEODEC_TRY_MSG(print_attrs(&w, s.table[0].artifact, err), "%s", path);
        goto done;
    }
    GEODEC_TRY_MSG(prepare(&s, &w, n, what, err), "%s", path);
    GEODEC_TRY_MSG(print_rows(&s, &w, err), "%s", path);
done:
    (void)sqlite3_finalize(w.query);
    (void)sqlite3_close(s.db);
    for (int i = 0; i < s.n_tables; i++) geodec__select_close(&s.table[i]);
    for (int i = 0; i < 2; i++) geodec_mem_free(w.value[i]);
    geodec_mem_free(w.column);
    return st;
}
