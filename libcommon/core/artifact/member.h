/* The place of a field or attribute of an artifact in a C struct. Each row of a kind's tables ends with one;
 * artifact/binding.h uses them to save and load. */
#ifndef GEODEC_ARTIFACT_MEMBER_H
#define GEODEC_ARTIFACT_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum geodec_place {
    GEODEC_UNBOUND, /* not bound: geodec_kind.put writes it, the kind's reader reads it */
    GEODEC_POINTER, /* a pointer to the whole array; for an attribute, to its number, which is saved but never loaded */
    GEODEC_VALUE,   /* the member is the number, or the whole array */
    GEODEC_COLUMN,  /* a member of a row in an array of structs (geodec_rows) */
    GEODEC_CONSTANT /* not in the struct: a text attribute that lists names; saved, never loaded */
} geodec_place;

/* Type in memory. Enumerations are GEODEC_MEMBER_U32, texts NUL-terminated. */
typedef enum geodec_member_type {
    GEODEC_MEMBER_F64,
    GEODEC_MEMBER_F32,
    GEODEC_MEMBER_I64,
    GEODEC_MEMBER_I32,
    GEODEC_MEMBER_I16,
    GEODEC_MEMBER_I8,
    GEODEC_MEMBER_U64,
    GEODEC_MEMBER_U32,
    GEODEC_MEMBER_U16,
    GEODEC_MEMBER_U8,
    GEODEC_MEMBER_BOOL,
    GEODEC_MEMBER_TEXT,      /* const char *: saved, never loaded */
    GEODEC_MEMBER_OWNED_TEXT /* char *: loaded into new memory */
} geodec_member_type;

struct geodec_rows;
typedef struct geodec_member {
    geodec_place place;
    geodec_member_type type;
    size_t at;                /* byte offset in the struct, or in the row */
    size_t bytes;             /* VALUE: size of the whole member */
    size_t step;              /* bytes from one number to the next; 0: contiguous (COLUMN: within a row) */
    bool borrowed;            /* POINTER: saved; neither loaded nor freed */
    const char *const *names; /* a text attribute of an enumeration: its names by number, then NULL. CONSTANT: these
                               * names, joined by commas */
    size_t line;              /* COLUMN: bytes from one index of the row's own first axis to the next; 0: contiguous */
    const struct geodec_rows *rows; /* COLUMN: the rows; NULL: those of the kind */
} geodec_member;

/* Optional rows of a table are saved only if these bytes of the struct are not all 0. None: always saved. */
typedef struct geodec_when {
    size_t at, bytes;
} geodec_when;

/* An axis: extent = times * member + plus; times 0 counts as 1. Without a member the extent is `plus`. */
typedef struct geodec_extent {
    const char *dim;
    geodec_member member;
    int64_t times, plus;
} geodec_extent;

/* The rows that COLUMN members are parts of. */
typedef struct geodec_rows {
    const char *dim; /* axes of the rows, the first axes of their fields: "C", "A,W"; NULL: the kind has no rows */
    size_t size;     /* size of a row */
    size_t at;       /* offset of the pointer to the rows, or of the rows themselves */
    bool inside;     /* the rows are in the struct */
} geodec_rows;

#define GEODEC_TYPE_OF(x)                                                                                              \
    _Generic((x),                                                                                                      \
        double: GEODEC_MEMBER_F64,                                                                                     \
        float: GEODEC_MEMBER_F32,                                                                                      \
        int64_t: GEODEC_MEMBER_I64,                                                                                    \
        int32_t: GEODEC_MEMBER_I32,                                                                                    \
        int16_t: GEODEC_MEMBER_I16,                                                                                    \
        int8_t: GEODEC_MEMBER_I8,                                                                                      \
        uint64_t: GEODEC_MEMBER_U64,                                                                                   \
        uint32_t: GEODEC_MEMBER_U32,                                                                                   \
        uint16_t: GEODEC_MEMBER_U16,                                                                                   \
        uint8_t: GEODEC_MEMBER_U8,                                                                                     \
        bool: GEODEC_MEMBER_BOOL,                                                                                      \
        const char *: GEODEC_MEMBER_TEXT,                                                                              \
        char *: GEODEC_MEMBER_OWNED_TEXT)

