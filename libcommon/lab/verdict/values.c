#include "lab/verdict/values.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

geodec_value *geodec_values_find(geodec_values *v, const char *name)
{
    for (int k = 0; k < v->n; k++)
        if (strcmp(v->v[k].name, name) == 0) return &v->v[k];
    return NULL;
}

geodec_status geodec_values_add(geodec_values *v, const char *name, geodec_value **out, geodec_err *err)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_') n++;
    if (n == 0 || name[n] || n >= GEODEC_EXPR_NAME || isdigit((unsigned char)name[0]))
        GEODEC_FAIL(GEODEC_INVAL, "'%.60s' is not a name of a value", name);
    if (geodec_values_find(v, name)) GEODEC_FAIL(GEODEC_INVAL, "the value %s occurs twice", name);
    if (v->n == GEODEC_VALUES_MAX) GEODEC_FAIL(GEODEC_LIMIT, "more than %d values", GEODEC_VALUES_MAX);
    geodec_value *w = &v->v[v->n++];
    *w = (geodec_value){.state = GEODEC_EXPR_MISSING};
    memcpy(w->name, name, n + 1);
    geodec_value_missing(w, "no reference");
    *out = w;
    return GEODEC_OK;
}

void geodec_value_missing(geodec_value *v, const char *reason)
{
    v->state = GEODEC_EXPR_MISSING;
    v->text[0] = 0;
    (void)snprintf(v->reason, sizeof v->reason, "%s", reason);
}

static void take(geodec_value *v, const char *text, const char *number)
{
    char *end = NULL;
    v->reason[0] = 0;
    v->state = GEODEC_EXPR_MISSING;
    (void)snprintf(v->text, sizeof v->text, "%s", text);
    const double x = strtod(number, &end);
    if (!*text || strcmp(text, "-") == 0) {
        geodec_value_missing(v, "empty");
    } else if (end == number || *end || isspace((unsigned char)*number)) {
        (void)snprintf(v->reason, sizeof v->reason, "'%.60s' is not a number", text);
    } else if (isnan(x)) {
        v->state = GEODEC_EXPR_NAN;
        (void)snprintf(v->reason, sizeof v->reason, "not a number");
    } else if (isinf(x)) {
        v->state = GEODEC_EXPR_INFINITE;
        (void)snprintf(v->reason, sizeof v->reason, "infinite");
    } else {
        v->state = GEODEC_EXPR_KNOWN;
        v->x = x;
    }
}

void geodec_value_set(geodec_value *v, const char *text) { take(v, text, text); }

void geodec_value_set_printed(geodec_value *v, const char *text)
{
    char number[GEODEC_VALUE_TEXT];
    size_t n = 0;
    for (const char *s = text; *s && n + 1 < sizeof number; s++)
        if (*s != ',' && *s != '%' && *s != ' ') number[n++] = *s;
    number[n] = 0;
    take(v, text, number);
}

geodec_expr_state geodec_values_lookup(void *ctx, const char *name, double *value)
{
    const geodec_value *v = geodec_values_find(ctx, name);
    if (!v) return GEODEC_EXPR_MISSING;
    if (v->state == GEODEC_EXPR_KNOWN) *value = v->x;
    return v->state;
}

geodec_status geodec_values_expand(geodec_values *v, const char *const *words, const char *text, char *out, size_t room,
                                   geodec_err *err)
{
    size_t at = 0;
    for (const char *s = text; *s;) {
        const char *piece = s;
        size_t length = 1, skip = 1;
        char name[GEODEC_EXPR_NAME];
        for (const char *const *w = words; *w; w += 2) {
            if (strncmp(s, w[0], strlen(w[0])) != 0) continue;
            piece = w[1], length = strlen(w[1]), skip = strlen(w[0]);
        }
        if (v && *s == '$') {
            const size_t n = strspn(s + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
            (void)snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), s + 1);
            const geodec_value *w = geodec_values_find(v, name);
            if (!w) GEODEC_FAIL(GEODEC_FORMAT, "no value %s before '%.100s'", name, text);
            if (!w->text[0]) GEODEC_FAIL(GEODEC_NOTFOUND, "%s", w->reason);
            piece = w->text, length = strlen(w->text), skip = n + 1;
        }
        if (at + length + 1 > room) GEODEC_FAIL(GEODEC_LIMIT, "the reference '%.60s..' is too long", text);
        memcpy(out + at, piece, length);
        at += length;
        s += skip;
    }
    out[at] = 0;
    return GEODEC_OK;
}

/* Significant digits; digits before the point are not replaced by an exponent below ten million: 23, not 2e+01. */
static void significant(int digits, double x, char *out, size_t room)
{
    const double size = fabs(x);
    if (size >= pow(10, digits) - 0.5 && size < 1e7)
        (void)snprintf(out, room, "%.0f", x);
    else
        (void)snprintf(out, room, "%.*g", digits, x);
}

/* Formats one value; false if there is no such format. */
static bool show(const geodec_value *v, const char *format, char *out, size_t room)
{
    const char kind = format[0];
    const bool digit = kind && isdigit((unsigned char)format[1]) && !format[2];
    if (kind && !(digit && strchr("gfp", kind)) && strcmp(format, "i") != 0 && strcmp(format, "s") != 0) return false;
    if (v->state != GEODEC_EXPR_KNOWN || kind == 's')
        (void)snprintf(out, room, "%s", v->text[0] ? v->text : "\xe2\x80\x93");
    else if (kind == 'g')
        significant(format[1] - '0', v->x, out, room);
    else if (kind == 'f')
        (void)snprintf(out, room, "%.*f", format[1] - '0', v->x);
    else if (kind == 'p')
        (void)snprintf(out, room, "%.*f %%", format[1] - '0', 100 * v->x);
    else if (kind == 'i')
        (void)snprintf(out, room, "%.0f", v->x);
    else if (strlen(v->text) > 8 && !strpbrk(v->text, " %,"))
        significant(5, v->x, out, room);
    else
        (void)snprintf(out, room, "%s", v->text);
    return true;
}

geodec_status geodec_values_fill(const geodec_values *v, const char *template, char *out, size_t room, geodec_err *err)
{
    size_t at = 0;
    for (const char *s = template; *s; s++) {
        char field[GEODEC_EXPR_NAME + 8], shown[GEODEC_VALUE_TEXT] = {*s, 0};
        if (*s == '{') {
            const size_t n = strcspn(s, "}");
            if (!s[n] || n < 2 || n > sizeof field)
                GEODEC_FAIL(GEODEC_FORMAT, "'%.60s': a value is {NAME} or {NAME:FORMAT}", s);
            (void)snprintf(field, sizeof field, "%.*s", (int)n - 1, s + 1);
            char *colon = strchr(field, ':');
            if (colon) *colon++ = 0;
            const geodec_value *w = NULL;
            for (int k = 0; k < v->n; k++)
                if (strcmp(v->v[k].name, field) == 0) w = &v->v[k];
            if (!w) GEODEC_FAIL(GEODEC_FORMAT, "no value '%s'", field);
            if (!show(w, colon ? colon : "", shown, sizeof shown))
                GEODEC_FAIL(GEODEC_FORMAT, "no format '%s' for a value", colon);
            s += n;
        }
        const size_t n = strlen(shown);
        if (at + n + 1 > room) GEODEC_FAIL(GEODEC_LIMIT, "a sentence longer than %zu bytes", room);
        memcpy(out + at, shown, n);
        at += n;
    }
    out[at] = 0;
    return GEODEC_OK;
}
