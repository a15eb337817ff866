/* model.int.gguf: a network in a GGUF of its own. The keys and the vocabulary are those of the model from which it was
 * made; keys `geodec.integer.*` hold the numbers and factors of the configuration. Tensors have the usual names and
 * plain integer types:
 *
 *     NAME             codes: I8 [row bytes][rows] (two codes a byte when bits is 4; I16 little-endian pairs when 16)
 *     NAME.multiplier  I16 [blocks][rows]
 *     NAME.shift       I16 [rows], then bits of the codes as one number more
 *     vectors          I32 [n + 1], the last number is the exponent
 *
 * Matrices of experts have the expert as a further dimension, outermost. w = code multiplier 2^-shift (coded.h). */
#ifndef GEODEC_INTEGER_ENGINE_NETWORK_FILE_H
#define GEODEC_INTEGER_ENGINE_NETWORK_FILE_H

#include "base/pool.h"
#include "gguf/gguf.h"
#include "integer/engine/network.h"

enum { GEODEC_NETWORK_FILE_VERSION = 1 };

/* source: the open file whose keys are copied, NULL: none; fingerprint: of its weights, kept in the file. */
geodec_status geodec_network_file_write(const char *path, const geodec_network *n, const geodec_gguf *source,
                                        const char *fingerprint, geodec_err *err) GEODEC_MUST_USE;
/* Whether a file holds a network. */
bool geodec_network_file_is(const geodec_gguf *g);
/* digest: receives the SHA-256 of the file, which one thread computes while the others pack the weights; NULL: not
 * wanted. GEODEC_FORMAT, GEODEC_LIMIT, GEODEC_UNSUPPORTED (a newer version, other tables): names the key or tensor. */
geodec_status geodec_network_file_read(const geodec_gguf *g, geodec_pool *pool, char digest[GEODEC_SHA256_HEX],
                                       geodec_network **out, geodec_err *err) GEODEC_MUST_USE;

#endif
