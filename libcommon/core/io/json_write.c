#include "io/json.h"

#include "base/mem.h"
#include "io/atomic.h"
#include "io/file.h"
#include "io/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct geodec_json_writer {
    geodec_atomic *file; /* NULL on a caller's stream */
    FILE *stream;
    int depth; /* open objects and arrays; 1 = the root */
    struct {
        bool array, used;
    } level[GEODEC_JSON_DEPTH_MAX];
    const char *misuse; /* message of the first misuse, static text */
};

static void misuse(geodec_json_writer *w, const char *what)
{
    if (!w->misuse) w->misuse = what;
}

static void quoted(geodec_json_writer *w, const char *text)
{
    (void)fputc('"', w->stream);
    size_t n = strlen(text);
    while (n) {
        const int64_t bad = geodec_file_utf8_check(text, n);
        const size_t good = bad < 0 ? n : (size_t)bad;
        for (size_t i = 0; i < good; i++) {
            const unsigned char c = (unsigned char)text[i];
            if (c == '"' || c == '\\')
                (void)fprintf(w->stream, "\\%c", c);
            else if (c == '\n')
                (void)fputs("\\n", w->stream);
            else if (c < 0x20 || c == 0x7f)
                (void)fprintf(w->stream, "\\u%04x", c);
            else
                (void)fputc(c, w->stream);
        }
        if (bad >= 0) (void)fputc('?', w->stream);
        const size_t eaten = good + (bad >= 0);
        text += eaten;
        n -= eaten;
    }
    (void)fputc('"', w->stream);
}

static void new_line(geodec_json_writer *w) { (void)fprintf(w->stream, "\n%*s", 2 * w->depth, ""); }

/* Writes the comma, line break and key before a value. False if a value is not allowed here. */
static bool before(geodec_json_writer *w, const char *key)
{
    if (w->depth < 1 || w->misuse) {
        misuse(w, "a value after the end");
        return false;
    }
    if ((key != NULL) == w->level[w->depth - 1].array) {
        misuse(w, key ? "a key inside an array" : "no key inside an object");
        return false;
    }
    if (w->level[w->depth - 1].used) (void)fputc(',', w->stream);
    w->level[w->depth - 1].used = true;
    new_line(w);
    if (key) {
        quoted(w, key);
        (void)fputs(": ", w->stream);
    }
    return true;
}

static void begin(geodec_json_writer *w, const char *key, bool array)
{
    if (w->depth == GEODEC_JSON_DEPTH_MAX) misuse(w, "nested too deeply");
    if (!before(w, key)) return;
    (void)fputc(array ? '[' : '{', w->stream);
    w->level[w->depth].array = array;
    w->level[w->depth++].used = false;
}

void geodec_json_begin_object(geodec_json_writer *w, const char *key) { begin(w, key, false); }
void geodec_json_begin_array(geodec_json_writer *w, const char *key) { begin(w, key, true); }

void geodec_json_end(geodec_json_writer *w)
{
    if (w->depth < 1 || w->misuse) {
        misuse(w, "an end without a begin");
        return;
    }
    w->depth--;
    if (w->level[w->depth].used) new_line(w);
    (void)fputc(w->level[w->depth].array ? ']' : '}', w->stream);
}

void geodec_json_put_i64(geodec_json_writer *w, const char *key, int64_t v)
{
    if (before(w, key)) (void)fprintf(w->stream, "%" PRId64, v);
}

void geodec_json_put_u64(geodec_json_writer *w, const char *key, uint64_t v)
{
    if (before(w, key)) (void)fprintf(w->stream, "%" PRIu64, v);
}

void geodec_json_put_f64(geodec_json_writer *w, const char *key, double v)
{
    char text[GEODEC_FORMAT_ROOM];
    if (before(w, key)) (void)fputs(isfinite(v) ? geodec_format_f64(v, text) : "null", w->stream);
}

void geodec_json_put_bool(geodec_json_writer *w, const char *key, bool v)
{
    if (before(w, key)) (void)fputs(v ? "true" : "false", w->stream);
}

void geodec_json_put_str(geodec_json_writer *w, const char *key, const char *v)
{
    if (before(w, key)) quoted(w, v);
}

void geodec_json_put_null(geodec_json_writer *w, const char *key)
{
    if (before(w, key)) (void)fputs("null", w->stream);
}

static geodec_status make(geodec_atomic *file, FILE *stream, geodec_json_writer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json_writer *w = NULL;
    if (!stream) GEODEC_THROW(GEODEC_IO, "cannot open a stream");
    GEODEC_NEW(w, 1);
    w->file = file;
    w->stream = stream;
    w->depth = 1;
    (void)fputc('{', stream);
    *out = w;
done:
    return st;
}

geodec_status geodec_json_create(const char *path, geodec_json_writer **out, geodec_err *err)
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

geodec_status geodec_json_on(FILE *stream, geodec_json_writer **out, geodec_err *err)
{
    return make(NULL, stream, out, err);
}

geodec_status geodec_json_commit(geodec_json_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!w->misuse && w->depth != 1) misuse(w, "an object or array is not ended");
    if (w->misuse) GEODEC_THROW(GEODEC_INVAL, "JSON writer: %s", w->misuse);
    geodec_json_end(w);
    (void)fputc('\n', w->stream);
    if (w->file) {
        geodec_atomic *file = w->file;
        w->file = NULL;
        GEODEC_TRY(geodec_atomic_commit(file, err));
    } else if (fflush(w->stream) != 0 || ferror(w->stream)) {
        GEODEC_THROW(GEODEC_IO, "cannot write JSON");
    }
done:
    geodec_json_abandon(w);
    return st;
}

void geodec_json_abandon(geodec_json_writer *w)
{
    if (!w) return;
    geodec_atomic_abandon(w->file);
    geodec_mem_free(w);
}
