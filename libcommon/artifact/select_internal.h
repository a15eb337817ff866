/* Internal: shared by the files of artifact/select.h. */
#ifndef GEODEC_ARTIFACT_SELECT_INTERNAL_H
#define GEODEC_ARTIFACT_SELECT_INTERNAL_H

#include "artifact/select.h"
#include "io/format.h"

enum {
    GEODEC__SELECT_NODES = 4096,
    GEODEC__SELECT_REFS = 512,
    GEODEC__SELECT_LISTS = 64,
    GEODEC__SELECT_NAME = 128,
    GEODEC__SELECT_PARTS = 8, /* names of one column of words "a:b:c" */
};

typedef enum geodec__select_kind {
    GEODEC__SELECT_COMPUTED, /* printed with the query's digits */
    GEODEC__SELECT_F64,
    GEODEC__SELECT_F32,
    GEODEC__SELECT_INT,
    GEODEC__SELECT_UINT,
    GEODEC__SELECT_TEXT,
} geodec__select_kind;

typedef struct geodec__select_value {
    geodec__select_kind kind;
    double x;
    uint64_t bits; /* of integers */
    const char *text;
    char own[GEODEC_FORMAT_ROOM];
} geodec__select_value;

typedef enum geodec__select_op {
    SELECT_CONSTANT, /* value */
    SELECT_REF,      /* k: number of the reference */
    SELECT_LIST,     /* k: number of the list; a: which item, or -1: the whole text */
    SELECT_INDEX,    /* k: dimension of the rows */
    SELECT_SIZE,
    SELECT_NEGATE,
    SELECT_NOT,
    SELECT_ADD,
    SELECT_SUBTRACT,
    SELECT_MULTIPLY,
    SELECT_DIVIDE,
    SELECT_REMAINDER,
    SELECT_LT,
    SELECT_LE,
    SELECT_GT,
    SELECT_GE,
    SELECT_EQ,
    SELECT_NE,
    SELECT_AND,
    SELECT_OR,
    SELECT_ABS,
    SELECT_SQRT,
    SELECT_EXP,
    SELECT_LOG,
    SELECT_POW,
    SELECT_MIN,
    SELECT_MAX,
    SELECT_IF,
    SELECT_KNOWN,
    SELECT_FIXED,
    SELECT_WORDS,
    SELECT_CONCAT,
    SELECT_SUM, /* sums over groups: k is the number of its collected values */
    SELECT_MEAN,
    SELECT_SEM,
    SELECT_COUNT,
    SELECT_MEDIAN,
    SELECT_QUANTILE,
    SELECT_FIRST,
    SELECT_ONLY,
    SELECT_RUNNING, /* k: number of its sum */
    SELECT_TOTAL,
} geodec__select_op;

typedef struct geodec__select_node {
    geodec__select_op op;
    int a, b, c, k;
    geodec__select_value value;
} geodec__select_node;

typedef struct geodec__select_ref { /* field or column, resolved */
    int source;
    char name[GEODEC__SELECT_NAME];
    char place[GEODEC_RANK_MAX][GEODEC__SELECT_NAME]; /* text in the brackets */
    int n_places;
    bool spreads, may_spread;
    const geodec_field *field;
    int64_t shape[GEODEC_RANK_MAX], stride[GEODEC_RANK_MAX];
    int rank;
    int over[GEODEC_RANK_MAX];      /* dimension of the rows, or -1 */
    int64_t fixed[GEODEC_RANK_MAX]; /* index, or -1: spread into columns */
    int64_t width;                  /* elements that are spread into columns */
    bool slabs;                     /* its first axis is the first dimension of the rows */
    char *data;
    int64_t first, loaded; /* rows of the slab */
    int64_t column;        /* of a table */
} geodec__select_ref;

typedef struct geodec__select_list { /* attribute */
    int source;
    char name[GEODEC__SELECT_NAME];
    geodec__select_value whole;
    char *text; /* items, each ended by NUL */
    const char **item;
    int64_t n;
} geodec__select_list;

typedef struct geodec__select_column {
    char name[GEODEC__SELECT_NAME];
    const char *part[GEODEC__SELECT_PARTS]; /* column names of a text "a:b:c", in name; n_parts 0: one cell */
    int n_parts;
    int root, ref; /* a field that may be spread, else -1 */
    bool named, sums;
    int64_t width; /* cells */
} geodec__select_column;

typedef struct geodec__select { /* a query, parsed */
    const geodec_select_source *sources;
    int n_sources;
    const geodec_select_query *query;
    geodec__select_node *node;
    int n_nodes;
    geodec__select_ref *ref;
    int n_refs;
    geodec__select_list *list;
    int n_lists;
    geodec__select_column *column;
    int n_columns, where; /* -1: none */
    int n_sums, n_running;
    bool totals; /* the query has total() */
    char over[GEODEC_RANK_MAX][GEODEC__SELECT_NAME];
    int n_over;
    bool by_first_axis; /* no `over` */
    int64_t extent[GEODEC_RANK_MAX], at[GEODEC_RANK_MAX];
    int gap; /* dimension, or -1 */
    double *running, *total;
} geodec__select;

/* ---- select_parse.c: text to nodes ---- */
geodec_status geodec__select_parse(geodec__select *s, const char *text, int *root, geodec_err *err) GEODEC_MUST_USE;

/* ---- select_source.c: names to places ---- */
geodec_status geodec__select_bind(geodec__select *s, geodec_err *err) GEODEC_MUST_USE;
/* Reads rows at[0] .. of the first dimension, for fields that are read in slabs. */
geodec_status geodec__select_load(geodec__select *s, int64_t row, int64_t n, geodec_err *err) GEODEC_MUST_USE;
int64_t geodec__select_step(const geodec__select *s);
void geodec__select_unbind(geodec__select *s);
/* Element j of the spread axes (0 otherwise) of reference k in the current row. */
void geodec__select_element(const geodec__select *s, int k, int64_t j, geodec__select_value *v);

/* ---- select_eval.c ---- */
/* What one sum collected over the rows of a group. */
typedef struct geodec__select_pile {
    geodec__select_value *v;
    int64_t n;
} geodec__select_pile;
/* pile: of a finished group; NULL while rows are read. */
geodec_status geodec__select_eval(geodec__select *s, int node, const geodec__select_pile *pile,
                                  geodec__select_value *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__select_number(const geodec__select_value *v, double *x, geodec_err *err) GEODEC_MUST_USE;
const char *geodec__select_text(const geodec__select_value *v, int digits, char buf[GEODEC_FORMAT_ROOM]);
bool geodec__select_is_sum(geodec__select_op op);

#endif
