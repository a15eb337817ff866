#include "tokenizer/jinja_internal.h"

#include <string.h>

typedef struct parser {
    geodec__arena *arena;
    const jinja_token *t;
    int depth;
} parser;

static bool is_op(const parser *p, const char *op) { return p->t->sort == T_OP && strcmp(p->t->s, op) == 0; }
static bool is_name(const parser *p, const char *name) { return p->t->sort == T_NAME && strcmp(p->t->s, name) == 0; }

static bool accept_op(parser *p, const char *op)
{
    if (!is_op(p, op)) return false;
    p->t++;
    return true;
}

static bool accept_name(parser *p, const char *name)
{
    if (!is_name(p, name)) return false;
    p->t++;
    return true;
}

static const char *shown(const parser *p)
{
    switch (p->t->sort) {
    case T_EOF:
        return "the end of the template";
    case T_END:
    case T_PRINT_END:
        return "the end of the tag";
    case T_TEXT:
    case T_BEGIN:
    case T_PRINT:
        return "text";
    default:
        return p->t->s;
    }
}

static geodec_status expect_op(parser *p, const char *op, geodec_err *err)
{
    if (!accept_op(p, op)) GEODEC_FAIL(GEODEC_FORMAT, "line %d: '%.60s' in place of '%s'", p->t->line, shown(p), op);
    return GEODEC_OK;
}

static geodec_status make(parser *p, jinja_kind kind, jinja_node **out, geodec_err *err)
{
    JINJA_NEW(p->arena, *out, 1);
    (*out)->kind = kind;
    (*out)->line = p->t->line;
    return GEODEC_OK;
}

static geodec_status expression(parser *p, jinja_node **out, geodec_err *err);
static geodec_status no_condition(parser *p, jinja_node **out, geodec_err *err);
static geodec_status unary(parser *p, bool filters, jinja_node **out, geodec_err *err);

static geodec_status take_name(parser *p, const char **out, geodec_err *err)
{
    if (p->t->sort != T_NAME) GEODEC_FAIL(GEODEC_FORMAT, "line %d: '%.60s' in place of a name", p->t->line, shown(p));
    *out = p->t++->s;
    return GEODEC_OK;
}

/* ---- primary expressions ---------------------------------------------------------------------------------------- */

/* Items joined by commas up to `close`, which is taken. *tuple: there was a comma. */
static geodec_status items(parser *p, const char *close, jinja_node **list, bool *tuple, geodec_err *err)
{
    jinja_node **at = list;
    *tuple = false;
    while (!is_op(p, close)) {
        GEODEC_PASS(expression(p, at, err));
        at = &(*at)->next;
        if (!accept_op(p, ",")) break;
        *tuple = true;
    }
    return expect_op(p, close, err);
}

static geodec_status dictionary(parser *p, jinja_node **out, geodec_err *err)
{
    GEODEC_PASS(make(p, N_DICT, out, err));
    jinja_node **at = &(*out)->list;
    while (!is_op(p, "}")) {
        jinja_node *pair;
        GEODEC_PASS(make(p, N_DICT, &pair, err));
        GEODEC_PASS(expression(p, &pair->a, err));
        GEODEC_PASS(expect_op(p, ":", err));
        GEODEC_PASS(expression(p, &pair->b, err));
        *at = pair;
        at = &pair->next;
        if (!accept_op(p, ",")) break;
    }
    return expect_op(p, "}", err);
}

/* A constant word, or false. */
static bool constant_word(const char *s, jinja_value *v)
{
    if (strcmp(s, "true") == 0 || strcmp(s, "True") == 0)
        *v = jinja_bool(true);
    else if (strcmp(s, "false") == 0 || strcmp(s, "False") == 0)
        *v = jinja_bool(false);
    else if (strcmp(s, "none") == 0 || strcmp(s, "None") == 0)
        *v = (jinja_value){.sort = J_NONE};
    else
        return false;
    return true;
}

