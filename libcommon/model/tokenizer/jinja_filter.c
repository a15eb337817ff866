/* Filters, tests and methods. */
#include "tokenizer/jinja_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const jinja_value *geodec__jinja_arg(const jinja_args *args, int64_t at, const char *name)
{
    if (at < args->n) return &args->v[at];
    for (int64_t i = 0; name && i < args->n_named; i++)
        if (strcmp(args->name[i], name) == 0) return &args->named[i];
    return NULL;
}

#define REFUSE(what, name) GEODEC_FAIL(GEODEC_UNSUPPORTED, "the %s '%.60s'", (what), (name))

static geodec_status text_of(const jinja_value *v, const char *who, const jinja_text **out, geodec_err *err)
{
    if (v->sort != J_STR) GEODEC_FAIL(GEODEC_FORMAT, "%s of a value that is no text", who);
    *out = &v->u.text;
    return GEODEC_OK;
}

/* ASCII white space, or one of a set; other characters of Unicode's white space are refused where they matter. */
static bool in_set(char c, const jinja_text *set)
{
    if (!set) return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
    return memchr(set->s, c, (size_t)set->n) != NULL;
}

static bool is_ascii(const jinja_text *t)
{
    for (int64_t i = 0; i < t->n; i++)
        if ((unsigned char)t->s[i] >= 0x80) return false;
    return true;
}

/* Length of Unicode's white space that is not ASCII at s[0..n), 0: none (U+0085, U+00A0, U+1680, U+2000 .. U+200A,
 * U+2028, U+2029, U+202F, U+205F, U+3000). */
static int64_t wide_space(const char *p, int64_t n)
{
    const unsigned char *s = (const unsigned char *)p;
    if (n >= 2 && s[0] == 0xc2 && (s[1] == 0x85 || s[1] == 0xa0)) return 2;
    if (n < 3) return 0;
    if (s[0] == 0xe1 && s[1] == 0x9a && s[2] == 0x80) return 3;
    if (s[0] == 0xe2 && s[1] == 0x80 &&
        ((s[2] >= 0x80 && s[2] <= 0x8a) || s[2] == 0xa8 || s[2] == 0xa9 || s[2] == 0xaf))
        return 3;
    if (s[0] == 0xe2 && s[1] == 0x81 && s[2] == 0x9f) return 3;
    return s[0] == 0xe3 && s[1] == 0x80 && s[2] == 0x80 ? 3 : 0;
}

static int64_t wide_space_before(const char *s, int64_t n)
{
    for (int64_t k = 2; k <= 3 && k <= n; k++)
        if (wide_space(s + n - k, k) == k) return k;
    return 0;
}

static geodec_status strip(const jinja_text *t, const jinja_value *chars, bool left, bool right, jinja_text *out,
                           geodec_err *err)
{
    const jinja_text *set = NULL;
    if (chars && chars->sort != J_NONE) {
        GEODEC_PASS(text_of(chars, "strip", &set, err));
        if (!is_ascii(set)) GEODEC_FAIL(GEODEC_UNSUPPORTED, "strip of characters beyond ASCII");
    }
    int64_t from = 0, to = t->n, wide;
    while (left && from < to) {
        if (in_set(t->s[from], set))
            from++;
        else if (!set && (wide = wide_space(t->s + from, to - from)) > 0)
            from += wide;
        else
            break;
    }
    while (right && to > from) {
        if (in_set(t->s[to - 1], set))
            to--;
        else if (!set && (wide = wide_space_before(t->s + from, to - from)) > 0)
            to -= wide;
        else
            break;
    }
    *out = geodec__jinja_part(t, from, to);
    return GEODEC_OK;
}

static int64_t find(const jinja_text *t, const jinja_text *word, int64_t from)
{
    for (int64_t i = from; i + word->n <= t->n; i++)
        if (memcmp(t->s + i, word->s, (size_t)word->n) == 0) return i;
    return -1;
}

