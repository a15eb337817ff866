/* Matrices from tables of text. */
#include "base/mem.h"
#include "io/file.h"
#include "io/matrix_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t limit = (size_t)1 << 30;

typedef enum kind { NUMBER, MISSING, WORD } kind;

typedef struct cell {
    const char *text; /* without quotes and blanks around it */
    int length;
    kind kind;
    double v;
} cell;

typedef struct table {
    const char *path;
    bool drop;
    char separator;      /* ' ' = any run of blanks and tabs */
    bool trailing;       /* every line ends with a separator: the last cell is none */
    bool names;          /* the first column has the names of the rows, and is no data */
    bool commas, points; /* decimal commas, decimal points were read */
    bool first_point;    /* the first line has a point: 0.0 is no name of a column */
    int64_t line, rows, cols, room;
    double *x;
    cell *first; /* [first_cols] of the first line, where it is a header or may be one */
    int64_t first_cols, first_line;
} table;

static bool blank(char c) { return c == ' ' || c == '\t'; }

static bool is_comment(const char *line)
{
    line += strspn(line, " \t");
    return *line == '#' || *line == '%';
}

static char find_separator(const char *line)
{
    static const char all[] = "\t;,";
    for (const char *s = all; *s; s++)
        if (strchr(line, *s)) return *s;
    return ' ';
}

/* A number of `length` characters: a decimal comma where that does not separate, an exponent of d or D. */
static bool parse_number(const char *text, int length, char separator, double *v)
{
    char copy[64], *end;
    if (length < 1 || length >= (int)sizeof copy) return false;
    memcpy(copy, text, (size_t)length);
    copy[length] = '\0';
    if (strpbrk(copy, "xXpP")) return false; /* hexadecimal numbers are no decimal table */
    char *comma = separator == ',' ? NULL : strchr(copy, ',');
    if (comma && !strchr(copy, '.') && !strchr(comma + 1, ',')) *comma = '.';
    const bool named = strpbrk(copy, "nN") != NULL; /* nan, inf, infinity */
    for (char *p = copy; !named && *p; p++)
        if (*p == 'd' || *p == 'D') *p = 'e';
    *v = strtod(copy, &end);
    return end != copy && !*end;
}

