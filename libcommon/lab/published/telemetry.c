/* The runtime's telemetry, line by line. */
#include "base/mem.h"
#include "lab/published/density.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void geodec_density_telemetry_clear(geodec_telemetry *t)
{
    geodec_mem_free(t->state);
    *t = (geodec_telemetry){0};
}

typedef struct reader {
    FILE *file;
    char *line; /* [room] */
    int64_t room, length, number;
    geodec_telemetry t;
    int64_t capacity; /* numbers in t.state */
    double *row;      /* [row_room] */
    int64_t row_room, width;
} reader;

/* Reads the next line into r->line without its end; *more is false at the end of the file. A NUL ends the text of the
 * line. */
static geodec_status next_line(reader *r, bool *more, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    r->length = 0;
    *more = false;
    for (;;) {
        const int c = getc(r->file);
        if (c == EOF && ferror(r->file)) GEODEC_THROW(GEODEC_IO, "cannot read: %s", strerror(errno));
        if (c == EOF && r->length == 0) goto done;
        if (r->length + 1 >= GEODEC_TELEMETRY_LINE)
            GEODEC_THROW(GEODEC_LIMIT, "line %lld is longer than %lld bytes", (long long)r->number + 1,
                         (long long)GEODEC_TELEMETRY_LINE);
        GEODEC_GROW(r->line, r->length, r->room, 2);
        if (c == EOF || c == '\n') break;
        r->line[r->length++] = (char)c;
    }
    r->line[r->length] = '\0';
    r->number++;
    *more = true;
done:
    return st;
}

/* Whether the text is an integer, blanks around it allowed, as in the harness. */
static bool is_whole(const char *text)
{
    char *end;
    errno = 0;
    (void)strtoll(text, &end, 10);
    if (end == text || errno == ERANGE) return false;
    while (*end == ' ' || *end == '\r') end++;
    return *end == '\0';
}

static bool is_number(const char *text, double *v)
{
    char *end;
    while (*text == ' ') text++;
    if (*text == '\0' || strpbrk(text, "xXpP(")) return false; /* no hexadecimal, no nan(..) */
    *v = strtod(text, &end);
    if (end == text) return false;
    while (*end == ' ' || *end == '\r') end++;
    return *end == '\0';
}

static geodec_status remark(reader *r, geodec_err *err)
{
    for (char *at = r->line; at; at = strchr(at, '\t')) {
        if (*at == '\t') at++;
        if (strncmp(at, "dim=", 4) != 0) continue;
        char *end;
        const long long d = strtoll(at + 4, &end, 10);
        if (end == at + 4 || (*end && *end != '\t' && *end != '\r') || d < 1 || d > GEODEC_TELEMETRY_DIM)
            GEODEC_FAIL(GEODEC_LIMIT, "line %lld: '%.40s' is not a width", (long long)r->number, at);
        if (r->t.d && r->t.d != d)
            GEODEC_FAIL(GEODEC_FORMAT, "line %lld: states of width %lld after %lld", (long long)r->number, d,
                        (long long)r->t.d);
        r->t.d = d;
    }
    return GEODEC_OK;
}

/* Parses the cells of a row into r->row; *good is false when the harness would leave the row out. */
static geodec_status row_of(reader *r, bool *good, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t cell = 0;
    bool whole = true;
    r->width = 0;
    for (char *at = r->line; at; cell++) {
        char *tab = strchr(at, '\t');
        if (tab) *tab = '\0';
        if (cell == 0 || cell == 2) whole = whole && is_whole(at);
        if (cell >= 3) {
            if (r->width == GEODEC_TELEMETRY_DIM)
                GEODEC_THROW(GEODEC_LIMIT, "line %lld has more than %d numbers", (long long)r->number,
                             GEODEC_TELEMETRY_DIM);
            GEODEC_GROW(r->row, r->width, r->row_room, 1);
            whole = whole && is_number(at, &r->row[r->width]);
            r->width++;
        }
        at = tab ? tab + 1 : NULL;
    }
    *good = whole && cell >= 4;
done:
    return st;
}

static geodec_status keep(reader *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (r->t.d == 0) r->t.d = r->width;
    if (r->width != r->t.d)
        GEODEC_THROW(GEODEC_FORMAT, "line %lld has %lld numbers, not %lld", (long long)r->number, (long long)r->width,
                     (long long)r->t.d);
    for (int64_t i = 0; i < r->width; i++)
        if (!isfinite(r->row[i]))
            GEODEC_THROW(GEODEC_NUMERIC, "line %lld: a number that is not finite", (long long)r->number);
    if (r->t.states == GEODEC_TELEMETRY_STATES)
        GEODEC_THROW(GEODEC_LIMIT, "more than %d states", GEODEC_TELEMETRY_STATES);
    GEODEC_GROW(r->t.state, r->t.states * r->t.d, r->capacity, r->t.d);
    memcpy(r->t.state + r->t.states++ * r->t.d, r->row, (size_t)r->t.d * sizeof *r->row);
done:
    return st;
}

geodec_status geodec_density_telemetry_read(const char *path, geodec_telemetry *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    reader r = {0};
    struct stat s;
    bool more = true, good = false;
    if (stat(path, &s) != 0) GEODEC_THROW(GEODEC_NOTFOUND, "%s: no such file", path);
    if (!S_ISREG(s.st_mode)) GEODEC_THROW(GEODEC_FORMAT, "%s is not a regular file", path);
    r.file = fopen(path, "rb");
    if (!r.file) GEODEC_THROW(GEODEC_IO, "%s: %s", path, strerror(errno));
    for (;;) {
        GEODEC_TRY_MSG(next_line(&r, &more, err), "%s", path);
        if (!more) break;
        if (r.line[0] == '#') {
            GEODEC_TRY_MSG(remark(&r, err), "%s", path);
            continue;
        }
        GEODEC_TRY_MSG(row_of(&r, &good, err), "%s", path);
        if (good)
            GEODEC_TRY_MSG(keep(&r, err), "%s", path);
        else
            r.t.left_out += r.length > 0;
    }
    if (r.t.states == 0 && r.t.left_out > 0) GEODEC_THROW(GEODEC_FORMAT, "%s: no row is a state", path);
    if (r.t.states < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld states; the published density needs at least 2", (long long)r.t.states);
    *out = r.t;
    r.t = (geodec_telemetry){0};
done:
    if (r.file) (void)fclose(r.file);
    GEODEC_FREE(r.line, r.row);
    geodec_density_telemetry_clear(&r.t);
    return st;
}
