#include "lab/verdict/expr.h"

#include "base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum op {
    OP_NUMBER,
    OP_NAME,
    OP_NEGATE,
    OP_NOT,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_AND,
    OP_OR,
    OP_ABS,
    OP_MIN,
    OP_MAX,
    OP_SAME,
    OP_KNOWN,
    OP_ISNAN,
} op;

typedef struct node {
    op op;
    int16_t a, b; /* operands; of a name, its index in names[] */
    double x;     /* value of a number, or decimals of same */
} node;

typedef struct named {
    char text[GEODEC_EXPR_NAME];
    bool asked, needed;
} named;

enum { NAMES_MAX = 32, DECIMALS_MAX = 15 };

struct geodec_expr {
    node nodes[GEODEC_EXPR_NODES_MAX];
    int n, root, n_names;
    named names[NAMES_MAX];
};

static const struct function {
    const char *name;
    op op;
    int least, most;
} functions[] = {
    {"abs", OP_ABS, 1, 1},   {"min", OP_MIN, 2, 16},    {"max", OP_MAX, 2, 16},
    {"same", OP_SAME, 3, 3}, {"known", OP_KNOWN, 1, 1}, {"isnan", OP_ISNAN, 1, 1},
};

typedef struct parser {
    geodec_expr *e;
    const char *at;
    int depth;
} parser;

static void blanks(parser *p)
{
    while (*p->at == ' ') p->at++;
}

static bool take(parser *p, const char *token)
{
    blanks(p);
    const size_t n = strlen(token);
    if (strncmp(p->at, token, n) != 0) return false;
    p->at += n;
    return true;
}

static geodec_status add(parser *p, node v, int *out, geodec_err *err)
{
    if (p->e->n == GEODEC_EXPR_NODES_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "a condition of more than %d parts", GEODEC_EXPR_NODES_MAX);
    p->e->nodes[p->e->n] = v;
    *out = p->e->n++;
    return GEODEC_OK;
}

static geodec_status add_name(parser *p, const char *from, size_t n, bool asked, int *out, geodec_err *err)
{
    geodec_expr *e = p->e;
    int k = 0;
    while (k < e->n_names && !(strncmp(e->names[k].text, from, n) == 0 && !e->names[k].text[n])) k++;
    if (k == e->n_names) {
        if (k == NAMES_MAX) GEODEC_FAIL(GEODEC_LIMIT, "a condition with more than %d names", NAMES_MAX);
        (void)snprintf(e->names[k].text, sizeof e->names[k].text, "%.*s", (int)n, from);
        e->n_names++;
    }
    if (asked)
        e->names[k].asked = true;
    else
        e->names[k].needed = true;
    GEODEC_PASS(add(p, (node){.op = OP_NAME, .a = (int16_t)k}, out, err));
    return GEODEC_OK;
}

typedef enum precedence { OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY } precedence; /* lowest precedence first */

static geodec_status parse_level(parser *p, precedence level, int *out, geodec_err *err);

static geodec_status deeper(parser *p, geodec_err *err)
{
    if (++p->depth > GEODEC_EXPR_DEPTH_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "a condition nested deeper than %d", GEODEC_EXPR_DEPTH_MAX);
    return GEODEC_OK;
}

static size_t word_length(const char *s)
{
    size_t n = 0;
    if (!isalpha((unsigned char)s[0]) && s[0] != '_') return 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
    return n;
}

/* The name in known(name) or isnan(name). */
static geodec_status question(parser *p, op o, int *out, geodec_err *err)
{
    int a;
    blanks(p);
    const size_t n = word_length(p->at);
    if (n == 0 || n >= GEODEC_EXPR_NAME)
        GEODEC_FAIL(GEODEC_FORMAT, "known() and isnan() need a name at '%.40s'", p->at);
    GEODEC_PASS(add_name(p, p->at, n, true, &a, err));
    p->at += n;
    GEODEC_PASS(add(p, (node){.op = o, .a = (int16_t)a}, out, err));
    return GEODEC_OK;
}

/* Parses the arguments of a call, after its '('. */
static geodec_status call(parser *p, const struct function *f, int *out, geodec_err *err)
{
    int sum, b;
    if (f->op == OP_KNOWN || f->op == OP_ISNAN) {
        GEODEC_PASS(question(p, f->op, out, err));
    } else {
        GEODEC_PASS(parse_level(p, OR, &sum, err));
        int n = 1;
        if (f->op == OP_ABS) GEODEC_PASS(add(p, (node){.op = OP_ABS, .a = (int16_t)sum}, &sum, err));
        for (; take(p, ","); n++) {
            if (n == f->most) GEODEC_FAIL(GEODEC_FORMAT, "%s() has too many values", f->name);
            GEODEC_PASS(parse_level(p, OR, &b, err));
            if (f->op == OP_SAME && n == 2) {
                const node *d = &p->e->nodes[b];
                if (d->op != OP_NUMBER || d->x != floor(d->x) || d->x > DECIMALS_MAX)
                    GEODEC_FAIL(GEODEC_FORMAT, "the decimals of same() must be a whole number up to %d", DECIMALS_MAX);
                p->e->nodes[sum].x = d->x;
                p->e->n--;
            } else {
                GEODEC_PASS(add(p, (node){.op = f->op, .a = (int16_t)sum, .b = (int16_t)b}, &sum, err));
            }
        }
        if (n < f->least) GEODEC_FAIL(GEODEC_FORMAT, "%s() needs more values than %d", f->name, n);
        *out = sum;
    }
    if (!take(p, ")")) GEODEC_FAIL(GEODEC_FORMAT, "')' is missing at '%.40s'", p->at);
    return GEODEC_OK;
}

