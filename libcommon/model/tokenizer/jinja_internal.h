/* Internal: the parts of the interpreter (jinja.h). All memory of a template or of a rendering is in an arena with a
 * limit and is freed at once. */
#ifndef GEODEC_TOKENIZER_JINJA_INTERNAL_H
#define GEODEC_TOKENIZER_JINJA_INTERNAL_H

#include "base/arena_internal.h"
#include "tokenizer/jinja.h"

#include <stdbool.h>

/* ---- memory ----------------------------------------------------------------------------------------------------- */

#define JINJA_NEW(a, p, n)                                                                                             \
    do {                                                                                                               \
        (p) = geodec__arena_new((a), (n), sizeof *(p));                                                                \
        if (!(p)) GEODEC_FAIL(GEODEC_LIMIT, "the template needs more than %lld bytes", (long long)(a)->limit);         \
    } while (0)

/* ---- values ----------------------------------------------------------------------------------------------------- */

typedef enum jinja_sort { J_UNDEFINED, J_NONE, J_BOOL, J_INT, J_FLOAT, J_STR, J_LIST, J_DICT, J_CALLABLE } jinja_sort;

typedef struct jinja_value jinja_value;
typedef struct jinja_text {
    const char *s;
    int64_t n;
    const unsigned char *mark; /* [n] 1: a byte of a message; NULL: none is */
} jinja_text;
typedef struct jinja_pair jinja_pair;
struct jinja_value {
    jinja_sort sort;
    bool mutable; /* a namespace: its members may be set */
    bool tuple;   /* of lists */
    union {
        bool truth;
        int64_t i;
        double f;
        jinja_text text;
        struct {
            jinja_value *item;
            int64_t n;
        } list;
        struct {
            jinja_pair *pair; /* in order of insertion */
            int64_t n, room;
        } * dict;
        struct {
            const char *name;              /* of a function of the language */
            const struct jinja_node *body; /* or a macro */
            jinja_value *self;             /* or a method of this value */
        } call;
    } u;
};
struct jinja_pair {
    jinja_value key, value;
};

jinja_value geodec__jinja_str(const char *s, int64_t n, const unsigned char *mark);
jinja_value geodec__jinja_word(const char *s);
static inline jinja_value jinja_bool(bool v) { return (jinja_value){.sort = J_BOOL, .u.truth = v}; }
static inline jinja_value jinja_int(int64_t v) { return (jinja_value){.sort = J_INT, .u.i = v}; }
static inline jinja_value jinja_float(double v) { return (jinja_value){.sort = J_FLOAT, .u.f = v}; }
bool geodec__jinja_truth(const jinja_value *v);
bool geodec__jinja_equal(const jinja_value *a, const jinja_value *b);
geodec_status geodec__jinja_dict(geodec__arena *a, jinja_value *out, geodec_err *err);
geodec_status geodec__jinja_put(geodec__arena *a, jinja_value *dict, jinja_value key, jinja_value value,
                                geodec_err *err);
/* NULL: no such key. */
jinja_value *geodec__jinja_get(const jinja_value *dict, const jinja_value *key);
geodec_status geodec__jinja_list(geodec__arena *a, int64_t n, jinja_value *out, geodec_err *err);
geodec_status geodec__jinja_concat(geodec__arena *a, const jinja_text *x, const jinja_text *y, jinja_text *out,
                                   geodec_err *err);
jinja_text geodec__jinja_part(const jinja_text *t, int64_t from, int64_t to);
/* As str() of Python prints it. */
geodec_status geodec__jinja_print(geodec__arena *a, const jinja_value *v, jinja_text *out, geodec_err *err);
/* As json.dumps(.., ensure_ascii=False); indent < 0: on one line. */
geodec_status geodec__jinja_json(geodec__arena *a, const jinja_value *v, int64_t indent, jinja_text *out,
                                 geodec_err *err);
/* Items of a list, keys of a dict, characters of a text. */
geodec_status geodec__jinja_items(geodec__arena *a, const jinja_value *v, jinja_value *out, geodec_err *err);

typedef struct jinja_args {
    jinja_value *v; /* [n] positional */
    int64_t n;
    const char **name; /* [n_named] */
    jinja_value *named;
    int64_t n_named;
} jinja_args;
/* Argument `at` or named `name`; NULL if neither is given. */
const jinja_value *geodec__jinja_arg(const jinja_args *args, int64_t at, const char *name);
/* GEODEC_UNSUPPORTED: no such filter, test or method here. */
geodec_status geodec__jinja_filter(geodec__arena *a, const char *name, const jinja_value *v, const jinja_args *args,
                                   jinja_value *out, geodec_err *err);
geodec_status geodec__jinja_test(geodec__arena *a, const char *name, const jinja_value *v, const jinja_args *args,
                                 bool *out, geodec_err *err);
geodec_status geodec__jinja_method(geodec__arena *a, const char *name, const jinja_value *v, const jinja_args *args,
                                   jinja_value *out, geodec_err *err);
bool geodec__jinja_has_method(const jinja_value *v, const char *name);

/* ---- the program ------------------------------------------------------------------------------------------------ */

typedef enum jinja_kind {
    /* statements */
    N_TEXT,
    N_PRINT,
    N_IF,
    N_FOR,
    N_SET,
    N_SET_BLOCK,
    N_MACRO,
    N_BREAK,
    N_CONTINUE,
    /* expressions */
    N_CONST,
    N_NAME,
    N_LIST,
    N_TUPLE,
    N_DICT,
    N_UNARY,
    N_BINARY,
    N_COMPARE,
    N_AND,
    N_OR,
    N_NOT,
    N_COND,
    N_ATTR,
    N_ITEM,
    N_SLICE,
    N_CALL,
    N_FILTER,
    N_TEST
} jinja_kind;

typedef struct jinja_node jinja_node;
struct jinja_node {
    jinja_kind kind;
    int line;
    const char *name;      /* of variables, attributes, filters, tests, operators; of named arguments: see `label` */
    bool negated;          /* is not, not in */
    jinja_value value;     /* constants */
    jinja_node *a, *b, *c; /* operands: condition, left, right .. */
    jinja_node *list;      /* body, items or arguments, linked by next */
    jinja_node *other;     /* else, further targets */
    jinja_node *next;
    const char *label; /* keyword of an argument or default; operator of a link of a comparison */
};

struct geodec_jinja {
    geodec__arena arena;
    jinja_node *body;
};

typedef enum jinja_token_sort {
    T_TEXT,
    T_BEGIN,
    T_END,
    T_PRINT,
    T_PRINT_END,
    T_NAME,
    T_STRING,
    T_INT,
    T_FLOAT,
    T_OP,
    T_EOF
} jinja_token_sort;
typedef struct jinja_token {
    jinja_token_sort sort;
    int line;
    const char *s; /* in the arena for text and strings, zero-terminated */
    int64_t n;
    int64_t i;
    double f;
} jinja_token;
/* The tokens of a template, the last one T_EOF. */
geodec_status geodec__jinja_lex(geodec__arena *a, const char *text, int64_t n, jinja_token **out, int64_t *count,
                                geodec_err *err);
geodec_status geodec__jinja_parse(geodec__arena *a, const jinja_token *token, int64_t n, jinja_node **out,
                                  geodec_err *err);

#endif
