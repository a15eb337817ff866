/* Where the experts of a model are in a file. The bytes of one expert of one layer are a blob: one piece of the file (a
 * store, store.h), or two or three (the slices of a GGUF). This folder knows no more of a model than that. */
#ifndef GEODEC_STREAMING_BLOBS_H
#define GEODEC_STREAMING_BLOBS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GEODEC_BLOB_PAGE = 4096, /* direct I/O: offsets, sizes and addresses are multiples of it */
    GEODEC_BLOB_PIECES = 3
};

/* bytes = 0: no such piece. */
typedef struct geodec_blob_piece {
    int64_t offset, bytes; /* exact; a reader rounds them out to pages */
} geodec_blob_piece;

/* A file of several. Offsets of pieces count through all files: file i has start .. start + bytes - 1, start is the sum
 * of the bytes of those before it. All bytes are multiples of the page. */
typedef struct geodec_blob_file {
    char *path; /* owned */
    int64_t start, bytes;
    int64_t length; /* of the file where it is shorter than bytes; 0: bytes */
} geodec_blob_file;

/* The difference of two blobs of a layer (slots.h). */
typedef struct geodec_blob_edge {
    int32_t layer, a, b; /* a < b */
    geodec_blob_piece piece;
    uint32_t crc;
    float below; /* slots.h */
} geodec_blob_edge;
/* Changes the blob of a into that of b, or the other way round, in place. crc: in, that of the blob; out, that of the
 * result, which is checked if `check`. After an error the blob must not be used. */
typedef geodec_status geodec_blob_apply(void *ctx, int32_t edge, bool to_b, bool check, const uint8_t *difference,
                                        uint8_t *blob, uint32_t *crc, geodec_err *err);

/* A read brings the pieces of a blob into a slot one after the other, each rounded out to pages: a piece that begins
 * at `at` in the slot has its first byte at `at + offset % GEODEC_BLOB_PAGE`. */
typedef struct geodec_blobs {
    char *path; /* of the file, or of the folder of several; owned */
    int64_t file_bytes;
    int32_t n_files;           /* 0: one file, path */
    geodec_blob_file *file;    /* [n_files], owned */
    int32_t n_layer, n_expert; /* a layer without experts has blobs of no pieces */
    int64_t slot_bytes;        /* room of the largest blob, a multiple of the page */
    geodec_blob_piece *piece;  /* [n_layer][n_expert][GEODEC_BLOB_PIECES], owned */
    int32_t n_edges;           /* differences; then crc is known */
    geodec_blob_edge *edge;    /* [n_edges], owned; each lies in a slot */
    geodec_blob_apply *apply;
    void *apply_ctx;
    uint32_t *crc; /* [n_layer][n_expert] CRC-32C of the pieces in order, owned; NULL: not known */
} geodec_blobs;

/* Pieces of a blob, [GEODEC_BLOB_PIECES]. */
static inline const geodec_blob_piece *geodec_blobs_at(const geodec_blobs *b, int32_t layer, int32_t expert)
{
    return b->piece + ((int64_t)layer * b->n_expert + expert) * GEODEC_BLOB_PIECES;
}
/* Bytes that a piece takes in a slot, and that direct I/O reads for it. */
static inline int64_t geodec_blobs_room(const geodec_blob_piece *p)
{
    const int64_t page = GEODEC_BLOB_PAGE;
    return p->bytes > 0 ? (p->offset % page + p->bytes + page - 1) / page * page : 0;
}
/* Frees the members; b may be all zero. */
void geodec_blobs_clear(geodec_blobs *b);

#endif
