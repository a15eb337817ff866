#include "tokenizer/jinja_internal.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

typedef struct variable {
    const char *name;
    jinja_value value;
    struct variable *next;
} variable;

typedef struct scope {
    variable *first;
    struct scope *outer; /* NULL: of the template */
} scope;

typedef enum flow { GO, BREAK, CONTINUE } flow;

typedef struct runner {
    geodec__arena *a;
    scope *scope, *globals;
    flow flow;
    int depth;
    int64_t steps;
    /* the output */
    char *out;
    unsigned char *mark;
    int64_t n, room;
} runner;

static geodec_status eval(runner *r, const jinja_node *node, jinja_value *out, geodec_err *err);
static geodec_status run_body(runner *r, const jinja_node *node, geodec_err *err);

/* ---- variables -------------------------------------------------------------------------------------------------- */

static jinja_value *look_up(const runner *r, const char *name)
{
    for (const scope *s = r->scope; s; s = s->outer)
        for (variable *v = s->first; v; v = v->next)
            if (strcmp(v->name, name) == 0) return &v->value;
    return NULL;
}

/* Sets a variable of the innermost scope. */
static geodec_status assign(runner *r, const char *name, jinja_value value, geodec_err *err)
{
    for (variable *v = r->scope->first; v; v = v->next)
        if (strcmp(v->name, name) == 0) {
            v->value = value;
            return GEODEC_OK;
        }
    variable *v;
    JINJA_NEW(r->a, v, 1);
    *v = (variable){name, value, r->scope->first};
    r->scope->first = v;
    return GEODEC_OK;
}

/* Several targets take the items of a list. */
static geodec_status assign_all(runner *r, const jinja_node *target, jinja_value value, geodec_err *err)
{
    if (!target->other) return assign(r, target->name, value, err);
    jinja_value items;
    int64_t n = 0;
    GEODEC_PASS(geodec__jinja_items(r->a, &value, &items, err));
    for (const jinja_node *t = target; t; t = t->other) n++;
    if (n != items.u.list.n)
        GEODEC_FAIL(GEODEC_FORMAT, "%lld values for %lld names", (long long)items.u.list.n, (long long)n);
    n = 0;
    for (const jinja_node *t = target; t; t = t->other) GEODEC_PASS(assign(r, t->name, items.u.list.item[n++], err));
    return GEODEC_OK;
}

/* ---- output ----------------------------------------------------------------------------------------------------- */

static geodec_status emit(runner *r, const jinja_text *t, geodec_err *err)
{
    if (r->n + t->n > r->room) {
        char *more;
        unsigned char *marks;
        const int64_t room = 2 * r->room + t->n + 256;
        JINJA_NEW(r->a, more, room);
        JINJA_NEW(r->a, marks, room);
        if (r->n) memcpy(more, r->out, (size_t)r->n);
        if (r->n) memcpy(marks, r->mark, (size_t)r->n);
        r->out = more;
        r->mark = marks;
        r->room = room;
    }
    if (t->n > 0) memcpy(r->out + r->n, t->s, (size_t)t->n);
    for (int64_t i = 0; i < t->n; i++) r->mark[r->n + i] = t->mark ? t->mark[i] : 0;
    r->n += t->n;
    return GEODEC_OK;
}

/* Runs a body and takes its output as a text. */
static geodec_status capture(runner *r, const jinja_node *body, jinja_value *out, geodec_err *err)
{
    char *const text = r->out;
    unsigned char *const mark = r->mark;
    const int64_t n = r->n, room = r->room;
    r->out = NULL;
    r->mark = NULL;
    r->n = r->room = 0;
    GEODEC_PASS(run_body(r, body, err));
    *out = geodec__jinja_str(r->n ? r->out : "", r->n, r->mark);
    r->out = text;
    r->mark = mark;
    r->n = n;
    r->room = room;
    return GEODEC_OK;
}

/* ---- operators -------------------------------------------------------------------------------------------------- */

static bool is_number(const jinja_value *v) { return v->sort == J_INT || v->sort == J_FLOAT || v->sort == J_BOOL; }
static int64_t whole(const jinja_value *v) { return v->sort == J_BOOL ? v->u.truth : v->u.i; }
static double number(const jinja_value *v) { return v->sort == J_FLOAT ? v->u.f : (double)whole(v); }

