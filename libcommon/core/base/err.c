#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void geodec_err_clear(geodec_err *err)
{
    if (!err) return;
    err->status = GEODEC_OK;
    err->depth = 0;
}

/* Room for a frame with a text, as of the file's name: the outermost frame without one goes. */
static bool drop_silent(geodec_err *err)
{
    int i = err->depth - 1;
    while (i >= 0 && err->frame[i].text[0]) i--;
    if (i < 0) return false;
    err->depth--;
    memmove(&err->frame[i], &err->frame[i + 1], (size_t)(err->depth - i) * sizeof err->frame[0]);
    return true;
}

GEODEC_PRINTF(5, 0)
static geodec_status add(geodec_err *err, geodec_status s, const char *func, int line, const char *fmt, va_list ap)
{
    if (!err) return s;
    if (err->status == GEODEC_OK) err->status = s;
    char text[GEODEC_ERR_TEXT];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    if (err->depth >= GEODEC_ERR_FRAMES && (!text[0] || !drop_silent(err))) return s;
    const int i = err->depth++;
    err->frame[i].func = func;
    err->frame[i].line = line;
    memcpy(err->frame[i].text, text, strlen(text) + 1);
    return s;
}

geodec_status geodec_err_set(geodec_err *err, geodec_status s, const char *func, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    geodec_err_clear(err);
    s = add(err, s, func, line, fmt, ap);
    va_end(ap);
    return s;
}

geodec_status geodec_err_add(geodec_err *err, geodec_status s, const char *func, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    s = add(err, s, func, line, fmt, ap);
    va_end(ap);
    return s;
}

static size_t append(char *buf, size_t n, size_t at, const char *text)
{
    for (; *text && at + 1 < n; text++) {
        unsigned char c = (unsigned char)*text;
        buf[at++] = (c < 0x20 || c == 0x7f) ? '?' : (char)c;
    }
    return at;
}

const char *geodec_err_line(const geodec_err *err, char *buf, size_t n)
{
    size_t at = 0;
    for (int i = err->depth - 1; i >= 0; i--) {
        if (!err->frame[i].text[0]) continue;
        if (at) at = append(buf, n, at, ": ");
        at = append(buf, n, at, err->frame[i].text);
    }
    if (!at) at = append(buf, n, at, geodec_status_text(err->status));
    buf[at] = '\0';
    return buf;
}

const char *geodec_err_trace(const geodec_err *err, char *buf, size_t n)
{
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < err->depth && at + 1 < n; i++) {
        int w = snprintf(buf + at, n - at, "  %s:%d %s\n", err->frame[i].func, err->frame[i].line, err->frame[i].text);
        if (w < 0) break;
        at += (size_t)w < n - at ? (size_t)w : n - at - 1;
    }
    return buf;
}