static geodec_status replace(geodec__arena *a, const jinja_text *t, const jinja_text *old, const jinja_text *new_,
                             int64_t most, jinja_text *out, geodec_err *err)
{
    jinja_text all = {"", 0, NULL};
    int64_t at = 0;
    if (old->n == 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "replace of an empty text");
    for (int64_t hit = find(t, old, 0); hit >= 0 && most != 0; hit = find(t, old, at), most--) {
        const jinja_text before = geodec__jinja_part(t, at, hit);
        GEODEC_PASS(geodec__jinja_concat(a, &all, &before, &all, err));
        GEODEC_PASS(geodec__jinja_concat(a, &all, new_, &all, err));
        at = hit + old->n;
    }
    const jinja_text rest = geodec__jinja_part(t, at, t->n);
    return geodec__jinja_concat(a, &all, &rest, out, err);
}

typedef enum letters { UPPER, LOWER, TITLE, CAPITAL } letters;

static geodec_status change_case(geodec__arena *a, const jinja_text *t, letters how, jinja_text *out, geodec_err *err)
{
    char *s;
    if (!is_ascii(t)) GEODEC_FAIL(GEODEC_UNSUPPORTED, "upper or lower case of letters beyond ASCII");
    JINJA_NEW(a, s, t->n);
    bool first = true;
    for (int64_t i = 0; i < t->n; i++) {
        const int c = (unsigned char)t->s[i];
        const bool up = how == UPPER || (first && how >= TITLE);
        s[i] = (char)(up ? toupper(c) : tolower(c));
        first = how == TITLE ? !isalpha(c) : false;
    }
    *out = (jinja_text){s, t->n, t->mark};
    return GEODEC_OK;
}

static geodec_status add_part(geodec__arena *a, jinja_value *list, int64_t *room, jinja_text part, geodec_err *err)
{
    if (list->u.list.n == *room) {
        jinja_value *more;
        *room = 2 * *room + 8;
        JINJA_NEW(a, more, *room);
        if (list->u.list.n) memcpy(more, list->u.list.item, (size_t)list->u.list.n * sizeof *more);
        list->u.list.item = more;
    }
    list->u.list.item[list->u.list.n++] = (jinja_value){.sort = J_STR, .u.text = part};
    return GEODEC_OK;
}

static geodec_status split(geodec__arena *a, const jinja_text *t, const jinja_args *args, jinja_value *out,
                           geodec_err *err)
{
    const jinja_value *by = geodec__jinja_arg(args, 0, "sep"), *limit = geodec__jinja_arg(args, 1, "maxsplit");
    const jinja_text *word = NULL;
    int64_t room = 0, at = 0, most = limit && limit->sort == J_INT ? limit->u.i : -1;
    *out = (jinja_value){.sort = J_LIST};
    if (by && by->sort != J_NONE) GEODEC_PASS(text_of(by, "split", &word, err));
    if (!word) { /* words between white space */
        if (most >= 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "split of words with a limit");
        while (at < t->n) {
            while (at < t->n && in_set(t->s[at], NULL)) at++;
            const int64_t from = at;
            while (at < t->n && !in_set(t->s[at], NULL)) at++;
            if (at > from) GEODEC_PASS(add_part(a, out, &room, geodec__jinja_part(t, from, at), err));
        }
        return GEODEC_OK;
    }
    if (word->n == 0) GEODEC_FAIL(GEODEC_FORMAT, "split by an empty text");
    for (int64_t hit = find(t, word, 0); hit >= 0 && most != 0; hit = find(t, word, at), most--) {
        GEODEC_PASS(add_part(a, out, &room, geodec__jinja_part(t, at, hit), err));
        at = hit + word->n;
    }
    return add_part(a, out, &room, geodec__jinja_part(t, at, t->n), err);
}

