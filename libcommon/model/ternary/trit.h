/* A .trit file: one expert, the three ternary matrices of each of its layers, one blob a layer. Little-endian; CRC-32C;
 * header and blobs are whole pages of 4,096 bytes, so that a blob is one direct read.
 *
 *   header  0 "TRIT", 4 u32 version 1, 8 u32 bytes of the header, 12 u32 expert, 16 u32 layers n, 20 u32 d, 24 u32 f,
 *           28 u32 encoding (1 base3, 2 bits2), 32 u32 scales (0 of a matrix, 1 of each row), 36 u32 matrices 3, 40 u64
 *           blob stride, 48 u64 bytes of the file, 56 u64 model id, 64 u32 CRC of bytes 0 .. 63; from 256 a table with
 * n entries {u64 offset, u64 payload bytes, u32 layer, u32 CRC of the payload}, layers ascending; zeros blob payload,
 * then zeros to the stride. Payload: a prefix of 64 bytes {"EXPB", u16 layer, u16 expert, f32 scale of gate, up and
 * down (0 with row scales), u32 nonzeros of each, zeros}, the rows of gate [f][d], up [f][d] and down [d][f], and with
 * row scales f32 [f], [f], [d]
 *
 * d is the width of the model, f that of the expert. The expert computes down (silu(gate h) * (up h)). */
#ifndef GEODEC_PERSPECTIVE_TERNARY_TRIT_H
#define GEODEC_PERSPECTIVE_TERNARY_TRIT_H

#include "base/hooks.h"
#include "ternary/ternary.h"

enum {
    GEODEC_TRIT_PAGE = 4096,
    GEODEC_TRIT_PREFIX = 64,
    GEODEC_TRIT_MATRICES = 3, /* gate, up, down */
    GEODEC_TRIT_VERSION = 1,
    GEODEC_TRIT_LAYERS = 1024, /* limits; layers and experts are numbers of 16 bits, and d f < 2^32 */
    GEODEC_TRIT_NUMBER = 65535
};

/* What the experts of a model have in common. */
typedef struct geodec_trit_shape {
    int32_t layers; /* blobs of a file */
    int32_t d, f;
    int32_t encoding; /* geodec_ternary_encoding */
    bool by_row;      /* a scale for each row */
    uint64_t model;   /* id of the model; files of different ids do not belong together */
} geodec_trit_shape;

/* Bytes of a payload, and of a blob. */
int64_t geodec_trit_payload_bytes(const geodec_trit_shape *s);
int64_t geodec_trit_stride(const geodec_trit_shape *s);
/* GEODEC_LIMIT, GEODEC_INVAL. */
geodec_status geodec_trit_shape_check(const geodec_trit_shape *s, geodec_err *err) GEODEC_MUST_USE;
/* Whether files with these shapes belong together: all members are equal. */
bool geodec_trit_same_shape(const geodec_trit_shape *a, const geodec_trit_shape *b);

/* ---- payloads --------------------------------------------------------------------------------------------------- */

/* gate, up and down of a payload; they point into it. */
void geodec_trit_matrices(const geodec_trit_shape *s, const uint8_t *payload,
                          geodec_ternary_matrix m[GEODEC_TRIT_MATRICES]);
/* The payload of three matrices [geodec_trit_payload_bytes]. GEODEC_INVAL (shape, encoding, row scales missing),
 * GEODEC_FORMAT (a byte is no code), GEODEC_NUMERIC (a scale is not finite), GEODEC_RANGE (numbers). */
geodec_status geodec_trit_payload(const geodec_trit_shape *s, int32_t layer, int32_t expert,
                                  const geodec_ternary_matrix m[GEODEC_TRIT_MATRICES], uint8_t *payload,
                                  geodec_err *err) GEODEC_MUST_USE;
/* Layer and expert of a payload. */
int32_t geodec_trit_payload_layer(const uint8_t *payload);
int32_t geodec_trit_payload_expert(const uint8_t *payload);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

typedef struct geodec_trit_entry {
    int64_t offset;
    int32_t layer;
    uint32_t crc;
} geodec_trit_entry;

typedef struct geodec_trit {
    char *path; /* owned */
    int fd;     /* open, owned */
    int32_t expert;
    geodec_trit_shape shape;
    int64_t payload_bytes, stride, file_bytes, header_bytes;
    uint32_t header_crc;      /* of all its pages */
    geodec_trit_entry *entry; /* [shape.layers], owned */
} geodec_trit;

/* Reads and checks the header, with limits before allocation. GEODEC_NOTFOUND, GEODEC_IO, GEODEC_FORMAT,
 * GEODEC_VERSION, GEODEC_LIMIT, GEODEC_CHECKSUM name file and cause. Blobs are not read. */
geodec_status geodec_trit_open(const char *path, geodec_trit *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_trit_close(geodec_trit *t); /* of an opened one, or all zero */
/* GEODEC_CHECKSUM, with the file's name, unless it is that expert of a model with this shape and id. */
geodec_status geodec_trit_expect(const geodec_trit *t, const geodec_trit_shape *s, int32_t expert,
                                 geodec_err *err) GEODEC_MUST_USE;
/* Entry of a layer, or NULL. */
const geodec_trit_entry *geodec_trit_find(const geodec_trit *t, int32_t layer);
/* Reads the blob of a layer [stride] and checks it: CRC, layer, expert, scales. A blob whose CRC does not match is read
 * once more. Errors name file, layer and expert: GEODEC_NOTFOUND (no such layer), GEODEC_CHECKSUM, GEODEC_FORMAT,
 * GEODEC_IO. Nothing may be computed from a blob that was not read with GEODEC_OK. */
geodec_status geodec_trit_read(const geodec_trit *t, int32_t layer, uint8_t *blob, geodec_err *err) GEODEC_MUST_USE;
/* The checks of geodec_trit_read, for a blob [stride] that was read and whose CRC is right. */
geodec_status geodec_trit_check(const geodec_trit_shape *s, int32_t layer, int32_t expert, const uint8_t *blob,
                                geodec_err *err) GEODEC_MUST_USE;
/* Reads all of the file and checks every byte, also that all are codes and that nonzeros are right. */
geodec_status geodec_trit_verify(const char *path, const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Writes under a temporary name; commit puts the file in place. */
typedef struct geodec_trit_writer geodec_trit_writer;
geodec_status geodec_trit_writer_create(const char *path, const geodec_trit_shape *s, int32_t expert,
                                        geodec_trit_writer **out, geodec_err *err) GEODEC_MUST_USE;
/* The next layer, which is above the one before. Errors as those of geodec_trit_payload, GEODEC_INVAL, GEODEC_IO. */
geodec_status geodec_trit_writer_blob(geodec_trit_writer *w, int32_t layer,
                                      const geodec_ternary_matrix m[GEODEC_TRIT_MATRICES],
                                      geodec_err *err) GEODEC_MUST_USE;
/* Frees w in every case. GEODEC_INVAL: layers are missing. */
geodec_status geodec_trit_writer_commit(geodec_trit_writer *w, geodec_err *err) GEODEC_MUST_USE;
void geodec_trit_writer_abandon(geodec_trit_writer *w); /* NULL ok */

#endif