/* The next cell of *at, which moves behind its separator; NULL at the end of the line. */
static bool next_cell(const table *t, const char **at, cell *c)
{
    const char *p = *at;
    if (!p) return false;
    if (t->separator == ' ')
        while (blank(*p)) p++;
    const char *end = p + (*p == '"' || *p == '\'' ? 1 : 0);
    if (end > p) { /* a quoted cell may hold the separator */
        const char *close = strchr(end, *p);
        end = close ? close : p;
    }
    while (*end && (t->separator == ' ' ? !blank(*end) : *end != t->separator)) end++;
    const char *next = *end ? end + 1 : NULL;
    if (next && t->separator == ' ') {
        while (blank(*next)) next++;
        if (!*next) next = NULL;
    }
    if (next && !*next && t->trailing) next = NULL;
    while (p < end && blank(*p)) p++;
    while (end > p && blank(end[-1])) end--;
    if (end - p >= 2 && (*p == '"' || *p == '\'') && end[-1] == *p) {
        p++;
        end--;
    }
    *c = (cell){.text = p, .length = (int)(end - p), .kind = WORD};
    if (geodec_matrix_is_missing(c->text, c->length)) {
        c->kind = MISSING;
        c->v = NAN;
    } else if (parse_number(c->text, c->length, t->separator, &c->v)) {
        c->kind = NUMBER;
    }
    *at = next;
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

/* The cells of the first line, and whether it is a header: 1, 0, or -1: whole numbers from 0 or 1 in order, which are
 * one above other data. */
static geodec_status read_first(table *t, const char *line, geodec_matrix_header header, int *is, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *at = line;
    cell c;
    int64_t n = 0, words = 0, numbers = 0;
    t->separator = find_separator(line);
    while (next_cell(t, &at, &c)) n++;
    GEODEC_NEW(t->first, n);
    t->first_cols = n;
    t->first_line = t->line;
    at = line;
    for (int64_t i = 0; i < n && next_cell(t, &at, &t->first[i]); i++) {
        words += t->first[i].kind == WORD;
        numbers += t->first[i].kind == NUMBER;
    }
    *is = 0;
    if (header == GEODEC_HEADER_YES) *is = 1;
    if (header != GEODEC_HEADER_AUTO) goto done;
    if (words > 0 && numbers == 0) *is = 1;
    const int64_t from = n > 1 && t->first[0].kind != NUMBER ? 1 : 0; /* a column of row names has none */
    const double base = from < n ? t->first[from].v : NAN;
    bool counts = n > from && (base == 0 || (base == 1 && n - from > 2));
    for (int64_t i = from; counts && i < n; i++)
        counts = t->first[i].kind == NUMBER && t->first[i].v == base + (double)(i - from);
    if (counts) *is = -1;
done:
    return st;
}

/* The form of the first row of data under a header: its separator, and whether its first cell is the name of the row.
 * R writes nothing over the names, other programs an empty cell. */
static void settle_row(table *t, const char *line)
{
    const char separator = find_separator(line), *at = line;
    int64_t n = 0;
    cell c, first = {0};
    if (separator != t->separator) { /* a title, in which blanks or commas mean nothing */
        t->separator = separator;
        t->first_cols = 0;
        return;
    }
    while (next_cell(t, &at, &c))
        if (n++ == 0) first = c;
    if (n > 1 && n == t->first_cols + 1 && c.length == 0) { /* no line but the header ends without a separator */
        t->trailing = true;
        n--;
    }
    const bool counts = first.kind == WORD || (first.kind == NUMBER && (first.v == 0 || first.v == 1));
    const bool unnamed = t->first[0].length == 0 || strncmp(t->first[0].text, "Unnamed: ", 9) == 0;
    t->names = n > 1 && (t->first_cols == n ? unnamed : t->first_cols == n - 1 && counts);
}

/* Whether a whole number beyond 2^53 is one that float64 holds. */
static bool is_exact(const cell *c)
{
    char whole[32];
    const char *digits = c->text + (*c->text == '-' || *c->text == '+');
    const int length = c->length - (int)(digits - c->text);
    if (fabs(c->v) < 9007199254740992.0 || length > 20 || (int)strspn(digits, "0123456789") < length) return true;
    (void)snprintf(whole, sizeof whole, "%.0f", fabs(c->v));
    return (int)strlen(whole) == length && memcmp(whole, digits, (size_t)length) == 0;
}

/* What a number says about the form of the table. */
static geodec_status note_form(table *t, const cell *c, int64_t column, geodec_err *err)
{
    const char *why = NULL;
    t->commas = t->commas || memchr(c->text, ',', (size_t)c->length);
    t->points = t->points || memchr(c->text, '.', (size_t)c->length);
    if (t->commas && t->points) why = "decimal points and decimal commas in one table";
    if (!is_exact(c)) why = "a whole number that float64 does not hold; subtract a constant first";
    if (why)
        GEODEC_FAIL(GEODEC_FORMAT, "%s:%lld: row %lld, column %lld: '%.*s': %s", t->path, (long long)t->line,
                    (long long)t->rows + 1, (long long)column, c->length, c->text, why);
    return GEODEC_OK;
}

static geodec_status read_line(table *t, const char *line, geodec_err *err)
{
    int64_t cols = 0;
    const int64_t names = t->names ? 1 : 0;
    const char *at = line;
    cell c;
    if (names) (void)next_cell(t, &at, &c);
    while (next_cell(t, &at, &c)) {
        const int shown = c.length < 40 ? c.length : 40;
        const int64_t row = t->rows + 1;
        if (c.kind == WORD || (c.kind == MISSING && !t->drop))
            GEODEC_FAIL(GEODEC_FORMAT, "%s:%lld: row %lld, column %lld: '%.*s' is %s%s", t->path, (long long)t->line,
                        (long long)row, (long long)(cols + 1 + names), shown, c.text,
                        c.kind == WORD ? "not a number" : "a missing value",
                        c.kind == WORD ? "" : "; --drop-missing leaves such rows out");
        if (c.kind == NUMBER) GEODEC_PASS(note_form(t, &c, cols + 1 + names, err));
        GEODEC_PASS(grow(t, t->rows * t->cols + cols + 1, err));
        t->x[t->rows * t->cols + cols++] = c.v;
        if (t->rows > 0 && cols > t->cols) break;
    }
    if (t->rows == 0) t->cols = cols;
    if (cols != t->cols)
        GEODEC_FAIL(GEODEC_FORMAT, "%s:%lld: the row does not have %lld columns like the rows before it", t->path,
                    (long long)t->line, (long long)t->cols);
    t->rows++;
    return GEODEC_OK;
}

/* The text behind a byte order mark. */
static geodec_status skip_mark(const char *path, char **text, size_t *n, geodec_err *err)
{
    const unsigned char *p = (const unsigned char *)*text;
    if (*n >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff)))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s is text in UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)", path);
    if (*n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        *text += 3;
        *n -= 3;
    }
    return GEODEC_OK;
}

/* Ends lines by LF alone; a text without LF has lines that end by CR. Sets *trailing if every line with cells ends with
 * its separator. */