/* Member m of struct S: a pointer to an array (AT; BORROWED: neither loaded nor freed), a number (or text), or an array
 * whose first number is `first`; ARRAY_APART: one number of each element, where elements are `apart` bytes long. */
#define GEODEC_AT(S, m)                                                                                                \
    {                                                                                                                  \
        .place = GEODEC_POINTER, .type = GEODEC_TYPE_OF(*((S *)0)->m), .at = offsetof(S, m)                            \
    }
#define GEODEC_BORROWED(S, m)                                                                                          \
    {                                                                                                                  \
        .place = GEODEC_POINTER, .type = GEODEC_TYPE_OF(*((S *)0)->m), .at = offsetof(S, m), .borrowed = true          \
    }
#define GEODEC_IN(S, m)                                                                                                \
    {                                                                                                                  \
        .place = GEODEC_VALUE, .type = GEODEC_TYPE_OF(((S *)0)->m), .at = offsetof(S, m), .bytes = sizeof(((S *)0)->m) \
    }
#define GEODEC_ARRAY(S, m, first)                                                                                      \
    {                                                                                                                  \
        .place = GEODEC_VALUE, .type = GEODEC_TYPE_OF(((S *)0)->m first), .at = offsetof(S, m),                        \
        .bytes = sizeof(((S *)0)->m)                                                                                   \
    }
#define GEODEC_ARRAY_APART(S, m, first, apart)                                                                         \
    {                                                                                                                  \
        .place = GEODEC_VALUE, .type = GEODEC_TYPE_OF(((S *)0)->m first), .at = offsetof(S, m first),                  \
        .bytes = sizeof(((S *)0)->m), .step = (apart)                                                                  \
    }
/* An enumeration (or a flag) that is stored as text. */
#define GEODEC_NAMED(S, m, table)                                                                                      \
    {                                                                                                                  \
        .place = GEODEC_VALUE, .type = GEODEC_TYPE_OF(((S *)0)->m), .at = offsetof(S, m),                              \
        .bytes = sizeof(((S *)0)->m), .names = (table)                                                                 \
    }
/* Number m of every row R; or several numbers of a row, the first one m, at intervals of `apart` bytes. */
#define GEODEC_OF_ROW(R, m)                                                                                            \
    {                                                                                                                  \
        .place = GEODEC_COLUMN, .type = GEODEC_TYPE_OF(((R *)0)->m), .at = offsetof(R, m), .step = sizeof(((R *)0)->m) \
    }
#define GEODEC_OF_ROW_APART(R, m, apart)                                                                               \
    {                                                                                                                  \
        .place = GEODEC_COLUMN, .type = GEODEC_TYPE_OF(((R *)0)->m), .at = offsetof(R, m), .step = (apart)             \
    }
/* As GEODEC_OF_ROW_APART, for rows other than the kind's (`which`: a geodec_rows *, NULL: the kind's), or whose own
 * first axis is shorter in the file than in memory, where `between` bytes separate its indices (0: contiguous). */
#define GEODEC_OF_ROWS(which, R, m, apart, between)                                                                    \
    {                                                                                                                  \
        .place = GEODEC_COLUMN, .type = GEODEC_TYPE_OF(((R *)0)->m), .at = offsetof(R, m), .step = (apart),            \
        .line = (between), .rows = (which)                                                                             \
    }
/* A text attribute: the names of a table, or a constant text. */
#define GEODEC_LIST(table)                                                                                             \
    {                                                                                                                  \
        .place = GEODEC_CONSTANT, .type = GEODEC_MEMBER_TEXT, .names = (table)                                         \
    }
#define GEODEC_TEXT(text) GEODEC_LIST(((const char *const[]){text, NULL}))

/* The row is saved only if member m is not 0. */
#define GEODEC_WHEN(S, m)                                                                                              \
    {                                                                                                                  \
        .at = offsetof(S, m), .bytes = sizeof(((S *)0)->m)                                                             \
    }

#endif