static bool begins(const jinja_text *t, const jinja_text *w)
{
    return w->n <= t->n && memcmp(t->s, w->s, (size_t)w->n) == 0;
}
static bool ends(const jinja_text *t, const jinja_text *w)
{
    return w->n <= t->n && memcmp(t->s + t->n - w->n, w->s, (size_t)w->n) == 0;
}

static geodec_status has_end(const jinja_text *t, const jinja_value *word, bool at_start, bool *out, geodec_err *err)
{
    const jinja_value *one = word;
    int64_t n = 1;
    if (word && word->sort == J_LIST && word->tuple) {
        one = word->u.list.item;
        n = word->u.list.n;
    }
    *out = false;
    for (int64_t i = 0; i < n; i++) {
        if (!word || one[i].sort != J_STR) GEODEC_FAIL(GEODEC_FORMAT, "startswith or endswith without a text");
        *out = *out || (at_start ? begins(t, &one[i].u.text) : ends(t, &one[i].u.text));
    }
    return GEODEC_OK;
}

static geodec_status join(geodec__arena *a, const jinja_value *list, const jinja_text *between, jinja_text *out,
                          geodec_err *err)
{
    jinja_value items;
    jinja_text all = {"", 0, NULL}, one;
    GEODEC_PASS(geodec__jinja_items(a, list, &items, err));
    for (int64_t i = 0; i < items.u.list.n; i++) {
        if (i) GEODEC_PASS(geodec__jinja_concat(a, &all, between, &all, err));
        GEODEC_PASS(geodec__jinja_print(a, &items.u.list.item[i], &one, err));
        GEODEC_PASS(geodec__jinja_concat(a, &all, &one, &all, err));
    }
    *out = all;
    return GEODEC_OK;
}

static int64_t length(const jinja_value *v)
{
    int64_t n = 0;
    if (v->sort == J_LIST) return v->u.list.n;
    if (v->sort == J_DICT) return v->u.dict->n;
    for (int64_t i = 0; i < v->u.text.n; i++) n += ((unsigned char)v->u.text.s[i] & 0xc0) != 0x80;
    return n;
}

/* ---- methods ---------------------------------------------------------------------------------------------------- */

static const char *const text_methods[] = {
    "split",        "strip", "lstrip",     "rstrip",     "startswith", "endswith", "upper",
    "lower",        "title", "capitalize", "replace",    "find",       "join",     "removeprefix",
    "removesuffix", "count", "isdigit",    "splitlines", NULL};
static const char *const dict_methods[] = {"items", "keys", "values", "get", NULL};

bool geodec__jinja_has_method(const jinja_value *v, const char *name)
{
    const char *const *list = v->sort == J_STR ? text_methods : v->sort == J_DICT && !v->mutable ? dict_methods : NULL;
    for (int i = 0; list && list[i]; i++)
        if (strcmp(list[i], name) == 0) return true;
    return false;
}

static geodec_status pairs(geodec__arena *a, const jinja_value *v, int what, jinja_value *out, geodec_err *err)
{
    GEODEC_PASS(geodec__jinja_list(a, v->u.dict->n, out, err));
    for (int64_t i = 0; i < v->u.dict->n; i++) {
        const jinja_pair *p = &v->u.dict->pair[i];
        jinja_value *to = &out->u.list.item[i];
        if (what < 2) {
            *to = what == 0 ? p->key : p->value;
            continue;
        }
        GEODEC_PASS(geodec__jinja_list(a, 2, to, err));
        to->tuple = true;
        to->u.list.item[0] = p->key;
        to->u.list.item[1] = p->value;
    }
    return GEODEC_OK;
}

