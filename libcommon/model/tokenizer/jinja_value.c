#include "tokenizer/jinja_internal.h"

#include "base/mem.h"
#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- values ----------------------------------------------------------------------------------------------------- */

jinja_value geodec__jinja_str(const char *s, int64_t n, const unsigned char *mark)
{
    return (jinja_value){.sort = J_STR, .u.text = {s, n, mark}};
}

jinja_value geodec__jinja_word(const char *s) { return geodec__jinja_str(s, (int64_t)strlen(s), NULL); }

bool geodec__jinja_truth(const jinja_value *v)
{
    switch (v->sort) {
    case J_UNDEFINED:
    case J_NONE:
        return false;
    case J_BOOL:
        return v->u.truth;
    case J_INT:
        return v->u.i != 0;
    case J_FLOAT:
        return v->u.f != 0;
    case J_STR:
        return v->u.text.n > 0;
    case J_LIST:
        return v->u.list.n > 0;
    case J_DICT:
        return v->mutable || v->u.dict->n > 0;
    case J_CALLABLE:
        return true;
    }
    return false;
}

static bool is_number(const jinja_value *v) { return v->sort == J_INT || v->sort == J_FLOAT || v->sort == J_BOOL; }
static double number(const jinja_value *v)
{
    return v->sort == J_FLOAT ? v->u.f : v->sort == J_BOOL ? (double)v->u.truth : (double)v->u.i;
}

bool geodec__jinja_equal(const jinja_value *a, const jinja_value *b)
{
    if (is_number(a) && is_number(b)) return number(a) == number(b);
    if (a->sort != b->sort) return false;
    switch (a->sort) {
    case J_STR:
        return a->u.text.n == b->u.text.n && memcmp(a->u.text.s, b->u.text.s, (size_t)a->u.text.n) == 0;
    case J_LIST:
        if (a->u.list.n != b->u.list.n || a->tuple != b->tuple) return false;
        for (int64_t i = 0; i < a->u.list.n; i++)
            if (!geodec__jinja_equal(&a->u.list.item[i], &b->u.list.item[i])) return false;
        return true;
    case J_DICT:
        if (a->u.dict->n != b->u.dict->n) return false;
        for (int64_t i = 0; i < a->u.dict->n; i++) {
            const jinja_value *other = geodec__jinja_get(b, &a->u.dict->pair[i].key);
            if (!other || !geodec__jinja_equal(&a->u.dict->pair[i].value, other)) return false;
        }
        return true;
    case J_CALLABLE:
        return a->u.call.name == b->u.call.name && a->u.call.body == b->u.call.body;
    default:
        return true; /* undefined or none, both */
    }
}

geodec_status geodec__jinja_dict(geodec__arena *a, jinja_value *out, geodec_err *err)
{
    *out = (jinja_value){.sort = J_DICT};
    JINJA_NEW(a, out->u.dict, 1);
    return GEODEC_OK;
}

jinja_value *geodec__jinja_get(const jinja_value *dict, const jinja_value *key)
{
    for (int64_t i = 0; i < dict->u.dict->n; i++)
        if (geodec__jinja_equal(&dict->u.dict->pair[i].key, key)) return &dict->u.dict->pair[i].value;
    return NULL;
}

geodec_status geodec__jinja_put(geodec__arena *a, jinja_value *dict, jinja_value key, jinja_value value,
                                geodec_err *err)
{
    jinja_value *there = geodec__jinja_get(dict, &key);
    if (there) {
        *there = value;
        return GEODEC_OK;
    }
    if (dict->u.dict->n == dict->u.dict->room) {
        jinja_pair *more;
        const int64_t room = 2 * dict->u.dict->room + 4;
        JINJA_NEW(a, more, room);
        if (dict->u.dict->n) memcpy(more, dict->u.dict->pair, (size_t)dict->u.dict->n * sizeof *more);
        dict->u.dict->pair = more;
        dict->u.dict->room = room;
    }
    dict->u.dict->pair[dict->u.dict->n++] = (jinja_pair){key, value};
    return GEODEC_OK;
}