static geodec_status strings(parser *p, jinja_node *node, geodec_err *err)
{
    jinja_text all = {"", 0, NULL};
    for (; p->t->sort == T_STRING; p->t++) {
        const jinja_text one = {p->t->s, p->t->n, NULL};
        GEODEC_PASS(geodec__jinja_concat(p->arena, &all, &one, &all, err));
    }
    node->value = (jinja_value){.sort = J_STR, .u.text = all};
    return GEODEC_OK;
}

static geodec_status primary(parser *p, jinja_node **out, geodec_err *err)
{
    const jinja_token *t = p->t;
    bool tuple;
    if (accept_op(p, "(")) {
        jinja_node *list = NULL;
        GEODEC_PASS(make(p, N_TUPLE, out, err));
        GEODEC_PASS(items(p, ")", &list, &tuple, err));
        if (list && !tuple)
            *out = list;
        else
            (*out)->list = list;
        return GEODEC_OK;
    }
    if (accept_op(p, "[")) {
        GEODEC_PASS(make(p, N_LIST, out, err));
        return items(p, "]", &(*out)->list, &tuple, err);
    }
    if (accept_op(p, "{")) return dictionary(p, out, err);
    GEODEC_PASS(make(p, N_CONST, out, err));
    if (t->sort == T_STRING) return strings(p, *out, err);
    if (t->sort == T_INT || t->sort == T_FLOAT) {
        (*out)->value = t->sort == T_INT ? jinja_int(t->i) : jinja_float(t->f);
        p->t++;
        return GEODEC_OK;
    }
    if (t->sort != T_NAME) GEODEC_FAIL(GEODEC_FORMAT, "line %d: '%.60s' is no expression", t->line, shown(p));
    p->t++;
    if (constant_word(t->s, &(*out)->value)) return GEODEC_OK;
    (*out)->kind = N_NAME;
    (*out)->name = t->s;
    return GEODEC_OK;
}

static geodec_status arguments(parser *p, jinja_node **list, geodec_err *err)
{
    while (!is_op(p, ")")) {
        const char *label = NULL;
        if (is_op(p, "*") || is_op(p, "**"))
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "line %d: arguments with %s", p->t->line, p->t->s);
        if (p->t->sort == T_NAME && p->t[1].sort == T_OP && strcmp(p->t[1].s, "=") == 0) {
            label = p->t->s;
            p->t += 2;
        }
        GEODEC_PASS(expression(p, list, err));
        if ((*list)->next || (*list)->label) { /* a node is in one list only */
            GEODEC_FAIL(GEODEC_FORMAT, "line %d: a bad argument", p->t->line);
        }
        (*list)->label = label;
        list = &(*list)->next;
        if (!accept_op(p, ",")) break;
    }
    return expect_op(p, ")", err);
}

/* Behind [: an index or a slice, up to ]. */
static geodec_status subscript(parser *p, jinja_node *of, jinja_node **out, geodec_err *err)
{
    GEODEC_PASS(make(p, N_ITEM, out, err));
    (*out)->a = of;
    jinja_node **part[3] = {&(*out)->b, &(*out)->c, &(*out)->other};
    int n = 0;
    for (;; n++) {
        if (n == 3) GEODEC_FAIL(GEODEC_FORMAT, "line %d: a slice of more than three parts", p->t->line);
        if (!is_op(p, ":") && !is_op(p, "]")) GEODEC_PASS(expression(p, part[n], err));
        if (!accept_op(p, ":")) break;
        (*out)->kind = N_SLICE;
    }
    if ((*out)->kind == N_ITEM && !(*out)->b) GEODEC_FAIL(GEODEC_FORMAT, "line %d: an empty index", p->t->line);
    return expect_op(p, "]", err);
}