static geodec_status parse_unary(parser *p, int *out, geodec_err *err)
{
    int a;
    GEODEC_PASS(deeper(p, err));
    if (take(p, "(")) {
        GEODEC_PASS(parse_level(p, OR, out, err));
        if (!take(p, ")")) GEODEC_FAIL(GEODEC_FORMAT, "')' is missing at '%.40s'", p->at);
    } else if (take(p, "-")) {
        GEODEC_PASS(parse_unary(p, &a, err));
        GEODEC_PASS(add(p, (node){.op = OP_NEGATE, .a = (int16_t)a}, out, err));
    } else if (isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1]))) {
        char *end = NULL;
        const double x = strtod(p->at, &end);
        if (!isfinite(x) || isalpha((unsigned char)*end) || *end == '_' || *end == '.' || p->at[1] == 'x')
            GEODEC_FAIL(GEODEC_FORMAT, "no number at '%.40s'", p->at);
        p->at = end;
        GEODEC_PASS(add(p, (node){.op = OP_NUMBER, .x = x}, out, err));
    } else {
        const size_t n = word_length(p->at);
        if (n == 0 || n >= GEODEC_EXPR_NAME) GEODEC_FAIL(GEODEC_FORMAT, "a value is missing at '%.40s'", p->at);
        const char *word = p->at;
        p->at += n;
        if (take(p, "(")) {
            const struct function *f = NULL;
            for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
                if (strlen(functions[k].name) == n && strncmp(functions[k].name, word, n) == 0) f = &functions[k];
            if (!f) GEODEC_FAIL(GEODEC_FORMAT, "no function '%.*s'", (int)n, word);
            GEODEC_PASS(call(p, f, out, err));
        } else {
            GEODEC_PASS(add_name(p, word, n, false, out, err));
        }
    }
    p->depth--;
    return GEODEC_OK;
}

static geodec_status parse_not(parser *p, int *out, geodec_err *err)
{
    int a;
    blanks(p);
    if (p->at[0] != '!' || p->at[1] == '=') {
        GEODEC_PASS(parse_level(p, COMPARISON, out, err));
        return GEODEC_OK;
    }
    p->at++;
    GEODEC_PASS(deeper(p, err));
    GEODEC_PASS(parse_not(p, &a, err));
    p->depth--;
    GEODEC_PASS(add(p, (node){.op = OP_NOT, .a = (int16_t)a}, out, err));
    return GEODEC_OK;
}

/* The operands of a precedence level, joined by its operators from left to right. */
static geodec_status parse_level(parser *p, precedence level, int *out, geodec_err *err)
{
    static const struct {
        const char *sign;
        op op;
        int level;
    } operations[] = {/* a longer operator comes before its prefix */
                      {"||", OP_OR, OR},         {"&&", OP_AND, AND},         {"<=", OP_LE, COMPARISON},
                      {">=", OP_GE, COMPARISON}, {"==", OP_EQ, COMPARISON},   {"!=", OP_NE, COMPARISON},
                      {"<", OP_LT, COMPARISON},  {">", OP_GT, COMPARISON},    {"+", OP_ADD, SUM},
                      {"-", OP_SUBTRACT, SUM},   {"*", OP_MULTIPLY, PRODUCT}, {"/", OP_DIVIDE, PRODUCT}};
    enum { OPERATIONS = sizeof operations / sizeof *operations };
    int b, k;
    if (level == NOT || level == UNARY) {
        GEODEC_PASS(level == NOT ? parse_not(p, out, err) : parse_unary(p, out, err));
        return GEODEC_OK;
    }
    GEODEC_PASS(parse_level(p, level + 1, out, err));
    do {
        for (k = 0; k < OPERATIONS && !(operations[k].level == (int)level && take(p, operations[k].sign)); k++) {
        }
        if (k == OPERATIONS) break;
        GEODEC_PASS(parse_level(p, level + 1, &b, err));
        GEODEC_PASS(add(p, (node){.op = operations[k].op, .a = (int16_t)*out, .b = (int16_t)b}, out, err));
    } while (level != COMPARISON);
    return GEODEC_OK;
}

