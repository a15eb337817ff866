/* A store of transformed keys: a block (scores.h) for each layer, head and position. It is memory of a session, and a
 * file.
 *
 * File: a header of 128 bytes, the exponents, padding with zeros to a multiple of 64 bytes, the blocks. All numbers are
 * little-endian.
 *
 *   offset  bytes
 *        0      8  "geodkeys"
 *        8      4  format version, 1
 *       12      4  order of the words of a block: 1, A[bitrev(i)] at i
 *       16    2x4  moduli (geodec_modulus_id); the second is 2^32 - 1 for p60
 *       24      8  N
 *       32      4  dimension of a key, at most N
 *       36      4  step exponent s, signed
 *       40  2x4    layers, heads
 *       48      8  positions
 *       56      4  CRC-32C of everything after the header
 *       60     32  what the keys are of: a SHA-256, or zeros
 *       92     32  zeros
 *      124      4  CRC-32C of the 124 bytes before
 *
 * Exponents are int32 [layers][heads][positions]: a key is k 2^-(s + e). Blocks are [layers][heads][positions]. */
#ifndef GEODEC_INTEGER_SCORES_KEYS_H
#define GEODEC_INTEGER_SCORES_KEYS_H

#include "lab/integer/scores/scores.h"

enum { GEODEC_KEYS_SOURCE = 32 /* of a SHA-256 */, GEODEC_KEYS_HEADER = 128 };

typedef struct geodec_keys {
    geodec_scores_by by;
    int32_t dim, layers, heads;
    int64_t room, positions;            /* positions allocated for each head, and those in use */
    int32_t *exponent;                  /* [layers][heads][room]: a key is k 2^-exponent */
    uint8_t *block;                     /* [layers][heads][room][geodec_scores_block(dim)], aligned to 64 bytes */
    uint8_t source[GEODEC_KEYS_SOURCE]; /* what the keys are of: a SHA-256, or zeros */
} geodec_keys;

/* All numbers at least 1, layers and heads at most 65535, room at most 2^24. Memory is used when keys arrive.
 * GEODEC_INVAL, GEODEC_NOMEM. */
geodec_status geodec_keys_create(geodec_scores_by by, int32_t dim, int32_t layers, int32_t heads, int64_t room,
                                 geodec_keys **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_keys_destroy(geodec_keys *k); /* NULL ok */
/* Index of a position of a head (layer heads + head) among the exponents, and its block. */
static inline int64_t geodec_keys_at(const geodec_keys *k, int64_t head, int64_t position)
{
    return head * k->room + position;
}
static inline uint8_t *geodec_keys_block(const geodec_keys *k, int64_t head, int64_t position)
{
    return k->block + geodec_keys_at(k, head, position) * geodec_scores_block(k->dim);
}
/* Bytes of a position of all layers and heads. */
int64_t geodec_keys_bytes(const geodec_keys *k);

/* Writes the positions in use, at least 1, and their number into the file. */
geodec_status geodec_keys_save(const geodec_keys *k, const char *path, geodec_err *err) GEODEC_MUST_USE;
/* room = positions. GEODEC_FORMAT, GEODEC_VERSION (also of the order), GEODEC_CHECKSUM. */
geodec_status geodec_keys_load(const char *path, geodec_keys **out, geodec_err *err) GEODEC_MUST_USE;

#endif
