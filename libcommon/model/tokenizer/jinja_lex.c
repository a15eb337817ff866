#include "tokenizer/jinja_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct lexer {
    geodec__arena *arena;
    const char *p, *end, *begin;
    int line;
    jinja_token *token;
    int64_t n, room;
} lexer;

static geodec_status add(lexer *x, jinja_token t, geodec_err *err)
{
    if (x->n == x->room) {
        jinja_token *more;
        const int64_t room = 2 * x->room + 64;
        JINJA_NEW(x->arena, more, room);
        if (x->n) memcpy(more, x->token, (size_t)x->n * sizeof *more);
        x->token = more;
        x->room = room;
    }
    t.line = x->line;
    x->token[x->n++] = t;
    return GEODEC_OK;
}

static geodec_status copy(lexer *x, const char *s, int64_t n, const char **out, geodec_err *err)
{
    char *c;
    JINJA_NEW(x->arena, c, n + 1);
    memcpy(c, s, (size_t)n);
    *out = c;
    return GEODEC_OK;
}

static void count_lines(lexer *x, const char *from, const char *to)
{
    for (; from < to; from++) x->line += *from == '\n';
}

/* The next place of {{, {% or {#. */
static const char *find_tag(const char *p, const char *end)
{
    for (; p + 1 < end; p++)
        if (*p == '{' && (p[1] == '{' || p[1] == '%' || p[1] == '#')) return p;
    return end;
}

static bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

/* Text up to a tag at `to`, with the white space that the tag takes. trimmed: the tag before it had -}. */
static geodec_status take_text(lexer *x, const char *to, bool trimmed, bool newline, geodec_err *err)
{
    const char *from = x->p, *stop = to;
    if (trimmed)
        while (from < stop && space(*from)) from++;
    else if (newline && from < stop && *from == '\n')
        from++; /* trim_blocks */
    if (to < x->end) {
        const char sign = to + 2 < x->end ? to[2] : ' ';
        if (sign == '-') {
            while (stop > from && space(stop[-1])) stop--;
        } else if (sign != '+' && to[1] != '{') { /* lstrip_blocks */
            const char *line = stop;
            while (line > from && (line[-1] == ' ' || line[-1] == '\t')) line--;
            if (line == x->begin || (line > x->begin && line[-1] == '\n')) stop = line;
        }
    }
    jinja_token t = {.sort = T_TEXT, .n = stop - from};
    if (t.n > 0) {
        GEODEC_PASS(copy(x, from, t.n, &t.s, err));
        GEODEC_PASS(add(x, t, err));
    }
    count_lines(x, x->p, to);
    x->p = to;
    return GEODEC_OK;
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static int64_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) return (*to = (char)c), 1;
    if (c < 0x800) return (to[0] = (char)(0xc0 | c >> 6)), (to[1] = (char)(0x80 | (c & 63))), 2;
    if (c < 0x10000)
        return (to[0] = (char)(0xe0 | c >> 12)), (to[1] = (char)(0x80 | (c >> 6 & 63))),
               (to[2] = (char)(0x80 | (c & 63))), 3;
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* A string literal with Python's escapes. */
static geodec_status take_string(lexer *x, geodec_err *err)
{
    const char quote = *x->p++;
    char *out;
    int64_t n = 0;
    const char *stop = x->p;
    while (stop < x->end && *stop != quote) stop += *stop == '\\' && stop + 1 < x->end ? 2 : 1;
    if (stop >= x->end) GEODEC_FAIL(GEODEC_FORMAT, "line %d: a string does not end", x->line);
    JINJA_NEW(x->arena, out, stop - x->p + 4);
    while (x->p < stop) {
        char c = *x->p++;
        x->line += c == '\n';
        if (c != '\\') {
            out[n++] = c;
            continue;
        }
        c = *x->p++;
        static const char from[] = "ntr\\'\"abfv0", to[] = "\n\t\r\\'\"\a\b\f\v";
        const char *at = c ? strchr(from, c) : NULL;
        const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        if (digits) {
            uint32_t v = 0;
            for (int i = 0; i < digits; i++, x->p++) {
                if (x->p >= stop || hex(*x->p) < 0) GEODEC_FAIL(GEODEC_FORMAT, "line %d: a bad escape", x->line);
                v = v << 4 | (uint32_t)hex(*x->p);
            }
            if (v > 0x10ffff) GEODEC_FAIL(GEODEC_FORMAT, "line %d: a bad escape", x->line);
            n += put_utf8(out + n, v);
        } else if (at) {
            out[n++] = to[at - from];
        } else if (c != '\n') {
            out[n++] = '\\';
            out[n++] = c;
        }
    }
    x->p = stop + 1;
    return add(x, (jinja_token){.sort = T_STRING, .s = out, .n = n}, err);
}

