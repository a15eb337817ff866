/* A .trd file: the difference between the experts A < B of one model, layer by layer, for both directions. Pages,
 * header and checks are those of a .trit file (trit.h), except
 *
 *   header  0 "TRD1"; 12 u16 A, 14 u16 B; the blob stride is that of the experts; from 256 a table with n entries {u64
 *           offset, u64 payload bytes, u32 changes of gate, up and down, u32 CRC of the payload, u32 CRC of A's
 * payload, u32 CRC of B's payload}, in the order of layers blob    payload, then zeros to the end of the page. Payload:
 * the prefix of A's payload, that of B's, the row scales of A and of B if there are any, and the streams of changes
 * (change.h) of gate, up and down
 *
 * The layer of an entry is that of the prefixes. Applying a difference to the payload of A gives that of B byte for
 * byte, and the other way round. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_TRD_H
#define GEODEC_PERSPECTIVE_TERNARY_TRD_H

#include "ternary/change.h"
#include "ternary/trit.h"

typedef struct geodec_trd_entry {
    int64_t offset, bytes; /* of the payload */
    uint32_t changes[GEODEC_TRIT_MATRICES];
    uint32_t crc, crc_a, crc_b;
    int32_t layer;
} geodec_trd_entry;

typedef struct geodec_trd {
    char *path; /* owned */
    int fd;     /* open, owned */
    int32_t a, b;
    geodec_trit_shape shape; /* of the experts */
    int64_t file_bytes, header_bytes;
    uint32_t header_crc;     /* of all its pages */
    int64_t room;            /* bytes of the largest blob */
    geodec_trd_entry *entry; /* [shape.layers], owned */
} geodec_trd;

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Reads and checks header, table and prefixes, with limits before allocation; errors as those of geodec_trit_open. */
geodec_status geodec_trd_open(const char *path, geodec_trd *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_trd_close(geodec_trd *t); /* of an opened one, or all zero */
const geodec_trd_entry *geodec_trd_find(const geodec_trd *t, int32_t layer);
/* Reads the blob of a layer [room], and checks its CRC; one that does not match is read once more. Errors name file,
 * layer and experts: GEODEC_NOTFOUND, GEODEC_CHECKSUM, GEODEC_IO, GEODEC_FORMAT. */
geodec_status geodec_trd_read(const geodec_trd *t, int32_t layer, uint8_t *blob, geodec_err *err) GEODEC_MUST_USE;
/* Changes the payload of A to that of B in place (to_b), or that of B to that of A. blob: of geodec_trd_read. crc: in,
 * the CRC of the payload, which must be the stored one (GEODEC_CHECKSUM: this is no base of the difference; nothing was
 * changed); out, the CRC of the result. check: the CRC of the result is computed and compared, otherwise it is the
 * stored one. After any other error the payload must not be used: GEODEC_FORMAT, GEODEC_CHECKSUM. */
geodec_status geodec_trd_apply(const geodec_trd *t, int32_t layer, const uint8_t *blob, bool to_b, bool check,
                               uint8_t *payload, uint32_t *crc, geodec_err *err) GEODEC_MUST_USE;
/* Reads all of the file and checks every byte. With the two experts also that the difference leads from each to the
 * other; NULL: without. */
geodec_status geodec_trd_verify(const char *path, const geodec_trit *a, const geodec_trit *b, const geodec_hooks *hooks,
                                geodec_err *err) GEODEC_MUST_USE;

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* The difference of two experts, a->expert < b->expert, with equal shapes, models and layers. GEODEC_INVAL otherwise;
 * also the errors of geodec_trit_read and of writing. The file appears whole or not at all. */
geodec_status geodec_trd_write(const char *path, const geodec_trit *a, const geodec_trit *b, const geodec_hooks *hooks,
                               geodec_err *err) GEODEC_MUST_USE;

#endif
