/* Parser of artifact/select.h's expressions: text to nodes, by operator precedence. */
#include "artifact/select_internal.h"
#include "base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, UNARY_RANK = 6 };

typedef struct parser {
    geodec__select *s;
    const char *at;
    int depth;
} parser;

static const struct function {
    const char *name;
    geodec__select_op op;
    int least, most; /* arguments; the last one of a sum over a group is its condition */
} functions[] = {
    {"abs", SELECT_ABS, 1, 1},     {"sqrt", SELECT_SQRT, 1, 1},     {"exp", SELECT_EXP, 1, 1},
    {"log", SELECT_LOG, 1, 1},     {"pow", SELECT_POW, 2, 2},       {"min", SELECT_MIN, 2, 2},
    {"max", SELECT_MAX, 2, 2},     {"if", SELECT_IF, 3, 3},         {"known", SELECT_KNOWN, 1, 1},
    {"fixed", SELECT_FIXED, 2, 2}, {"words", SELECT_WORDS, 1, 1},   {"concat", SELECT_CONCAT, 2, 3},
    {"sum", SELECT_SUM, 1, 2},     {"mean", SELECT_MEAN, 1, 2},     {"sem", SELECT_SEM, 1, 2},
    {"count", SELECT_COUNT, 0, 1}, {"median", SELECT_MEDIAN, 1, 2}, {"quantile", SELECT_QUANTILE, 2, 3},
    {"first", SELECT_FIRST, 1, 2}, {"only", SELECT_ONLY, 1, 2},     {"running", SELECT_RUNNING, 1, 1},
    {"total", SELECT_TOTAL, 1, 1},
};

static const struct operation {
    const char *sign;
    geodec__select_op op;
    int rank;
} operations[] = {
    /* a longer operator comes before its prefix */
    {"||", SELECT_OR, 1},       {"&&", SELECT_AND, 2},     {"==", SELECT_EQ, 3},      {"!=", SELECT_NE, 3},
    {"<=", SELECT_LE, 3},       {">=", SELECT_GE, 3},      {"<", SELECT_LT, 3},       {">", SELECT_GT, 3},
    {"+", SELECT_ADD, 4},       {"-", SELECT_SUBTRACT, 4}, {"*", SELECT_MULTIPLY, 5}, {"/", SELECT_DIVIDE, 5},
    {"%", SELECT_REMAINDER, 5},
};

bool geodec__select_is_sum(geodec__select_op op) { return op >= SELECT_SUM && op <= SELECT_ONLY; }

static geodec_status parse(parser *p, int rank, int *out, geodec_err *err);

static void blanks(parser *p)
{
    while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t') p->at++;
}

static bool take(parser *p, const char *token)
{
    blanks(p);
    const size_t n = strlen(token);
    if (strncmp(p->at, token, n) != 0) return false;
    p->at += n;
    return true;
}

static geodec_status add(parser *p, geodec__select_node v, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = p->s;
    if (s->n_nodes == GEODEC__SELECT_NODES) GEODEC_THROW(GEODEC_LIMIT, "expressions of more than %d parts", s->n_nodes);
    if (v.op <= SELECT_SIZE && v.op != SELECT_LIST) v.a = -1; /* operands that an operation does not have */
    if (v.op <= SELECT_NOT) v.b = -1;
    if (v.op <= SELECT_OR) v.c = -1;
    s->node[s->n_nodes] = v;
    *out = s->n_nodes++;
done:
    return st;
}

/* Letters, digits and _; with `paths` also '/' and ':' between two of them. */
static size_t word_length(const char *s, bool paths)
{
    size_t n = 0;
    if (paths && s[0] == '/' && (isalpha((unsigned char)s[1]) || s[1] == '_')) n = 1;
    if (!isalpha((unsigned char)s[n]) && s[n] != '_') return 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_' ||
           (paths && (s[n] == '/' || s[n] == ':') && (isalpha((unsigned char)s[n + 1]) || s[n + 1] == '_')))
        n++;
    return n;
}

static geodec_status name_into(char *name, const char *from, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (n == 0) GEODEC_THROW(GEODEC_INVAL, "a name is missing at '%.40s'", from);
    if (n >= GEODEC__SELECT_NAME) GEODEC_THROW(GEODEC_LIMIT, "the name '%.40s..' is too long", from);
    memcpy(name, from, n);
    name[n] = 0;
done:
    return st;
}

/* "x:field": the source x; the rest is the field. */
static geodec_status split_source(parser *p, char *name, int *source, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *colon = strchr(name, ':');
    *source = 0;
    if (!colon) goto done;
    *colon = 0;
    for (*source = 1; *source < p->s->n_sources; ++*source)
        if (strcmp(p->s->sources[*source].name, name) == 0) break;
    if (*source >= p->s->n_sources) GEODEC_THROW(GEODEC_INVAL, "no file is called '%s'", name);
    memmove(name, colon + 1, strlen(colon + 1) + 1);
done:
    return st;
}