static geodec_status text_method(geodec__arena *a, const char *name, const jinja_text *t, const jinja_args *args,
                                 jinja_value *out, geodec_err *err)
{
    const jinja_value *first = geodec__jinja_arg(args, 0, "chars");
    const jinja_text *x = NULL, *y = NULL;
    *out = (jinja_value){.sort = J_STR};
    jinja_text *to = &out->u.text;
    if (strcmp(name, "split") == 0) return split(a, t, args, out, err);
    if (strcmp(name, "splitlines") == 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "the method 'splitlines'");
    if (strcmp(name, "strip") == 0) return strip(t, first, true, true, to, err);
    if (strcmp(name, "lstrip") == 0) return strip(t, first, true, false, to, err);
    if (strcmp(name, "rstrip") == 0) return strip(t, first, false, true, to, err);
    if (strcmp(name, "upper") == 0) return change_case(a, t, UPPER, to, err);
    if (strcmp(name, "lower") == 0) return change_case(a, t, LOWER, to, err);
    if (strcmp(name, "title") == 0) return change_case(a, t, TITLE, to, err);
    if (strcmp(name, "capitalize") == 0) return change_case(a, t, CAPITAL, to, err);
    if (strcmp(name, "isdigit") == 0) {
        *out = jinja_bool(t->n > 0);
        for (int64_t i = 0; i < t->n; i++) out->u.truth = out->u.truth && isdigit((unsigned char)t->s[i]);
        return GEODEC_OK;
    }
    if (!first) GEODEC_FAIL(GEODEC_FORMAT, "%s without an argument", name);
    if (strcmp(name, "startswith") == 0 || strcmp(name, "endswith") == 0) {
        *out = jinja_bool(false);
        return has_end(t, first, name[0] == 's', &out->u.truth, err);
    }
    if (strcmp(name, "join") == 0) return join(a, first, t, to, err);
    GEODEC_PASS(text_of(first, name, &x, err));
    if (strcmp(name, "removeprefix") == 0 || strcmp(name, "removesuffix") == 0) {
        const bool prefix = name[6] == 'p';
        *to = *t;
        if (prefix && begins(t, x)) *to = geodec__jinja_part(t, x->n, t->n);
        if (!prefix && x->n > 0 && ends(t, x)) *to = geodec__jinja_part(t, 0, t->n - x->n);
        return GEODEC_OK;
    }
    if (strcmp(name, "find") == 0) {
        const int64_t hit = find(t, x, 0);
        const jinja_value before = {.sort = J_STR, .u.text = geodec__jinja_part(t, 0, hit < 0 ? 0 : hit)};
        *out = jinja_int(hit < 0 ? -1 : length(&before));
        return GEODEC_OK;
    }
    if (strcmp(name, "count") == 0) {
        int64_t n = 0;
        if (x->n == 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "count of an empty text");
        for (int64_t at = find(t, x, 0); at >= 0; at = find(t, x, at + x->n)) n++;
        *out = jinja_int(n);
        return GEODEC_OK;
    }
    const jinja_value *second = geodec__jinja_arg(args, 1, "new"), *count = geodec__jinja_arg(args, 2, "count");
    if (strcmp(name, "replace") != 0 || !second) REFUSE("method", name);
    GEODEC_PASS(text_of(second, name, &y, err));
    return replace(a, t, x, y, count && count->sort == J_INT ? count->u.i : -1, to, err);
}

