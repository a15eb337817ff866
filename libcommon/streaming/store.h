/* A store: a file with the experts of a model in the layout that the kernels compute on, one aligned blob for each
 * (layer, expert), an index with CRC-32C, and the resident part of the model as an embedded GGUF. Bytes are copied or
 * rearranged, never requantised. A store is a model file by itself: no other file is needed.
 *
 * Layout, little-endian; every part begins on a page of 4,096 bytes:
 *   header    magic "GEXPERTS", version, sizes, offsets of the parts, layout, fingerprint of the GGUF, CRC-32C
 *   index     for each layer the three matrices (type, rows, columns, packing, offset in the blob); for each blob
 *             offset, bytes and CRC-32C; a CRC-32C of the index
 *   resident  a GGUF with all keys and all tensors but the experts'; its CRC-32C is in the header
 *   blobs     in order of layer and expert: gate, up, down */
#ifndef GEODEC_STREAMING_STORE_H
#define GEODEC_STREAMING_STORE_H

#include "base/err.h"
#include "base/sha256.h"
#include "streaming/blobs.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_STORE_MATRICES = 3 /* gate, up, down */ };

/* A matrix of every expert of a layer. */
typedef struct geodec_store_matrix {
    int32_t type;    /* geodec_ggml_type */
    int32_t packing; /* 0: rows as in the GGUF; 1: panels (model/kernels/panels_internal.h) */
    int64_t rows, cols;
    int64_t at, bytes; /* in the blob; at is a multiple of 64 */
} geodec_store_matrix;

typedef struct geodec_store {
    geodec_blobs blobs;
    geodec_store_matrix *matrix; /* [n_layer][GEODEC_STORE_MATRICES], owned; rows = 0: the layer has no experts */
    int32_t layout;              /* geodec_arithmetic for which the matrices are packed */
    int64_t resident_offset, resident_bytes;
    uint32_t resident_crc;
    char fingerprint[GEODEC_SHA256_HEX]; /* of the model: geodec_gguf_tensor_digest of the GGUF */
} geodec_store;

/* Whether the file begins as a store does; false also when it cannot be read. */
GEODEC_API bool geodec_store_is(const char *path);
/* Reads and checks header and index, with limits before allocation. GEODEC_FORMAT, GEODEC_LIMIT, GEODEC_IO name file
 * and cause. */
GEODEC_API geodec_status geodec_store_read(const char *path, geodec_store *out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_store_clear(geodec_store *s); /* s may be all zero */

#endif