static geodec_status postfix(parser *p, jinja_node **node, geodec_err *err)
{
    for (;;) {
        jinja_node *more;
        if (accept_op(p, ".")) {
            GEODEC_PASS(make(p, N_ATTR, &more, err));
            more->a = *node;
            if (p->t->sort == T_INT) {
                more->kind = N_ITEM;
                GEODEC_PASS(primary(p, &more->b, err));
            } else {
                GEODEC_PASS(take_name(p, &more->name, err));
            }
        } else if (accept_op(p, "[")) {
            GEODEC_PASS(subscript(p, *node, &more, err));
        } else if (accept_op(p, "(")) {
            GEODEC_PASS(make(p, N_CALL, &more, err));
            more->a = *node;
            GEODEC_PASS(arguments(p, &more->list, err));
        } else {
            return GEODEC_OK;
        }
        *node = more;
    }
}

/* `is [not] NAME [argument]` */
static geodec_status take_test(parser *p, jinja_node **node, geodec_err *err)
{
    jinja_node *test;
    GEODEC_PASS(make(p, N_TEST, &test, err));
    test->a = *node;
    test->negated = accept_name(p, "not");
    GEODEC_PASS(take_name(p, &test->name, err));
    const jinja_token_sort s = p->t->sort;
    if (accept_op(p, "(")) {
        GEODEC_PASS(arguments(p, &test->list, err));
    } else if (s == T_STRING || s == T_INT || s == T_FLOAT || is_op(p, "[") || is_op(p, "{") ||
               (s == T_NAME && !is_name(p, "else") && !is_name(p, "or") && !is_name(p, "and") && !is_name(p, "is") &&
                !is_name(p, "if") && !is_name(p, "in") && !is_name(p, "not"))) {
        GEODEC_PASS(primary(p, &test->list, err));
        GEODEC_PASS(postfix(p, &test->list, err));
    }
    *node = test;
    return GEODEC_OK;
}