geodec_status geodec__jinja_method(geodec__arena *a, const char *name, const jinja_value *v, const jinja_args *args,
                                   jinja_value *out, geodec_err *err)
{
    if (v->sort == J_STR) return text_method(a, name, &v->u.text, args, out, err);
    if (v->sort != J_DICT) REFUSE("method", name);
    if (strcmp(name, "keys") == 0) return pairs(a, v, 0, out, err);
    if (strcmp(name, "values") == 0) return pairs(a, v, 1, out, err);
    if (strcmp(name, "items") == 0) return pairs(a, v, 2, out, err);
    const jinja_value *key = geodec__jinja_arg(args, 0, "key"), *other = geodec__jinja_arg(args, 1, "default");
    if (strcmp(name, "get") != 0 || !key) REFUSE("method", name);
    const jinja_value *there = geodec__jinja_get(v, key);
    *out = there ? *there : other ? *other : (jinja_value){.sort = J_NONE};
    return GEODEC_OK;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

geodec_status geodec__jinja_test(geodec__arena *a, const char *name, const jinja_value *v, const jinja_args *args,
                                 bool *out, geodec_err *err)
{
    const jinja_value *x = geodec__jinja_arg(args, 0, "other");
    const jinja_sort s = v->sort;
    jinja_value items;
#define TEST(word, value)                                                                                              \
    if (strcmp(name, word) == 0) return *out = (value), GEODEC_OK
    TEST("defined", s != J_UNDEFINED);
    TEST("undefined", s == J_UNDEFINED);
    TEST("none", s == J_NONE);
    TEST("string", s == J_STR);
    TEST("mapping", s == J_DICT && !v->mutable);
    TEST("iterable", s == J_STR || s == J_LIST || s == J_DICT || s == J_UNDEFINED);
    TEST("sequence", s == J_STR || s == J_LIST || s == J_DICT || s == J_UNDEFINED);
    TEST("number", s == J_INT || s == J_FLOAT || s == J_BOOL);
    TEST("integer", s == J_INT);
    TEST("float", s == J_FLOAT);
    TEST("boolean", s == J_BOOL);
    TEST("true", s == J_BOOL && v->u.truth);
    TEST("false", s == J_BOOL && !v->u.truth);
    TEST("callable", s == J_CALLABLE);
    if (strcmp(name, "odd") == 0 || strcmp(name, "even") == 0) {
        if (s != J_INT) GEODEC_FAIL(GEODEC_FORMAT, "%s of a value that is no whole number", name);
        *out = (v->u.i % 2 != 0) == (name[0] == 'o');
        return GEODEC_OK;
    }
    if (!x) REFUSE("test", name);
    TEST("equalto", geodec__jinja_equal(v, x));
    TEST("eq", geodec__jinja_equal(v, x));
    TEST("ne", !geodec__jinja_equal(v, x));
    if (strcmp(name, "divisibleby") == 0 && s == J_INT && x->sort == J_INT && x->u.i != 0) {
        *out = v->u.i % x->u.i == 0;
        return GEODEC_OK;
    }
    if (strcmp(name, "in") == 0) {
        if (x->sort == J_STR && s == J_STR) return *out = find(&x->u.text, &v->u.text, 0) >= 0, GEODEC_OK;
        GEODEC_PASS(geodec__jinja_items(a, x, &items, err));
        *out = false;
        for (int64_t i = 0; i < items.u.list.n; i++) *out = *out || geodec__jinja_equal(&items.u.list.item[i], v);
        return GEODEC_OK;
    }
    REFUSE("test", name);
#undef TEST
}

/* ---- filters ---------------------------------------------------------------------------------------------------- */

static jinja_value member(const jinja_value *v, const jinja_value *name)
{
    const jinja_value *m = v->sort == J_DICT ? geodec__jinja_get(v, name) : NULL;
    return m ? *m : (jinja_value){.sort = J_UNDEFINED};
}

/* selectattr, rejectattr (by attribute) and select, reject: the arguments behind are a test and its own. */
static geodec_status choose(geodec__arena *a, const jinja_value *v, const jinja_args *args, bool attribute, bool keep,
                            jinja_value *out, geodec_err *err)
{
    jinja_value items;
    const int64_t skip = attribute ? 1 : 0;
    int64_t n = 0;
    GEODEC_PASS(geodec__jinja_items(a, v, &items, err));
    GEODEC_PASS(geodec__jinja_list(a, items.u.list.n, out, err));
    if (args->n < skip || (attribute && args->v[0].sort != J_STR))
        GEODEC_FAIL(GEODEC_FORMAT, "selectattr without a name");
    if (attribute && memchr(args->v[0].u.text.s, '.', (size_t)args->v[0].u.text.n))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "selectattr of a path");
    for (int64_t i = 0; i < items.u.list.n; i++) {
        const jinja_value *item = &items.u.list.item[i], value = attribute ? member(item, &args->v[0]) : *item;
        bool yes = geodec__jinja_truth(&value);
        if (args->n > skip) {
            const jinja_args rest = {.v = args->v + skip + 1, .n = args->n - skip - 1};
            char name[64] = "";
            if (args->v[skip].sort != J_STR || args->v[skip].u.text.n >= (int64_t)sizeof name)
                GEODEC_FAIL(GEODEC_FORMAT, "select without the name of a test");
            memcpy(name, args->v[skip].u.text.s, (size_t)args->v[skip].u.text.n);
            const char *test = strcmp(name, "==") == 0 ? "eq" : strcmp(name, "!=") == 0 ? "ne" : name;
            GEODEC_PASS(geodec__jinja_test(a, test, &value, &rest, &yes, err));
        }
        if (yes == keep) out->u.list.item[n++] = *item;
    }
    out->u.list.n = n;
    return GEODEC_OK;
}