static geodec_status add_lists(runner *r, const jinja_value *x, const jinja_value *y, jinja_value *out, geodec_err *err)
{
    GEODEC_PASS(geodec__jinja_list(r->a, x->u.list.n + y->u.list.n, out, err));
    for (int64_t i = 0; i < x->u.list.n; i++) out->u.list.item[i] = x->u.list.item[i];
    for (int64_t i = 0; i < y->u.list.n; i++) out->u.list.item[x->u.list.n + i] = y->u.list.item[i];
    return GEODEC_OK;
}

static geodec_status whole_numbers(char op, bool twice, int64_t x, int64_t y, jinja_value *out, geodec_err *err)
{
    int64_t v = 0;
    bool bad = false;
    if (op == '+') bad = __builtin_add_overflow(x, y, &v);
    if (op == '-') bad = __builtin_sub_overflow(x, y, &v);
    if (op == '*' && !twice) bad = __builtin_mul_overflow(x, y, &v);
    if (op == '*' && twice) GEODEC_FAIL(GEODEC_UNSUPPORTED, "the operator **");
    if (op == '/' || op == '%') {
        if (y == 0) GEODEC_FAIL(GEODEC_FORMAT, "a division by zero");
        if (y == -1)
            bad = __builtin_sub_overflow((int64_t)0, x, &v);
        else
            v = x / y - (x % y != 0 && (x < 0) != (y < 0)); /* as Python, towards minus infinity */
        if (op == '%') v = y == -1 ? 0 : x - v * y;
    }
    if (bad) GEODEC_FAIL(GEODEC_LIMIT, "a number beyond 64 bits");
    *out = jinja_int(v);
    if (op == '/' && !twice) *out = jinja_float((double)x / (double)y);
    return GEODEC_OK;
}

static geodec_status binary(runner *r, const char *op, const jinja_value *x, const jinja_value *y, jinja_value *out,
                            geodec_err *err)
{
    if (op[0] == '~') {
        jinja_text a, b;
        GEODEC_PASS(geodec__jinja_print(r->a, x, &a, err));
        GEODEC_PASS(geodec__jinja_print(r->a, y, &b, err));
        *out = (jinja_value){.sort = J_STR};
        return geodec__jinja_concat(r->a, &a, &b, &out->u.text, err);
    }
    if (op[0] == '+' && x->sort == J_STR && y->sort == J_STR) {
        *out = (jinja_value){.sort = J_STR};
        return geodec__jinja_concat(r->a, &x->u.text, &y->u.text, &out->u.text, err);
    }
    if (op[0] == '+' && x->sort == J_LIST && y->sort == J_LIST && x->tuple == y->tuple)
        return add_lists(r, x, y, out, err);
    if (op[0] == '*' && x->sort == J_STR && y->sort == J_INT) {
        *out = geodec__jinja_word("");
        for (int64_t i = 0; i < y->u.i && x->u.text.n > 0; i++)
            GEODEC_PASS(geodec__jinja_concat(r->a, &out->u.text, &x->u.text, &out->u.text, err));
        return GEODEC_OK;
    }
    if (op[0] == '%' && x->sort == J_STR) GEODEC_FAIL(GEODEC_UNSUPPORTED, "the formatting operator %%");
    if (!is_number(x) || !is_number(y)) GEODEC_FAIL(GEODEC_FORMAT, "operands of %s of different or other types", op);
    if (x->sort != J_FLOAT && y->sort != J_FLOAT) return whole_numbers(op[0], op[1] != 0, whole(x), whole(y), out, err);
    const double a = number(x), b = number(y);
    if (op[0] == '+' || op[0] == '-')
        *out = jinja_float(op[0] == '+' ? a + b : a - b);
    else if (op[0] == '*' && !op[1])
        *out = jinja_float(a * b);
    else if (op[0] == '/' && b != 0)
        *out = jinja_float(op[1] ? floor(a / b) : a / b);
    else
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "the operator %s of these numbers", op);
    return GEODEC_OK;
}