static geodec_status filters_and_tests(parser *p, jinja_node **node, geodec_err *err)
{
    for (;;) {
        if (accept_op(p, "|")) {
            jinja_node *filter;
            GEODEC_PASS(make(p, N_FILTER, &filter, err));
            filter->a = *node;
            GEODEC_PASS(take_name(p, &filter->name, err));
            if (accept_op(p, "(")) GEODEC_PASS(arguments(p, &filter->list, err));
            *node = filter;
        } else if (accept_name(p, "is")) {
            GEODEC_PASS(take_test(p, node, err));
        } else if (accept_op(p, "(")) {
            jinja_node *call;
            GEODEC_PASS(make(p, N_CALL, &call, err));
            call->a = *node;
            GEODEC_PASS(arguments(p, &call->list, err));
            *node = call;
        } else {
            return GEODEC_OK;
        }
    }
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

static geodec_status unary(parser *p, bool filters, jinja_node **out, geodec_err *err)
{
    if (is_op(p, "-") || is_op(p, "+")) {
        GEODEC_PASS(make(p, N_UNARY, out, err));
        (*out)->name = p->t++->s;
        GEODEC_PASS(unary(p, false, &(*out)->a, err));
    } else {
        GEODEC_PASS(primary(p, out, err));
    }
    GEODEC_PASS(postfix(p, out, err));
    return filters ? filters_and_tests(p, out, err) : GEODEC_OK;
}

/* Levels of left-associative operators, the loosest first; the tightest is unary. */
static const char *const levels[][5] = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
enum { LEVELS = sizeof levels / sizeof *levels };

static geodec_status binary(parser *p, int level, jinja_node **out, geodec_err *err)
{
    if (level == LEVELS) return unary(p, true, out, err);
    GEODEC_PASS(binary(p, level + 1, out, err));
    for (;;) {
        const char *op = NULL;
        for (int i = 0; levels[level][i] && !op; i++)
            if (is_op(p, levels[level][i])) op = levels[level][i];
        if (!op) return GEODEC_OK;
        p->t++;
        jinja_node *node;
        GEODEC_PASS(make(p, N_BINARY, &node, err));
        node->name = op;
        node->a = *out;
        GEODEC_PASS(binary(p, level + 1, &node->b, err));
        *out = node;
    }
}

static const char *comparison(parser *p)
{
    static const char *const ops[] = {"==", "!=", "<=", ">=", "<", ">"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (accept_op(p, ops[i])) return ops[i];
    if (accept_name(p, "in")) return "in";
    if (is_name(p, "not") && p->t[1].sort == T_NAME && strcmp(p->t[1].s, "in") == 0) {
        p->t += 2;
        return "not in";
    }
    return NULL;
}

/* a < b < c: the operands behind the first are in list, each with its operator as label. */
static geodec_status compare(parser *p, jinja_node **out, geodec_err *err)
{
    GEODEC_PASS(binary(p, 0, out, err));
    jinja_node **at = NULL;
    for (const char *op = comparison(p); op; op = comparison(p)) {
        jinja_node *link;
        if (!at) {
            jinja_node *first = *out;
            GEODEC_PASS(make(p, N_COMPARE, out, err));
            (*out)->a = first;
            at = &(*out)->list;
        }
        GEODEC_PASS(make(p, N_COMPARE, &link, err));
        link->name = op;
        GEODEC_PASS(binary(p, 0, &link->a, err));
        *at = link;
        at = &link->next;
    }
    return GEODEC_OK;
}

static geodec_status negation(parser *p, jinja_node **out, geodec_err *err)
{
    if (!accept_name(p, "not")) return compare(p, out, err);
    if (++p->depth > GEODEC_JINJA_DEPTH) GEODEC_FAIL(GEODEC_LIMIT, "line %d: expressions nest too deep", p->t->line);
    GEODEC_PASS(make(p, N_NOT, out, err));
    GEODEC_PASS(negation(p, &(*out)->a, err));
    p->depth--;
    return GEODEC_OK;
}

static geodec_status logical(parser *p, bool either, jinja_node **out, geodec_err *err)
{
    GEODEC_PASS(either ? logical(p, false, out, err) : negation(p, out, err));
    while (accept_name(p, either ? "or" : "and")) {
        jinja_node *node;
        GEODEC_PASS(make(p, either ? N_OR : N_AND, &node, err));
        node->a = *out;
        GEODEC_PASS(either ? logical(p, false, &node->b, err) : negation(p, &node->b, err));
        *out = node;
    }
    return GEODEC_OK;
}

static geodec_status no_condition(parser *p, jinja_node **out, geodec_err *err) { return logical(p, true, out, err); }

static geodec_status expression(parser *p, jinja_node **out, geodec_err *err)
{
    if (++p->depth > GEODEC_JINJA_DEPTH) GEODEC_FAIL(GEODEC_LIMIT, "line %d: expressions nest too deep", p->t->line);
    GEODEC_PASS(no_condition(p, out, err));
    while (accept_name(p, "if")) {
        jinja_node *node;
        GEODEC_PASS(make(p, N_COND, &node, err));
        node->a = *out;
        GEODEC_PASS(no_condition(p, &node->b, err));
        if (accept_name(p, "else")) GEODEC_PASS(expression(p, &node->c, err));
        *out = node;
    }
    p->depth--;
    return GEODEC_OK;
}

/* An expression, or several joined by commas, which are a tuple. */
static geodec_status tuple(parser *p, bool condition, jinja_node **out, geodec_err *err)
{
    GEODEC_PASS(condition ? expression(p, out, err) : no_condition(p, out, err));
    if (!is_op(p, ",")) return GEODEC_OK;
    jinja_node *all, **at;
    GEODEC_PASS(make(p, N_TUPLE, &all, err));
    all->list = *out;
    at = &all->list->next;
    while (accept_op(p, ",")) {
        if (p->t->sort == T_END || p->t->sort == T_PRINT_END) break;
        GEODEC_PASS(condition ? expression(p, at, err) : no_condition(p, at, err));
        at = &(*at)->next;
    }
    *out = all;
    return GEODEC_OK;
}

/* ---- statements ------------------------------------------------------------------------------------------------- */

static geodec_status body(parser *p, const char *const *ends, jinja_node **out, const char **end, geodec_err *err);

static geodec_status end_tag(parser *p, geodec_err *err)
{
    if (p->t->sort != T_END)
        GEODEC_FAIL(GEODEC_FORMAT, "line %d: '%.60s' in place of the end of the tag", p->t->line, shown(p));
    p->t++;
    return GEODEC_OK;
}

static geodec_status take_if(parser *p, jinja_node **out, geodec_err *err)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL}, *const last[] = {"endif", NULL};
    const char *end;
    GEODEC_PASS(make(p, N_IF, out, err));
    GEODEC_PASS(tuple(p, true, &(*out)->a, err));
    GEODEC_PASS(end_tag(p, err));
    GEODEC_PASS(body(p, ends, &(*out)->list, &end, err));
    if (strcmp(end, "elif") == 0) return take_if(p, &(*out)->other, err);
    GEODEC_PASS(end_tag(p, err));
    if (strcmp(end, "else") != 0) return GEODEC_OK;
    GEODEC_PASS(body(p, last, &(*out)->other, &end, err));
    return end_tag(p, err);
}