geodec_status geodec__jinja_list(geodec__arena *a, int64_t n, jinja_value *out, geodec_err *err)
{
    *out = (jinja_value){.sort = J_LIST};
    JINJA_NEW(a, out->u.list.item, n);
    out->u.list.n = n;
    return GEODEC_OK;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

geodec_status geodec__jinja_concat(geodec__arena *a, const jinja_text *x, const jinja_text *y, jinja_text *out,
                                   geodec_err *err)
{
    char *s;
    unsigned char *mark = NULL;
    if (x->n == 0 || y->n == 0) {
        *out = x->n == 0 ? *y : *x;
        return GEODEC_OK;
    }
    JINJA_NEW(a, s, x->n + y->n);
    memcpy(s, x->s, (size_t)x->n);
    memcpy(s + x->n, y->s, (size_t)y->n);
    if (x->mark || y->mark) {
        JINJA_NEW(a, mark, x->n + y->n);
        if (x->mark) memcpy(mark, x->mark, (size_t)x->n);
        if (y->mark) memcpy(mark + x->n, y->mark, (size_t)y->n);
    }
    *out = (jinja_text){s, x->n + y->n, mark};
    return GEODEC_OK;
}

jinja_text geodec__jinja_part(const jinja_text *t, int64_t from, int64_t to)
{
    if (to > t->n) to = t->n;
    if (from > to) from = to;
    return (jinja_text){t->s + from, to - from, t->mark ? t->mark + from : NULL};
}

/* A text under construction. */
typedef struct builder {
    geodec__arena *a;
    char *s;
    unsigned char *mark;
    int64_t n, room;
} builder;

static geodec_status put(builder *b, const char *s, int64_t n, const unsigned char *mark, bool marked, geodec_err *err)
{
    if (b->n + n > b->room) {
        char *more;
        unsigned char *marks;
        const int64_t room = 2 * b->room + n + 32;
        JINJA_NEW(b->a, more, room);
        JINJA_NEW(b->a, marks, room);
        if (b->n) memcpy(more, b->s, (size_t)b->n);
        if (b->n) memcpy(marks, b->mark, (size_t)b->n);
        b->s = more;
        b->mark = marks;
        b->room = room;
    }
    if (n > 0) memcpy(b->s + b->n, s, (size_t)n);
    for (int64_t i = 0; i < n; i++) b->mark[b->n + i] = mark ? mark[i] : marked;
    b->n += n;
    return GEODEC_OK;
}

static geodec_status put_word(builder *b, const char *s, geodec_err *err)
{
    return put(b, s, (int64_t)strlen(s), NULL, false, err);
}

static geodec_status put_float(builder *b, double v, geodec_err *err)
{
    char room[GEODEC_FORMAT_ROOM];
    const char *s = geodec_format_f64(v, room);
    GEODEC_PASS(put_word(b, s, err));
    return isfinite(v) && !strpbrk(s, ".e") ? put_word(b, ".0", err) : GEODEC_OK;
}

/* A text in quotes: of json, or of Python's repr. */
static geodec_status put_quoted(builder *b, const jinja_text *t, bool json, geodec_err *err)
{
    const bool twice = !json && memchr(t->s, '\'', (size_t)t->n) && !memchr(t->s, '"', (size_t)t->n);
    const char *quote = json || twice ? "\"" : "'";
    GEODEC_PASS(put_word(b, quote, err));
    for (int64_t i = 0; i < t->n; i++) {
        const unsigned char c = (unsigned char)t->s[i];
        const bool marked = t->mark && t->mark[i];
        static const char from[] = "\n\r\t\\", to[] = "nrt\\";
        const char *at = c ? strchr(from, c) : NULL;
        char room[8];
        if (at || c == (unsigned char)*quote) {
            room[0] = '\\';
            room[1] = at ? to[at - from] : (char)c;
            GEODEC_PASS(put(b, room, 2, NULL, marked, err));
        } else if (json && (c == '\b' || c == '\f')) {
            GEODEC_PASS(put(b, c == '\b' ? "\\b" : "\\f", 2, NULL, marked, err));
        } else if (c < 0x20 || (c == 0x7f && !json)) {
            const int n = snprintf(room, sizeof room, json ? "\\u%04x" : "\\x%02x", c);
            GEODEC_PASS(put(b, room, n, NULL, marked, err));
        } else {
            GEODEC_PASS(put(b, t->s + i, 1, NULL, marked, err));
        }
    }
    return put_word(b, quote, err);
}

typedef struct style {
    bool json;
    int64_t indent; /* < 0: on one line */
} style;

static geodec_status put_break(builder *b, const style *s, int64_t level, geodec_err *err)
{
    if (s->indent < 0) return GEODEC_OK;
    GEODEC_PASS(put_word(b, "\n", err));
    for (int64_t i = 0; i < s->indent * level; i++) GEODEC_PASS(put_word(b, " ", err));
    return GEODEC_OK;
}

static geodec_status put_value(builder *b, const jinja_value *v, const style *s, int64_t level, geodec_err *err)
{
    char room[32];
    const char *comma = s->indent < 0 ? ", " : ",";
    if (level > GEODEC_JINJA_DEPTH) GEODEC_FAIL(GEODEC_LIMIT, "values nest too deep");
    switch (v->sort) {
    case J_UNDEFINED:
        if (s->json) GEODEC_FAIL(GEODEC_FORMAT, "tojson of an undefined value");
        return put_word(b, "Undefined", err);
    case J_NONE:
        return put_word(b, s->json ? "null" : "None", err);
    case J_BOOL:
        return put_word(b, s->json ? (v->u.truth ? "true" : "false") : v->u.truth ? "True" : "False", err);
    case J_INT:
        (void)snprintf(room, sizeof room, "%lld", (long long)v->u.i);
        return put_word(b, room, err);
    case J_FLOAT:
        return put_float(b, v->u.f, err);
    case J_STR:
        return put_quoted(b, &v->u.text, s->json, err);
    case J_CALLABLE:
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "a function as text");
    case J_LIST:
        GEODEC_PASS(put_word(b, !s->json && v->tuple ? "(" : "[", err));
        for (int64_t i = 0; i < v->u.list.n; i++) {
            if (i) GEODEC_PASS(put_word(b, comma, err));
            GEODEC_PASS(put_break(b, s, level + 1, err));
            GEODEC_PASS(put_value(b, &v->u.list.item[i], s, level + 1, err));
        }
        if (v->u.list.n) GEODEC_PASS(put_break(b, s, level, err));
        if (!s->json && v->tuple && v->u.list.n == 1) GEODEC_PASS(put_word(b, ",", err));
        return put_word(b, !s->json && v->tuple ? ")" : "]", err);
    case J_DICT:
        GEODEC_PASS(put_word(b, "{", err));
        for (int64_t i = 0; i < v->u.dict->n; i++) {
            const jinja_pair *p = &v->u.dict->pair[i];
            if (i) GEODEC_PASS(put_word(b, comma, err));
            GEODEC_PASS(put_break(b, s, level + 1, err));
            if (s->json && p->key.sort != J_STR) GEODEC_FAIL(GEODEC_UNSUPPORTED, "tojson of keys that are no text");
            GEODEC_PASS(put_value(b, &p->key, s, level + 1, err));
            GEODEC_PASS(put_word(b, ": ", err));
            GEODEC_PASS(put_value(b, &p->value, s, level + 1, err));
        }
        if (v->u.dict->n) GEODEC_PASS(put_break(b, s, level, err));
        return put_word(b, "}", err);
    }
    return GEODEC_OK;
}