static geodec_status map(geodec__arena *a, const jinja_value *v, const jinja_args *args, jinja_value *out,
                         geodec_err *err)
{
    jinja_value items;
    const jinja_value *attribute = geodec__jinja_arg(args, args->n, "attribute"),
                      *other = geodec__jinja_arg(args, args->n, "default");
    GEODEC_PASS(geodec__jinja_items(a, v, &items, err));
    GEODEC_PASS(geodec__jinja_list(a, items.u.list.n, out, err));
    for (int64_t i = 0; i < items.u.list.n; i++) {
        jinja_value *to = &out->u.list.item[i];
        if (attribute) {
            *to = member(&items.u.list.item[i], attribute);
            if (to->sort == J_UNDEFINED && other) *to = *other;
            continue;
        }
        char name[64] = "";
        if (args->n < 1 || args->v[0].sort != J_STR || args->v[0].u.text.n >= (int64_t)sizeof name)
            GEODEC_FAIL(GEODEC_FORMAT, "map without a filter");
        memcpy(name, args->v[0].u.text.s, (size_t)args->v[0].u.text.n);
        const jinja_args rest = {.v = args->v + 1, .n = args->n - 1};
        GEODEC_PASS(geodec__jinja_filter(a, name, &items.u.list.item[i], &rest, to, err));
    }
    return GEODEC_OK;
}

static geodec_status indent(geodec__arena *a, const jinja_text *t, const jinja_args *args, jinja_text *out,
                            geodec_err *err)
{
    const jinja_value *w = geodec__jinja_arg(args, 0, "width"), *first = geodec__jinja_arg(args, 1, "first"),
                      *blank = geodec__jinja_arg(args, 2, "blank");
    char spaces[256];
    jinja_text by = {spaces, 4, NULL}, all = {"", 0, NULL};
    if (w && w->sort == J_STR) by = w->u.text;
    if (w && w->sort == J_INT) by.n = w->u.i < 0 ? 0 : w->u.i > 255 ? 255 : w->u.i;
    memset(spaces, ' ', sizeof spaces);
    if (by.s == spaces) { /* in the arena, because the output refers to it */
        char *s;
        JINJA_NEW(a, s, by.n);
        memset(s, ' ', (size_t)by.n);
        by.s = s;
    }
    for (int64_t at = 0, end; at <= t->n; at = end + 1) {
        for (end = at; end < t->n && t->s[end] != '\n';) end++;
        const jinja_text line = geodec__jinja_part(t, at, end < t->n ? end + 1 : end);
        const bool empty = end == at;
        if ((at > 0 || (first && geodec__jinja_truth(first))) && (!empty || (blank && geodec__jinja_truth(blank))))
            GEODEC_PASS(geodec__jinja_concat(a, &all, &by, &all, err));
        GEODEC_PASS(geodec__jinja_concat(a, &all, &line, &all, err));
    }
    *out = all;
    return GEODEC_OK;
}

