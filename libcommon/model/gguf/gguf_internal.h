/* Internal: the parsed state of an open GGUF, shared by the reader's files. */
#ifndef GEODEC_GGUF_GGUF_INTERNAL_H
#define GEODEC_GGUF_GGUF_INTERNAL_H

#include "gguf/gguf.h"
#include "io/file.h"

#include <stdatomic.h>

/* Value types as numbered in the file. */
typedef enum geodec__gguf_kind {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_KINDS
} geodec__gguf_kind;

enum {
    GGUF_DEFAULT_ALIGNMENT = 32,
    GGUF_MAX_ALIGNMENT = 1 << 20,
    GGUF_MAX_KEY = 65535,
    GGUF_MAX_NAME = 64,
    GGUF_MAX_KEYS = 1 << 16,
    GGUF_MAX_TENSORS = 1 << 20,
};

typedef struct geodec__gguf_key {
    char *name; /* terminated copy */
    uint32_t kind;
    uint32_t element;     /* of an array */
    int64_t count;        /* elements of an array, bytes of a string */
    const uint8_t *value; /* first byte of the value, elements or text inside the map */
    char *text;           /* STRING: terminated copy */
    size_t nested;        /* array of arrays: bytes of the value */
    size_t *at;           /* array of STRING: offset in the file of each element's length */
} geodec__gguf_key;

struct geodec_gguf {
    char *path;
    geodec_file_map map;
    atomic_llong
        *unreleased; /* bytes of small pieces since the last release; its own memory, as readers have const g */
    int64_t offset;  /* of the map in the file */
    int64_t start;   /* of a part of a split model: geodec_gguf_part_at */
    int32_t n_more;  /* further parts, whose tensors are listed here */
    struct geodec_gguf **more;
    bool borrowed; /* the caller owns the bytes */
    uint32_t version;
    int64_t alignment;
    int64_t n_keys;
    geodec__gguf_key *key;
    geodec__gguf_key **key_order; /* by name */
    int64_t n_tensors;
    geodec_gguf_tensor *tensor;
    geodec_gguf_tensor **tensor_order; /* by name */
};

/* Bytes of a fixed-size value, 0 for strings, arrays and unknown kinds. */
size_t geodec__gguf_width(uint32_t kind);
/* One file alone, a part of a split model too. */
geodec_status geodec__gguf_open_one(const char *path, geodec_gguf **out, geodec_err *err) GEODEC_MUST_USE;
/* Opens the other parts where g is the first of several (split.c). */
geodec_status geodec__gguf_join(geodec_gguf *g, geodec_err *err) GEODEC_MUST_USE;
/* The part with this address in its map; NULL: none. */
const geodec_gguf *geodec__gguf_part_of(const geodec_gguf *g, const void *data);
/* The orders by name. A name twice is an error among tensors; keys were checked. */
void geodec__gguf_sort_keys(geodec_gguf *g);
geodec_status geodec__gguf_sort_tensors(geodec_gguf *g, geodec_err *err) GEODEC_MUST_USE;
/* NULL when absent. */
const geodec__gguf_key *geodec__gguf_lookup(const geodec_gguf *g, const char *name);

#endif