geodec_status geodec__jinja_print(geodec__arena *a, const jinja_value *v, jinja_text *out, geodec_err *err)
{
    builder b = {.a = a};
    *out = (jinja_text){"", 0, NULL};
    if (v->sort == J_UNDEFINED) return GEODEC_OK;
    if (v->sort == J_STR) {
        *out = v->u.text;
        return GEODEC_OK;
    }
    GEODEC_PASS(put_value(&b, v, &(style){.indent = -1}, 0, err));
    *out = (jinja_text){b.s, b.n, b.mark};
    return GEODEC_OK;
}

geodec_status geodec__jinja_json(geodec__arena *a, const jinja_value *v, int64_t indent, jinja_text *out,
                                 geodec_err *err)
{
    builder b = {.a = a};
    GEODEC_PASS(put_value(&b, v, &(style){.json = true, .indent = indent}, 0, err));
    *out = (jinja_text){b.s, b.n, b.mark};
    return GEODEC_OK;
}

/* Bytes of the character at s[at]. */
static int64_t character(const jinja_text *t, int64_t at)
{
    int64_t n = 1;
    while (at + n < t->n && ((unsigned char)t->s[at + n] & 0xc0) == 0x80) n++;
    return n;
}

geodec_status geodec__jinja_items(geodec__arena *a, const jinja_value *v, jinja_value *out, geodec_err *err)
{
    if (v->sort == J_LIST) {
        *out = *v;
        return GEODEC_OK;
    }
    if (v->sort == J_DICT && !v->mutable) {
        GEODEC_PASS(geodec__jinja_list(a, v->u.dict->n, out, err));
        for (int64_t i = 0; i < v->u.dict->n; i++) out->u.list.item[i] = v->u.dict->pair[i].key;
        return GEODEC_OK;
    }
    if (v->sort == J_STR) {
        int64_t n = 0;
        for (int64_t at = 0; at < v->u.text.n; at += character(&v->u.text, at)) n++;
        GEODEC_PASS(geodec__jinja_list(a, n, out, err));
        n = 0;
        for (int64_t at = 0, size; at < v->u.text.n; at += size) {
            size = character(&v->u.text, at);
            out->u.list.item[n++] =
                (jinja_value){.sort = J_STR, .u.text = geodec__jinja_part(&v->u.text, at, at + size)};
        }
        return GEODEC_OK;
    }
    if (v->sort == J_UNDEFINED) return geodec__jinja_list(a, 0, out, err);
    GEODEC_FAIL(GEODEC_FORMAT, "a value that has no items is taken as a list");
}