/* After '[': the indices up to ']'. */
static geodec_status parse_places(parser *p, geodec__select_ref *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (;;) {
        blanks(p);
        size_t n = strcspn(p->at, ",]");
        if (!p->at[n] || n == 0) GEODEC_THROW(GEODEC_INVAL, "'%s[': a place is missing before '%.20s'", r->name, p->at);
        const char *from = p->at;
        p->at += n;
        while (n > 0 && from[n - 1] == ' ') n--;
        if (r->n_places == GEODEC_RANK_MAX) GEODEC_THROW(GEODEC_INVAL, "'%s': too many places", r->name);
        GEODEC_TRY(name_into(r->place[r->n_places], from, n, err));
        r->n_places++;
        if (*p->at++ == ']') break;
    }
done:
    return st;
}

static geodec_status parse_ref(parser *p, const char *word, size_t n, bool quoted, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = p->s;
    if (s->n_refs == GEODEC__SELECT_REFS) GEODEC_THROW(GEODEC_LIMIT, "more than %d fields", GEODEC__SELECT_REFS);
    geodec__select_ref *r = &s->ref[s->n_refs];
    *r = (geodec__select_ref){.column = -1};
    GEODEC_TRY(name_into(r->name, word, n, err));
    if (!quoted) GEODEC_TRY(split_source(p, r->name, &r->source, err));
    if (!quoted && *p->at == '[') {
        p->at++;
        GEODEC_TRY(parse_places(p, r, err));
    }
    GEODEC_TRY(add(p, (geodec__select_node){.op = SELECT_REF, .k = s->n_refs++}, out, err));
done:
    return st;
}

/* After '@'. */
static geodec_status parse_list(parser *p, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = p->s;
    char name[GEODEC__SELECT_NAME];
    int source, a = -1, k = 0;
    const size_t n = word_length(p->at, true);
    GEODEC_TRY(name_into(name, p->at, n, err));
    p->at += n;
    GEODEC_TRY(split_source(p, name, &source, err));
    while (k < s->n_lists && (s->list[k].source != source || strcmp(s->list[k].name, name) != 0)) k++;
    if (k == s->n_lists) {
        if (k == GEODEC__SELECT_LISTS) GEODEC_THROW(GEODEC_LIMIT, "more than %d attributes", k);
        s->list[k] = (geodec__select_list){.source = source};
        memcpy(s->list[k].name, name, sizeof name);
        s->n_lists++;
    }
    if (*p->at == '[') {
        p->at++;
        GEODEC_TRY(parse(p, 1, &a, err));
        if (!take(p, "]")) GEODEC_THROW(GEODEC_INVAL, "']' is missing at '%.40s'", p->at);
    }
    GEODEC_TRY(add(p, (geodec__select_node){.op = SELECT_LIST, .k = k, .a = a}, out, err));
done:
    return st;
}

/* After the '(' of index or size: a dimension, kept as text until the dimensions are known. */
static geodec_status parse_dimension(parser *p, geodec__select_op op, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select_node v = {.op = op, .k = -1};
    blanks(p);
    const size_t n = word_length(p->at, false);
    if (n == 0 || n >= sizeof v.value.own) GEODEC_THROW(GEODEC_INVAL, "a dimension is missing at '%.40s'", p->at);
    memcpy(v.value.own, p->at, n);
    p->at += n;
    if (!take(p, ")")) GEODEC_THROW(GEODEC_INVAL, "')' is missing at '%.40s'", p->at);
    GEODEC_TRY(add(p, v, out, err));
done:
    return st;
}

/* After the '(' of a call. */
static geodec_status parse_call(parser *p, const struct function *f, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select *s = p->s;
    int v[3] = {-1, -1, -1}, n = 0;
    if (!take(p, ")")) {
        do {
            if (n == f->most) GEODEC_THROW(GEODEC_INVAL, "%s() takes at most %d values", f->name, f->most);
            GEODEC_TRY(parse(p, 1, &v[n++], err));
        } while (take(p, ","));
        if (!take(p, ")")) GEODEC_THROW(GEODEC_INVAL, "')' is missing at '%.40s'", p->at);
    }
    if (n < f->least) GEODEC_THROW(GEODEC_INVAL, "%s() takes at least %d values", f->name, f->least);
    geodec__select_node node = {.op = f->op, .a = v[0], .b = v[1], .c = v[2]};
    if (f->op == SELECT_COUNT) { /* its only argument is the condition */
        node.b = v[0];
        node.a = -1;
    } else if (f->op == SELECT_QUANTILE) { /* condition in b, share in c */
        node.b = v[2];
        node.c = v[1];
    }
    if (geodec__select_is_sum(f->op)) node.k = s->n_sums++;
    if (f->op == SELECT_RUNNING || f->op == SELECT_TOTAL) node.k = s->n_running++;
    s->totals = s->totals || f->op == SELECT_TOTAL;
    GEODEC_TRY(add(p, node, out, err));
done:
    return st;
}