static geodec_status compare(runner *r, const char *op, const jinja_value *x, const jinja_value *y, bool *out,
                             geodec_err *err)
{
    if (strcmp(op, "==") == 0 || strcmp(op, "!=") == 0) {
        *out = geodec__jinja_equal(x, y) == (op[0] == '=');
        return GEODEC_OK;
    }
    if (strcmp(op, "in") == 0 || strcmp(op, "not in") == 0) {
        const jinja_args args = {.v = (jinja_value[]){*y}, .n = 1};
        if (y->sort == J_STR && x->sort != J_STR) GEODEC_FAIL(GEODEC_FORMAT, "'in' of a text and a value that is none");
        GEODEC_PASS(geodec__jinja_test(r->a, "in", x, &args, out, err));
        *out = *out == (op[0] == 'i');
        return GEODEC_OK;
    }
    int order;
    if (is_number(x) && is_number(y)) {
        order = (number(x) > number(y)) - (number(x) < number(y));
    } else if (x->sort == J_STR && y->sort == J_STR) {
        const jinja_text *a = &x->u.text, *b = &y->u.text;
        const int64_t n = a->n < b->n ? a->n : b->n;
        order = memcmp(a->s, b->s, (size_t)n);
        if (order == 0) order = (a->n > b->n) - (a->n < b->n);
    } else {
        GEODEC_FAIL(GEODEC_FORMAT, "values of different types are compared by %s", op);
    }
    *out = op[0] == '<' ? (op[1] ? order <= 0 : order < 0) : op[1] ? order >= 0 : order > 0;
    return GEODEC_OK;
}

/* ---- members ---------------------------------------------------------------------------------------------------- */

static geodec_status bound(runner *r, const jinja_value *of, const char *name, jinja_value *out, geodec_err *err)
{
    *out = (jinja_value){.sort = J_CALLABLE, .u.call = {.name = name}};
    JINJA_NEW(r->a, out->u.call.self, 1);
    *out->u.call.self = *of;
    return GEODEC_OK;
}

/* x.name: a method, or the member of that name. */
static geodec_status attribute(runner *r, const jinja_value *of, const char *name, jinja_value *out, geodec_err *err)
{
    if (of->sort == J_UNDEFINED) GEODEC_FAIL(GEODEC_FORMAT, "'%.60s' of an undefined value", name);
    if (geodec__jinja_has_method(of, name)) return bound(r, of, name, out, err);
    const jinja_value key = geodec__jinja_word(name), *v = of->sort == J_DICT ? geodec__jinja_get(of, &key) : NULL;
    *out = v ? *v : (jinja_value){.sort = J_UNDEFINED};
    return GEODEC_OK;
}

static geodec_status item(runner *r, const jinja_value *of, const jinja_value *key, jinja_value *out, geodec_err *err)
{
    jinja_value items;
    if (of->sort == J_UNDEFINED) GEODEC_FAIL(GEODEC_FORMAT, "an item of an undefined value");
    *out = (jinja_value){.sort = J_UNDEFINED};
    if (of->sort == J_DICT) {
        const jinja_value *v = geodec__jinja_get(of, key);
        if (v) *out = *v;
        return GEODEC_OK;
    }
    if ((of->sort != J_LIST && of->sort != J_STR) || key->sort != J_INT) return GEODEC_OK;
    GEODEC_PASS(geodec__jinja_items(r->a, of, &items, err));
    const int64_t at = key->u.i < 0 ? key->u.i + items.u.list.n : key->u.i;
    if (at >= 0 && at < items.u.list.n) *out = items.u.list.item[at];
    return GEODEC_OK;
}

static geodec_status bound_of(runner *r, const jinja_node *node, int64_t otherwise, int64_t n, int64_t *out,
                              geodec_err *err)
{
    jinja_value v;
    *out = otherwise;
    if (!node) return GEODEC_OK;
    GEODEC_PASS(eval(r, node, &v, err));
    if (v.sort == J_NONE) return GEODEC_OK;
    if (v.sort != J_INT) GEODEC_FAIL(GEODEC_FORMAT, "a slice whose ends are no whole numbers");
    *out = v.u.i < 0 ? v.u.i + n : v.u.i;
    return GEODEC_OK;
}