static int by_key(const void *x, const void *y)
{
    const jinja_text *a = &((const jinja_value *)x)->u.list.item[0].u.text,
                     *b = &((const jinja_value *)y)->u.list.item[0].u.text;
    for (int64_t i = 0; i < a->n && i < b->n; i++) { /* without regard to case, as the filter does */
        const int p = tolower((unsigned char)a->s[i]), q = tolower((unsigned char)b->s[i]);
        if (p != q) return p - q;
    }
    return (a->n > b->n) - (a->n < b->n);
}

static geodec_status to_number(const jinja_value *v, bool whole, jinja_value *out, geodec_err *err)
{
    char room[64] = "", *end = room;
    double f = 0;
    if (v->sort == J_STR && v->u.text.n < (int64_t)sizeof room) {
        memcpy(room, v->u.text.s, (size_t)v->u.text.n);
        f = strtod(room, &end);
        if (*end) f = 0;
    } else if (v->sort == J_INT || v->sort == J_BOOL) {
        f = v->sort == J_INT ? (double)v->u.i : (double)v->u.truth;
    } else if (v->sort == J_FLOAT) {
        f = v->u.f;
    } else {
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "int or float of a value that is neither number nor text");
    }
    if (!(fabs(f) < 9e15)) GEODEC_FAIL(GEODEC_UNSUPPORTED, "a number of that size");
    *out = whole ? jinja_int((int64_t)f) : jinja_float(f);
    return GEODEC_OK;
}

static geodec_status list_filter(geodec__arena *a, const char *name, const jinja_value *v, const jinja_args *args,
                                 jinja_value *out, geodec_err *err)
{
    jinja_value items;
    if (strcmp(name, "selectattr") == 0) return choose(a, v, args, true, true, out, err);
    if (strcmp(name, "rejectattr") == 0) return choose(a, v, args, true, false, out, err);
    if (strcmp(name, "select") == 0) return choose(a, v, args, false, true, out, err);
    if (strcmp(name, "reject") == 0) return choose(a, v, args, false, false, out, err);
    if (strcmp(name, "map") == 0) return map(a, v, args, out, err);
    const bool first = strcmp(name, "first") == 0, last = strcmp(name, "last") == 0,
               unique = strcmp(name, "unique") == 0, reverse = strcmp(name, "reverse") == 0;
    if (!first && !last && !unique && !reverse && strcmp(name, "list") != 0) REFUSE("filter", name);
    GEODEC_PASS(geodec__jinja_items(a, v, &items, err));
    const int64_t n = items.u.list.n;
    if (first || last) {
        *out = n ? items.u.list.item[first ? 0 : n - 1] : (jinja_value){.sort = J_UNDEFINED};
        return GEODEC_OK;
    }
    if (reverse && v->sort == J_STR) GEODEC_FAIL(GEODEC_UNSUPPORTED, "reverse of a text");
    GEODEC_PASS(geodec__jinja_list(a, n, out, err));
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        const jinja_value *one = &items.u.list.item[reverse ? n - 1 - i : i];
        bool again = false;
        for (int64_t k = 0; unique && k < kept; k++) again = again || geodec__jinja_equal(&out->u.list.item[k], one);
        if (!again) out->u.list.item[kept++] = *one;
    }
    out->u.list.n = kept;
    return GEODEC_OK;
}

static geodec_status text_filter(geodec__arena *a, const char *name, const jinja_value *v, const jinja_args *args,
                                 jinja_value *out, geodec_err *err)
{
    static const char *const as_methods[] = {"upper", "lower", "title", "capitalize", "replace"};
    jinja_text t;
    GEODEC_PASS(geodec__jinja_print(a, v, &t, err));
    *out = (jinja_value){.sort = J_STR};
    if (strcmp(name, "trim") == 0) return strip(&t, geodec__jinja_arg(args, 0, "chars"), true, true, &out->u.text, err);
    if (strcmp(name, "string") == 0) return out->u.text = t, GEODEC_OK;
    if (strcmp(name, "indent") == 0) return indent(a, &t, args, &out->u.text, err);
    for (size_t i = 0; i < sizeof as_methods / sizeof *as_methods; i++)
        if (strcmp(name, as_methods[i]) == 0) return text_method(a, name, &t, args, out, err);
    return list_filter(a, name, v, args, out, err);
}