static geodec_status parse_word(parser *p, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *word = p->at;
    size_t n = word_length(word, true);
    if (*word == '{') { /* a column with any name */
        n = strcspn(++word, "}");
        if (!word[n]) GEODEC_THROW(GEODEC_INVAL, "'}' is missing at '%.40s'", p->at);
        p->at = word + n + 1;
        GEODEC_TRY(parse_ref(p, word, n, true, out, err));
        goto done;
    }
    if (n == 0) GEODEC_THROW(GEODEC_INVAL, "a value is missing at '%.40s'", word);
    p->at += n;
    if (*p->at != '(') {
        GEODEC_TRY(parse_ref(p, word, n, false, out, err));
        goto done;
    }
    p->at++;
    if (n == 5 && strncmp(word, "index", n) == 0) {
        GEODEC_TRY(parse_dimension(p, SELECT_INDEX, out, err));
        goto done;
    }
    if (n == 4 && strncmp(word, "size", n) == 0) {
        GEODEC_TRY(parse_dimension(p, SELECT_SIZE, out, err));
        goto done;
    }
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (strlen(functions[k].name) == n && strncmp(functions[k].name, word, n) == 0) {
            GEODEC_TRY(parse_call(p, &functions[k], out, err));
            goto done;
        }
    GEODEC_THROW(GEODEC_INVAL, "there is no function '%.*s'", (int)n, word);
done:
    return st;
}

static geodec_status parse_constant(parser *p, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__select_node v = {.op = SELECT_CONSTANT};
    char *end = NULL;
    if (*p->at == '"') {
        const size_t n = strcspn(++p->at, "\"");
        if (!p->at[n]) GEODEC_THROW(GEODEC_INVAL, "'\"' is missing behind '%.40s'", p->at);
        if (n >= sizeof v.value.own) GEODEC_THROW(GEODEC_LIMIT, "the text '%.40s..' is too long", p->at);
        v.value.kind = GEODEC__SELECT_TEXT;
        memcpy(v.value.own, p->at, n);
        p->at += n + 1;
    } else {
        v.value.x = strtod(p->at, &end);
        if (!isfinite(v.value.x) || isalnum((unsigned char)*end) || *end == '_' || *end == '.' || p->at[1] == 'x')
            GEODEC_THROW(GEODEC_INVAL, "no number at '%.40s'", p->at);
        p->at = end;
    }
    GEODEC_TRY(add(p, v, out, err));
done:
    return st;
}

static geodec_status parse_operand(parser *p, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int a;
    if (++p->depth > DEPTH_MAX) GEODEC_THROW(GEODEC_LIMIT, "an expression nested deeper than %d", DEPTH_MAX);
    blanks(p);
    if (take(p, "(")) {
        GEODEC_TRY(parse(p, 1, out, err));
        if (!take(p, ")")) GEODEC_THROW(GEODEC_INVAL, "')' is missing at '%.40s'", p->at);
    } else if (*p->at == '-' || (*p->at == '!' && p->at[1] != '=')) {
        const geodec__select_op op = *p->at == '-' ? SELECT_NEGATE : SELECT_NOT;
        p->at++;
        GEODEC_TRY(parse(p, UNARY_RANK, &a, err));
        GEODEC_TRY(add(p, (geodec__select_node){.op = op, .a = a}, out, err));
    } else if (take(p, "@")) {
        GEODEC_TRY(parse_list(p, out, err));
    } else if (*p->at == '"' || isdigit((unsigned char)*p->at) || *p->at == '.') {
        GEODEC_TRY(parse_constant(p, out, err));
    } else {
        GEODEC_TRY(parse_word(p, out, err));
    }
    p->depth--;
done:
    return st;
}

static geodec_status parse(parser *p, int rank, int *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int left, right;
    GEODEC_TRY(parse_operand(p, &left, err));
    for (;;) {
        const struct operation *o = NULL;
        blanks(p);
        for (size_t k = 0; k < sizeof operations / sizeof *operations && !o; k++)
            if (strncmp(p->at, operations[k].sign, strlen(operations[k].sign)) == 0) o = &operations[k];
        if (!o || o->rank < rank) break;
        p->at += strlen(o->sign);
        GEODEC_TRY(parse(p, o->rank + 1, &right, err));
        GEODEC_TRY(add(p, (geodec__select_node){.op = o->op, .a = left, .b = right}, &left, err));
    }
    *out = left;
done:
    return st;
}

geodec_status geodec__select_parse(geodec__select *s, const char *text, int *root, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    parser p = {.s = s, .at = text};
    geodec_err inner = {0}; /* only the message counts, not the chain of calls */
    st = parse(&p, 1, root, &inner);
    if (st != GEODEC_OK) GEODEC_THROW(st, "'%.80s': %.140s", text, inner.frame[0].text);
    blanks(&p);
    if (*p.at) GEODEC_THROW(GEODEC_INVAL, "'%.100s': syntax error at '%.40s'", text, p.at);
done:
    return st;
}
