/* Internal: the bytes of a store's header and index, shared by reader and writer. */
#ifndef GEODEC_STREAMING_STORE_INTERNAL_H
#define GEODEC_STREAMING_STORE_INTERNAL_H

#include "streaming/store.h"

#include <stddef.h>
#include <string.h>

#define GEODEC__STORE_MAGIC "GEXPERTS"
enum {
    GEODEC__STORE_HEADER = GEODEC_BLOB_PAGE,
    GEODEC__STORE_MATRIX_BYTES = 40, /* of an entry in the index */
    GEODEC__STORE_BLOB_BYTES = 24,
    /* offsets in the header */
    GEODEC__STORE_AT_VERSION = 8,
    GEODEC__STORE_AT_LAYOUT = 12,
    GEODEC__STORE_AT_FILE_BYTES = 16,
    GEODEC__STORE_AT_LAYERS = 24,
    GEODEC__STORE_AT_EXPERTS = 28,
    GEODEC__STORE_AT_INDEX_BYTES = 32,
    GEODEC__STORE_AT_INDEX_CRC = 40,
    GEODEC__STORE_AT_RESIDENT_CRC = 44,
    GEODEC__STORE_AT_RESIDENT = 48, /* offset, bytes */
    GEODEC__STORE_AT_BLOBS = 64,
    GEODEC__STORE_AT_FINGERPRINT = 72, /* 64 hexadecimal digits */
    GEODEC__STORE_AT_MINOR = 136,
    GEODEC__STORE_AT_GOLDEN = 140, /* tokens, CRC in exact and in fast arithmetic, ids */
    GEODEC__STORE_AT_CRC = GEODEC_BLOB_PAGE - 4
};

static inline int64_t geodec__store_pages(int64_t n)
{
    return (n + GEODEC_BLOB_PAGE - 1) / GEODEC_BLOB_PAGE * GEODEC_BLOB_PAGE;
}
static inline int64_t geodec__store_index_bytes(int32_t n_layer, int32_t n_expert)
{
    return (int64_t)n_layer * GEODEC_STORE_MATRICES * GEODEC__STORE_MATRIX_BYTES +
           (int64_t)n_layer * n_expert * GEODEC__STORE_BLOB_BYTES;
}
/* The machine is little-endian, as the file is. */
static inline void geodec__store_put(uint8_t *p, const void *v, size_t n) { memcpy(p, v, n); }
static inline int64_t geodec__store_i64(const uint8_t *p)
{
    int64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint32_t geodec__store_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Places the matrices of a layer one after the other, each at a multiple of 64. Returns the bytes of its blobs, 0 for a
 * layer without experts, -1 when they do not fit in 2^56. */
int64_t geodec__store_place(geodec_store_matrix m[GEODEC_STORE_MATRICES]);

#endif