/* Names joined by commas: targets linked by `other`. */
static geodec_status targets(parser *p, jinja_node **out, geodec_err *err)
{
    const bool open = accept_op(p, "(");
    do {
        GEODEC_PASS(make(p, N_NAME, out, err));
        GEODEC_PASS(take_name(p, &(*out)->name, err));
        out = &(*out)->other;
    } while (accept_op(p, ","));
    return open ? expect_op(p, ")", err) : GEODEC_OK;
}

static geodec_status take_for(parser *p, jinja_node **out, geodec_err *err)
{
    static const char *const ends[] = {"else", "endfor", NULL}, *const last[] = {"endfor", NULL};
    const char *end;
    GEODEC_PASS(make(p, N_FOR, out, err));
    GEODEC_PASS(targets(p, &(*out)->a, err));
    if (!accept_name(p, "in")) GEODEC_FAIL(GEODEC_FORMAT, "line %d: for without in", p->t->line);
    GEODEC_PASS(tuple(p, false, &(*out)->b, err));
    if (accept_name(p, "if")) GEODEC_PASS(expression(p, &(*out)->c, err));
    if (is_name(p, "recursive")) GEODEC_FAIL(GEODEC_UNSUPPORTED, "line %d: recursive loops", p->t->line);
    GEODEC_PASS(end_tag(p, err));
    GEODEC_PASS(body(p, ends, &(*out)->list, &end, err));
    GEODEC_PASS(end_tag(p, err));
    if (strcmp(end, "else") != 0) return GEODEC_OK;
    GEODEC_PASS(body(p, last, &(*out)->other, &end, err));
    return end_tag(p, err);
}

static geodec_status take_set(parser *p, jinja_node **out, geodec_err *err)
{
    static const char *const ends[] = {"endset", NULL};
    const char *end;
    GEODEC_PASS(make(p, N_SET, out, err));
    GEODEC_PASS(targets(p, &(*out)->a, err));
    if (accept_op(p, ".")) GEODEC_PASS(take_name(p, &(*out)->name, err));
    if (accept_op(p, "=")) {
        GEODEC_PASS(tuple(p, true, &(*out)->b, err));
        return end_tag(p, err);
    }
    if ((*out)->name || (*out)->a->other || p->t->sort != T_END)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "line %d: this form of set", p->t->line);
    (*out)->kind = N_SET_BLOCK;
    GEODEC_PASS(end_tag(p, err));
    GEODEC_PASS(body(p, ends, &(*out)->list, &end, err));
    return end_tag(p, err);
}

