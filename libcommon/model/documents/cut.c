/* The rules that divide plain text. */
#include "base/mem.h"
#include "documents/documents_internal.h"

#include <string.h>

static bool white(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool geodec__cut_is_blank(const char *text, int64_t begin, int64_t end)
{
    while (begin < end && white(text[begin])) begin++;
    return begin == end;
}

geodec_status geodec__cut_add(geodec__cut *c, const char *text, int64_t begin, int64_t end, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    while (begin < end && white(text[begin])) begin++;
    while (end > begin && white(text[end - 1])) end--;
    if (begin == end) goto done;
    GEODEC_GROW(c->item, c->n, c->room, 1);
    c->item[c->n++] = (geodec_document){.begin = begin, .end = end};
    c->bytes += end - begin;
done:
    return st;
}

int64_t geodec__cut_line(const char *text, int64_t n, int64_t at, int64_t *end)
{
    const char *newline = memchr(text + at, '\n', (size_t)(n - at));
    const int64_t stop = newline ? newline - text : n;
    *end = stop > at && text[stop - 1] == '\r' ? stop - 1 : stop;
    return newline ? stop + 1 : n;
}

geodec_status geodec__cut_marks(const char *text, int64_t n, geodec__cut *out, int64_t *marks, geodec_err *err)
{
    const int64_t length = sizeof GEODEC_DOCUMENT_MARK - 1;
    int64_t begin = 0;
    *marks = 0;
    for (int64_t at = 0, end, next; at < n; at = next) {
        next = geodec__cut_line(text, n, at, &end);
        if (end - at != length || memcmp(text + at, GEODEC_DOCUMENT_MARK, (size_t)length) != 0) continue;
        GEODEC_PASS(geodec__cut_add(out, text, begin, at, err));
        begin = next;
        ++*marks;
    }
    GEODEC_PASS(geodec__cut_add(out, text, begin, n, err));
    return GEODEC_OK;
}

geodec_status geodec__cut_blank(const char *text, int64_t n, int64_t least, geodec__cut *out, geodec_err *err)
{
    int64_t begin = 0;
    for (int64_t at = 0, end, next; at < n; at = next) {
        next = geodec__cut_line(text, n, at, &end);
        if (!geodec__cut_is_blank(text, at, end)) continue;
        while (begin < at && white(text[begin])) begin++;
        if (at - begin < least) continue; /* too short: continue */
        GEODEC_PASS(geodec__cut_add(out, text, begin, at, err));
        begin = next;
    }
    while (begin < n && white(text[begin])) begin++;
    if (n - begin < least && out->n > 0 &&
        !geodec__cut_is_blank(text, begin, n)) { /* a short rest is part of the last one */
        geodec_document *last = &out->item[out->n - 1];
        int64_t end = n;
        while (white(text[end - 1])) end--;
        out->bytes += end - last->end;
        last->end = end;
    } else {
        GEODEC_PASS(geodec__cut_add(out, text, begin, n, err));
    }
    return GEODEC_OK;
}

geodec_status geodec__cut_lines(const char *text, int64_t n, geodec__cut *out, geodec_err *err)
{
    for (int64_t at = 0, end, next; at < n; at = next) {
        next = geodec__cut_line(text, n, at, &end);
        GEODEC_PASS(geodec__cut_add(out, text, at, end, err));
    }
    return GEODEC_OK;
}

/* End of a window from `begin` that should end near `want`: after a line, else after a blank, in its second half;
 * else before a whole character. */
static int64_t window_end(const char *text, int64_t begin, int64_t want)
{
    const int64_t half = begin + (want - begin) / 2;
    for (int64_t i = want; i > half; i--)
        if (text[i - 1] == '\n') return i;
    for (int64_t i = want; i > half; i--)
        if (white(text[i - 1])) return i;
    while (want > begin + 1 && ((unsigned char)text[want] & 0xc0u) == 0x80u) want--;
    return want;
}

geodec_status geodec__cut_windows(const char *text, int64_t n, int64_t bytes, geodec__cut *out, geodec_err *err)
{
    if (bytes < 8) bytes = 8; /* at most two characters */
    for (int64_t at = 0; at < n;) {
        const int64_t end = n - at < bytes + bytes / 2 ? n : window_end(text, at, at + bytes);
        GEODEC_PASS(geodec__cut_add(out, text, at, end, err));
        at = end;
    }
    return GEODEC_OK;
}
