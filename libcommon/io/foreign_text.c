/* Matrices from tables of text. */
#include "base/mem.h"
#include "io/file.h"
#include "io/foreign.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const size_t limit = (size_t)1 << 30;

typedef struct table {
    const char *path;
    char separator; /* ' ' = any run of blanks and tabs */
    int64_t line, rows, cols, room;
    double *x;
} table;

static bool blank(char c) { return c == ' ' || c == '\t'; }

static char find_separator(const char *line)
{
    static const char all[] = "\t,;";
    for (const char *s = all; *s; s++)
        if (strchr(line, *s)) return *s;
    return ' ';
}

/* Reads the next cell of *at as a number; *last is set if the cell ends the line. False if the cell is not a number. */
static bool next_number(const table *t, char **at, double *v, bool *last)
{
    char *end, *p = *at;
    while (*p == ' ' || (t->separator == ' ' && blank(*p))) p++;
    if (*p == '\0' || *p == t->separator) return false; /* an empty cell */
    *v = strtod(p, &end);
    if (end == p) return false;
    while (*end == ' ' || (t->separator == ' ' && blank(*end))) end++;
    *last = *end == '\0';
    if (!*last && t->separator != ' ' && *end++ != t->separator) return false;
    if (!*last && t->separator == ' ' && end[-1] != ' ' && end[-1] != '\t') return false;
    *at = end;
    return true;
}

static geodec_status grow(table *t, int64_t want, geodec_err *err)
{
    if (want <= t->room) return GEODEC_OK;
    const int64_t room = want > 2 * t->room ? want + 1024 : 2 * t->room;
    double *x = geodec_mem_grow(t->x, t->room, room, sizeof *x);
    if (!x) GEODEC_FAIL(GEODEC_NOMEM, "no memory for %lld numbers", (long long)room);
    t->x = x;
    t->room = room;
    return GEODEC_OK;
}

static geodec_status read_line(table *t, char *line, bool *header, geodec_err *err)
{
    int64_t cols = 0;
    bool last = false;
    if (t->rows == 0) t->separator = find_separator(line);
    while (!last) {
        double v = 0;
        if (!next_number(t, &line, &v, &last)) {
            if (t->rows == 0 && !*header) {
                *header = true; /* only the first line may be a header */
                return GEODEC_OK;
            }
            GEODEC_FAIL(GEODEC_FORMAT, "%s:%lld: column %lld is not a number", t->path, (long long)t->line,
                        (long long)cols + 1);
        }
        if (!isfinite(v))
            GEODEC_FAIL(GEODEC_NUMERIC, "%s:%lld: column %lld is not finite", t->path, (long long)t->line,
                        (long long)cols + 1);
        GEODEC_PASS(grow(t, t->rows * t->cols + cols + 1, err));
        t->x[t->rows * t->cols + cols++] = v;
        if (t->rows > 0 && cols > t->cols) break;
    }
    if (t->rows == 0) t->cols = cols;
    if (cols != t->cols)
        GEODEC_FAIL(GEODEC_FORMAT, "%s:%lld: the row does not have %lld columns like the rows before it", t->path,
                    (long long)t->line, (long long)t->cols);
    t->rows++;
    return GEODEC_OK;
}

geodec_status geodec_foreign_text(const char *path, int64_t *rows, int64_t *cols, double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    table t = {.path = path};
    char *text = NULL;
    size_t n = 0;
    bool header = false;
    GEODEC_TRY(geodec_file_read(path, limit, &text, &n, err));
    if (memchr(text, '\0', n)) GEODEC_THROW(GEODEC_FORMAT, "%s is not text", path);
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        t.line++;
        size_t length = strlen(line);
        while (length > 0 && (line[length - 1] == '\r' || blank(line[length - 1]))) line[--length] = '\0';
        if (length == 0 || *line == '#') continue;
        GEODEC_TRY(read_line(&t, line, &header, err));
    }
    if (t.rows == 0) GEODEC_THROW(GEODEC_FORMAT, "%s holds no numbers", path);
    *rows = t.rows;
    *cols = t.cols;
    *out = t.x;
    t.x = NULL;
done:
    GEODEC_FREE(text, t.x);
    return st;
}