static geodec_status take_macro(parser *p, jinja_node **out, geodec_err *err)
{
    static const char *const ends[] = {"endmacro", NULL};
    const char *end;
    GEODEC_PASS(make(p, N_MACRO, out, err));
    GEODEC_PASS(take_name(p, &(*out)->name, err));
    GEODEC_PASS(expect_op(p, "(", err));
    jinja_node **at = &(*out)->a;
    while (!is_op(p, ")")) {
        GEODEC_PASS(make(p, N_NAME, at, err));
        GEODEC_PASS(take_name(p, &(*at)->name, err));
        if (accept_op(p, "=")) GEODEC_PASS(expression(p, &(*at)->b, err));
        at = &(*at)->next;
        if (!accept_op(p, ",")) break;
    }
    GEODEC_PASS(expect_op(p, ")", err));
    GEODEC_PASS(end_tag(p, err));
    GEODEC_PASS(body(p, ends, &(*out)->list, &end, err));
    return end_tag(p, err);
}

/* {% generation %} marks what the assistant said, for training; its contents are part of the text. */
static geodec_status take_generation(parser *p, jinja_node **out, geodec_err *err)
{
    static const char *const ends[] = {"endgeneration", NULL};
    const char *end;
    GEODEC_PASS(end_tag(p, err));
    GEODEC_PASS(make(p, N_IF, out, err));
    GEODEC_PASS(make(p, N_CONST, &(*out)->a, err));
    (*out)->a->value = jinja_bool(true);
    GEODEC_PASS(body(p, ends, &(*out)->list, &end, err));
    return end_tag(p, err);
}

static geodec_status statement(parser *p, jinja_node **out, geodec_err *err)
{
    const int line = p->t->line;
    if (accept_name(p, "if")) return take_if(p, out, err);
    if (accept_name(p, "for")) return take_for(p, out, err);
    if (accept_name(p, "set")) return take_set(p, out, err);
    if (accept_name(p, "macro")) return take_macro(p, out, err);
    if (accept_name(p, "generation")) return take_generation(p, out, err);
    const bool leave = is_name(p, "break");
    if (leave || is_name(p, "continue")) {
        GEODEC_PASS(make(p, leave ? N_BREAK : N_CONTINUE, out, err));
        p->t++;
        return end_tag(p, err);
    }
    GEODEC_FAIL(GEODEC_UNSUPPORTED, "line %d: the statement '%.60s'", line, shown(p));
}

static geodec_status body(parser *p, const char *const *ends, jinja_node **out, const char **end, geodec_err *err)
{
    if (++p->depth > GEODEC_JINJA_DEPTH) GEODEC_FAIL(GEODEC_LIMIT, "line %d: statements nest too deep", p->t->line);
    for (;;) {
        if (p->t->sort == T_EOF) {
            while (ends && ends[1]) ends++;
            if (ends) GEODEC_FAIL(GEODEC_FORMAT, "line %d: the template ends before %s", p->t->line, ends[0]);
            break;
        }
        if (p->t->sort == T_TEXT) {
            GEODEC_PASS(make(p, N_TEXT, out, err));
            (*out)->value = geodec__jinja_str(p->t->s, p->t->n, NULL);
            p->t++;
        } else if (p->t->sort == T_PRINT) {
            p->t++;
            GEODEC_PASS(make(p, N_PRINT, out, err));
            GEODEC_PASS(tuple(p, true, &(*out)->a, err));
            if (p->t->sort != T_PRINT_END)
                GEODEC_FAIL(GEODEC_FORMAT, "line %d: '%.60s' in place of the end of the tag", p->t->line, shown(p));
            p->t++;
        } else {
            p->t++; /* T_BEGIN */
            for (int i = 0; ends && ends[i]; i++)
                if (accept_name(p, ends[i])) {
                    *end = ends[i];
                    p->depth--;
                    return GEODEC_OK;
                }
            GEODEC_PASS(statement(p, out, err));
        }
        out = &(*out)->next;
    }
    p->depth--;
    return GEODEC_OK;
}

geodec_status geodec__jinja_parse(geodec__arena *a, const jinja_token *token, int64_t n, jinja_node **out,
                                  geodec_err *err)
{
    parser p = {.arena = a, .t = token};
    const char *end = NULL;
    (void)n;
    return body(&p, NULL, out, &end, err);
}
