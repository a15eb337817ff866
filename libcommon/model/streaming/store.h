/* A store: a file with the experts of a model in the layout that the kernels compute on, one aligned blob for each
 * (layer, expert), an index with CRC-32C, and the resident part of the model as an embedded GGUF. Bytes are copied or
 * rearranged, never requantised. A store is a model file by itself: no other file is needed.
 *
 * Layout, little-endian; every part and every blob begins on a page of 4,096 bytes and is padded with zeros:
 *   header    one page: magic "GEXPERTS", version, sizes and offsets of the parts, layout,
 *             fingerprint of the GGUF, CRC-32C of the index and of the resident part;
 *             minor version 1: golden prompt; the last four bytes are the CRC-32C of the page
 *   index     for each layer the three matrices (type, packing, rows, columns, offset in
 *             the blob, bytes); for each blob offset, bytes and CRC-32C
 *   resident  a GGUF with all keys and all tensors but the experts'
 *   blobs     in order of layer and expert: gate, up, down, each at a multiple of 64 bytes */
#ifndef GEODEC_STREAMING_STORE_H
#define GEODEC_STREAMING_STORE_H

#include "base/hooks.h"
#include "base/sha256.h"
#include "io/atomic.h"
#include "streaming/blobs.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GEODEC_STORE_MATRICES = 3, /* gate, up, down */
    GEODEC_STORE_VERSION = 1,
    GEODEC_STORE_MINOR = 1,     /* that is written; any is read */
    GEODEC_STORE_GOLDEN = 8,    /* tokens */
    GEODEC_STORE_TRITS = 2,     /* packing of a ternary matrix: not in a file of this format */
    GEODEC_STORE_LAYERS = 1024, /* limits */
    GEODEC_STORE_EXPERTS = 4096
};

/* A matrix of every expert of a layer. */
typedef struct geodec_store_matrix {
    int32_t type;    /* geodec_ggml_type */
    int32_t packing; /* 0: rows as in the GGUF; 1: panels (model/kernels/panels_internal.h) */
    int64_t rows, cols;
    int64_t at, bytes; /* in the blob; at is a multiple of 64 */
} geodec_store_matrix;

/* What the model computes: a prompt, and the CRC-32C of the bits of the logits of all its rows in exact and in fast
 * arithmetic. */
typedef struct geodec_store_golden {
    int32_t n; /* 0: none (a store of minor version 0) */
    int32_t token[GEODEC_STORE_GOLDEN];
    uint32_t crc[2]; /* [geodec_arithmetic] */
} geodec_store_golden;

typedef struct geodec_store {
    geodec_blobs blobs;
    geodec_store_matrix *matrix; /* [n_layer][GEODEC_STORE_MATRICES], owned; rows = 0: the layer has no experts */
    int32_t layout;              /* geodec_arithmetic for which the matrices are packed */
    int64_t resident_offset, resident_bytes;
    uint32_t resident_crc;
    char fingerprint[GEODEC_SHA256_HEX]; /* of the model: geodec_gguf_tensor_digest of the GGUF */
    geodec_store_golden golden;
    int32_t trits; /* encoding of the ternary experts of a folder of several files; 0: this format */
} geodec_store;

/* Whether the file begins as a store does; false also when it cannot be read. */
bool geodec_store_is(const char *path);
/* Reads and checks header and index, with limits before allocation. GEODEC_FORMAT, GEODEC_VERSION, GEODEC_CHECKSUM,
 * GEODEC_IO name file and cause. Bytes of the resident part and of the blobs are not read: see geodec_store_verify. */
geodec_status geodec_store_read(const char *path, geodec_store *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_store_clear(geodec_store *s); /* s may be all zero */
/* Reads the whole file and checks every byte: header, index, resident part, each blob and the zeros between them.
 * GEODEC_CHECKSUM names the first part that is damaged: a blob by layer and expert. */
geodec_status geodec_store_verify(const char *path, const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_store_verify, without the blobs: the parts that a run does not check by itself. */
geodec_status geodec_store_verify_resident(const char *path, geodec_err *err) GEODEC_MUST_USE;

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Writes under a temporary name; commit puts the file in place. First the resident part, then the blobs in order. */
typedef struct geodec_store_writer geodec_store_writer;
/* From the plan: n_layer and n_expert of the blobs, layout, fingerprint, golden prompt, and of each matrix all but its
 * place. */
geodec_status geodec_store_writer_create(const char *path, const geodec_store *plan, geodec_store_writer **out,
                                         geodec_err *err) GEODEC_MUST_USE;
/* The file, where the caller writes the resident part. */
geodec_atomic *geodec_store_writer_file(geodec_store_writer *w);
/* What was planned, with the places of the matrices. */
const geodec_store *geodec_store_writer_plan(const geodec_store_writer *w);
/* The next blob, of the layers with experts: `bytes` up to the end of its last matrix. */
geodec_status geodec_store_writer_blob(geodec_store_writer *w, const void *data, int64_t bytes,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Frees w in every case. */
geodec_status geodec_store_writer_commit(geodec_store_writer *w, geodec_err *err) GEODEC_MUST_USE;
void geodec_store_writer_abandon(geodec_store_writer *w); /* NULL ok */

#endif