geodec_status geodec_expr_parse(const char *text, geodec_expr **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_expr *e = NULL;
    if (strlen(text) > GEODEC_EXPR_TEXT_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "a condition longer than %d bytes", GEODEC_EXPR_TEXT_MAX);
    GEODEC_NEW(e, 1);
    parser p = {.e = e, .at = text};
    /* a separate chain: only its first message is reported */
    geodec_err inner = {0};
    st = parse_level(&p, OR, &e->root, &inner);
    if (st != GEODEC_OK) GEODEC_THROW(st, "condition '%.100s': %.100s", text, inner.frame[0].text);
    blanks(&p);
    if (*p.at) GEODEC_THROW(GEODEC_FORMAT, "condition '%.100s': syntax error at '%.40s'", text, p.at);
    *out = e;
    e = NULL;
done:
    geodec_expr_free(e);
    return st;
}

void geodec_expr_free(geodec_expr *e) { geodec_mem_free(e); }

/* Equal when printed with d decimals. */
static bool same(double a, double b, int d)
{
    char s[400], t[400];
    (void)snprintf(s, sizeof s, "%.*f", d, a);
    (void)snprintf(t, sizeof t, "%.*f", d, b);
    if (strtod(s, NULL) == 0 && strtod(t, NULL) == 0) return true; /* -0.0 */
    return strcmp(s, t) == 0;
}

typedef struct evaluation {
    const geodec_expr *e;
    geodec_expr_lookup lookup;
    void *ctx;
} evaluation;

static geodec_status value_of(const evaluation *v, const char *name, double *x, geodec_err *err)
{
    const geodec_expr_state s = v->lookup(v->ctx, name, x);
    if (s == GEODEC_EXPR_MISSING) GEODEC_FAIL(GEODEC_NOTFOUND, "%s is not there", name);
    if (s == GEODEC_EXPR_NAN) GEODEC_FAIL(GEODEC_NOTFOUND, "%s is not a number", name);
    if (s == GEODEC_EXPR_INFINITE || !isfinite(*x)) GEODEC_FAIL(GEODEC_NOTFOUND, "%s is infinite", name);
    return GEODEC_OK;
}

static double combine(op o, double a, double b, double d)
{
    switch (o) {
    case OP_ADD:
        return a + b;
    case OP_SUBTRACT:
        return a - b;
    case OP_MULTIPLY:
        return a * b;
    case OP_DIVIDE:
        return a / b;
    case OP_LT:
        return a < b;
    case OP_LE:
        return a <= b;
    case OP_GT:
        return a > b;
    case OP_GE:
        return a >= b;
    case OP_EQ:
        return a == b;
    case OP_NE:
        return a != b;
    case OP_MIN:
        return fmin(a, b);
    case OP_MAX:
        return fmax(a, b);
    case OP_SAME:
        return same(a, b, (int)d);
    default:
        return (double)NAN;
    }
}

static geodec_status eval(const evaluation *v, int i, double *out, geodec_err *err)
{
    const node *n = &v->e->nodes[i];
    double a = 0, b = 0, x = 0;
    switch (n->op) {
    case OP_NUMBER:
        x = n->x;
        break;
    case OP_NAME:
        GEODEC_PASS(value_of(v, v->e->names[n->a].text, &x, err));
        break;
    case OP_KNOWN:
    case OP_ISNAN: {
        const geodec_expr_state s = v->lookup(v->ctx, v->e->names[v->e->nodes[n->a].a].text, &a);
        x = s == (n->op == OP_KNOWN ? GEODEC_EXPR_KNOWN : GEODEC_EXPR_NAN);
        break;
    }
    case OP_NEGATE:
    case OP_NOT:
    case OP_ABS:
        GEODEC_PASS(eval(v, n->a, &a, err));
        x = n->op == OP_NEGATE ? -a : n->op == OP_NOT ? !(a != 0) : fabs(a);
        break;
    case OP_AND:
    case OP_OR:
        GEODEC_PASS(eval(v, n->a, &a, err));
        x = a != 0;
        if ((a != 0) == (n->op == OP_OR)) break;
        GEODEC_PASS(eval(v, n->b, &b, err));
        x = b != 0;
        break;
    default:
        GEODEC_PASS(eval(v, n->a, &a, err));
        GEODEC_PASS(eval(v, n->b, &b, err));
        x = combine(n->op, a, b, n->x);
        break;
    }
    if (!isfinite(x)) GEODEC_FAIL(GEODEC_NUMERIC, "a result is not finite");
    *out = x;
    return GEODEC_OK;
}

geodec_status geodec_expr_eval(const geodec_expr *e, geodec_expr_lookup lookup, void *ctx, double *out, geodec_err *err)
{
    const evaluation v = {e, lookup, ctx};
    return eval(&v, e->root, out, err);
}

const char *geodec_expr_name(const geodec_expr *e, int i, bool *asked, bool *needed)
{
    if (i < 0 || i >= e->n_names) return NULL;
    if (asked) *asked = e->names[i].asked;
    if (needed) *needed = e->names[i].needed;
    return e->names[i].text;
}

bool geodec_expr_number(const geodec_expr *e, int i, double *value)
{
    for (int k = 0; k < e->n; k++)
        if (e->nodes[k].op == OP_NUMBER && i-- == 0) {
            *value = e->nodes[k].x;
            return true;
        }
    return false;
}