static geodec_status slice(runner *r, const jinja_node *node, const jinja_value *of, jinja_value *out, geodec_err *err)
{
    jinja_value items, step = jinja_int(1);
    int64_t from, to;
    if (of->sort != J_LIST && of->sort != J_STR)
        GEODEC_FAIL(GEODEC_FORMAT, "a slice of a value that is neither list nor text");
    GEODEC_PASS(geodec__jinja_items(r->a, of, &items, err));
    const int64_t n = items.u.list.n;
    if (node->other) GEODEC_PASS(eval(r, node->other, &step, err));
    if (step.sort != J_INT || step.u.i == 0) GEODEC_FAIL(GEODEC_FORMAT, "a slice with a bad step");
    const bool back = step.u.i < 0;
    GEODEC_PASS(bound_of(r, node->b, back ? n - 1 : 0, n, &from, err));
    GEODEC_PASS(bound_of(r, node->c, back ? -1 : n, n, &to, err));
    if (!back && from < 0) from = 0;
    if (back && from > n - 1) from = n - 1;
    if (!back && to > n) to = n;
    if (back && node->c && to < -1) to = -1;
    GEODEC_PASS(geodec__jinja_list(r->a, n, out, err));
    out->tuple = of->tuple;
    out->u.list.n = 0;
    for (int64_t i = from; back ? i > to : i < to; i += step.u.i) {
        if (i >= 0 && i < n) out->u.list.item[out->u.list.n++] = items.u.list.item[i];
        if (step.u.i > n || step.u.i < -n) break;
    }
    if (of->sort == J_LIST) return GEODEC_OK;
    jinja_text all = {"", 0, NULL};
    for (int64_t i = 0; i < out->u.list.n; i++)
        GEODEC_PASS(geodec__jinja_concat(r->a, &all, &out->u.list.item[i].u.text, &all, err));
    *out = (jinja_value){.sort = J_STR, .u.text = all};
    return GEODEC_OK;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static geodec_status arguments(runner *r, const jinja_node *list, jinja_args *out, geodec_err *err)
{
    int64_t n = 0;
    for (const jinja_node *at = list; at; at = at->next) n++;
    *out = (jinja_args){0};
    JINJA_NEW(r->a, out->v, n);
    JINJA_NEW(r->a, out->named, n);
    JINJA_NEW(r->a, out->name, n);
    for (const jinja_node *at = list; at; at = at->next) {
        if (!at->label && out->n_named > 0) GEODEC_FAIL(GEODEC_FORMAT, "an argument behind a named one");
        if (at->label) out->name[out->n_named] = at->label;
        GEODEC_PASS(eval(r, at, at->label ? &out->named[out->n_named++] : &out->v[out->n++], err));
    }
    return GEODEC_OK;
}

static geodec_status call_macro(runner *r, const jinja_node *macro, const jinja_args *args, jinja_value *out,
                                geodec_err *err)
{
    scope own = {.outer = r->globals}, *const before = r->scope;
    int64_t n = 0;
    if (++r->depth > GEODEC_JINJA_DEPTH) GEODEC_FAIL(GEODEC_LIMIT, "calls nest too deep");
    variable *values = NULL;
    r->scope = before;
    for (const jinja_node *p = macro->a; p; p = p->next, n++) { /* arguments first, in the caller's scope */
        const jinja_value *given = geodec__jinja_arg(args, n, p->name);
        jinja_value v = {.sort = J_UNDEFINED};
        if (given)
            v = *given;
        else if (p->b)
            GEODEC_PASS(eval(r, p->b, &v, err));
        variable *one;
        JINJA_NEW(r->a, one, 1);
        *one = (variable){p->name, v, values};
        values = one;
    }
    if (args->n > n) GEODEC_FAIL(GEODEC_FORMAT, "%s with %lld arguments", macro->name, (long long)args->n);
    own.first = values;
    r->scope = &own;
    GEODEC_PASS(capture(r, macro->list, out, err));
    r->scope = before;
    r->depth--;
    return GEODEC_OK;
}

static geodec_status range(runner *r, const jinja_args *args, jinja_value *out, geodec_err *err)
{
    int64_t v[3] = {0, 0, 1};
    if (args->n < 1 || args->n > 3) GEODEC_FAIL(GEODEC_FORMAT, "range with %lld arguments", (long long)args->n);
    for (int64_t i = 0; i < args->n; i++) {
        if (args->v[i].sort != J_INT) GEODEC_FAIL(GEODEC_FORMAT, "range of values that are no whole numbers");
        v[args->n == 1 ? 1 : i] = args->v[i].u.i;
    }
    if (v[2] == 0 || v[0] < -100000 || v[1] > 100000 || v[0] > 100000 || v[1] < -100000)
        GEODEC_FAIL(GEODEC_LIMIT, "range beyond 100000");
    int64_t n = 0;
    for (int64_t i = v[0]; v[2] > 0 ? i < v[1] : i > v[1]; i += v[2]) n++;
    GEODEC_PASS(geodec__jinja_list(r->a, n, out, err));
    for (int64_t i = 0; i < n; i++) out->u.list.item[i] = jinja_int(v[0] + i * v[2]);
    return GEODEC_OK;
}

static geodec_status call(runner *r, const jinja_value *f, const jinja_args *args, jinja_value *out, geodec_err *err)
{
    if (f->sort == J_UNDEFINED) GEODEC_FAIL(GEODEC_UNSUPPORTED, "a call of an undefined function");
    if (f->sort != J_CALLABLE) GEODEC_FAIL(GEODEC_FORMAT, "a call of a value that is no function");
    if (f->u.call.body) return call_macro(r, f->u.call.body, args, out, err);
    const char *const name = f->u.call.name;
    if (f->u.call.self) return geodec__jinja_method(r->a, name, f->u.call.self, args, out, err);
    if (strcmp(name, "range") == 0) return range(r, args, out, err);
    if (strcmp(name, "raise_exception") == 0) {
        jinja_text why = {"", 0, NULL};
        if (args->n > 0) GEODEC_PASS(geodec__jinja_print(r->a, &args->v[0], &why, err));
        GEODEC_FAIL(GEODEC_FORMAT, "the template says: %.*s", (int)(why.n < 200 ? why.n : 200), why.s);
    }
    if (strcmp(name, "namespace") == 0 || strcmp(name, "dict") == 0) {
        GEODEC_PASS(geodec__jinja_dict(r->a, out, err));
        if (args->n > 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s of a value", name);
        for (int64_t i = 0; i < args->n_named; i++)
            GEODEC_PASS(geodec__jinja_put(r->a, out, geodec__jinja_word(args->name[i]), args->named[i], err));
        out->mutable = name[0] == 'n';
        return GEODEC_OK;
    }
    GEODEC_FAIL(GEODEC_UNSUPPORTED, "the function '%.60s'", name);
}

/* ---- expressions ------------------------------------------------------------------------------------------------ */

static geodec_status eval_name(runner *r, const char *name, jinja_value *out, geodec_err *err)
{
    static const char *const functions[] = {"range", "raise_exception", "namespace", "dict"};
    static const char *const refused[] = {"lipsum", "cycler", "joiner", "caller", "varargs", "kwargs", "self", "super"};
    const jinja_value *v = look_up(r, name);
    *out = v ? *v : (jinja_value){.sort = J_UNDEFINED};
    for (size_t i = 0; !v && i < sizeof functions / sizeof *functions; i++)
        if (strcmp(name, functions[i]) == 0) *out = (jinja_value){.sort = J_CALLABLE, .u.call = {.name = functions[i]}};
    for (size_t i = 0; !v && i < sizeof refused / sizeof *refused; i++)
        if (strcmp(name, refused[i]) == 0) GEODEC_FAIL(GEODEC_UNSUPPORTED, "the name '%s'", name);
    return GEODEC_OK;
}

static geodec_status eval_list(runner *r, const jinja_node *node, jinja_value *out, geodec_err *err)
{
    int64_t n = 0;
    for (const jinja_node *at = node->list; at; at = at->next) n++;
    GEODEC_PASS(geodec__jinja_list(r->a, n, out, err));
    out->tuple = node->kind == N_TUPLE;
    n = 0;
    for (const jinja_node *at = node->list; at; at = at->next) GEODEC_PASS(eval(r, at, &out->u.list.item[n++], err));
    return GEODEC_OK;
}

static geodec_status eval_dict(runner *r, const jinja_node *node, jinja_value *out, geodec_err *err)
{
    GEODEC_PASS(geodec__jinja_dict(r->a, out, err));
    for (const jinja_node *at = node->list; at; at = at->next) {
        jinja_value key, value;
        GEODEC_PASS(eval(r, at->a, &key, err));
        GEODEC_PASS(eval(r, at->b, &value, err));
        GEODEC_PASS(geodec__jinja_put(r->a, out, key, value, err));
    }
    return GEODEC_OK;
}

static geodec_status eval_compare(runner *r, const jinja_node *node, jinja_value *out, geodec_err *err)
{
    jinja_value x, y;
    bool yes = true;
    GEODEC_PASS(eval(r, node->a, &x, err));
    for (const jinja_node *link = node->list; link && yes; link = link->next) {
        GEODEC_PASS(eval(r, link->a, &y, err));
        GEODEC_PASS(compare(r, link->name, &x, &y, &yes, err));
        x = y;
    }
    *out = jinja_bool(yes);
    return GEODEC_OK;
}

static geodec_status eval_unary(runner *r, const jinja_node *node, jinja_value *out, geodec_err *err)
{
    jinja_value v;
    GEODEC_PASS(eval(r, node->a, &v, err));
    if (!is_number(&v)) GEODEC_FAIL(GEODEC_FORMAT, "the sign of a value that is no number");
    *out = v;
    if (node->name[0] != '-') return GEODEC_OK;
    if (v.sort != J_FLOAT) return whole_numbers('-', false, 0, whole(&v), out, err);
    *out = jinja_float(-v.u.f);
    return GEODEC_OK;
}

static geodec_status eval_test(runner *r, const jinja_node *node, jinja_value *out, geodec_err *err)
{
    jinja_value v;
    jinja_args args;
    bool yes;
    GEODEC_PASS(eval(r, node->a, &v, err));
    GEODEC_PASS(arguments(r, node->list, &args, err));
    GEODEC_PASS(geodec__jinja_test(r->a, node->name, &v, &args, &yes, err));
    *out = jinja_bool(yes != node->negated);
    return GEODEC_OK;
}

static geodec_status eval_kind(runner *r, const jinja_node *node, jinja_value *out, geodec_err *err)
{
    jinja_value x, y;
    jinja_args args;
    switch (node->kind) {
    case N_CONST:
        *out = node->value;
        return GEODEC_OK;
    case N_NAME:
        return eval_name(r, node->name, out, err);
    case N_LIST:
    case N_TUPLE:
        return eval_list(r, node, out, err);
    case N_DICT:
        return eval_dict(r, node, out, err);
    case N_COMPARE:
        return eval_compare(r, node, out, err);
    case N_UNARY:
        return eval_unary(r, node, out, err);
    case N_TEST:
        return eval_test(r, node, out, err);
    case N_AND:
    case N_OR:
        GEODEC_PASS(eval(r, node->a, out, err));
        return geodec__jinja_truth(out) == (node->kind == N_OR) ? GEODEC_OK : eval(r, node->b, out, err);
    case N_NOT:
        GEODEC_PASS(eval(r, node->a, &x, err));
        *out = jinja_bool(!geodec__jinja_truth(&x));
        return GEODEC_OK;
    case N_COND:
        GEODEC_PASS(eval(r, node->b, &x, err));
        if (geodec__jinja_truth(&x)) return eval(r, node->a, out, err);
        *out = (jinja_value){.sort = J_UNDEFINED};
        return node->c ? eval(r, node->c, out, err) : GEODEC_OK;
    default:
        break;
    }
    GEODEC_PASS(eval(r, node->a, &x, err)); /* all others have an operand */
    switch (node->kind) {
    case N_ATTR:
        return attribute(r, &x, node->name, out, err);
    case N_ITEM:
        GEODEC_PASS(eval(r, node->b, &y, err));
        return item(r, &x, &y, out, err);
    case N_SLICE:
        return slice(r, node, &x, out, err);
    case N_CALL:
        GEODEC_PASS(arguments(r, node->list, &args, err));
        return call(r, &x, &args, out, err);
    case N_FILTER:
        GEODEC_PASS(arguments(r, node->list, &args, err));
        return geodec__jinja_filter(r->a, node->name, &x, &args, out, err);
    case N_BINARY:
        GEODEC_PASS(eval(r, node->b, &y, err));
        return binary(r, node->name, &x, &y, out, err);
    default:
        GEODEC_FAIL(GEODEC_INTERNAL, "a statement in an expression");
    }
}

static geodec_status eval(runner *r, const jinja_node *node, jinja_value *out, geodec_err *err)
{
    if (++r->steps > GEODEC_JINJA_STEPS)
        GEODEC_FAIL(GEODEC_LIMIT, "line %d: the template takes too many steps", node->line);
    const geodec_status st = eval_kind(r, node, out, err);
    if (st == GEODEC_OK) return GEODEC_OK;
    /* the innermost line is enough */
    return err && err->depth > 1 ? st : geodec_err_add(err, st, __func__, __LINE__, "line %d", node->line);
}

/* ---- statements ------------------------------------------------------------------------------------------------- */

/* The variable `loop`. */
static geodec_status describe_loop(runner *r, const jinja_value *items, int64_t i, jinja_value *out, geodec_err *err)
{
    const int64_t n = items->u.list.n;
    const struct {
        const char *name;
        jinja_value value;
    } list[] = {{"index", jinja_int(i + 1)},
                {"index0", jinja_int(i)},
                {"first", jinja_bool(i == 0)},
                {"last", jinja_bool(i == n - 1)},
                {"length", jinja_int(n)},
                {"revindex", jinja_int(n - i)},
                {"revindex0", jinja_int(n - i - 1)},
                {"previtem", i > 0 ? items->u.list.item[i - 1] : (jinja_value){.sort = J_UNDEFINED}},
                {"nextitem", i + 1 < n ? items->u.list.item[i + 1] : (jinja_value){.sort = J_UNDEFINED}},
                {"depth", jinja_int(1)},
                {"depth0", jinja_int(0)}};
    GEODEC_PASS(geodec__jinja_dict(r->a, out, err));
    out->mutable = true; /* it has no methods of a dictionary */
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        GEODEC_PASS(geodec__jinja_put(r->a, out, geodec__jinja_word(list[k].name), list[k].value, err));
    return GEODEC_OK;
}

/* The items that a condition of the loop lets through. */
static geodec_status filter_items(runner *r, const jinja_node *node, jinja_value *items, geodec_err *err)
{
    scope own = {.outer = r->scope};
    int64_t n = 0;
    jinja_value kept, yes;
    if (!node->c) return GEODEC_OK;
    GEODEC_PASS(geodec__jinja_list(r->a, items->u.list.n, &kept, err));
    for (int64_t i = 0; i < items->u.list.n; i++) {
        own.first = NULL;
        r->scope = &own;
        GEODEC_PASS(assign_all(r, node->a, items->u.list.item[i], err));
        GEODEC_PASS(eval(r, node->c, &yes, err));
        r->scope = own.outer;
        if (geodec__jinja_truth(&yes)) kept.u.list.item[n++] = items->u.list.item[i];
    }
    kept.u.list.n = n;
    *items = kept;
    return GEODEC_OK;
}

static geodec_status run_for(runner *r, const jinja_node *node, geodec_err *err)
{
    scope own = {.outer = r->scope};
    jinja_value v, items, loop;
    GEODEC_PASS(eval(r, node->b, &v, err));
    GEODEC_PASS(geodec__jinja_items(r->a, &v, &items, err));
    GEODEC_PASS(filter_items(r, node, &items, err));
    for (int64_t i = 0; i < items.u.list.n; i++) {
        own.first = NULL; /* what an iteration sets ends with it */
        r->scope = &own;
        GEODEC_PASS(describe_loop(r, &items, i, &loop, err));
        GEODEC_PASS(assign(r, "loop", loop, err));
        GEODEC_PASS(assign_all(r, node->a, items.u.list.item[i], err));
        GEODEC_PASS(run_body(r, node->list, err));
        r->scope = own.outer;
        const bool leave = r->flow == BREAK;
        r->flow = GO;
        if (leave) break;
    }
    return items.u.list.n == 0 ? run_body(r, node->other, err) : GEODEC_OK;
}

static geodec_status run_set(runner *r, const jinja_node *node, geodec_err *err)
{
    jinja_value v;
    if (node->kind == N_SET_BLOCK)
        GEODEC_PASS(capture(r, node->list, &v, err));
    else
        GEODEC_PASS(eval(r, node->b, &v, err));
    if (!node->name) return assign_all(r, node->a, v, err);
    jinja_value *space = look_up(r, node->a->name);
    if (!space || space->sort != J_DICT || !space->mutable)
        GEODEC_FAIL(GEODEC_FORMAT, "line %d: '%.60s' is no namespace", node->line, node->a->name);
    return geodec__jinja_put(r->a, space, geodec__jinja_word(node->name), v, err);
}

static geodec_status run_one(runner *r, const jinja_node *node, geodec_err *err)
{
    jinja_value v;
    jinja_text t;
    switch (node->kind) {
    case N_TEXT:
        return emit(r, &node->value.u.text, err);
    case N_PRINT:
        GEODEC_PASS(eval(r, node->a, &v, err));
        GEODEC_PASS(geodec__jinja_print(r->a, &v, &t, err));
        return emit(r, &t, err);
    case N_IF:
        GEODEC_PASS(eval(r, node->a, &v, err));
        return run_body(r, geodec__jinja_truth(&v) ? node->list : node->other, err);
    case N_FOR:
        return run_for(r, node, err);
    case N_SET:
    case N_SET_BLOCK:
        return run_set(r, node, err);
    case N_MACRO:
        return assign(r, node->name, (jinja_value){.sort = J_CALLABLE, .u.call = {.name = node->name, .body = node}},
                      err);
    case N_BREAK:
    case N_CONTINUE:
        r->flow = node->kind == N_BREAK ? BREAK : CONTINUE;
        return GEODEC_OK;
    default:
        GEODEC_FAIL(GEODEC_INTERNAL, "an expression in place of a statement");
    }
}

static geodec_status run_body(runner *r, const jinja_node *node, geodec_err *err)
{
    if (++r->depth > 2 * GEODEC_JINJA_DEPTH) GEODEC_FAIL(GEODEC_LIMIT, "statements nest too deep");
    for (; node && r->flow == GO; node = node->next) {
        if (++r->steps > GEODEC_JINJA_STEPS)
            GEODEC_FAIL(GEODEC_LIMIT, "line %d: the template takes too many steps", node->line);
        GEODEC_PASS(run_one(r, node, err));
    }
    r->depth--;
    return GEODEC_OK;
}

/* ---- the interface ---------------------------------------------------------------------------------------------- */

geodec_status geodec_jinja_compile(const char *text, size_t n, geodec_jinja **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_jinja *t = NULL;
    jinja_token *token;
    int64_t count;
    if (n > GEODEC_JINJA_TEMPLATE)
        GEODEC_THROW(GEODEC_LIMIT, "a template of %zu bytes; the limit is %d", n, GEODEC_JINJA_TEMPLATE);
    GEODEC_NEW(t, 1);
    t->arena.limit = GEODEC_JINJA_MEMORY;
    GEODEC_TRY(geodec__jinja_lex(&t->arena, text, (int64_t)n, &token, &count, err));
    GEODEC_TRY(geodec__jinja_parse(&t->arena, token, count, &t->body, err));
    GEODEC_MOVE(*out, t);
done:
    geodec_jinja_free(t);
    return st;
}

void geodec_jinja_free(geodec_jinja *t)
{
    if (!t) return;
    geodec__arena_free(&t->arena);
    geodec_mem_free(t);
}

/* Messages as a list of dictionaries; their contents are marked. */
static geodec_status put_messages(runner *r, const geodec_jinja_context *c, jinja_value *list, geodec_err *err)
{
    GEODEC_PASS(geodec__jinja_list(r->a, c->n_messages, list, err));
    for (int64_t i = 0; i < c->n_messages; i++) {
        const geodec_jinja_message *m = &c->message[i];
        jinja_value *to = &list->u.list.item[i];
        unsigned char *mark;
        JINJA_NEW(r->a, mark, (int64_t)m->n);
        memset(mark, 1, m->n);
        GEODEC_PASS(geodec__jinja_dict(r->a, to, err));
        GEODEC_PASS(geodec__jinja_put(r->a, to, geodec__jinja_word("role"), geodec__jinja_word(m->role), err));
        GEODEC_PASS(geodec__jinja_put(r->a, to, geodec__jinja_word("content"),
                                      geodec__jinja_str(m->content, (int64_t)m->n, mark), err));
    }
    return GEODEC_OK;
}

geodec_status geodec_jinja_render(const geodec_jinja *t, const geodec_jinja_context *c, char **text,
                                  unsigned char **mark, size_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__arena arena = {.limit = GEODEC_JINJA_MEMORY};
    scope globals = {0};
    runner r = {.a = &arena, .scope = &globals, .globals = &globals};
    jinja_value messages, none = {.sort = J_NONE};
    char *s = NULL;
    unsigned char *m = NULL;
    GEODEC_TRY(put_messages(&r, c, &messages, err));
    GEODEC_TRY(assign(&r, "messages", messages, err));
    GEODEC_TRY(assign(&r, "add_generation_prompt", jinja_bool(c->add_generation_prompt), err));
    GEODEC_TRY(assign(&r, "bos_token", geodec__jinja_word(c->bos_token ? c->bos_token : ""), err));
    GEODEC_TRY(assign(&r, "eos_token", geodec__jinja_word(c->eos_token ? c->eos_token : ""), err));
    GEODEC_TRY(assign(&r, "tools", none, err)); /* as transformers gives them */
    GEODEC_TRY(assign(&r, "documents", none, err));
    GEODEC_TRY(run_body(&r, t->body, err));
    GEODEC_NEW(s, r.n + 1);
    GEODEC_NEW(m, r.n + 1);
    if (r.n) memcpy(s, r.out, (size_t)r.n);
    if (r.n) memcpy(m, r.mark, (size_t)r.n);
    *n = (size_t)r.n;
    GEODEC_MOVE(*text, s);
    GEODEC_MOVE(*mark, m);
done:
    geodec__arena_free(&arena);
    GEODEC_FREE(s, m);
    return st;
}