static void settle_lines(char *text, size_t n, bool *trailing)
{
    char separator = '\0';
    if (!memchr(text, '\n', n))
        for (size_t i = 0; i < n; i++)
            if (text[i] == '\r') text[i] = '\n';
    *trailing = n > 0;
    for (const char *line = text, *next; *line; line = next) {
        const size_t length = strcspn(line, "\n");
        const char *end = line + length;
        next = end + (*end == '\n');
        while (end > line && (end[-1] == '\r' || end[-1] == ' ')) end--;
        if (end == line || is_comment(line)) continue;
        if (!separator) separator = end[-1];
        if (end[-1] != separator || !strchr(",;\t", separator)) *trailing = false;
    }
}

/* The row of numbers in order, which may be a header, against the rows under it: other data do not go on counting. */
static bool is_numbered_header(const table *t)
{
    if (t->rows < 3) return false;
    int64_t whole = 0;
    bool counts = t->cols > 1;
    for (int64_t i = t->cols; i < t->rows * t->cols; i++) whole += t->x[i] == floor(t->x[i]);
    for (int64_t c = 1; c < t->cols; c++) counts = counts && t->x[t->cols + c] == t->x[t->cols + c - 1] + 1;
    if (t->cols < 3) return whole == 0 && !t->first_point && !counts;
    return (whole < (t->rows - 1) * t->cols || t->cols >= 8) && !counts;
}

/* Whether the first column counts the rows. */
static bool counts_rows(const table *t)
{
    if (t->cols < 2 || t->rows < 3 || (t->x[0] != 0 && t->x[0] != 1)) return false;
    for (int64_t r = 0; r < t->rows; r++)
        if (t->x[r * t->cols] != t->x[0] + (double)r) return false;
    return true;
}

static void tell(const table *t, int is, bool numbered, geodec_matrix *m)
{
    const char *const clause[] = {
        numbered  ? "the first line, whole numbers in order above other data, was taken for a header"
        : is == 1 ? "the first line is a header"
        : is == -1 && t->cols > 1
            ? "the first line counts 0, 1, .. and is taken for data; --header yes takes it for a header"
            : NULL,
        t->names ? "the first column, names of the rows, was left out" : NULL,
        counts_rows(t) ? "the first column counts the rows and is taken for data" : NULL,
        t->commas ? "decimal commas were read" : NULL,
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof clause / sizeof *clause; i++)
        if (clause[i] && used < sizeof m->note)
            used += (size_t)snprintf(m->note + used, sizeof m->note - used, "%s%s", used ? "; " : "", clause[i]);
}

geodec_status geodec__matrix_text(const char *path, geodec_matrix_header header, bool drop, geodec_matrix *m,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    table t = {.path = path, .drop = drop};
    char *text = NULL, *begin;
    size_t n = 0;
    int is = 0;
    bool numbered = false;
    GEODEC_TRY(geodec_file_read(path, limit, &text, &n, err));
    begin = text;
    GEODEC_TRY(skip_mark(path, &begin, &n, err));
    if (n >= 4 && memcmp(begin, "PK\x03\x04", 4) == 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s is a zip archive (.npz, .xlsx); unpack or convert it", path);
    if (memchr(begin, '\0', n)) GEODEC_THROW(GEODEC_FORMAT, "%s is not text", path);
    settle_lines(begin, n, &t.trailing);
    for (char *line = begin, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        t.line++;
        size_t length = strlen(line);
        while (length > 0 && (line[length - 1] == '\r' || line[length - 1] == ' ')) line[--length] = '\0';
        if (line[strspn(line, " \t")] == '\0' || is_comment(line)) continue;
        if (!t.first) {
            GEODEC_TRY(read_first(&t, line, header, &is, err));
            const bool names = is == -1 && t.first[0].kind != NUMBER; /* a cell without a number: not a row of data */
            if (names) {
                numbered = true;
                is = 1;
            }
            if (is == 1) continue;
            t.first_point = strchr(line, '.') != NULL;
        }
        if (t.rows == 0 && is == 1) settle_row(&t, line);
        GEODEC_TRY(read_line(&t, line, err));
    }
    if (t.rows == 0) GEODEC_THROW(GEODEC_FORMAT, "%s holds no numbers", path);
    if (is == -1 && is_numbered_header(&t)) {
        numbered = true;
        t.rows--;
        memmove(t.x, t.x + t.cols, (size_t)(t.rows * t.cols) * sizeof *t.x);
    }
    tell(&t, header == GEODEC_HEADER_AUTO || is == 1 ? is : 0, numbered, m);
    m->rows = t.rows;
    m->cols = t.cols;
    m->x = t.x;
    t.x = NULL;
done:
    GEODEC_FREE(text, t.x, t.first);
    return st;
}