static geodec_status take_number(lexer *x, geodec_err *err)
{
    const char *p = x->p;
    while (p < x->end && (isdigit((unsigned char)*p) || *p == '_')) p++;
    const bool real = p + 1 < x->end && *p == '.' && isdigit((unsigned char)p[1]);
    if (real)
        for (p++; p < x->end && isdigit((unsigned char)*p); p++) {
        }
    jinja_token t = {.sort = real ? T_FLOAT : T_INT};
    if (p - x->p > 18) GEODEC_FAIL(GEODEC_UNSUPPORTED, "line %d: a number of %d digits", x->line, (int)(p - x->p));
    GEODEC_PASS(copy(x, x->p, p - x->p, &t.s, err));
    t.i = strtoll(t.s, NULL, 10);
    t.f = strtod(t.s, NULL);
    x->p = p;
    return add(x, t, err);
}

static geodec_status take_operator(lexer *x, geodec_err *err)
{
    static const char *const ops[] = {"==", "!=", "<=", ">=", "**", "//", "+", "-", "*", "/", "%", "~", "|",
                                      ".",  ",",  ":",  "=",  "<",  ">",  "(", ")", "[", "]", "{", "}"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const size_t n = strlen(ops[i]);
        if ((size_t)(x->end - x->p) < n || strncmp(x->p, ops[i], n) != 0) continue;
        x->p += n;
        return add(x, (jinja_token){.sort = T_OP, .s = ops[i], .n = (int64_t)n}, err);
    }
    GEODEC_FAIL(GEODEC_FORMAT, "line %d: '%c' is no part of an expression", x->line,
                isprint((unsigned char)*x->p) ? *x->p : '?');
}

/* The inside of a tag that ends with CLOSE}, CLOSE = '%' or '}'. */
static geodec_status take_inside(lexer *x, char close, bool *trimmed, bool *plus, geodec_err *err)
{
    int depth = 0;
    for (;;) {
        while (x->p < x->end && space(*x->p)) x->line += *x->p++ == '\n';
        if (x->p + 1 >= x->end) GEODEC_FAIL(GEODEC_FORMAT, "line %d: a tag does not end", x->line);
        const bool sign = (*x->p == '-' || *x->p == '+') && x->p + 2 < x->end && x->p[1] == close && x->p[2] == '}';
        if (depth == 0 && (sign || (*x->p == close && x->p[1] == '}'))) {
            *trimmed = *x->p == '-';
            *plus = *x->p == '+';
            x->p += sign ? 3 : 2;
            return add(x, (jinja_token){.sort = close == '%' ? T_END : T_PRINT_END}, err);
        }
        const char c = *x->p;
        if (c == '"' || c == '\'') {
            GEODEC_PASS(take_string(x, err));
        } else if (isdigit((unsigned char)c)) {
            GEODEC_PASS(take_number(x, err));
        } else if (isalpha((unsigned char)c) || c == '_') {
            const char *p = x->p;
            while (p < x->end && (isalnum((unsigned char)*p) || *p == '_')) p++;
            jinja_token t = {.sort = T_NAME, .n = p - x->p};
            GEODEC_PASS(copy(x, x->p, t.n, &t.s, err));
            x->p = p;
            GEODEC_PASS(add(x, t, err));
        } else {
            depth += (c == '{') - (c == '}');
            GEODEC_PASS(take_operator(x, err));
        }
    }
}

geodec_status geodec__jinja_lex(geodec__arena *a, const char *text, int64_t n, jinja_token **out, int64_t *count,
                                geodec_err *err)
{
    char *plain;
    int64_t length = 0;
    JINJA_NEW(a, plain, n + 1);
    for (int64_t i = 0; i < n; i++) { /* CR LF and CR are line feeds */
        if (text[i] == '\r' && i + 1 < n && text[i + 1] == '\n') continue;
        plain[length++] = text[i] == '\r' ? '\n' : text[i];
    }
    if (length > 0 && plain[length - 1] == '\n') length--; /* one at the end is not part of a template */
    lexer x = {.arena = a, .p = plain, .begin = plain, .end = plain + length, .line = 1};
    bool trimmed = false, newline = false;
    while (x.p < x.end) {
        GEODEC_PASS(take_text(&x, find_tag(x.p, x.end), trimmed, newline, err));
        if (x.p >= x.end) break;
        const char kind = x.p[1];
        bool plus = false;
        if (kind == '#') {
            const char *stop = x.p + 2;
            while (stop + 1 < x.end && !(stop[0] == '#' && stop[1] == '}')) stop++;
            if (stop + 1 >= x.end) GEODEC_FAIL(GEODEC_FORMAT, "line %d: a comment does not end", x.line);
            trimmed = stop > x.p + 2 && stop[-1] == '-';
            newline = true;
            count_lines(&x, x.p, stop);
            x.p = stop + 2;
            continue;
        }
        x.p += 2 + (x.p + 2 < x.end && (x.p[2] == '-' || (x.p[2] == '+' && kind == '%')));
        GEODEC_PASS(add(&x, (jinja_token){.sort = kind == '%' ? T_BEGIN : T_PRINT}, err));
        GEODEC_PASS(take_inside(&x, kind == '%' ? '%' : '}', &trimmed, &plus, err));
        newline = kind == '%' && !plus;
    }
    GEODEC_PASS(add(&x, (jinja_token){.sort = T_EOF}, err));
    *out = x.token;
    *count = x.n;
    return GEODEC_OK;
}