geodec_status geodec__jinja_filter(geodec__arena *a, const char *name, const jinja_value *v, const jinja_args *args,
                                   jinja_value *out, geodec_err *err)
{
    const jinja_value *x = geodec__jinja_arg(args, 0, NULL);
    *out = (jinja_value){.sort = J_STR};
    if (strcmp(name, "length") == 0 || strcmp(name, "count") == 0) {
        if (v->sort != J_STR && v->sort != J_LIST && v->sort != J_DICT && v->sort != J_UNDEFINED)
            GEODEC_FAIL(GEODEC_FORMAT, "the length of a value that has none");
        *out = jinja_int(v->sort == J_UNDEFINED ? 0 : length(v));
        return GEODEC_OK;
    }
    if (strcmp(name, "default") == 0 || strcmp(name, "d") == 0) {
        const jinja_value *other = geodec__jinja_arg(args, 0, "default_value"),
                          *all = geodec__jinja_arg(args, 1, "boolean");
        const bool use = v->sort == J_UNDEFINED || (all && geodec__jinja_truth(all) && !geodec__jinja_truth(v));
        *out = !use ? *v : other ? *other : geodec__jinja_word("");
        return GEODEC_OK;
    }
    if (strcmp(name, "tojson") == 0) {
        const jinja_value *by = geodec__jinja_arg(args, 0, "indent");
        if (args->n > 1 || args->n_named > (by && args->n == 0)) {
            for (int64_t i = 0; i < args->n_named; i++)
                if (strcmp(args->name[i], "ensure_ascii") != 0 && strcmp(args->name[i], "indent") != 0)
                    GEODEC_FAIL(GEODEC_UNSUPPORTED, "tojson with %s", args->name[i]);
        }
        return geodec__jinja_json(a, v, by && by->sort == J_INT ? by->u.i : -1, &out->u.text, err);
    }
    if (strcmp(name, "join") == 0) {
        const jinja_text none = {"", 0, NULL}, *between = &none;
        if (geodec__jinja_arg(args, 1, "attribute")) GEODEC_FAIL(GEODEC_UNSUPPORTED, "join of attributes");
        if (x) GEODEC_PASS(text_of(x, name, &between, err));
        return join(a, v, between, &out->u.text, err);
    }
    if (strcmp(name, "items") == 0 && v->sort == J_UNDEFINED) return geodec__jinja_list(a, 0, out, err);
    if (strcmp(name, "items") == 0 && v->sort == J_DICT) return pairs(a, v, 2, out, err);
    if (strcmp(name, "dictsort") == 0 && v->sort == J_DICT && args->n + args->n_named == 0) {
        for (int64_t i = 0; i < v->u.dict->n; i++)
            if (v->u.dict->pair[i].key.sort != J_STR)
                GEODEC_FAIL(GEODEC_UNSUPPORTED, "dictsort of keys that are no text");
        GEODEC_PASS(pairs(a, v, 2, out, err));
        qsort(out->u.list.item, (size_t)out->u.list.n, sizeof *out->u.list.item, by_key);
        return GEODEC_OK;
    }
    if (strcmp(name, "int") == 0 || strcmp(name, "float") == 0) return to_number(v, name[0] == 'i', out, err);
    if (strcmp(name, "abs") == 0 && v->sort == J_INT) return *out = jinja_int(llabs(v->u.i)), GEODEC_OK;
    if (strcmp(name, "safe") == 0) return *out = *v, GEODEC_OK;
    return text_filter(a, name, v, args, out, err);
}
